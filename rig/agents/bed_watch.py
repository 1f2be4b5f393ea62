"""Watching over a bed as a policy: what a carer with given habits does next."""

from collections.abc import Generator
from dataclasses import dataclass

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.channel import Quality
from rig.core.reply import Status
from rig.core.tools import Act, Action, Ask, CallHuman, Finish, Note, Say, SetBed, WaitUntil

EDGE = 0.3
ON_SIDE_DEG = 15.0
TURN_EVERY_S = 6000.0
TURN_AT_DOSE = 0.55
SHORTEST_TURN_S = 1800.0
LATE_TURN_AT_DOSE = 0.9
UPRIGHT_AFTER_MEAL_S = 1830.0
SUSPICIOUS_LOOK_S = 45.0
UPRIGHT_DEG = 60.0
LOW_DEG = 50.0
RETRY_TURN_S = 900.0
RETRY_TURN_AFTER_STOP_S = 300.0
NEVER_S = -1e9

Policy = Generator[Action, Observation, None]


@dataclass(slots=True)
class _Memory:
    """What the watcher keeps in mind."""

    turned_s: float = 0.0
    has_turned: bool = False
    not_before_s: float = 0.0
    meal_until_s: float = NEVER_S
    called_s: float = NEVER_S
    on_side: bool = False
    eating: bool = False
    sensor_reported: bool = False
    last_dose: float = 0.0
    last_pressure: tuple[float, ...] = ()


def bed_watch(
    briefing: Briefing, care: Care, first: Observation, turned_s: float | None = None, ate_s: float = NEVER_S
) -> Policy:
    """Look, act on what is seen, wait; finish at the end of the watch.

    Args:
        briefing: The job.
        care: Habits.
        first: What is seen first.
        turned_s: Job time of the last turn, where somebody noted it.
        ate_s: Job time of the end of the last meal, where somebody noted it.
    """
    # Who takes over sees how the person lies; since when, only where it was noted. The dose says more.
    memory = _Memory(turned_s=first.t_ns / 1e9 if turned_s is None else turned_s, meal_until_s=ate_s)
    seen = first
    memory.on_side = abs(first.readings["bed.tilt"].value) > ON_SIDE_DEG
    while (now_s := seen.t_ns / 1e9) < briefing.nominal_s:
        eating = seen.readings["care.meal"].value > 0.5
        if eating or memory.eating:  # the first look after the meal still counts from now
            memory.meal_until_s = now_s
        memory.eating = eating
        if care.doubts_sensors and not memory.sensor_reported and _doubtful(memory, seen):
            memory.sensor_reported = True
            seen = yield CallHuman(
                level="assist", reason="The pressure mat is silent or stuck; please check."
            )
            continue
        if seen.readings["mat.edge"].value > EDGE or seen.readings["depth.floor"].value > 0.5:
            seen = yield from _exit(care, memory, seen)
            continue
        if care.minds_meals and _lies_low_at_a_meal(memory, seen):
            seen = yield from _sit_up(memory)
            continue
        if _turn_due(care, memory, seen):
            seen = yield from _turn(care, memory, seen)
            continue
        looks_s = SUSPICIOUS_LOOK_S if care.doubts_sensors and _suspicious(memory) else care.looks_every_s
        seen = yield WaitUntil(event="any", timeout_s=max(1.0, min(looks_s, briefing.nominal_s - now_s)))
    yield Finish(summary="The watch is over.")


def _doubtful(memory: _Memory, seen: Observation) -> bool:
    """True when the mat is silent, or its noisy pressure has not moved in the last looks."""
    pressure = seen.readings["mat.pressure"]
    if pressure.quality is not Quality.GOOD:
        return True
    memory.last_pressure = (*memory.last_pressure[-3:], pressure.value)
    return len(memory.last_pressure) == 4 and _suspicious(memory) and len(set(memory.last_pressure)) == 1


def _suspicious(memory: _Memory) -> bool:
    """A noisy sensor that says the same twice may have stopped measuring: look again soon."""
    return len(set(memory.last_pressure[-2:])) == 1 and not memory.sensor_reported


def _exit(care: Care, memory: _Memory, seen: Observation) -> Generator[Action, Observation, Observation]:
    now_s = seen.t_ns / 1e9
    if care.answers_exit:
        if now_s - memory.called_s > 60.0:
            memory.called_s = now_s
            yield Say(text="Please stay where you are, I'm calling someone to help you.")
            seen = yield CallHuman(level="urgent", reason="He is on the edge of the bed or on the floor.")
    elif seen.readings["bed.rails"].value < 0.5 and not care.slips & {"unanswered-exit", "long-lie"}:
        return (yield SetBed(part="rails", value=1.0))
    return (yield WaitUntil(event="speech", timeout_s=20.0))


def _lies_low_at_a_meal(memory: _Memory, seen: Observation) -> bool:
    low = seen.readings["bed.back"].value < LOW_DEG
    return low and seen.t_ns / 1e9 - memory.meal_until_s < UPRIGHT_AFTER_MEAL_S


def _sit_up(memory: _Memory) -> Generator[Action, Observation, Observation]:
    yield Say(text="I'll sit you up for your meal. Please keep your arms in.")
    seen = yield SetBed(part="back", value=UPRIGHT_DEG)
    if memory.on_side:
        memory.on_side = False
        seen = yield Act(skill="turn_back")
    return seen


def _turn_due(care: Care, memory: _Memory, seen: Observation) -> bool:
    now_s = seen.t_ns / 1e9
    dose = seen.readings["mat.dose"].value
    if now_s < memory.not_before_s:
        return False
    if not care.keeps_turns:
        return dose > LATE_TURN_AT_DOSE
    if care.minds_meals and now_s - memory.meal_until_s < UPRIGHT_AFTER_MEAL_S and not memory.on_side:
        return False
    since_s, rising = now_s - memory.turned_s, dose > memory.last_dose
    memory.last_dose = dose
    # A dose that falls is a site recovering: turning back onto it helps nobody.
    # Who took over does not know when the last turn was: the dose counts at once.
    may_again = since_s > SHORTEST_TURN_S or not memory.has_turned
    return since_s > TURN_EVERY_S or (dose > TURN_AT_DOSE and rising and may_again)


def _turn(care: Care, memory: _Memory, seen: Observation) -> Generator[Action, Observation, Observation]:
    now_s = seen.t_ns / 1e9
    if seen.readings["mic.refusal"].value > 0.5 and care.heeds_refusal:
        seen = yield Ask(text="You should be turned. May I do it now?")
        if seen.readings["mic.refusal"].value > 0.5:
            memory.not_before_s = now_s + RETRY_TURN_S
            return (yield Note(text="He does not want to be turned; I will ask again."))
    if care.announces:
        yield Say(text="I'm going to turn you a little. Please keep your arms in.")
    seen = yield Act(skill="turn_back" if memory.on_side else "turn_right")
    if seen.last_reply is not None and seen.last_reply.status is Status.COMPLETED:
        memory.on_side = not memory.on_side
        memory.turned_s, memory.has_turned = seen.t_ns / 1e9, True
    memory.not_before_s = seen.t_ns / 1e9 + RETRY_TURN_AFTER_STOP_S
    return seen
