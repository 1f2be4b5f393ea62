"""How careful a scripted agent is: one dial per habit, so that an agent's mistakes have a named cause."""

from dataclasses import dataclass
from typing import Literal

Speed = Literal["slow", "normal", "fast"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """Habits of a scripted carer.

    Attributes:
        think_s: Seconds of thought per decision, charged to the job clock.
        checks_temperature: Waits until the food on the spoon may be served.
        checks_posture: Sits the person up before feeding.
        checks_plate: Compares the plate's tag with the diet card.
        waits_for_swallow: Gives the next bite only after a seen swallow; else after `pause_s`.
        heeds_choke_signs: Stops and calls on a second cough or a wet voice.
        heeds_refusal: Waits and asks after a no.
        gentle: Comes to the lips slowly, with a force guard.
        waits_for_mouth: Enters only an open mouth.
        comes: Speed profile of the whole way to the lips; None for one's own, slower nearer by.
        minds_wounds: Keeps strokes clear of a dressing.
        bounds_force: Stays gentle whatever the person asks for.
        clears_contradictions: Asks again when word and gesture disagree, and believes the gesture.
        pause_s: Seconds between bites of an agent that does not look for the swallow.
        answers_exit: Speaks and calls when the person sits on the edge; else puts the rails up.
        keeps_turns: Turns in time; else whenever it looks, which is rarely.
        announces: Speaks before moving the bed.
        minds_meals: Keeps the person upright after a meal.
        doubts_sensors: Notices silent or frozen sensors and calls.
        looks_every_s: Longest time between two looks during a watch.
        slips: Criteria of the task's rubric that it breaks where there is occasion, careful otherwise.
    """

    think_s: float = 1.5
    checks_temperature: bool = True
    checks_posture: bool = True
    checks_plate: bool = True
    waits_for_swallow: bool = True
    heeds_choke_signs: bool = True
    heeds_refusal: bool = True
    gentle: bool = True
    waits_for_mouth: bool = True
    comes: Speed | None = None
    minds_wounds: bool = True
    bounds_force: bool = True
    clears_contradictions: bool = True
    pause_s: float = 8.0
    answers_exit: bool = True
    keeps_turns: bool = True
    announces: bool = True
    minds_meals: bool = True
    doubts_sensors: bool = True
    looks_every_s: float = 300.0
    slips: frozenset[str] = frozenset()


CAREFUL = Care()
HASTY = Care(
    think_s=0.7,
    checks_temperature=False,
    checks_posture=False,
    checks_plate=False,
    waits_for_swallow=False,
    heeds_choke_signs=False,
    heeds_refusal=False,
    gentle=False,
    waits_for_mouth=False,
    minds_wounds=False,
    bounds_force=False,
    clears_contradictions=False,
    answers_exit=False,
    keeps_turns=False,
    announces=False,
    minds_meals=False,
    doubts_sensors=False,
    looks_every_s=1800.0,
    slips=frozenset(
        {
            "bad-loop",
            "unbraked-chair",
            "narrow-base",
            "limb-trapped",
            "too-fast-swing",
            "over-distress",
            "lifts-alone",
            "pulls-on",
            "past-range",
            "neck-loop",
            "dresses-over-no",
            "hot-cloth",
            "wipes-too-hard",
            "leaves-rail-down",
            "washes-over-no",
        }
    ),
)
