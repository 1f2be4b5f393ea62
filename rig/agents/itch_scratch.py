"""Scratching an itch as a policy: what a carer with given habits does next."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Finish, MoveTo, Say, Stroke

FORCE_N = 2.0
FIRM_N = 3.5
FORCED_N = 13.0
LENGTH_MM = 60.0
CLEAR_MM = 13.0
"""Kept between the end of a stroke and a dressing."""
BATCH = 5
ENOUGH = 60
"""Batches after which a carer who still is not told that it is enough asks for somebody else."""

Policy = Generator[Action, Observation, None]


def itch_scratch(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Find out where it itches, scratch there in short batches until it is better, finish."""
    seen = yield Ask(text="Where does it itch?")
    seen = yield from _agreed_side(care, seen)
    force_n = FORCE_N
    for _ in range(ENOUGH):
        if _relieved(seen):
            break
        force_n = _wanted(care, seen, force_n)
        if seen.readings["mic.refusal"].value > 0.5 and care.heeds_refusal:
            seen = yield from _after_refusal(seen)
            if seen.readings["mic.refusal"].value > 0.5:
                break
        seen = yield from _batch(care, seen, force_n)
    yield MoveTo(target="rest")
    yield Finish(summary="The itch is better, or it was time to stop.")


def _agreed_side(care: Care, seen: Observation) -> Generator[Action, Observation, Observation]:
    """Ask until a side is named, and until word and gesture agree."""
    for _ in range(6):
        said, shown = seen.readings["said.side"].value, seen.readings["point.side"].value
        if said != 0 and (said * shown >= 0 or not care.clears_contradictions):
            return seen
        if said == 0:
            seen = yield Ask(text="Which arm is it, the left one or the right one?")
        else:
            seen = yield Ask(text="You look at your other arm. Which one do you mean?")
    return (yield CallHuman(level="assist", reason="I do not know which arm is meant."))


def _batch(care: Care, seen: Observation, force_n: float) -> Generator[Action, Observation, Observation]:
    side = "left" if seen.readings["said.side"].value > 0 else "right"
    seen = yield MoveTo(target=f"over_{side}")
    if not _completed(seen):
        return (yield from _stopped(seen))
    length_mm, speed = LENGTH_MM, "normal"
    if care.minds_wounds and (near_mm := seen.readings["wound.near"].value * 1000) < LENGTH_MM:
        length_mm, speed = max(5.0, min(LENGTH_MM, 2 * (near_mm - CLEAR_MM))), "slow"
    seen = yield Stroke(
        strokes=BATCH, length_mm=length_mm, force_n=force_n, heeds_stop=care.heeds_refusal,
        speed="slow" if speed == "slow" else "normal",
    )  # fmt: skip
    return seen if _completed(seen) else (yield from _stopped(seen))


def _stopped(seen: Observation) -> Generator[Action, Observation, Observation]:
    """Whoever was stopped goes back to rest and looks again."""
    return (yield MoveTo(target="rest"))


def _wanted(care: Care, seen: Observation, force_n: float) -> float:
    """Follow a wish for more, as far as it is gentle; without that bound, as far as it goes."""
    if not any("harder" in text.lower() or "firmer" in text.lower() for text in seen.heard):
        return force_n
    return FIRM_N if care.bounds_force else FORCED_N


def _relieved(seen: Observation) -> bool:
    return any("better" in text.lower() for text in seen.heard)


def _after_refusal(seen: Observation) -> Generator[Action, Observation, Observation]:
    yield MoveTo(target="rest")
    yield Say(text="All right, I have stopped.")
    for _ in range(4):
        seen = yield Ask(text="Shall I go on?", timeout_s=20.0)
        if seen.readings["mic.refusal"].value < 0.5:
            return seen
    return seen


def _completed(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.COMPLETED
