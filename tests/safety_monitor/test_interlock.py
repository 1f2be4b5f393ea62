"""The interlock: every state under every signal."""

import itertools

import pytest

from rig.core.errors import UsageError
from safety_monitor.interlock import PERMITS, TABLE, Motion, Reset, Signal, State, advance, reset, signal_of
from safety_monitor.rules import Response

BADNESS = {State.ARMED: 0, State.HOLD: 1, State.RETRACT: 2, State.STOPPED: 3}


def test_every_state_answers_every_signal():
    assert set(TABLE) == set(itertools.product(State, Signal))
    assert set(PERMITS) == set(State)


@pytest.mark.parametrize("signal", [s for s in Signal if s is not Signal.RESET])
def test_only_a_reset_leaves_stopped(signal):
    assert advance(State.STOPPED, signal) is State.STOPPED


def test_a_reset_leads_to_disarmed_so_that_the_rig_is_tested_anew():
    assert reset(State.STOPPED, Reset("nurse", "spoon slipped")) is State.DISARMED
    for state in set(State) - {State.STOPPED}:
        assert advance(state, Signal.RESET) is state
        with pytest.raises(UsageError, match="nothing to reset"):
            reset(state, Reset("nurse", "spoon slipped"))


@pytest.mark.parametrize(("who", "cause"), [("", "x"), ("x", ""), (" ", "x")])
def test_a_reset_needs_a_person_and_a_cause(who, cause):
    with pytest.raises(UsageError, match="name of a person and the cause"):
        Reset(who, cause)


@pytest.mark.parametrize("signal", [Signal.HOLD, Signal.RETRACT, Signal.STOP])
def test_a_demand_never_makes_things_better(signal):
    for state in BADNESS:
        assert BADNESS[advance(state, signal)] >= BADNESS[state]


@pytest.mark.parametrize("state", list(State))
def test_stop_always_stops(state):
    assert advance(state, Signal.STOP) is State.STOPPED


def test_clearing_ends_a_hold_but_not_a_retreat_nor_a_stop():
    cleared = {state: advance(state, Signal.CLEAR) for state in State}
    assert cleared == {
        State.DISARMED: State.DISARMED,
        State.ARMED: State.ARMED,
        State.HOLD: State.ARMED,
        State.RETRACT: State.RETRACT,
        State.STOPPED: State.STOPPED,
    }
    assert advance(State.RETRACT, Signal.RETRACTED) is State.HOLD


def test_only_an_armed_rig_makes_ordinary_motions():
    assert [s for s in State if Motion.ORDINARY in PERMITS[s]] == [State.ARMED]
    assert all(Motion.NONE in PERMITS[s] for s in State)
    assert {s for s in State if Motion.RETREAT not in PERMITS[s]} == {State.DISARMED, State.STOPPED}


class Says:
    def __init__(self, response, holds):
        self.response, self.holds = response, holds


ORDER = (Response.STOP, Response.RETRACT, Response.HOLD, Response.CALL, Response.ADVISE)


def test_the_order_decides_between_opposing_demands():
    verdicts = [Says(Response.HOLD, False), Says(Response.RETRACT, None), Says(Response.STOP, True)]
    assert signal_of(verdicts, ORDER) is Signal.RETRACT
    assert signal_of(verdicts, (Response.HOLD, Response.RETRACT)) is Signal.HOLD


def test_calls_and_advice_do_not_move_the_interlock():
    assert signal_of([Says(Response.CALL, False), Says(Response.ADVISE, False)], ORDER) is Signal.CLEAR
    assert signal_of([], ORDER) is Signal.CLEAR
