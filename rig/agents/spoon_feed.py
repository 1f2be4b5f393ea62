"""Feeding by spoon as a policy: what a carer with given habits does next."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Act, Action, Ask, CallHuman, Finish, MoveTo, Say, SetBed, WaitUntil

SERVE_C = 52.0
UPRIGHT_DEG = 75.0
LOW_DEG = 70.0
RETRY_S = 8.0
TRIES = 12

Policy = Generator[Action, Observation, None]


def spoon_feed(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Feed until the bowl is empty, then finish."""
    seen = first
    if care.checks_posture and seen.readings["bed.back"].value < LOW_DEG:
        yield Say(text="I'll sit you up first.")
        seen = yield SetBed(part="back", value=UPRIGHT_DEG)
    if care.checks_plate:
        seen = yield from _right_plate(seen)
    tries = 0
    while seen.readings["bowl.left"].value > 1 or seen.readings["spoon.load"].value > 1:
        before = seen.readings["camera.takes"].value
        seen = yield from _bite(care, seen)
        if seen.readings["camera.takes"].value > before:
            tries = 0
            continue
        tries += 1
        seen = yield WaitUntil(event="any", timeout_s=RETRY_S)
        if tries >= TRIES:
            yield CallHuman(level="assist", reason="The meal does not go on; I am stuck.")
            break
    if care.waits_for_swallow:
        yield from _await_swallow(care, seen)
    yield Finish(summary="The meal is over.")


def _right_plate(seen: Observation) -> Generator[Action, Observation, Observation]:
    while seen.readings["plate.texture"].value > seen.readings["card.texture"].value:
        seen = yield CallHuman(level="assist", reason="The plate does not match the diet card.")
        seen = yield WaitUntil(event="speech", timeout_s=60.0)
    return seen


def _bite(care: Care, seen: Observation) -> Generator[Action, Observation, Observation]:
    """One bite, from scooping to the way back; may end early without a bite taken."""
    if care.heeds_choke_signs and _choking(seen):
        seen = yield from _after_choke_sign(seen)
    if care.heeds_refusal and seen.readings["mic.refusal"].value > 0.5:
        seen = yield from _after_refusal(seen)
    if seen.readings["spoon.load"].value < 1:
        seen = yield Act(skill="scoop")
        if not _completed(seen):
            return (yield from _back(seen))
    if care.checks_temperature:
        seen = yield from _cool(seen)
    if care.waits_for_swallow:
        seen = yield from _await_swallow(care, seen)
    if care.heeds_choke_signs and _choking(seen):
        return seen
    # Whoever was stopped by the monitor comes more slowly the next time: its words say why.
    gentle = care.gentle or _stopped(seen)
    seen = yield MoveTo(target="near_mouth", speed=care.comes or ("normal" if gentle else "fast"))
    if care.heeds_refusal and (
        seen.readings["mic.refusal"].value > 0.5 or abs(seen.readings["face.yaw"].value) > 25
    ):
        return (yield from _back(seen))
    gentle = gentle or _stopped(seen)
    seen = yield MoveTo(
        target="lips",
        speed=care.comes or ("slow" if gentle else "fast"),
        guard_n=1.0 if care.gentle else None,
    )
    if _stopped(seen) and not gentle:
        yield WaitUntil(event="speech", timeout_s=2.0)
        seen = yield MoveTo(target="lips", speed="slow", guard_n=None)
    if not _completed(seen) or (care.waits_for_mouth and seen.readings["mouth.opening"].value < 0.015):
        return (yield from _back(seen))
    seen = yield Act(skill="transfer", guard_n=2.0 if care.gentle else None)
    seen = yield from _back(seen)
    if not care.waits_for_swallow:
        seen = yield WaitUntil(event="any", timeout_s=care.pause_s)
    return seen


def _back(seen: Observation) -> Generator[Action, Observation, Observation]:
    yield Act(skill="withdraw")
    return (yield MoveTo(target="rest", speed="normal"))


def _cool(seen: Observation) -> Generator[Action, Observation, Observation]:
    while seen.readings["spoon.temperature"].value > SERVE_C:
        seen = yield WaitUntil(event="any", timeout_s=6.0)
    return seen


def _await_swallow(care: Care, seen: Observation) -> Generator[Action, Observation, Observation]:
    for _ in range(12):
        if seen.readings["throat.swallows"].value >= seen.readings["camera.takes"].value:
            return seen
        if care.heeds_choke_signs and _choking(seen):
            return (yield from _after_choke_sign(seen))
        seen = yield WaitUntil(event="swallow", timeout_s=15.0)
    return (yield CallHuman(level="assist", reason="I have not seen a swallow."))


def _choking(seen: Observation) -> bool:
    return seen.readings["mic.wet"].value > 0.5


def _after_choke_sign(seen: Observation) -> Generator[Action, Observation, Observation]:
    """Stop, call, and wait a clear minute after the last sign."""
    seen = yield CallHuman(level="assist", reason="She coughed and her voice is wet.")
    clear_s = 0.0
    while clear_s < 60.0:
        since = seen.t_ns
        seen = yield WaitUntil(event="cough", timeout_s=20.0)
        clear_s = 0.0 if _choking(seen) else clear_s + (seen.t_ns - since) / 1e9
    return seen


def _after_refusal(seen: Observation) -> Generator[Action, Observation, Observation]:
    yield Say(text="All right, we'll wait.")
    for _ in range(20):
        yield WaitUntil(event="speech", timeout_s=20.0)
        seen = yield Ask(text="Would you like some more now?")
        if seen.readings["mic.refusal"].value < 0.5:
            return seen
    return (yield CallHuman(level="assist", reason="She does not want to eat any more."))


def _stopped(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.STOPPED_BY_MONITOR


def _completed(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.COMPLETED
