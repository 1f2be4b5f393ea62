"""Washing as a policy: what a carer with given habits does next."""

from collections.abc import Generator
from typing import Literal

from rig.agents.care import Care
from rig.core.agent import Briefing, Observation
from rig.core.reply import Status
from rig.core.tools import Action, Ask, CallHuman, Finish, MoveTo, Stroke, WaitUntil, Wash

Policy = Generator[Action, Observation, None]
Step = Generator[Action, Observation, Observation]
Side = Literal["left", "right"]

WARM_C, LEAST_C, MOST_C = 39.0, 34.0, 42.0
WIPE_N, SCRUB_N = 4.0, 13.5
STROKES, LENGTH_MM = 6, 100
SPARE_M = 0.1
BARE_S = 620.0
TRIES, ASKS = 12, 12


class _GaveUpError(Exception):
    """The washing cannot go on."""


def bed_bath(briefing: Briefing, care: Care, first: Observation) -> Policy:
    """Wash one arm, then the other; leave him covered, with the rail up."""
    try:
        yield from _consent(care, "May I wash your arms?")
        yield Wash(do="rail_down")
        yield Wash(do="set_water", temperature_c=WARM_C)
        sides: tuple[Side, ...] = ("left", "right")
        for side in sides:  # covered between the two: five minutes bare are too long
            seen = yield Wash(do="uncover")
            if "left-bare" in care.slips and side == "left":
                seen = yield WaitUntil(event="alarm", timeout_s=BARE_S)
            yield from _arm(briefing, care, seen, side)
            yield Wash(do="cover")
    except _GaveUpError as why:
        yield MoveTo(target="rest")
        yield CallHuman(level="assist", reason=str(why))
    yield Wash(do="cover")
    if "leaves-rail-down" not in care.slips:
        yield Wash(do="rail_up")
    yield Wash(do="leave")
    yield WaitUntil(event="alarm", timeout_s=30.0)
    yield Finish(summary="He is washed, covered and safe.")


def wipe_m(briefing: Briefing) -> float:
    """Return how far each arm is wiped, from the briefing's nominal time."""
    return 1.0 if briefing.nominal_s < 300.0 else 3.0


def _consent(care: Care, question: str) -> Step:
    seen = yield Ask(text=question)
    for _ in range(ASKS):
        if "washes-over-no" in care.slips or seen.readings["mic.refusal"].value < 0.5:
            return seen
        yield WaitUntil(event="speech", timeout_s=15.0)
        seen = yield Ask(text=question)
    raise _GaveUpError("He does not want to be washed.")


def _soaked(care: Care, seen: Observation) -> Step:
    """Soak the cloth; where it comes out too hot or too cold, set the valve and soak again."""
    seen = yield Wash(do="soak")
    valve_c = WARM_C
    for _ in range(TRIES):
        cloth_c = seen.readings["cloth.temperature"].value
        if "hot-cloth" in care.slips or LEAST_C <= cloth_c <= MOST_C:
            return seen
        valve_c = min(45.0, max(10.0, valve_c + WARM_C - seen.readings["water.temperature"].value))
        yield Wash(do="set_water", temperature_c=valve_c)
        yield WaitUntil(event="alarm", timeout_s=20.0)
        seen = yield Wash(do="soak")
    raise _GaveUpError("The water does not come right.")


def _arm(briefing: Briefing, care: Care, seen: Observation, side: Side) -> Step:
    """Wash one arm, soaking the cloth as often as it runs dry."""
    enough_m, scrubs = wipe_m(briefing) + SPARE_M, "wipes-too-hard" in care.slips
    for attempt in range(TRIES):
        if seen.readings[f"washed.{side}"].value >= enough_m:
            break
        if seen.readings["mic.refusal"].value > 0.5 and "washes-over-no" not in care.slips:
            seen = yield from _consent(care, "Shall I go on?")
        if seen.readings["cloth.wet"].value < 0.5:
            seen = yield from _soaked(care, seen)
        seen = yield MoveTo(target="over_left" if side == "left" else "over_right")
        if not _done(seen):
            seen = yield MoveTo(target="rest")
            continue
        seen = yield Stroke(
            strokes=STROKES, length_mm=LENGTH_MM, force_n=SCRUB_N if scrubs and attempt == 0 else WIPE_N,
            heeds_stop="washes-over-no" not in care.slips,
        )  # fmt: skip
    return (yield MoveTo(target="rest"))


def _done(seen: Observation) -> bool:
    reply = seen.last_reply
    return reply is not None and reply.status is Status.COMPLETED
