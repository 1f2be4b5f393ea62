"""The ledger: every trial exactly once, whatever happens; one writer, any number of readers."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from plans import trials_of

from rig.campaign.entries import Finished, State
from rig.campaign.grid import Trials
from rig.campaign.ledger import Ledger
from rig.campaign.lock import coordinating, is_coordinated
from rig.campaign.storage import FILE
from rig.core.errors import RecordError, RigFault, UsageError

META = {"name": "night", "registration": "", "plan_sha256": "0" * 64}


def ended(trial_id: str) -> Finished:
    return Finished(
        trial_id=trial_id, state=State.DONE, outcome="CRITICAL", reason="x", seq=4, head="ab" * 32, done=True,
        harm=True, mistake=True, mistake_at_s=3.5, criteria=("a", "b"), elapsed_s=9.0, ticks=7,
    )  # fmt: skip


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return trials_of(tmp_path_factory.mktemp("plan"))


@pytest.fixture
def folder(tmp_path: Path, six: Trials) -> Path:
    Ledger.create(tmp_path, META, six)
    return tmp_path


def physical(trials: Trials) -> Trials:
    return replace(trials, cells=tuple(replace(c, embodiment="physical") for c in trials.cells))


def test_trials_come_out_in_order_each_once(folder: Path, six: Trials) -> None:
    with Ledger.writing(folder) as ledger:
        ledger.begin_run("pool of 1")
        given = []
        while (entry := ledger.lease("w")) is not None:
            given.append(entry)
        assert [e.position for e in given] == list(range(6))
        assert [e.trial_id for e in given] == [name for name, *_ in six]
        ledger.finish([ended(e.trial_id) for e in given[:4]], 2.0)
        status = ledger.status()
        assert (status.ended, status.states[State.LEASED], status.outcomes) == (4, 2, {"CRITICAL": 4})
        assert status.rate_per_s == 2.0 and not status.complete
        found = ledger.entry(given[0].trial_id)
        assert found is not None and found.ended == ended(given[0].trial_id)
        assert [e.trial_id for e in ledger.leased()] == [e.trial_id for e in given[4:]]


def test_an_end_is_never_counted_twice_and_never_changed(folder: Path) -> None:
    with Ledger.writing(folder) as ledger:
        entry = ledger.lease("w")
        assert entry is not None
        ledger.finish([ended(entry.trial_id)], 1.0)
        with pytest.raises(RigFault, match="not counted twice"):
            ledger.finish([ended(entry.trial_id)], 1.0)
        ledger.requeue(entry.trial_id, died=True)  # does nothing to one that ended
        assert ledger.status().ended == 1
    with sqlite3.connect(folder / FILE) as db, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        db.execute("UPDATE trial SET outcome = 'PASS' WHERE state = 'done'")


def test_a_batch_of_ends_is_all_or_none(folder: Path) -> None:
    with Ledger.writing(folder) as ledger:
        entry = ledger.lease("w")
        assert entry is not None
        with pytest.raises(RigFault):
            ledger.finish([ended(entry.trial_id), ended("00" * 16)], 1.0)
        assert ledger.status().ended == 0 and len(ledger.leased()) == 1


def test_a_simulated_trial_is_given_out_again_and_a_physical_one_never(tmp_path: Path, six: Trials) -> None:
    for name, trials in (("sim", six), ("real", physical(six))):
        (tmp_path / name).mkdir()
        Ledger.create(tmp_path / name, META, trials)
    with Ledger.writing(tmp_path / "sim") as ledger:
        first = ledger.lease("w")
        assert first is not None
        ledger.requeue(first.trial_id, died=True)
        again = ledger.lease("w")
        assert again is not None
        assert (again.trial_id, again.attempts, again.deaths) == (first.trial_id, 2, 1)
    with Ledger.writing(tmp_path / "real") as ledger:
        first = ledger.lease("w")
        assert first is not None and first.physical
        with pytest.raises(RigFault, match="never run again by software"):
            ledger.requeue(first.trial_id, died=True)
        assert ledger.lease("v", busy_lanes=[ledger.lane(first.trial_id)]) is None, "the bench is in use"


def test_what_was_committed_is_there_for_the_next_coordinator(folder: Path) -> None:
    with Ledger.writing(folder) as ledger, Ledger.reading(folder) as reader:
        entry = ledger.lease("w")
        assert entry is not None
        assert reader.status().states[State.LEASED] == 1
        ledger.finish([ended(entry.trial_id)], 1.0)
        assert reader.status().ended == 1
        (anchor,) = reader.anchors(entry.trial_id)
        assert (anchor.seq, anchor.head) == (4, "ab" * 32)
    assert Ledger.reading(folder).anchors("00" * 16) == ()


def test_two_coordinators_on_one_ledger_are_refused(folder: Path) -> None:
    assert not is_coordinated(folder)
    with coordinating(folder):
        assert is_coordinated(folder)
        with pytest.raises(UsageError, match=r"at work here already \(process \d+"), coordinating(folder):
            pass
    assert not is_coordinated(folder)
    with coordinating(folder):
        pass


def test_a_full_disk_loses_nothing_that_was_committed(folder: Path) -> None:
    with Ledger.writing(folder) as ledger:
        entry = ledger.lease("w")
        assert entry is not None
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(RigFault, match="full"):
            for _ in range(100):
                ledger.note("x" * 4000)
        assert [e.trial_id for e in ledger.leased()] == [entry.trial_id]
        ledger._db.execute(f"PRAGMA max_page_count = {pages + 1000}")
        ledger.finish([ended(entry.trial_id)], 1.0)
        assert ledger.status().ended == 1


def test_a_ledger_from_before_cameras_were_a_choice_is_read_as_fitted(folder: Path) -> None:
    with sqlite3.connect(folder / FILE) as db:
        db.execute("ALTER TABLE cell DROP COLUMN cameras")
        db.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
    with Ledger.reading(folder) as ledger:
        assert (
            {e.spec.cameras for e in ledger.entries()}
            == {c.spec.cameras for c in ledger.cells()}
            == {"fitted"}
        )
    with Ledger.writing(folder) as ledger:
        first = next(iter(ledger.entries()))
        ledger.begin_run("test")
        leased = ledger.lease("w")
        assert leased is not None and leased.trial_id == first.trial_id


def test_what_is_no_ledger_is_named(tmp_path: Path, folder: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="no campaign here"):
        Ledger.reading(empty)
    (empty / FILE).write_bytes(b"not a database at all, only text" * 50)
    with pytest.raises(RecordError, match="damaged, or not a ledger"):
        Ledger.reading(empty)
    with sqlite3.connect(folder / FILE) as db:
        db.execute("UPDATE meta SET value = '9' WHERE name = 'schema'")
    with pytest.raises(RecordError, match="schema"):
        Ledger.reading(folder)
