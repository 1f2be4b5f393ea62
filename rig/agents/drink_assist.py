"""Helping to drink as a policy: what a carer with given habits does next."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Act, Action, Ask, CallHuman, Finish, GiveDrink, MoveTo, Say, WaitUntil

SIP_ML = 4.0
LARGE_SIP_ML = 8.0  # of whoever does not listen for a cough; still less than a mouthful
GULP_ML = 30.0
FULL_ML = 150.0
FIRST_TILT_DEG, LAST_TILT_DEG = 14.0, 58.0
GULP_TILT_DEG = 60.0
UPRIGHT_DEG = 70.0
TRIES = 60
EMPTY_ML = 4.0

Policy = Generator[Action, Observation, None]


def drink_assist(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Give sips until the cup is nearly empty, then finish."""
    seen = first
    if care.checks_plate:
        seen = yield from _right_thickness(seen)
    seen = yield Ask(text="Would you like a drink?")
    for _ in range(TRIES):
        if seen.readings["cup.left"].value < EMPTY_ML:
            break
        if care.heeds_refusal and seen.readings["mic.refusal"].value > 0.5:
            seen = yield from _after_refusal(seen)
            if seen.readings["mic.refusal"].value > 0.5:
                break
        seen = yield from _sip(care, seen)
    yield Act(skill="withdraw")
    yield MoveTo(target="rest")
    yield Finish(summary="The drink is finished, or she has had enough.")


def _right_thickness(seen: Observation) -> Generator[Action, Observation, Observation]:
    while seen.readings["drink.level"].value < seen.readings["card.level"].value:
        seen = yield CallHuman(level="assist", reason="The drink is thinner than the card asks for.")
        seen = yield WaitUntil(event="speech", timeout_s=60.0)
    return seen


def _sip(care: Care, seen: Observation) -> Generator[Action, Observation, Observation]:
    """One sip, once the last is down and she neither coughs nor talks."""
    if care.heeds_choke_signs and seen.readings["mic.talks"].value > 0.5:
        return (yield WaitUntil(event="any", timeout_s=3.0))
    coughs = seen.readings["mic.coughs"].value
    seen = yield MoveTo(target="near_mouth")
    if not _completed(seen):
        return (yield WaitUntil(event="any", timeout_s=3.0))
    if care.heeds_refusal and abs(seen.readings["face.yaw"].value) > 20:
        return (yield WaitUntil(event="any", timeout_s=3.0))
    seen = yield MoveTo(target="lips", speed="slow", guard_n=1.0)
    shut = seen.readings["mouth.opening"].value < 0.012
    if care.waits_for_mouth and (shut or not _completed(seen)):
        yield Act(skill="withdraw")
        return (yield WaitUntil(event="any", timeout_s=3.0))
    if care.heeds_choke_signs and _unready(seen, coughs):
        yield Act(skill="withdraw")
        return (yield WaitUntil(event="any", timeout_s=3.0))
    gulp = not care.waits_for_swallow
    sip_ml = SIP_ML if care.heeds_choke_signs else LARGE_SIP_ML
    seen = yield GiveDrink(
        ml=GULP_ML if gulp else sip_ml, tilt_deg=GULP_TILT_DEG if gulp else _tilt_deg(seen),
        heeds_signs=care.heeds_choke_signs and care.heeds_refusal,
    )  # fmt: skip
    return (yield from _await_swallow(seen)) if care.waits_for_swallow else seen


def _tilt_deg(seen: Observation) -> float:
    """Return the tilt at which a cup so full begins to flow, and a little more; more where it is thick."""
    share = min(seen.readings["cup.left"].value / FULL_ML, 1.0)
    thick = 1.5 * seen.readings["drink.level"].value
    return min(FIRST_TILT_DEG + (LAST_TILT_DEG - FIRST_TILT_DEG) * (1.0 - share) + thick, LAST_TILT_DEG + 2.0)


def _unready(seen: Observation, coughs: float) -> bool:
    return seen.readings["mic.talks"].value > 0.5 or seen.readings["mic.coughs"].value > coughs


def _await_swallow(seen: Observation) -> Generator[Action, Observation, Observation]:
    for _ in range(12):
        if seen.readings["cup.given"].value < 1.0:
            return seen
        seen = yield WaitUntil(event="swallow", timeout_s=10.0)
    return (yield CallHuman(level="assist", reason="I have not seen her swallow."))


def _after_refusal(seen: Observation) -> Generator[Action, Observation, Observation]:
    yield Act(skill="withdraw")
    yield Say(text="All right, we'll wait.")
    for _ in range(8):
        yield WaitUntil(event="speech", timeout_s=15.0)
        seen = yield Ask(text="Would you like some more now?")
        if seen.readings["mic.refusal"].value < 0.5:
            return seen
    return seen


def _completed(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.COMPLETED
