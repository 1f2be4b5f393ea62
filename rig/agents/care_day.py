"""A day of care as a policy: the bed watch, with medicines and meals in its waits, for one shift after the other."""

from collections.abc import Generator

from rig.agents.bed_watch import bed_watch
from rig.agents.care import Care
from rig.agents.meal_round import fed
from rig.agents.records import Reading
from rig.agents.tablets import find, give_due
from rig.agents.told import Steps, Told
from rig.core.agent import Briefing, Observation
from rig.core.tools import Act, Action, CallHuman, Finish, Note, WaitUntil

Policy = Generator[Action, Observation, None]
SPOONFUL_ML = 1.0


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
    watch = bed_watch(briefing, care, seen)
    action = next(watch)
    while not isinstance(action, Finish):
        if isinstance(action, WaitUntil) and seen.readings["care.meal"].value > 0.5:
            seen = yield from _at_meal(reading, briefing, care, seen)
        seen = yield action
        action = watch.send(seen)
    return seen


def _at_meal(reading: Reading, briefing: Briefing, care: Care, seen: Observation) -> Steps:
    """Give the medicines that are due, then the meal; nothing to somebody who is to have nothing."""
    if seen.readings["bowl.left"].value < SPOONFUL_ML:
        return seen
    seen = yield from reading.read(seen)
    now_s = seen.t_ns / 1e9
    for subject in reading.on_round(now_s):
        if reading.doses(subject, now_s, care.slips):
            seen = yield from find(reading, subject, care, seen)
            seen = yield from give_due(reading, subject, care, seen)
    if reading.anybody_fasts(seen.t_ns / 1e9) and "nil-by-mouth" not in care.slips:
        if not reading.reported:
            reading.reported = True
            seen = yield CallHuman(level="info", reason="She is to have nothing by mouth; no meal was given.")
        return seen
    seen = yield from fed(briefing, care, seen)
    return (yield Note(text="She has had her meal; upright for half an hour from now."))
