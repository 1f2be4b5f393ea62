"""Alarms from decisions, signals from readings: what the scorer of timeliness is given."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.alarms import end_of, episodes, intervening, recorded_alarms
from analysis.decisions import Decision
from analysis.facts import facts_of
from analysis.recorded_rules import rules_now, same_rules
from analysis.runup import BRIDGED_NS, _reach, courses, runs_of
from rig.core.bench import load_bench
from rig.core.channel import Audience, Trace
from rig.core.event import Kind
from rig.core.record import read
from safety_monitor.expression import parse
from safety_monitor.rule import Response
from tests.recorded import EXIT, SOUP, folder_of

LAYOUT = load_bench("sim").layout
RULES = rules_now("bed-watch", LAYOUT)
S = 1_000_000_000


def decision(t_s: float, holds: bool | None, rule: str = "answer-exit") -> Decision:
    return Decision(round(t_s * S), rule, holds, None, "1", {}, {})


def test_an_alarm_lasts_until_the_rule_holds_again() -> None:
    (alarm,) = episodes([decision(1, False), decision(4, True)], RULES, 10 * S)
    assert (alarm.start_s, alarm.end_s, alarm.unknown) == (1.0, 4.0, False)
    assert (alarm.protects, alarm.response) == ("unanswered-exit", Response.CALL)


def test_an_alarm_that_never_clears_lasts_to_the_end() -> None:
    (alarm,) = episodes([decision(1, False)], RULES, 10 * S)
    assert alarm.end_s == 10.0


@pytest.mark.parametrize(("first", "unknown"), [(False, False), (None, True)])
def test_broken_and_lost_in_turn_are_one_alarm_of_the_kind_it_began_as(
    first: bool | None, unknown: bool
) -> None:
    other = None if first is False else False
    (alarm,) = episodes([decision(1, first), decision(2, other), decision(3, True)], RULES, 9 * S)
    assert (alarm.start_s, alarm.end_s, alarm.unknown) == (1.0, 3.0, unknown)


def test_verdicts_of_rules_that_are_not_there_are_left_out() -> None:
    assert episodes([decision(1, False, "gone")], RULES, 9 * S) == ()


@given(
    st.lists(st.tuples(st.sampled_from(["answer-exit", "turn-now"]), st.sampled_from([True, False, None])))
)
def test_alarms_of_one_rule_never_overlap_and_never_outnumber_what_broke_it(
    changes: list[tuple[str, bool | None]],
) -> None:
    found = episodes([decision(k, holds, rule) for k, (rule, holds) in enumerate(changes)], RULES, 1000 * S)
    for rule in ("answer-exit", "turn-now"):
        mine = [a for a in found if a.rule == rule]
        assert all(a.end_s < b.start_s for a, b in itertools.pairwise(mine))
        assert len(mine) <= sum(r == rule and holds is not True for r, holds in changes)
    assert bool(found) == any(holds is not True for _, holds in changes)


def test_what_was_refused_before_it_began_is_an_alarm_of_no_length() -> None:
    record = read(folder_of(SOUP, "guard"))
    rules = same_rules(record)
    assert rules is not None
    found = recorded_alarms(record, rules)
    for event in record.of_kind(Kind.INTERVENED):
        t_s = event.t_ns / S
        assert any(a.rule == event.body["rule"] and a.start_s <= t_s <= a.end_s for a in found)
    verdicts = [e for e in record.of_kind(Kind.VERDICT) if e.body["holds"] is not True]
    assert len(found) >= len(verdicts)
    assert all(a.end_s <= end_of(record) / S for a in found)


def test_advice_is_no_intervention() -> None:
    alarms = episodes([decision(1, False, "turn-soon"), decision(1, False, "turn-now")], RULES, 9 * S)
    assert [a.rule for a in intervening(alarms)] == ["turn-now"]


@given(
    st.lists(st.booleans(), min_size=1, max_size=60), st.lists(st.integers(1, 9), min_size=60, max_size=60)
)
def test_runs_hold_every_tick_of_a_signal_and_are_farther_apart_than_is_bridged(
    there: list[bool], steps: list[int]
) -> None:
    t_ns = np.cumsum(steps[: len(there)]) * S
    runs = runs_of(np.array(there), t_ns)
    for t, on in zip(t_ns, there, strict=True):
        assert not on or sum(run.start_ns <= t <= run.end_ns for run in runs) == 1
    assert all(b.start_ns - a.end_ns > BRIDGED_NS for a, b in itertools.pairwise(runs))
    assert all(there[int(np.searchsorted(t_ns, run.start_ns))] for run in runs)


def trace(**values: list[float]) -> Trace:
    n, c = len(next(iter(values.values()))), len(LAYOUT)
    t_ns = np.arange(1, n + 1) * S
    x = np.zeros((n, c))
    for name, column in values.items():
        x[:, LAYOUT.index(name.replace("__", "."))] = column
    return Trace(LAYOUT, t_ns, x, np.repeat(t_ns[:, None], c, axis=1), np.zeros((n, c), np.uint8))


@pytest.mark.parametrize(
    ("condition", "reach"),
    [
        ("truth.lip_force > 10 N", 0.8),
        ("truth.lip_force > 10 N or truth.face_force > 10 N", 0.9),
        ("truth.lip_force > 10 N and truth.face_force > 10 N", 0.4),
        ("held(truth.lip_force > 10 N, 500 ms)", 0.8),
        ("rises(truth.taken)", None),
        ("rises(truth.taken) or truth.lip_force > 10 N", 0.8),
        ("rises(truth.taken) and truth.lip_force > 10 N", None),
        ("truth.lip_force < 10 N", None),
    ],
)
def test_how_far_it_came_towards_harm_is_the_peak_as_a_share_of_the_limit(
    condition: str, reach: float | None
) -> None:
    on = trace(truth__lip_force=[1.0, 8.0, 4.0], truth__face_force=[9.0, 2.0, 4.0])
    node = parse(condition, LAYOUT, tuple(Audience)).node
    assert _reach(node, on) == (None if reach is None else pytest.approx(reach))


def test_a_signal_comes_before_its_effect() -> None:
    record = read(folder_of(EXIT, "shadow"))
    found = courses(record, facts_of(record).rubric)
    exits = found["unanswered-exit"]
    assert exits.effect_ns is not None and exits.harm and exits.near <= 0
    run = exits.run_before(exits.effect_ns)
    assert run is not None and run.start_ns < exits.effect_ns and 0 < run.tick_ns <= S
    assert not found["crush"].harm and found["crush"].runs == ()
