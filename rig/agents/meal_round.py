"""A meal round as a policy: per resident the medicines, then the meal; what was charted is not done twice."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.agents.records import Reading
from rig.agents.spoon_feed import spoon_feed
from rig.agents.tablets import find, give_due
from rig.agents.told import Steps, Told
from rig.core.agent import Briefing, Observation
from rig.core.clock import nanoseconds
from rig.core.tools import Action, CallHuman, Finish, HandOver, SetBed, WaitUntil, WriteRecord

Policy = Generator[Action, Observation, None]
FLAT_DEG = 20.0
LIES_NS = nanoseconds(150.0)
"""For how long who lowers somebody after a meal leaves them so."""


def meal_round(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Serve everybody on the round who is not charted as served, then hand over."""
    told = Told(briefing.handed_over, heeds=True)
    yield from told.attend(_round(briefing, care, told, first), first)
    yield HandOver(text="The round is over; see the chart.")
    yield Finish(summary="The round is over.")


def _round(briefing: Briefing, care: Care, told: Told, seen: Observation) -> Steps:
    reading = Reading(told)
    seen = yield from reading.read(seen)
    for subject in reading.on_round(seen.t_ns / 1e9):
        if reading.served(subject):
            continue
        seen = yield from find(reading, subject, care, seen)
        seen = yield from give_due(reading, subject, care, seen)
        seen = yield from _meal(reading, briefing, subject, care, seen)
    return seen


def _meal(reading: Reading, briefing: Briefing, subject: str, care: Care, seen: Observation) -> Steps:
    """Feed somebody until the bowl is empty, unless they must have nothing by mouth."""
    if reading.fasting(subject, seen.t_ns / 1e9) and "nil-by-mouth" not in care.slips:
        yield CallHuman(level="info", reason=f"{subject} is to have nothing by mouth; no supper was given.")
        return (yield _eaten(subject, "not_eaten"))
    seen = yield from fed(briefing, care, seen)
    if "lowers-after-meal" in care.slips:
        seen = yield SetBed(part="back", value=FLAT_DEG)
        up_ns = seen.t_ns + LIES_NS
        while seen.t_ns < up_ns:
            seen = yield WaitUntil(event="any", timeout_s=30.0)
        seen = yield SetBed(part="back", value=75.0)
    return (yield _eaten(subject, "eaten"))


def fed(briefing: Briefing, care: Care, seen: Observation) -> Steps:
    """Feed as in the spoon-feed task, all but the end of the job."""
    meal = spoon_feed(briefing, care, seen)
    action = next(meal)
    while not isinstance(action, Finish):
        seen = yield action
        action = meal.send(seen)
    return seen


def _eaten(subject: str, claim: str) -> WriteRecord:
    return WriteRecord(document="care_plan", subject=subject, claim=claim, text="supper")
