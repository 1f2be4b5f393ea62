"""What a policy must say before it decides anything."""

from pathlib import Path

import pytest

from analysis.release.policy import Gate, load_policy
from rig.core.errors import ConfigError, UsageError

from .conftest import write_policy


def test_quantities_are_read_with_their_units(tmp_path: Path) -> None:
    path = write_policy(
        tmp_path,
        ('latency = "Not measured for this small policy of the tests."\n', ""),
        ("[out_of_scope]", '[gate.latency]\np99_at_most = "250 ms"\n\n[out_of_scope]'),
    )
    found, raw = load_policy(path)
    assert found.gate.latency is not None and found.gate.latency.p99_at_most == pytest.approx(0.25)
    assert found.expires == 90.0
    assert raw == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("at_least = 0.6", "at_least = 60", "less than or equal to 1"),
        ("most = 0", "most = 0\nweight = 3", "Extra inputs are not permitted"),
        ('expires = "90 day"', "expires = 90", "a number, a space and a unit"),
        ('expires = "90 day"', 'expires = "90 N"', "not a quantity in day"),
        ('approvers = ["safety officer", "care lead"]', 'approvers = ["safety officer", "release owner"]', "cannot approve"),
        ('approvers = ["safety officer", "care lead"]', 'approvers = ["care lead", "care lead"]', "named twice"),
        ('approvers = ["safety officer", "care lead"]', 'approvers = ["care lead"]', "at least 2"),
        ('recovery = "No drills were run for this small policy."\n', "", "gate.recovery: neither asked for nor out_of_scope"),
        ('recovery = "No drills were run for this small policy."', 'recovery = "no"', "out_of_scope.recovery: say why"),
        ("[gate.evidence]\nregistered_plan = false\n", "", "gate.evidence"),
        ("[out_of_scope]", '[out_of_scope]\nevidence = "It is tedious, so we leave it out here."', "also asked for"),
    ],
)  # fmt: skip
def test_a_policy_with_a_mistake_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_policy(write_policy(tmp_path, (old, new)))
    assert words in str(raised.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_policy(write_policy(tmp_path, ("at_least = 0.6", "at_least = 60"), ("most = 0", "most = -1")))
    assert len(raised.value.mistakes) == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such policy file"):
        load_policy(tmp_path / "none.toml")


def test_every_gate_has_a_title_and_a_judge() -> None:
    from analysis.release.claims import DEPENDS
    from analysis.release.decision import COST
    from analysis.release.judge import JUDGES
    from analysis.release.policy import TITLES

    assert set(TITLES) == set(JUDGES) == set(DEPENDS) == set(COST) == set(Gate)
