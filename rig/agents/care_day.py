"""A day of care as a policy: the bed watch, with medicines and meals in its waits, for one shift after the other."""

from collections.abc import Generator, Sequence

from rig.agents.bed_watch import NEVER_S, bed_watch
from rig.agents.care import Care
from rig.agents.meal_round import fed
from rig.agents.records import Reading
from rig.agents.tablets import find, give_due
from rig.agents.told import Steps, Told
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Act, Action, CallHuman, Finish, Note, WaitUntil

Policy = Generator[Action, Observation, None]
SPOONFUL_ML = 1.0
TURNED = "Her position was changed at"
ATE = "Upright for half an hour after a meal that ended at"
AT_LAST_S = 900.0
"""Before its time is over a dose is given without a meal, or withheld."""


def care_day(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Read, then watch over her until the day ends; what is due is done where the watch would wait."""
    told = Told(briefing.handed_over, heeds=True)
    yield from told.attend(_shift(briefing, care, told, first), first)
    yield Finish(summary="The day is over.")


def _shift(briefing: Briefing, care: Care, told: Told, seen: Observation) -> Steps:
    reading = Reading(told)
    seen = yield from reading.read(seen)
    if "barred-side" in care.slips and any(e.about == "left" for e in reading.entries.values()):
        seen = yield Act(skill="turn_left")
    notes = briefing.handed_over
    watch = bed_watch(briefing, care, seen, _noted_s(notes, TURNED, 0.0), _noted_s(notes, ATE, NEVER_S))
    action = next(watch)
    ate = served = False
    while not isinstance(action, Finish):
        if isinstance(action, WaitUntil):
            at_meal = seen.readings["care.meal"].value > 0.5
            if ate and not at_meal:
                seen = yield _note(ATE, seen)
            ate = at_meal
            if at_meal and not served:
                seen = yield from _at_meal(reading, briefing, care, seen)
            elif not at_meal and _must_give(reading, care, seen):
                seen = yield from reading.read(seen)
                seen = yield from _medicines(reading, care, seen)
            served = at_meal and (served or _done_with(reading, care, seen))
        seen = yield action
        if isinstance(action, Act) and seen.last_reply and seen.last_reply.status is Status.COMPLETED:
            seen = yield _note(TURNED, seen)  # the watch acts on the bed only
        action = watch.send(seen)
    return seen


def _note(what: str, seen: Observation) -> Note:
    """Return what the next shift must know of now."""
    return Note(text=f"{what} {seen.t_ns / 1e9:.0f} s")


def _noted_s(notes: Sequence[str], what: str, never_s: float) -> float:
    """Return the job time at which something was last noted."""
    times = [float(text.removeprefix(what).split()[0]) for text in notes if text.startswith(what)]
    return times[-1] if times else never_s


def _at_meal(reading: Reading, briefing: Briefing, care: Care, seen: Observation) -> Steps:
    """Give the meal, then the medicines that are due; nothing to somebody who is to have nothing."""
    if "missed-meal" in care.slips:
        return seen
    seen = yield from reading.read(seen)
    if reading.anybody_fasts(seen.t_ns / 1e9) and "nil-by-mouth" not in care.slips:
        seen = yield from _medicines(reading, care, seen)
        if not reading.reported:
            reading.reported = True
            seen = yield CallHuman(level="info", reason="She is to have nothing by mouth; no meal was given.")
        return seen
    if seen.readings["bowl.left"].value >= SPOONFUL_ML:
        seen = yield from fed(briefing, care, seen)
    if seen.readings["bowl.left"].value >= SPOONFUL_ML:
        return seen
    reading.ate_s = seen.t_ns / 1e9
    return (yield from _medicines(reading, care, seen))


def _done_with(reading: Reading, care: Care, seen: Observation) -> bool:
    """Return whether nothing is left to do at this meal."""
    nothing_to_eat = seen.readings["bowl.left"].value < SPOONFUL_ML
    return nothing_to_eat or reading.reported or "missed-meal" in care.slips


def _must_give(reading: Reading, care: Care, seen: Observation) -> bool:
    """Return whether the time of a dose is nearly over; who minds no food waits for no meal."""
    now_s = seen.t_ns / 1e9
    due = [dose for subject in reading.on_round(now_s) for dose in reading.doses(subject, now_s, care.slips)]
    ends = (d.entry.until_s for d in due if d.entry.until_s is not None)
    return any(end_s - now_s < AT_LAST_S for end_s in ends) or ("without-food" in care.slips and bool(due))


def _medicines(reading: Reading, care: Care, seen: Observation) -> Steps:
    """Give or withhold what is due now."""
    now_s = seen.t_ns / 1e9
    for subject in reading.on_round(now_s):
        if doses := reading.doses(subject, now_s, care.slips):
            if not all(d.against for d in doses):
                seen = yield from find(reading, subject, care, seen)
            seen = yield from give_due(reading, subject, care, seen)
    return seen
