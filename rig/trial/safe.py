"""What the rig does without the agent: hold-safe when nobody commands, what the monitor demands, the bed's handset.

The agent has no part in any of it. Times and distances are those of the hold-safe table:
near the face hold 2 s, then back off, after 10 s go to rest; in free space hold; a bed keeps still.
Somebody who hangs on a hoist is held, and after 30 s let down to the bed or chair below, with a call.
"""

from dataclasses import dataclass

import numpy as np

from rig.core.channel import FloatArray
from rig.core.clock import nanoseconds
from rig.core.event import Kind
from rig.trial import skills
from rig.trial.equipment.bed import set_part
from rig.trial.equipment.hoist import hangs, set_down
from rig.trial.parts import Why
from rig.trial.phases import Phase, Skill
from rig.trial.rig import Rig
from safety_monitor.interlock import Motion, Signal
from safety_monitor.rule import Response

BACK_OFF_AFTER_NS = nanoseconds(2.0)
PARK_AFTER_NS = nanoseconds(10.0)
SET_DOWN_AFTER_NS = nanoseconds(30.0)


class Idling:
    """Time in which nobody commands, from now on: the hold-safe table.

    It may pass in pieces, as on a bench that does not wait for its agent; the table counts from the first.
    """

    def __init__(self, rig: Rig) -> None:
        self._rig, self._since_ns = rig, rig.t_ns
        self._hanging, self._backed_off = True, False

    def go_on(self, for_ns: int) -> None:
        """Let time pass; what the monitor demands meanwhile is carried out."""
        rig, end_ns = self._rig, self._rig.t_ns + for_ns
        while rig.t_ns < end_ns and not rig.out_of_time:
            by_hand(rig)
            waited_ns, near = rig.t_ns - self._since_ns, rig.near_person()
            self._hanging = self._hanging and hangs(rig.snapshot)
            if self._hanging and waited_ns >= SET_DOWN_AFTER_NS:
                self._hanging = False  # once: with nothing below, the hoist holds until somebody comes
                rig.call("assist", "somebody hangs on the hoist and nobody commands", by="rig")
                retreat(rig, set_down(rig.here, rig.snapshot))
            elif near and waited_ns >= PARK_AFTER_NS:
                retreat(rig, skills.park(rig.here))
            elif near and waited_ns >= BACK_OFF_AFTER_NS and not self._backed_off:
                self._backed_off = True
                retreat(rig, skills.withdraw(rig.here))
            elif rig.rest(self._rest_ns(end_ns, waited_ns, near)) is Why.MONITOR:
                respond(rig, None)

    def _rest_ns(self, end_ns: int, waited_ns: int, near: bool) -> int:
        """Return how long to rest before the table has to be looked at again."""
        due_ns = [end_ns - self._rig.t_ns]
        if near:
            due_ns.append((PARK_AFTER_NS if self._backed_off else BACK_OFF_AFTER_NS) - waited_ns)
        if self._hanging:
            due_ns.append(SET_DOWN_AFTER_NS - waited_ns)
        return max(1, min(due_ns))


def idle(rig: Rig, for_ns: int) -> None:
    """Let time pass with nobody commanding."""
    Idling(rig).go_on(for_ns)


def by_hand(rig: Rig) -> None:
    """Move the bed as somebody at the bedside has set it with the handset, unless gate or monitor forbid it."""
    while rig.handset and not rig.out_of_time:
        part = next(iter(rig.handset))
        skill, start = set_part(part, rig.handset.pop(part), rig.here), rig.setpoints.copy()
        if rig.forbidden(skill.intents, Motion.ORDINARY) or rig.outside(skill.phases, Motion.ORDINARY):
            rig.log(Kind.PERSON, "gate", what=f"the handset did not move {part}: it is forbidden now")
            rig.declare({})
            continue
        for phase in skill.phases:
            why = rig.advance(phase)
            if why is Why.MONITOR:
                respond(rig, Cut(skill, start))
            if why is not Why.END:
                break
        rig.declare({})


def retreat(rig: Rig, skill: Skill) -> None:
    """Carry out a skill that leads away from the person, whatever the monitor says meanwhile."""
    rig.declare({})
    for phase in skill.phases:
        rig.advance(phase, Motion.RETREAT, enforce=False)


@dataclass(frozen=True, slots=True)
class Cut:
    """A skill that was cut short, and the setpoints, shape (a,), it began from."""

    skill: Skill
    start: FloatArray


def respond(rig: Rig, cut: Cut | None) -> str:
    """Do what the interlock demands; return it in words for the agent.

    Args:
        rig: The rig.
        cut: The skill that was cut short, None when nothing was moving.
    """
    verdict = rig.oversight.strongest()
    if verdict is None:
        return "the monitor cleared again before anything had to be done"
    rig.oversight.intervene(verdict)
    rig.declare({})
    if verdict.response is Response.RETRACT:
        if rig.near_person():
            retreat(rig, skills.park(rig.here))
        elif cut is not None and cut.skill.undo > 0:
            _reverse(rig, cut)
        elif (back := skills.drawn_in(rig.here)) is not None:
            retreat(rig, back)
        rig.oversight.signal(Signal.RETRACTED)
        rig.oversight.review(rig.near_person)
    return f"{verdict.response.value}: {verdict.rule.sentence}"


def _reverse(rig: Rig, cut: Cut) -> None:
    """Move back the way the skill came: an arm in the way must come free, and stay free.

    A bed goes all the way to where it began: less would let every new try squeeze a little more.
    """
    rows = np.concatenate([cut.start[None, :], *(p.rows for p in cut.skill.phases)])
    reached = int(np.argmin(np.abs(rows - rig.setpoints).sum(axis=1)))
    near = np.abs(rows[:reached] - rig.setpoints).max(axis=1) <= cut.skill.undo
    back = np.ascontiguousarray(rows[:reached][near][::-1])
    if len(back):
        rig.advance(Phase(back, cut.skill.phases[0].period_ns), Motion.RETREAT, enforce=False)
