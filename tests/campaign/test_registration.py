"""Registration and deviations: signed, durable, and never altered unseen."""

import hashlib
from pathlib import Path

import pytest

from rig.core.errors import RecordError, UsageError
from rig.core.registration import (
    FILE,
    PLAN,
    Bias,
    deviate,
    read_deviations,
    read_registration,
    register,
)

SAID = {
    "campaign": "night", "decision": {"serves": "whether"}, "thresholds": [{"metric": "t50"}],
    "deployment": {"residents": 1}, "holdout": None, "trials": 3, "grid_sha256": "0" * 64,
    "configurations": ["1" * 64], "supersedes": None,
}  # fmt: skip


def deviation(folder: Path, what: str = "one sensor was replaced") -> None:
    deviate(folder, what=what, why="it broke", bias=Bias.UNKNOWN, material=True, owner_role="test lead")


def test_what_was_registered_is_read_back_with_who_signed(tmp_path: Path) -> None:
    made = register(tmp_path, b"name = 'night'\n", SAID)
    assert read_registration(tmp_path) == made
    assert made.plan_sha256 == hashlib.sha256(b"name = 'night'\n").hexdigest()
    assert made.signers and not made.forged and made.trials == 3


def test_a_folder_without_one_is_exploratory(tmp_path: Path) -> None:
    assert read_registration(tmp_path) is None
    with pytest.raises(UsageError, match="nothing is registered"):
        deviation(tmp_path)


def test_a_second_registration_is_refused(tmp_path: Path) -> None:
    register(tmp_path, b"a = 1\n", SAID)
    with pytest.raises(UsageError, match="never change"):
        register(tmp_path, b"a = 2\n", SAID)


def test_a_changed_plan_is_named(tmp_path: Path) -> None:
    register(tmp_path, b"a = 1\n", SAID)
    (tmp_path / PLAN).write_bytes(b"a = 2\n")
    with pytest.raises(RecordError, match=r"plan\.toml: is not the plan that was registered"):
        read_registration(tmp_path)


def test_every_flipped_byte_of_the_statement_is_seen(tmp_path: Path) -> None:
    register(tmp_path, b"a = 1\n", SAID)
    data = (tmp_path / FILE).read_bytes()
    for at in range(0, len(data), 37):
        (tmp_path / FILE).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(RecordError):
            read_registration(tmp_path)


def test_deviations_follow_each_other(tmp_path: Path) -> None:
    made = register(tmp_path, b"a = 1\n", SAID)
    for what in ("first", "second", "third"):
        deviation(tmp_path, what)
    found = read_deviations(tmp_path)
    assert [(d.number, d.what, d.registration) for d in found] == [
        (1, "first", made.id), (2, "second", made.id), (3, "third", made.id),
    ]  # fmt: skip
    (tmp_path / "deviations" / "0002.dsse.json").unlink()
    with pytest.raises(RecordError, match="missing or altered"):
        read_deviations(tmp_path)


def test_a_deviation_explains_itself(tmp_path: Path) -> None:
    register(tmp_path, b"a = 1\n", SAID)
    with pytest.raises(UsageError, match="--what"):
        deviation(tmp_path, " ")
    with pytest.raises(UsageError, match="give a date"):
        deviate(
            tmp_path, what="x", why="y", bias=Bias.NONE, material=False, owner_role="test lead", expires="soon"
        )  # fmt: skip
