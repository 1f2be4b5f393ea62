"""From an action to what was measured: authorise, carry out, reply."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds
from rig.core.errors import UsageError
from rig.core.event import Kind
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Finish, FixtureTool, Note, Observe, Say, WaitUntil
from rig.core.tools import Stop as StopTool
from rig.core.watch import Guard
from rig.trial.effect import Effect, refuse
from rig.trial.equipment import skill_for
from rig.trial.fixture import handle
from rig.trial.parts import Why
from rig.trial.phases import Phase, Skill
from rig.trial.rig import Rig
from rig.trial.safe import Cut, by_hand, idle, respond, retreat
from rig.trial.skills import still, withdraw
from safety_monitor.interlock import Motion

SECONDS_PER_WORD = 0.4
LISTEN_S = 2.0
STALE_AFTER_NS = nanoseconds(30.0)
"""A motion resting on an observation older than this is refused: the world has moved on."""
ALWAYS = ("stop", "call_human", "finish")
"""Tools that are accepted whatever the task offers."""


@dataclass(frozen=True, slots=True)
class Happening:
    """What ends a wait: a reading that reaches a level, or a count that goes up.

    Attributes:
        event: As `WaitUntil` names it.
        above: The level, or by how much the count goes up.
        text: What has happened, for the agent.
        counts: Whether the channel counts.
    """

    event: str
    above: float
    text: str
    counts: bool = False


HAPPENINGS: Mapping[str, Happening] = {
    "throat.swallows": Happening("swallow", 0.5, "a swallow", counts=True),
    "mic.coughs": Happening("cough", 0.5, "a cough", counts=True),
    "mat.edge": Happening("movement", 0.3, "weight on the edge of the bed"),
    "depth.floor": Happening("movement", 0.5, "somebody on the floor"),
    "care.meal": Happening("movement", 0.5, "a meal has begun"),
    "mic.distress": Happening("speech", 0.5, "a cry"),
}
"""By channel; a task's agent is told of those among its own sensors."""


def carry_out(rig: Rig, action: Action, action_id: int) -> Effect:
    """Carry an action out, as far as gate and monitor allow, and return what became of it."""
    if action.tool not in (*rig.tools, *ALWAYS):
        offered = ", ".join(rig.tools)
        return refuse(rig, action_id, [f"this task does not offer {action.tool}; it offers {offered}"])
    match action:
        case Observe():
            return _observe(rig, action, action_id)
        case Say() | Ask():
            return _speak(rig, action)
        case Note():
            rig.log(Kind.NOTED, "agent", text=action.text)
            return Effect(Status.COMPLETED, "noted")
        case CallHuman():
            rig.call(action.level, action.reason, by="agent")
            return Effect(Status.COMPLETED, f"{action.level} call sent")
        case StopTool():
            rig.declare({})
            return Effect(Status.COMPLETED, "all motion stopped")
        case WaitUntil():
            return _wait(rig, action)
        case Finish():
            return Effect(Status.COMPLETED, "the job is over")
        case FixtureTool():
            return handle(rig, action, action_id)
        case _:
            return _move(rig, action, action_id)


def _observe(rig: Rig, action: Observe, action_id: int) -> Effect:
    """Look at the sensors, which costs nothing, and through a camera, which takes its exposures."""
    if action.camera is None:
        return Effect(Status.COMPLETED, "see the readings")
    try:
        seen = rig.look(action.camera, action.width, lambda for_ns: _dwell(rig, for_ns))
    except UsageError as error:
        return refuse(rig, action_id, [str(error)])
    if not seen.data:
        text = f"camera {seen.camera}: {', '.join(seen.flaws)}; there is no picture that can be believed"
        return Effect(Status.FAULT, text, sightings=(seen,))
    return Effect(
        Status.COMPLETED, f"see the readings and the picture of camera {seen.camera}", sightings=(seen,)
    )


def _dwell(rig: Rig, for_ns: int) -> None:
    """Keep still for just so long, to the tick."""
    end_ns = rig.t_ns + for_ns
    while rig.t_ns < end_ns and not rig.out_of_time:
        if rig.rest(end_ns - rig.t_ns, to_the_tick=True) is Why.MONITOR:
            respond(rig, None)


def _speak(rig: Rig, action: Say | Ask) -> Effect:
    """Speech takes time; an answer is waited for only when asked for."""
    idle(rig, nanoseconds(SECONDS_PER_WORD * (1 + len(action.text.split()))))
    heard = len(rig.heard)
    rig.tell(action.text, isinstance(action, Ask))
    if not isinstance(action, Ask):
        return Effect(Status.COMPLETED, "said")
    answered = len(rig.heard) > heard
    idle(rig, nanoseconds(LISTEN_S if answered else action.timeout_s))
    answer = "; ".join(rig.heard[heard:])
    return Effect(Status.COMPLETED, answer) if answer else Effect(Status.TIMED_OUT, "no answer")


def _wait(rig: Rig, action: WaitUntil) -> Effect:
    """Let time pass until something happens that the agent has not been shown yet."""
    guards = _wait_guards(action.event, rig.seen, rig.observes)
    heard, noticed = len(rig.heard), len(rig.noticed)
    end_ns = rig.t_ns + nanoseconds(action.timeout_s)
    while rig.t_ns < end_ns and not rig.out_of_time:
        by_hand(rig)
        if happened := _happened(guards, rig.snapshot):
            rig.noticed.extend(happened)
            return Effect(Status.COMPLETED, "; ".join(rig.noticed[noticed:]))
        with rig.giving_way():
            why = rig.rest_until(end_ns, guards)
        if why is Why.SUPERSEDED:
            return Effect(Status.SUPERSEDED, "the wait was cut short by another call")
        if why is Why.MONITOR:
            respond(rig, None)
        if action.event in ("any", "speech") and len(rig.heard) > heard:
            return Effect(Status.COMPLETED, "something was said")
        if len(rig.noticed) > noticed:
            return Effect(Status.COMPLETED, "; ".join(rig.noticed[noticed:]))
    return Effect(Status.TIMED_OUT, "the time is up")


def _wait_guards(event: str, seen: Snapshot, observes: tuple[str, ...]) -> tuple[Guard, ...]:
    """Return guards on the agent's own sensors for what it has not been shown.

    Args:
        event: What to wait for.
        seen: What the agent was last shown; a channel it could not believe then is left out.
        observes: The channels it is shown.
    """
    found = []
    for channel, happening in HAPPENINGS.items():
        if channel in observes and event in ("any", happening.event) and seen[channel].good:
            above = happening.above + (seen.value(channel) if happening.counts else 0.0)
            if seen.value(channel) < above:
                found.append(Guard(channel, above=above))
    return tuple(found)


def _happened(guards: tuple[Guard, ...], snapshot: Snapshot) -> list[str]:
    found = []
    for guard in guards:
        reading = snapshot[guard.channel]
        if not reading.good:
            found.append(f"no reading from {guard.channel} ({reading.quality.name.lower()})")
        elif reading.value >= guard.above:
            found.append(HAPPENINGS[guard.channel].text)
    return found


def _move(rig: Rig, action: Action, action_id: int) -> Effect:
    """Authorise and run a skill."""
    age_ns = rig.t_ns - rig.seen.t_ns
    if age_ns > STALE_AFTER_NS:
        return refuse(rig, action_id, [f"the observation is {age_ns / 1e9:.1f} s old; observe again"])
    try:
        skill = skill_for(action, rig.here, rig.snapshot)
    except UsageError as error:
        return refuse(rig, action_id, [str(error)])
    if skill is None:
        return refuse(rig, action_id, ["this bench has no such skill"])
    motion = Motion.RETREAT if skill.retreats else Motion.ORDINARY
    if reasons := rig.forbidden(skill.intents, motion):
        return refuse(rig, action_id, list(reasons))
    if reasons := rig.outside(skill.phases, motion):
        rig.declare({})
        return refuse(rig, action_id, list(reasons))
    rig.log(Kind.AUTHORISED, "gate", action_id=action_id, allowed=True, reasons=[])
    rig.log(
        Kind.COMMANDED, "controller", action_id=action_id, ticks=sum(len(p.rows) for p in skill.phases),
        target=[round(float(v), 6) for v in (skill.phases[-1].rows[-1] if skill.phases else rig.setpoints)],
    )  # fmt: skip
    effect = _run(rig, skill, motion)
    rig.declare({})
    rig.log(
        Kind.EFFECTED, "bench", action_id=action_id, status=effect.status.value, message=effect.message,
        peak_force_n=None if effect.peak_force_n is None else round(effect.peak_force_n, 3),
    )  # fmt: skip
    return effect


def _phases(rig: Rig, skill: Skill) -> Iterator[Phase]:
    """Yield a skill's phases, and on a bench with wires the time its last command is still on its way."""
    yield from skill.phases
    if rig.bench.devices:
        yield still(rig.here, math.ceil(rig.bench.reaction_ns / rig.bench.tick_ns))


def _run(rig: Rig, skill: Skill, motion: Motion) -> Effect:
    rig.peak_force_n = 0.0
    start = rig.setpoints.copy()
    for phase in _phases(rig, skill):
        with rig.giving_way():
            why = rig.advance(phase, motion)
        match why:
            case Why.END:
                continue
            case Why.GUARD:
                if skill.lifts:
                    retreat(rig, withdraw(rig.here))
                return Effect(Status.COMPLETED, "stopped at the guard", rig.peak_force_n)
            case Why.MONITOR:
                return Effect(Status.STOPPED_BY_MONITOR, respond(rig, Cut(skill, start)), rig.peak_force_n)
            case Why.GATE:
                return Effect(Status.REFUSED_BY_GATE, "the motion would leave the envelope", rig.peak_force_n)
            case Why.SUPERSEDED:
                return Effect(Status.SUPERSEDED, "stopped half-way by another call", rig.peak_force_n)
            case Why.TIME:
                return Effect(Status.TIMED_OUT, "the time of the job is over", rig.peak_force_n)
    return Effect(Status.COMPLETED, "done", rig.peak_force_n)
