"""The dossier: the same bytes for the same folder, readable, tamper-evident, signed by two who are not its author."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from analysis.release.claims import fingerprint
from analysis.release.decision import decide, register, registered
from analysis.release.dossier import change, dossier, final
from analysis.release.evidence import Evidence
from analysis.release.gates import Decision, Finding, Verdict
from analysis.release.page import render
from analysis.release.policy import Gate, Policy, load_policy
from analysis.release.signing import approve, canonical, released, sealed_digest, write_dossier
from rig.core.errors import RecordError, UsageError

from .conftest import NOW, write_policy

Make = Callable[..., Evidence]


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let each person have a key of their own."""

    def become(who: str) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys" / who))

    become("author")
    return become


@pytest.fixture
def folder(tmp_path: Path, keys: Callable[[str], None]) -> Path:
    keys("author")
    runs = tmp_path / "runs"
    register(runs, write_policy(tmp_path).read_bytes())
    return runs


def written(folder: Path, found: Evidence, policy: Policy, *, word: str = "GO") -> bytes:
    decision = Decision((Finding(gate=Gate.UTILITY, verdict=Verdict.PASS if word == "GO" else Verdict.FAIL),))
    data = dossier(decision, found, policy, registered(folder), None, NOW)
    write_dossier(folder, data)
    return canonical(data)


def test_the_same_folder_at_the_same_time_gives_the_same_bytes(evidence: Make, policy: Policy) -> None:
    found = evidence(20, harmed=1)
    candidate = fingerprint((s.facts.task, s.configuration) for s in found.seen)
    both = []
    for _ in range(2):
        decision = decide(found, policy, b"", candidate=candidate, now=NOW + timedelta(days=1))
        both.append(dossier(final(decision, found, None), found, policy, None, None, NOW))
    assert canonical(both[0]) == canonical(both[1])
    assert render(both[0]) == render(both[1])
    text = canonical(both[0]).decode()
    assert "NaN" not in text and "Infinity" not in text and str(found.folder) not in text
    assert json.loads(text)["decision"] == "NO-GO"


def test_the_page_says_what_a_board_needs(evidence: Make, policy: Policy) -> None:
    found = evidence(20, harmed=1)
    candidate = fingerprint((s.facts.task, s.configuration) for s in found.seen)
    decision = decide(found, policy, b"", candidate=candidate, now=NOW)
    page = render(dossier(final(decision, found, None), found, policy, None, None, NOW))
    for words in ("NO-GO", "No unauthorised critical act took effect", "unheard-call", "Out of scope", "no posterior",
                  "task items", "What would make a finding worthless", "exploratory", "There is no baseline"):  # fmt: skip
        assert words in page, words
    assert "<script" not in page and "http://" not in page and "https://" not in page


def test_two_roles_with_their_own_keys_release_it(
    folder: Path, evidence: Make, policy: Policy, keys: Callable[[str], None]
) -> None:
    written(folder, evidence(20), policy)
    assert released(folder, "GO", policy, registered(folder)) == (
        False, ("safety officer has not signed", "care lead has not signed"),
    )  # fmt: skip
    for role in policy.approvers:
        keys(role)
        approve(folder, role, "go", policy)
    assert released(folder, "GO", policy, registered(folder)) == (True, ())
    with pytest.raises(UsageError, match="has signed this dossier already"):
        approve(folder, "care lead", "no-go", policy)
    assert released(folder, "NO-GO", policy, registered(folder))[1] == ("the dossier says NO-GO",)


def test_the_author_and_one_person_twice_cannot_approve(
    folder: Path, evidence: Make, policy: Policy, keys: Callable[[str], None]
) -> None:
    written(folder, evidence(20), policy)
    for role in policy.approvers:
        approve(folder, role, "go", policy)  # with the author's key, both times
    ok, why = released(folder, "GO", policy, registered(folder))
    assert not ok
    assert any("the author cannot approve" in words for words in why)
    assert any("two people are needed" in words for words in why)


def test_an_objection_blocks(
    folder: Path, evidence: Make, policy: Policy, keys: Callable[[str], None]
) -> None:
    written(folder, evidence(20), policy)
    for role, word in zip(policy.approvers, ("go", "no-go"), strict=True):
        keys(role)
        approve(folder, role, word, policy)  # type: ignore[arg-type]
    assert released(folder, "GO", policy, registered(folder)) == (False, ("care lead says no-go",))


def test_a_role_nobody_gave_cannot_approve(folder: Path, evidence: Make, policy: Policy) -> None:
    written(folder, evidence(20), policy)
    with pytest.raises(UsageError, match="does not approve under this policy"):
        approve(folder, "release owner", "go", policy)


@pytest.mark.parametrize("name", ["dossier.json", "dossier.html"])
def test_an_altered_dossier_is_named(folder: Path, evidence: Make, policy: Policy, name: str) -> None:
    written(folder, evidence(20), policy)
    path = folder / "dossier" / name
    path.write_bytes(path.read_bytes().replace(b"GO", b"GO!", 1))
    with pytest.raises(RecordError, match="is not the one that was written"):
        sealed_digest(folder)


def test_approvals_do_not_carry_over_to_another_dossier(
    folder: Path, evidence: Make, policy: Policy, keys: Callable[[str], None]
) -> None:
    written(folder, evidence(20), policy)
    for role in policy.approvers:
        keys(role)
        approve(folder, role, "go", policy)
    written(folder, evidence(21), policy)
    assert released(folder, "GO", policy, registered(folder))[1] == (
        "safety officer has not signed", "care lead has not signed",
    )  # fmt: skip


def test_several_changes_at_once_need_to_have_been_tried_together(evidence: Make) -> None:
    (one,) = evidence(1).seen
    base = {one.facts.task: dict(one.configuration)}
    changed = {one.facts.task: {**one.configuration, "agent": "another", "python": "3.99"}}
    gap = change(base, changed)
    assert gap.fields == ("agent", "python") and gap.gap == (("agent", "python"),)
    assert any("agent (the agent's name): was" in words for words in gap.words)
    assert final(Decision(()), evidence(1), gap).blocked == (
        "2 parts changed at once and 1 of 1 pairs of them were never tried together",
    )
    tried = change(base, changed, [("python", "agent")])
    assert tried.gap == () and final(Decision(()), evidence(1), tried).blocked == ()
    assert change(base, base).words == ()


def test_a_whole_folder_can_be_carried_elsewhere(
    folder: Path, evidence: Make, policy: Policy, tmp_path: Path
) -> None:
    written(folder, evidence(20), policy)
    shutil.copytree(folder, tmp_path / "copy")
    assert sealed_digest(tmp_path / "copy") == sealed_digest(folder)
    assert load_policy(tmp_path / "copy" / "policy.toml")[0] == policy
