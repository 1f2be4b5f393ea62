"""Dropped, duplicated and reordered events of a real record, each named."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.release.reconcile import acts, interventions, ledger
from rig.core.event import Kind
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


def test_a_ledger_and_its_records() -> None:
    assert ledger({"a": "1", "b": "2"}, {"a": "1", "b": "2"}) == ()
    found = ledger({"a": "1", "b": "2", "c": ""}, {"b": "9", "c": "3", "d": "4"})
    assert {(m.trial, m.what) for m in found} == {("a", "dropped"), ("d", "unknown"), ("b", "reordered")}
