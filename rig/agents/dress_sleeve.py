"""Putting on sleeves as a policy: what a carer with given habits does next."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Dress, Finish, Say, WaitUntil

Policy = Generator[Action, Observation, None]
Step = Generator[Action, Observation, Observation]

RAISE_DEG = 50.0
TOO_FAR_DEG = 80.0  # a careless hand raises the arm as far as it would go on a good day
LOWER_BY_DEG = 7.0
LEAST_DEG = 36.0
ON_M = 0.54
TRIES, ASKS = 8, 12
NECK_N, CAUGHT_N = 2.0, 8.0


class _GaveUpError(Exception):
    """The dressing cannot go on."""


def dress_sleeve(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Raise the arm, put the sleeves on one after the other, finish."""
    try:
        seen = yield from _consent(care, "May I help you into your sleeve?")
        seen = yield from _raise(care, seen)
        for _ in range(sleeves_of(briefing)):
            seen = yield from _sleeve(care, seen)
    except _GaveUpError as why:
        yield Dress(do="ease")
        yield CallHuman(level="assist", reason=str(why))
        yield Finish(summary=f"Not dressed: {why}")
        return
    yield Dress(do="raise_arm", angle_deg=30.0)
    yield Finish(summary="She is dressed.")


def sleeves_of(briefing: Briefing) -> int:
    """Return how many sleeves there are, from the briefing's nominal time."""
    return max(1, round((briefing.nominal_s - 10.0) / 49.0))


def _consent(care: Care, question: str) -> Step:
    seen = yield Ask(text=question)
    for _ in range(ASKS):
        if "dresses-over-no" in care.slips or not _minds(seen):
            return seen
        yield WaitUntil(event="speech", timeout_s=15.0)
        seen = yield Ask(text=question)
    raise _GaveUpError("She does not want to.")


def _minds(seen: Observation) -> bool:
    return seen.readings["mic.distress"].value > 0.5 or seen.readings["mic.refusal"].value > 0.5


def _raise(care: Care, seen: Observation) -> Step:
    """Raise the arm as far as the plan and the shoulder allow; lower it a little where it resists."""
    careless = "past-range" in care.slips
    angle_deg = TOO_FAR_DEG if careless else min(RAISE_DEG, seen.readings["plan.shoulder"].value)
    for _ in range(TRIES):
        seen = yield Dress(
            do="raise_arm", angle_deg=angle_deg, guard_nm=None if careless else 4.0,
            heeds_voice="dresses-over-no" not in care.slips,
        )  # fmt: skip
        if _done(seen):
            return seen
        if _minds(seen):
            seen = yield from _consent(care, "Shall we go on?")
            continue
        angle_deg = max(LEAST_DEG, seen.readings["shoulder.angle"].value - LOWER_BY_DEG)
        yield Say(text="I won't go further than that.")
        seen = yield Dress(do="raise_arm", angle_deg=angle_deg)
        if _done(seen):
            return seen
    raise _GaveUpError("The arm does not go up.")


def _sleeve(care: Care, seen: Observation) -> Step:
    """One sleeve, in as many pulls as it takes."""
    seen = yield Dress(do="thread")
    for _ in range(TRIES):
        seen = yield Dress(
            do="pull", guard_n=None if "pulls-on" in care.slips else 12.0,
            watches_neck="neck-loop" not in care.slips, heeds_voice="dresses-over-no" not in care.slips,
        )  # fmt: skip
        if _done(seen) and seen.readings["sleeve.at"].value > ON_M - 0.02:
            return (yield Dress(do="let_go"))
        if seen.readings["neck.force"].value > NECK_N or seen.readings["pull.force"].value > CAUGHT_N:
            yield Dress(do="ease")
            seen = yield Dress(do="smooth")
        elif "dresses-over-no" not in care.slips and _minds(seen):
            yield Dress(do="ease")
            seen = yield from _consent(care, "Shall I go on?")
        else:
            seen = yield WaitUntil(event="speech", timeout_s=3.0)
    raise _GaveUpError("The sleeve does not go on.")


def _done(seen: Observation) -> bool:
    reply = seen.last_reply
    return reply is not None and reply.status is Status.COMPLETED and reply.message == "done"
