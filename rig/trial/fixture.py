"""Tools that the room answers: documents, identity bands, the medicine cart, hand-overs.

They pass the same gate as motions: the rules are told what is intended before it happens, time
passes while it is done, and a rule that breaks meanwhile prevents it.
"""

from rig.core.clock import nanoseconds
from rig.core.errors import UsageError
from rig.core.event import Kind, Severity
from rig.core.person import Fixture
from rig.core.reply import Status
from rig.core.tools import FixtureAction, GoTo, HandOver
from rig.trial.effect import Effect, refuse
from rig.trial.parts import Why
from rig.trial.rig import Rig
from rig.trial.safe import by_hand, respond
from safety_monitor.interlock import Motion

SENSED_NS = nanoseconds(0.2)
"""Until every display of the room shows what was done: two periods of its sensors."""


def handle(rig: Rig, action: FixtureAction, action_id: int) -> Effect:
    """Carry out a tool call that the room answers, as far as gate and monitor allow.

    Raises:
        UsageError: If a task offers such a tool without having such a room.
    """
    fixture = rig.fixture
    if fixture is None:
        raise UsageError(f"{action.tool}: this task offers the tool, but its room has no fixture")
    handling = fixture.plan(rig.t_ns, action)
    if handling.cannot:
        return refuse(rig, action_id, [handling.cannot])
    if isinstance(action, GoTo) and rig.near_person():
        return refuse(rig, action_id, ["the arm is near the person; move it to rest first"])
    if handling.intents:
        if reasons := rig.forbidden(handling.intents, Motion.ORDINARY):
            return refuse(rig, action_id, list(reasons))
        rig.log(Kind.AUTHORISED, "gate", action_id=action_id, allowed=True, reasons=[])
        rig.log(
            Kind.COMMANDED, "controller", action_id=action_id, ticks=0,
            target=[round(float(v), 6) for v in rig.setpoints],
        )  # fmt: skip
    effect = _carry_out(rig, fixture, action, handling.takes_s)
    if handling.intents:
        rig.declare({})
        rig.log(
            Kind.EFFECTED, "bench", action_id=action_id, status=effect.status.value, message=effect.message,
            peak_force_n=None,
        )  # fmt: skip
    return effect


def _carry_out(rig: Rig, fixture: Fixture, action: FixtureAction, takes_s: float) -> Effect:
    end_ns = rig.t_ns + nanoseconds(takes_s)
    while rig.t_ns < end_ns:
        by_hand(rig)
        match rig.rest(end_ns - rig.t_ns):
            case Why.MONITOR:
                return Effect(Status.STOPPED_BY_MONITOR, respond(rig, None))
            case Why.TIME:
                return Effect(Status.TIMED_OUT, "the time of the job is over")
            case _:
                continue
    handled = fixture.use(rig.t_ns, action)
    rig.happen(handled.behaviour)
    rig.rest(SENSED_NS)
    if isinstance(action, HandOver):
        rig.log(Kind.NOTED, "agent", Severity.NOTICE, text=action.text)
    return Effect(Status.COMPLETED, handled.message, entries=handled.entries)
