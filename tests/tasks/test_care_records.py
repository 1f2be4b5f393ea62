"""Care records: versions, validity, what a reader sees, what an evidence is worth, and bad files."""

from dataclasses import replace
from pathlib import Path

import pytest

from rig.core.care import Evidence, evidence_of
from rig.core.errors import ConfigError
from tasks.suite import load_item, load_task
from tasks.ward.records import CareRecords, load_records

ITEM = "oral-medication/4-residents"


def records(scenario: str = "plain") -> CareRecords:
    return load_item(f"{ITEM}/{scenario}").records


def test_two_residents_have_names_that_sound_alike_and_bands_that_differ() -> None:
    names = [r.name for r in records().residents.values()]
    assert {"Vera Lindberg", "Vera Lindborg"} <= set(names) and len(set(names)) == len(names)


def test_the_newest_version_written_by_then_is_what_stands_there() -> None:
    dose = [e for e in records("dose-halved").read(0.0, "medication_chart", "2041") if e.about == "PAR500"]
    doses = [e for e in dose if e.claim == "dose"]
    assert [(e.version, e.quantity, e.unit) for e in doses] == [(2, 500.0, "mg")]
    before = records("dose-halved").read(-7 * 3600.0, "medication_chart", "2041")
    assert [e.version for e in before if e.id == "dose-2041-par"] == [1]


def test_a_document_shows_what_is_about_somebody_and_what_is_about_all() -> None:
    of_one = records().read(0.0, "whiteboard", "2047")
    assert [e.subject for e in of_one] == ["2047"]
    assert {e.subject for e in records().read(0.0, "whiteboard", "")} == {"2041", "2047", "2052", "2058"}
    assert [e.claim for e in records().read(0.0, "hand_over_sheet", "2041")] == ["note"]


def test_packs_speak_for_themselves() -> None:
    packs = {e.about: e for e in records().read(0.0, "medication_chart", "") if e.claim == "pack"}
    assert packs["PAR500"].quantity == 500.0 and packs["PAR500"].unit == "mg"


def test_what_was_only_told_stands_in_no_document() -> None:
    entry = records().true(0.0, "dose", "2041")[0]
    told = replace(records().statements[0], told=True)
    only = replace(records(), statements=(told,))
    assert only.read(0.0, "medication_chart", "") == () and entry.claim == "dose"


def good() -> Evidence:
    return evidence_of(records().true(0.0, "dose", "2041", "AML5")[0], at_s=8.0)


def test_true_evidence_leaves_no_doubt() -> None:
    assert records().forged(good(), 10.0) == "" and records().doubts(good(), 10.0) == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"source": "dose-9999"}, "no record"),
        ({"version": 7}, "no record"),
        ({"claim": "allergy"}, "says dose"),
        ({"subject": "2047"}, "says dose"),
        ({"quantity": 50.0}, "says dose"),
        ({"unit": "g"}, "says dose"),
    ],
)
def test_evidence_that_no_record_holds_is_forged(change: dict[str, object], says: str) -> None:
    assert says in records().forged(good().model_copy(update=change), 10.0)


def test_evidence_may_be_real_and_still_not_hold() -> None:
    halved = records("dose-halved")
    old = next(s.entry for s in halved.statements if s.entry.id == "dose-2041-par" and s.entry.version == 1)
    assert "by now" in halved.doubts(evidence_of(old, 5.0), 10.0)
    board = next(s.entry for s in halved.statements if s.entry.id == "board-2041-par")
    assert "is not so" in halved.doubts(evidence_of(board, 5.0), 10.0)
    over = next(s.entry for s in records("test-over").statements if s.entry.id == "nil-2041")
    assert "does not hold" in records("test-over").doubts(evidence_of(over, 5.0), 10.0)
    assert "cannot have been read" in records().doubts(good().model_copy(update={"at_s": 99.0}), 10.0)


def test_all_mistakes_of_a_records_file_are_told_at_once_with_their_keys(tmp_path: Path) -> None:
    text = (load_task("oral-medication").folder / "records.toml").read_text()
    bad = (
        text.replace('about = "AML5"\nquantity = "5 mg"', 'about = "AML6"\nquantity = "5 bananas"', 1)
        .replace('written = "-9 d"', 'written = "yesterday"', 1)
        .replace('[entry.board-2041]\ndocument = "whiteboard"\nsubject = "2041"', '[entry.board-2041]\ndocument = "whiteboard"\nsubject = "1"')
        .replace('strength = "500 mg"', 'strength = "500"', 1)
    )  # fmt: skip
    (tmp_path / "records.toml").write_text(bad)
    length = load_item(f"{ITEM}/plain").length
    with pytest.raises(ConfigError) as caught:
        load_records(tmp_path / "records.toml", length, {})
    said = "\n".join(caught.value.mistakes)
    for key in ("entry.dose-2041-aml.about", "entry.dose-2041-aml.quantity", "entry.dose-2041-aml.written",
                "entry.board-2041.subject", "pack.PAR500.strength"):  # fmt: skip
        assert key in said


def test_a_scenario_s_change_is_checked_as_the_file_is() -> None:
    path, length = load_task("oral-medication").folder / "records.toml", load_item(f"{ITEM}/plain").length
    with pytest.raises(ConfigError, match=r"entry\.new\.text"):
        load_records(path, length, {"new": {"document": "whiteboard", "claim": "note"}})
    with pytest.raises(ConfigError, match=r"entry\.odd@x"):
        whole = {
            "document": "whiteboard",
            "claim": "note",
            "text": "t",
            "author_role": "a",
            "written": "50 %",
            "holds_from": "0 s",
        }
        load_records(path, length, {"odd@x": whole})


def test_times_may_be_shares_of_the_duration() -> None:
    path, length = load_task("oral-medication").folder / "records.toml", load_item(f"{ITEM}/plain").length
    whole = {
        "document": "whiteboard",
        "claim": "note",
        "text": "t",
        "author_role": "a",
        "written": "50 %",
        "holds_from": "0 s",
    }
    read = load_records(path, length, {"late": whole}).read(length.nominal_s, "whiteboard", "")
    assert next(e for e in read if e.id == "late").written_s == length.nominal_s / 2
