"""The gate: what passes passes unchanged, what does not is named."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.command import Actuator, Plan, steady
from rig.core.errors import UsageError
from safety_monitor.gate import Envelope, authorise, decide
from safety_monitor.interlock import Motion, State
from safety_monitor.limits import Bound
from safety_monitor.rules import Response

MS = 1_000_000
ACTUATORS = tuple(Actuator(name=n, unit="rad", low=-3.0, high=3.0, rate=2.0) for n in ("a", "b"))
ENVELOPE = Envelope.of([Bound("a", -1.0, 1.0, 1.0), Bound("b", -2.0, 2.0, 0.5)])
ZERO = np.zeros(2)


def plan(rows, start_ns=MS, period_ns=MS, expires_ns=10**9):
    return Plan(ACTUATORS, start_ns, period_ns, np.array(rows, dtype=np.float64), expires_ns)


def moves(n=3, step=0.0005):
    return plan([[step * (k + 1), 0.0] for k in range(n)])


def reasons(p, state=State.ARMED, previous=ZERO, now_ns=0, motion=Motion.ORDINARY):
    return decide(p, ENVELOPE, state, previous, now_ns, motion).reasons


def test_a_plan_within_bounds_passes_as_it_is():
    p = moves()
    decision = decide(p, ENVELOPE, State.ARMED, ZERO, 0)
    assert decision.passed is p
    assert decision.allowed


rows = st.lists(
    st.lists(
        st.floats(-3, 3) | st.sampled_from([math.nan, math.inf, -math.inf, 1.0, -1.0]), min_size=2, max_size=2
    ),
    min_size=1,
    max_size=6,
)


@given(rows, st.lists(st.floats(-2, 2), min_size=2, max_size=2))
def test_nothing_outside_the_bounds_ever_passes_and_nothing_is_altered(setpoints, previous):
    p = plan(setpoints)
    before = p.setpoints.copy()
    decision = decide(p, ENVELOPE, State.ARMED, np.array(previous), 0)
    np.testing.assert_array_equal(p.setpoints, before)
    last, bad = previous, False
    for row in setpoints:
        for j, bound in enumerate(ENVELOPE.bounds):
            inside = bound.low <= row[j] <= bound.high
            slow = abs(row[j] - last[j]) <= bound.rate * 1e-3 * (1 + 1e-9)
            bad |= not (inside and slow)
        last = row
    assert decision.allowed is not bad
    assert bool(decision.reasons) is bad


def test_the_bounds_themselves_are_allowed_and_the_next_number_is_not():
    assert reasons(plan([[1.0, 2.0]]), previous=np.array([1.0, 2.0 - 0.0005])) == ()
    (reason,) = reasons(plan([[np.nextafter(1.0, 2), 2.0]]), previous=np.array([1.0, 2.0]))
    assert reason == "a: 1 rad in row 0 is not within -1 to 1"


def test_a_rate_is_judged_from_the_setpoints_in_force():
    assert reasons(plan([[0.001, 0.0]])) == ()
    (reason,) = reasons(plan([[0.0011, 0.0]]))
    assert reason == "a: 1.1 rad/s in row 0 is faster than 1"
    (reason,) = reasons(plan([[0.0, 0.0], [0.0, 0.0006]]))
    assert reason == "b: 0.6 rad/s in row 1 is faster than 0.5"


def test_every_reason_is_given():
    found = reasons(plan([[math.nan, 0.0], [0.0, 9.0]]))
    assert [r.split(":")[0] for r in found] == ["a", "a", "b", "b"]


@pytest.mark.parametrize("state", [s for s in State if s is not State.ARMED])
def test_ordinary_motion_needs_an_armed_rig(state):
    (reason,) = reasons(moves(), state=state)
    assert reason == f"the interlock is {state}: ordinary motion is not allowed"


def test_a_retreat_passes_while_the_rig_holds_but_not_when_stopped():
    assert reasons(moves(), state=State.HOLD, motion=Motion.RETREAT) == ()
    assert reasons(moves(), state=State.RETRACT, motion=Motion.RETREAT) == ()
    assert reasons(moves(), state=State.STOPPED, motion=Motion.RETREAT) != ()


@pytest.mark.parametrize("state", list(State))
def test_keeping_still_is_always_allowed(state):
    p = steady(ACTUATORS, np.array([0.3, -0.2]), MS, MS, 4)
    assert reasons(p, state=state, previous=np.array([0.3, -0.2])) == ()


def test_keeping_still_at_nan_is_not_keeping_still():
    nowhere = np.array([math.nan, 0.0])
    assert reasons(steady(ACTUATORS, nowhere, MS, MS, 2), previous=nowhere) != ()


def test_a_plan_may_not_outlive_its_lease():
    assert reasons(plan([[0.0, 0.0]] * 3, expires_ns=3 * MS)) == ()
    assert reasons(plan([[0.0, 0.0]] * 3, expires_ns=3 * MS - 1)) == ("the lease ends before the plan does",)


def test_a_plan_may_not_start_in_the_past():
    assert reasons(plan([[0.0, 0.0]]), now_ns=MS) == ()
    assert reasons(plan([[0.0, 0.0]]), now_ns=3 * MS) == ("the plan starts 2 ms in the past",)


def test_an_empty_plan_and_a_plan_without_time_do_not_pass():
    assert "the plan is empty" in reasons(plan(np.empty((0, 2))))
    assert "the plan's period is not positive" in reasons(plan([[0.0, 0.0]], period_ns=0))


def test_a_plan_for_other_actuators_is_a_mistake_of_the_caller():
    with pytest.raises(UsageError, match="the plan is for a, b, the envelope for b"):
        decide(moves(), Envelope.of(ENVELOPE.bounds[1:]), State.ARMED, ZERO, 0)
    with pytest.raises(UsageError, match="one column per actuator, 2"):
        decide(moves(), ENVELOPE, State.ARMED, np.zeros(3), 0)


class Says:
    def __init__(self, response):
        self.response, self.rule = response, type("R", (), {"sentence": "Never."})

    def text(self):
        return "r is violated"


def test_a_rule_that_would_be_broken_forbids_the_action():
    foreseen = [Says(Response.HOLD), Says(Response.ADVISE), Says(Response.CALL)]
    said = authorise(State.ARMED, Motion.ORDINARY, foreseen)
    assert (said.allowed, said.verdicts) == (False, (foreseen[0],))
    assert said.reasons == ("r is violated (Never.)",)


def test_advice_and_calls_do_not_forbid():
    assert authorise(State.ARMED, Motion.ORDINARY, [Says(Response.ADVISE), Says(Response.CALL)]).allowed


def test_no_rule_keeps_the_rig_at_the_person():
    assert authorise(State.HOLD, Motion.RETREAT, [Says(Response.STOP)]).allowed
    assert authorise(State.STOPPED, Motion.NONE, [Says(Response.STOP)]).allowed
    assert not authorise(State.STOPPED, Motion.RETREAT, []).allowed
    assert not authorise(State.HOLD, Motion.ORDINARY, []).allowed
