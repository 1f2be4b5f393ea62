"""What can be done with a soft scratcher: come to an arm, and stroke the skin to and fro."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rig.core.channel import Snapshot
from rig.core.errors import UsageError
from rig.core.tools import Action, MoveTo, Stroke
from rig.core.watch import Guard
from rig.kinematics import Pose
from rig.trial.equipment import arm
from rig.trial.phases import Here, Phase, Skill
from rig.trial.profiles import Profile, profiles
from rig.trial.skills import from_skin_m, nearest_place, path, push_n

SPRING_N_PER_M = 500.0
"""Of the scratcher's tip (hardware/scenes/tools/scratcher.xml): how far to push for a force."""
DEEPEST_M = 0.028
PRESS: Profile = ((np.inf, 0.012),)
STROKE_M_PER_S: Mapping[str, float] = {"slow": 0.040, "normal": 0.080, "fast": 0.160}
NEAR_M = 0.20


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, None for one that is not the scratcher's."""
    match action:
        case MoveTo() if "intent.side" in here.bench.intents:
            skill = arm.skill_for(action, here, snapshot)
            if skill is None or not skill.intents:
                return skill
            return replace(skill, intents={**skill.intents, "intent.side": side_of(action.target)})
        case Stroke():
            return _stroke(action, here)
        case _:
            return None


def side_of(place: str) -> float:
    """Return 1 for a place on the left, -1 for one on the right, 0 for others.

    >>> side_of("over_left")
    1.0
    """
    return {"left": 1.0, "right": -1.0}.get(place.rpartition("_")[2], 0.0)


def _stroke(action: Stroke, here: Here) -> Skill:
    """Come down onto the skin, press, stroke to and fro, lift off.

    Force comes from the tip's spring: what is pushed in decides it, whatever the arm's stiffness.
    """
    if from_skin_m(here) > NEAR_M:
        raise UsageError("the tool is not over the skin; move it over a place there first")
    skin, over, name = nearest_place(here)
    push_m = action.force_n / SPRING_N_PER_M
    if push_m > DEEPEST_M:
        most_n = DEEPEST_M * SPRING_N_PER_M
        raise UsageError(f"the scratcher gives way by {DEEPEST_M * 1000:g} mm at most: {most_n:g} N")
    guards = (Guard("mic.refusal", above=0.5),) if action.heeds_stop else ()
    along = here.place(f"along_{name}").position - skin.position
    half = 0.5 * action.length_mm / 1000 * along / np.linalg.norm(along)
    centre = skin.position + push_m * skin.approach
    legs: list[tuple[Pose, Profile]] = [(skin, profiles()["normal"]), (Pose(centre, skin.approach), PRESS)]
    rub: Profile = ((np.inf, STROKE_M_PER_S[action.speed]),)
    for _ in range(action.strokes):
        legs += [(Pose(centre + half, skin.approach), rub), (Pose(centre - half, skin.approach), rub)]
    legs += [(Pose(centre, skin.approach), rub), (over, profiles()["out_of_mouth"])]
    phases: list[Phase] = []
    for pose, profile in legs:
        phases.append(path(here.after(phases), pose, profile, guards))
    intents = here.intents(contact=1.0, push=push_n(action.force_n), side=side_of(name))
    return Skill(tuple(phases), intents, lifts=action.heeds_stop)
