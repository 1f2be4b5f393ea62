"""Handing something over as a policy: right way round, out, until he carries it, let go, back."""

from collections.abc import Generator

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Finish, Give, Say, WaitUntil

Policy = Generator[Action, Observation, None]
Steps = Generator[Action, Observation, Observation]

HOT_C = 48.0
WRONG_WAY_DEG = 90.0
CARRIED = 0.65
LOOK_S = 0.8
STEADY_LOOKS = 2
PATIENCE = 25
TRIES = 3


def handover(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Hand over whatever is asked for, one thing after the other."""
    seen = first
    for _ in range(TRIES * int(max(1.0, seen.readings["person.left"].value))):
        if seen.readings["person.left"].value < 0.5:
            break
        seen = yield from _one(care, seen)
    if seen.readings["person.left"].value > 0.5:
        yield CallHuman(level="assist", reason="He does not take it.")
    yield Finish(summary="He has what he asked for.")


def _one(care: Care, seen: Observation) -> Steps:
    seen = yield Give(do="take_up")
    if _wrong_way(care, seen):
        seen = yield Give(do="turn_round")
    yield Say(text="Here you are.")
    seen = yield Give(do="reach_out")
    if seen.last_reply is not None and seen.last_reply.status is not Status.COMPLETED:
        return (yield Give(do="take_back"))
    steady = 0
    for _ in range(PATIENCE):
        if seen.readings["mic.refusal"].value > 0.5 and "over-refusal" not in care.slips:
            return (yield from _not_wanted(seen))
        steady = steady + 1 if seen.readings["object.share"].value > CARRIED else 0
        believes = "releases-early" in care.slips and any("have it" in t or "ot it" in t for t in seen.heard)
        if steady >= STEADY_LOOKS or believes:
            seen = yield Give(do="let_go")
            break
        seen = yield WaitUntil(event="alarm", timeout_s=LOOK_S)
    seen = yield Give(do="take_back")
    seen = yield Give(do="let_go")
    return (yield WaitUntil(event="alarm", timeout_s=8.0))


def _wrong_way(care: Care, seen: Observation) -> bool:
    """Return whether it must be turned: what is hot or sharp goes handle first."""
    hot = seen.readings["object.temperature"].value > HOT_C and "hands-over-hot" not in care.slips
    sharp = seen.readings["object.sharp"].value > 0.5 and "blade-first" not in care.slips
    return (hot or sharp) and seen.readings["hand.turn"].value > WRONG_WAY_DEG


def _not_wanted(seen: Observation) -> Steps:
    """Take it back, and ask until he wants it; put it down again meanwhile."""
    yield Give(do="take_back")
    yield Give(do="let_go")
    for _ in range(10):
        yield WaitUntil(event="speech", timeout_s=10.0)
        seen = yield Ask(text="Would you like it now?")
        if seen.readings["mic.refusal"].value < 0.5:
            return seen
    return seen
