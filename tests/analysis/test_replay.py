"""Verify replay: the same readings under the same rules give the same decisions, or the first difference."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.decisions import Decision, decision_of, recorded_decisions
from analysis.facts import facts_of
from analysis.recorded_rules import recorded_digest, rules_now, same_rules
from analysis.replay import Replayer, Result, first_difference, replay
from rig.core.channel import Trace
from rig.core.errors import RecordError
from rig.core.event import Kind, Severity
from rig.core.record import Record, StoredEvent, read
from safety_monitor.monitor import Monitor
from tests.recorded import EXIT, MODES, PLAIN, QUIET, SOUP, folder_of


def record_of(trial: tuple[str, str], monitor: str = "guard") -> Record:
    return read(folder_of(trial, monitor))


@pytest.mark.parametrize("monitor", MODES)
@pytest.mark.parametrize("trial", [EXIT, SOUP, QUIET, PLAIN], ids=lambda t: t[0])
def test_every_decision_of_a_trial_is_made_again(trial: tuple[str, str], monitor: str) -> None:
    record = record_of(trial, monitor)
    found = replay(record)
    assert found.result is Result.IDENTICAL, found
    assert found.decisions == len(record.of_kind(Kind.VERDICT))
    ended = record.events[-1]
    assert found.ticks == ended.body["ticks"] and found.span_ns == ended.t_ns
    assert found.json()["difference"] is None


def test_there_was_something_to_make_again() -> None:
    assert len(recorded_decisions(record_of(SOUP))) > 10
    assert len(recorded_decisions(record_of(EXIT, "shadow"))) > 2


def test_bulk_and_single_steps_decide_alike() -> None:
    record = record_of(EXIT)
    rules = rules_now("bed-watch", record.layout)
    monitor, whole, stepped = Monitor(rules, record.layout), record.trace(), []
    for k in range(len(whole)):
        if monitor.step(whole.row(k)):
            stepped += [decision_of(v) for v in monitor.changes()]
    assert stepped == list(Replayer(rules, record.layout).run(record)) != []


@given(st.lists(st.integers(0, 7000), max_size=6))
def test_cuts_between_stretches_change_nothing(cuts: list[int]) -> None:
    record = record_of(EXIT)
    replayer = Replayer(rules_now("bed-watch", record.layout), record.layout)
    trace = record.trace(channels=replayer.channels)
    edges = [0, *sorted(cuts), len(trace)]
    parts = [
        Trace(trace.layout, trace.t_ns[a:b], trace.values[a:b], trace.sampled_ns[a:b], trace.quality[a:b])
        for a, b in itertools.pairwise(edges)
    ]
    assert tuple(d for part in parts for d in replayer.feed(part)) == recorded_decisions(record)
    assert replayer.ticks == len(trace)


def with_verdict(record: Record, number: int, change: Callable[[StoredEvent], list[StoredEvent]]) -> Record:
    """Return a record whose verdict event ``number`` is replaced by others."""
    events, seen = [], -1
    for event in record.events:
        seen += event.kind is Kind.VERDICT
        events += change(event) if event.kind is Kind.VERDICT and seen == number else [event]
    return replace(record, events=tuple(events))


def changed(**body: object) -> Callable[[StoredEvent], list[StoredEvent]]:
    return lambda e: [replace(e, body={**e.body, **body})]  # type: ignore[arg-type]


ALTERED: list[tuple[str, Callable[[StoredEvent], list[StoredEvent]]]] = [
    ("holds", changed(holds=None)),
    ("rule", changed(rule="another")),
    ("margin by the last bit", lambda e: [replace(e, body={**e.body, "margin": np.nextafter(e.body["margin"], 9)})]),
    ("values", changed(values={})),
    ("ages", changed(ages_s={})),
    ("tick", lambda e: [replace(e, t_ns=e.t_ns + 1_000_000)]),
    ("left out", lambda e: []),
    ("twice", lambda e: [e, e]),
]  # fmt: skip


@pytest.mark.parametrize("change", [c for _, c in ALTERED], ids=[name for name, _ in ALTERED])
def test_the_first_difference_is_found_and_placed(change: Callable[[StoredEvent], list[StoredEvent]]) -> None:
    found = replay(with_verdict(record_of(SOUP), 4, change))
    assert found.result is Result.DIFFERENT and found.difference is not None
    assert found.difference.number in (4, 5) and found.decisions == found.difference.number
    assert len(found.difference.lines()) == 2 and found.difference.lines()[0].startswith("recorded: ")
    assert found.json()["difference"] is not None


def test_a_verdict_that_is_not_whole_is_refused() -> None:
    record = with_verdict(record_of(EXIT), 0, changed(margin="much"))
    with pytest.raises(RecordError, match="not a whole verdict"):
        replay(record)


def test_other_rules_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(EXIT)
    configuration = {**record.manifest["configuration"], "rules": "0" * 64}  # type: ignore[dict-item]
    other = replace(record, manifest={**record.manifest, "configuration": configuration})
    assert same_rules(record) is not None and same_rules(other) is None
    found = replay(other)
    assert found.result is Result.NOT_ASSESSED and "000000000000" in found.reason


def test_a_manifest_without_rules_is_no_trial_s() -> None:
    record = record_of(EXIT)
    with pytest.raises(RecordError, match="no digest of rules"):
        recorded_digest(replace(record, manifest={**record.manifest, "configuration": {}}))


@pytest.mark.parametrize("what", ["telemetry dropped", "telemetry lost"])
def test_ticks_that_are_not_in_the_record_prove_nothing(what: str) -> None:
    record = record_of(EXIT)
    gap = StoredEvent(len(record.events), 5, Kind.FAULT, "recorder", Severity.WARNING, {"what": what}, "")
    found = replay(replace(record, events=(*record.events, gap)))
    assert found.result is Result.NOT_ASSESSED and what in found.reason


def test_a_torn_record_is_compared_as_far_as_it_goes() -> None:
    record = record_of(EXIT)
    verdict = record.of_kind(Kind.VERDICT)[0]
    late = replace(verdict, t_ns=record.events[-1].t_ns + 1)
    torn = replace(record, events=(*record.events, late), complete=False, problem="cut off")
    found = replay(torn)
    assert found.result is Result.IDENTICAL and found.beyond == 1 and "cut off" in found.reason
    whole = replay(replace(torn, complete=True))
    assert whole.result is Result.DIFFERENT, "of a whole record nothing may be left over"


def test_no_telemetry_is_not_assessed(tmp_path: Path) -> None:
    record = record_of(QUIET)
    events = tuple(e for e in record.events if e.kind is not Kind.TELEMETRY_CLOSED)
    found = replay(replace(record, folder=tmp_path, events=events))
    assert found.result is Result.NOT_ASSESSED and "no telemetry" in found.reason


def test_the_rules_channels_are_all_that_is_read() -> None:
    record = record_of(SOUP)
    rules = rules_now(facts_of(record).task, record.layout)
    channels = Replayer(rules, record.layout).channels
    assert set(channels) == {c for rule in rules.rules for c in rule.channels}
    assert not any(name.startswith("truth.") for name in channels)


def decision(t_ns: int) -> Decision:
    return Decision(t_ns, "r", False, None, "1", {}, {})


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_the_first_difference_is_the_first(a: Sequence[int], b: Sequence[int]) -> None:
    found = first_difference([decision(t) for t in a], [decision(t) for t in b])
    if found is None:
        assert a == b
    else:
        assert a[: found.number] == b[: found.number] and a != b
        assert found.recorded != found.replayed
