"""What the rig does of its own accord: hold-safe when nobody commands, and what the monitor demands.

The agent has no part in any of it. Times and distances are those of the hold-safe table:
near the face hold 2 s, then back off, after 10 s go to rest; in free space hold; a bed keeps still.
"""

import numpy as np

from rig.core.clock import nanoseconds
from rig.trial import skills
from rig.trial.parts import Why
from rig.trial.rig import Rig
from rig.trial.skills import Phase, Skill
from safety_monitor.interlock import Motion, Signal, State

BACK_OFF_AFTER_NS = nanoseconds(2.0)
PARK_AFTER_NS = nanoseconds(10.0)
REVERSE_DEG = 3.0


def idle(rig: Rig, for_ns: int) -> None:
    """Let time pass with nobody commanding: the hold-safe table.

    What the monitor demands meanwhile is carried out.
    """
    start_ns, end_ns = rig.t_ns, rig.t_ns + for_ns
    while rig.t_ns < end_ns and not rig.out_of_time:
        waited_ns = rig.t_ns - start_ns
        if rig.near_face() and waited_ns >= PARK_AFTER_NS:
            retreat(rig, skills.park(rig.here))
            continue
        until_ns = BACK_OFF_AFTER_NS if waited_ns < BACK_OFF_AFTER_NS else PARK_AFTER_NS
        step_ns = min(end_ns - rig.t_ns, until_ns - waited_ns if rig.near_face() else end_ns - rig.t_ns)
        if rig.rest(max(1, step_ns)) is Why.MONITOR:
            respond(rig, None)
        elif rig.near_face() and rig.t_ns - start_ns >= BACK_OFF_AFTER_NS and rig.t_ns < end_ns:
            retreat(rig, skills.withdraw(rig.here))


def retreat(rig: Rig, skill: Skill) -> None:
    """Carry out a skill that leads away from the person, whatever the monitor says meanwhile."""
    rig.declare({})
    for phase in skill.phases:
        rig.advance(phase, Motion.RETREAT, enforce=False)


def respond(rig: Rig, skill: Skill | None) -> str:
    """Do what the interlock demands; return it in words for the agent.

    Args:
        rig: The rig.
        skill: The skill that was cut short, None when nothing was moving.
    """
    verdict = rig.strongest()
    if verdict is None:
        return "the monitor cleared again before anything had to be done"
    rig.intervene(verdict)
    rig.declare({})
    if rig.interlock is State.RETRACT:
        if rig.near_face():
            retreat(rig, skills.park(rig.here))
        elif skill is not None and "intent.bed" in skill.intents:
            _reverse_bed(rig, skill)
        rig.signal(Signal.RETRACTED)
        rig.review()
    return f"{verdict.response.value}: {verdict.rule.sentence}"


def _reverse_bed(rig: Rig, skill: Skill) -> None:
    """Move the bed back the way it came, a little: an arm in the frame must come free."""
    rows = np.concatenate([p.rows for p in skill.phases])
    reached = int(np.argmin(np.abs(rows - rig.setpoints).sum(axis=1)))
    back = rows[max(0, reached - round(REVERSE_DEG / 0.2)) : reached + 1][::-1]
    if len(back):
        rig.advance(Phase(np.ascontiguousarray(back), skills.BED_TICK_NS), Motion.RETREAT, enforce=False)
