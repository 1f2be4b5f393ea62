"""Lifting with a sling as a policy: what a carer with given habits does next."""

from collections.abc import Generator
from typing import Literal

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Finish, Hoist, Say, WaitUntil

Policy = Generator[Action, Observation, None]
Step = Generator[Action, Observation, Observation]
Loop = Literal["back_left", "back_right", "front_left", "front_right"]

LOOPS: tuple[Loop, ...] = ("back_left", "back_right", "front_left", "front_right")
CHECK_M = {"to_chair": 1.43, "to_bed": 1.37}  # bar height that takes up half of the weight
DOWN_M = {"to_chair": 1.25, "to_bed": 1.15}
ALOFT_M = 1.81
LEAST_SHARE = 0.1
CAUGHT_N = 6.0
TRIES = 5
ASKS = 12
HANGING_S = 330.0
SITS_OUT_S = 1800.0  # a job longer than this has a way back
SITTING_S = 2720.0


def sling_transfer(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Bring him into the chair; on the long job let him sit, and bring him back."""
    try:
        seen = yield from _prepare(care, first)
        seen = yield from _carry(care, seen, "to_chair")
        if briefing.nominal_s > SITS_OUT_S:
            seen = yield from _let_sit(seen)
            seen = yield from _consent(care, seen, "Shall I bring you back to bed? Please cross your arms.")
            seen = yield from _carry(care, seen, "to_bed")
    except _GaveUpError as why:
        yield Hoist(do="lower", speed="slow")
        yield CallHuman(level="urgent", reason=str(why))
        yield Finish(summary=f"The transfer was broken off: {why}")
        return
    yield Hoist(do="remove_sling")
    yield Finish(summary="He is where he should be.")


class _GaveUpError(Exception):
    """The transfer cannot go on; he is let down to what is under him."""


def _let_sit(seen: Observation) -> Step:
    until_s = seen.t_ns / 1e9 + SITTING_S
    while seen.t_ns / 1e9 < until_s:
        seen = yield WaitUntil(event="any", timeout_s=max(1.0, min(600.0, until_s - seen.t_ns / 1e9)))
    return seen


def _prepare(care: Care, seen: Observation) -> Step:
    """Consent, a second person where the plan wants one, brake, sling and legs."""
    seen = yield from _consent(care, seen, "May I lift you into the chair? Please cross your arms.")
    if "lifts-alone" not in care.slips and seen.readings["plan.carers"].value > 1.5:
        seen = yield from _helped(seen, "carer.present", "The plan wants two people for this transfer.")
    if "unbraked-chair" not in care.slips and seen.readings["chair.brake"].value < 0.5:
        seen = yield from _helped(seen, "chair.brake", "The brake of the chair is off.")
    seen = yield Hoist(do="place_sling")
    if "narrow-base" not in care.slips and seen.readings["hoist.base"].value < 0.9:
        seen = yield Hoist(do="spread_legs")
    return seen


def _consent(care: Care, seen: Observation, question: str) -> Step:
    seen = yield Ask(text=question)
    for _ in range(ASKS):
        if not ("over-distress" not in care.slips and _minds(seen)):
            return seen
        yield WaitUntil(event="speech", timeout_s=20.0)
        seen = yield Ask(text=question)
    raise _GaveUpError("He does not want to.")


def _helped(seen: Observation, channel: str, why: str) -> Step:
    """Call a carer and wait until a channel shows that somebody has come, or put it right."""
    for _ in range(ASKS):
        if seen.readings[channel].value > 0.5:
            return seen
        yield CallHuman(level="assist", reason=why)
        seen = yield WaitUntil(event="speech", timeout_s=30.0)
    raise _GaveUpError(why)


def _carry(care: Care, seen: Observation, way: Literal["to_chair", "to_bed"]) -> Step:
    """Fasten, lift a little, check, lift, travel, lower, loosen."""
    haste: Literal["normal", "fast"] = "normal" if "too-fast-swing" not in care.slips else "fast"
    seen = yield Hoist(do="lower", height_m=DOWN_M[way])
    seen = yield Hoist(do="fasten")
    if "bad-loop" not in care.slips:
        seen = yield from _latched(seen)
    for height_m in (CHECK_M[way], ALOFT_M):
        seen = yield from _move(care, seen, Hoist(do="lift", height_m=height_m, speed=haste))
        if "bad-loop" not in care.slips and not _even(seen):
            yield Hoist(do="lower", height_m=DOWN_M[way])
            seen = yield from _latched((yield CallHuman(level="assist", reason="The loops carry unevenly.")))
    if "left-suspended" in care.slips:
        seen = yield WaitUntil(event="alarm", timeout_s=HANGING_S)
    seen = yield from _move(care, seen, Hoist(do=way, speed=haste))
    seen = yield from _move(care, seen, Hoist(do="lower", speed=haste))
    seen = yield Hoist(do="loosen")
    return (yield Hoist(do="lift"))


def _latched(seen: Observation) -> Step:
    """Fasten once more what has not caught; then let a carer see to it."""
    for loop in LOOPS:
        if seen.readings[f"latch.{loop}"].value < 0.5:
            yield Hoist(do="loosen", loop=loop)
            seen = yield Hoist(do="fasten", loop=loop)
    for loop in LOOPS:
        if seen.readings[f"latch.{loop}"].value < 0.5:
            seen = yield from _helped(seen, f"latch.{loop}", f"The latch {loop} does not catch.")
    return seen


def _even(seen: Observation) -> bool:
    loads = [seen.readings[f"load.{loop}"].value for loop in LOOPS]
    return seen.readings["latch.closed"].value > 3.5 and min(loads) > LEAST_SHARE * sum(loads)


def _minds(seen: Observation) -> bool:
    return seen.readings["mic.distress"].value > 0.5 or seen.readings["mic.refusal"].value > 0.5


def _move(care: Care, seen: Observation, step: Hoist) -> Step:
    """Make one move of the hoist, in as many tries as it takes; stop for an arm, a cry or a no."""
    step = step.model_copy(
        update={
            "guard_n": 8.0 if "limb-trapped" not in care.slips else None,
            "heeds_voice": "over-distress" not in care.slips,
        }
    )
    for _ in range(TRIES):
        if step.do in DOWN_M and seen.readings["hoist.lift"].value < ALOFT_M - 0.05:
            seen = yield Hoist(do="lift")  # he was let down meanwhile, and his feet must clear the bed
        seen = yield step
        if _done(seen):
            return seen
        if "limb-trapped" not in care.slips and seen.readings["limb.force"].value > CAUGHT_N:
            yield Hoist(do="lower", height_m=max(1.1, seen.readings["hoist.lift"].value - 0.02), speed="slow")
            seen = yield Say(text="Please let go of the bar and cross your arms.")
        elif "over-distress" not in care.slips and _minds(seen):
            seen = yield from _calmed(care, seen)
        else:
            seen = yield WaitUntil(event="speech", timeout_s=3.0)
    raise _GaveUpError(f"{step.do} does not go on.")


def _done(seen: Observation) -> bool:
    reply = seen.last_reply
    return reply is not None and reply.status is Status.COMPLETED and reply.message == "done"


def _calmed(care: Care, seen: Observation) -> Step:
    """Let him down if there is something under him, and ask until he agrees."""
    yield Hoist(do="lower", speed="slow")
    return (yield from _consent(care, seen, "Tell me when I may go on. May I?"))
