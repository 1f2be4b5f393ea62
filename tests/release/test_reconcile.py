"""Dropped, duplicated and reordered events of a real record, each named."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.release.reconcile import acts, devices, interventions, ledger
from rig.core.event import Kind, Severity
from rig.core.record import Record, StoredEvent, read, records_under


@pytest.fixture(scope="module")
def record(recorded: Path) -> Record:
    """A quiet watch moves nothing; its first act is made one that was authorised, commanded and effected."""
    (folder,) = records_under(recorded)
    found = read(folder)
    at = place(found, Kind.PROPOSED)
    body = {**found.events[at].body, "allowed": True}
    levels = (Kind.AUTHORISED, Kind.COMMANDED, Kind.EFFECTED)
    moved = [replace(found.events[at], kind=kind, body=body) for kind in levels]
    return replace(found, events=(*found.events[: at + 1], *moved, *found.events[at + 1 :]))


def place(record: Record, kind: Kind) -> int:
    return next(i for i, e in enumerate(record.events) if e.kind == kind and "action_id" in e.body)


def without(record: Record, index: int) -> Record:
    return replace(record, events=(*record.events[:index], *record.events[index + 1 :]))


def test_a_real_record_fits_together(record: Record) -> None:
    assert acts(record) == () and interventions(record) == ()


@pytest.mark.parametrize("kind", [Kind.PROPOSED, Kind.AUTHORISED])
def test_a_dropped_event_is_named(record: Record, kind: Kind) -> None:
    found = acts(without(record, place(record, kind)))
    assert found and found[0].what == "dropped" and found[0].where.startswith(str(kind))


def test_a_command_whose_outcome_is_missing_is_named(record: Record) -> None:
    torn = without(record, place(record, Kind.EFFECTED))
    (found,) = [m for m in acts(torn) if m.what == "dropped"]
    assert found.where.startswith("effected") and "1 intents, 0 outcomes" in found.text


def test_a_duplicate_is_named(record: Record) -> None:
    twice = record.events[place(record, Kind.REPLIED)]
    (found,) = acts(replace(record, events=(*record.events, twice)))
    assert found.what == "duplicated" and "2 times" in found.text


def test_events_out_of_order_are_named(record: Record) -> None:
    index = place(record, Kind.PROPOSED)
    late = without(record, index)
    found = acts(replace(late, events=(*late.events, record.events[index])))
    assert {m.what for m in found} == {"reordered"}


def test_a_command_the_gate_had_refused_is_named(record: Record) -> None:
    index = place(record, Kind.AUTHORISED)
    event = record.events[index]
    refused = replace(event, body={**event.body, "allowed": False})
    events = (*record.events[:index], refused, *record.events[index + 1 :])
    assert "unauthorised" in {m.what for m in acts(replace(record, events=events))}


def test_an_intervention_without_a_verdict_is_named(record: Record) -> None:
    said = replace(record.events[-1], kind=Kind.INTERVENED, body={"rule": "cool-first", "response": "hold"})
    (found,) = interventions(replace(record, events=(*record.events, said)))
    assert found.where == "verdict of cool-first"
    broken: StoredEvent = replace(said, kind=Kind.VERDICT, body={"rule": "cool-first", "holds": False})
    assert interventions(replace(record, events=(*record.events, broken, said))) == ()


def reporting(record: Record, *entries: tuple[int, str]) -> Record:
    """The record with entries of a node's own log, in this order."""
    last = record.events[-1]
    told = (
        replace(
            last, kind=Kind.REPORTED, body={"device": "node", "number": n, "what": what, "reason": "estop"}
        )
        for n, what in entries
    )
    return replace(record, events=(*record.events, *told))


def test_the_log_of_a_device_is_whole_in_any_order(record: Record) -> None:
    assert devices(record) == ()
    assert devices(reporting(record, (2, "armed"), (1, "booted"), (3, "disarmed"))) == ()
    assert devices(reporting(record, (65535, "armed"), (0, "disarmed"), (1, "armed"))) == ()


def test_what_a_device_said_and_nobody_has_is_named(record: Record) -> None:
    (found,) = devices(reporting(record, (65534, "armed"), (0, "disarmed")))
    assert (found.what, found.where) == ("dropped", "entry 65535 of node")
    (found,) = devices(reporting(record, (4, "armed"), (4, "armed")))
    assert (found.what, found.where) == ("duplicated", "entry 4 of node")


def test_a_device_that_stopped_for_no_known_reason_is_named(record: Record) -> None:
    stopped = reporting(record, (1, "tripped"))
    (found,) = devices(stopped)
    assert found.what == "unknown" and "stopped by itself (estop)" in found.text
    said = replace(record.events[-1], kind=Kind.FAULT, severity=Severity.CRITICAL, body={"what": "rig fault"})
    assert devices(replace(stopped, events=(*stopped.events, said))) == ()


def test_a_ledger_and_its_records() -> None:
    assert ledger({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == ()
    found = ledger({"a": "1", "b": "2", "c": ""}, {"b": "9", "c": "3", "d": "4"})
    assert {(m.trial, m.what) for m in found} == {("a", "dropped"), ("d", "unknown"), ("b", "reordered")}
