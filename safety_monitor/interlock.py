"""The interlock: a latched state that withholds permission to move, as a table.

Only a person clears STOPPED, by name and with a cause. Going worse needs no confirmation; coming
back waits until every rule has been clear for its own time (hysteresis on clearing only).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rig.core.errors import UsageError
from safety_monitor.rule import Response
from safety_monitor.verdict import Verdict


class State(StrEnum):
    """What the rig may do."""

    DISARMED = "disarmed"  # nothing moves; the monitor has not been tested yet
    ARMED = "armed"  # motion is allowed
    HOLD = "hold"  # no new motion; moving away from the person is allowed
    RETRACT = "retract"  # the rig is moving away from the person
    STOPPED = "stopped"  # nothing moves until a person resets


class Signal(StrEnum):
    """What makes the interlock change."""

    ARM = "arm"  # the self-test passed
    DISARM = "disarm"  # the trial is over
    HOLD = "hold"
    RETRACT = "retract"
    STOP = "stop"
    RETRACTED = "retracted"  # the retreat is complete
    CLEAR = "clear"  # every actuating rule has cleared
    RESET = "reset"  # a person, with a cause


class Motion(StrEnum):
    """What kind of motion is asked for."""

    NONE = "none"  # speech, calls, notes, looking, stopping
    RETREAT = "retreat"  # away from the person: withdraw, rest
    ORDINARY = "ordinary"  # everything else that moves


_D, _A, _H, _R, _S = State.DISARMED, State.ARMED, State.HOLD, State.RETRACT, State.STOPPED
_COLUMNS = tuple(Signal)
_ROWS = {
    #   ARM DISARM HOLD RETRACT STOP RETRACTED CLEAR RESET
    _D: (_A, _D, _D, _D, _S, _D, _D, _D),
    _A: (_A, _D, _H, _R, _S, _A, _A, _A),
    _H: (_H, _D, _H, _R, _S, _H, _A, _H),
    _R: (_R, _D, _R, _R, _S, _H, _R, _R),  # a retreat ends where it is safe, not where a rule clears
    _S: (_S, _S, _S, _S, _S, _S, _S, _D),  # after a reset the rig is tested and armed anew
}
TABLE: Mapping[tuple[State, Signal], State] = {
    (state, signal): to for state, row in _ROWS.items() for signal, to in zip(_COLUMNS, row, strict=True)
}
"""Every state under every signal."""

PERMITS: Mapping[State, frozenset[Motion]] = {
    State.DISARMED: frozenset({Motion.NONE}),
    State.ARMED: frozenset(Motion),
    State.HOLD: frozenset({Motion.NONE, Motion.RETREAT}),
    State.RETRACT: frozenset({Motion.NONE, Motion.RETREAT}),
    State.STOPPED: frozenset({Motion.NONE}),
}
"""The motions each state allows."""

SIGNALS: Mapping[Response, Signal] = {
    Response.HOLD: Signal.HOLD,
    Response.RETRACT: Signal.RETRACT,
    Response.STOP: Signal.STOP,
}
"""The responses that actuate, and what they tell the interlock."""


def advance(state: State, signal: Signal) -> State:
    """Return the state after ``signal``."""
    return TABLE[state, signal]


def signal_of(verdicts: Sequence[Verdict], order: Sequence[Response]) -> Signal:
    """Return what the rules together ask of the interlock.

    Args:
        verdicts: One verdict per rule, as latched (`safety_monitor.monitor.Monitor.verdicts`).
        order: The rule set's order of responses, the one that wins first.

    Returns:
        The signal of the winning actuating response among rules that do not hold or cannot be
        shown to hold; CLEAR when there is none.
    """
    asked = {v.response for v in verdicts if v.holds is not True}
    return next((SIGNALS[r] for r in order if r in asked and r in SIGNALS), Signal.CLEAR)


@dataclass(frozen=True, slots=True)
class Reset:
    """A person's decision to leave STOPPED."""

    who: str
    cause: str

    def __post_init__(self) -> None:
        if not self.who.strip() or not self.cause.strip():
            raise UsageError("a reset needs the name of a person and the cause of the stop")


def reset(state: State, by: Reset) -> State:
    """Return the state after a person's reset; the reset itself belongs in the record.

    Raises:
        UsageError: If there is nothing to reset.
    """
    if state is not State.STOPPED:
        raise UsageError(
            f"there is nothing to reset: the interlock is {state}, not {State.STOPPED}; {by.who!r} asked"
        )
    return advance(state, Signal.RESET)
