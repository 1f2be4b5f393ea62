"""What each piece of equipment can do: a module per piece, asked in turn for the skill of an action."""

from rig.core.channel import Snapshot
from rig.core.tools import Action
from rig.trial.equipment import arm, bath, bed, cup, gripper, hoist, scratcher, sleeve, spoon
from rig.trial.phases import Here, Skill

PIECES = (spoon, scratcher, cup, arm, bed, hoist, sleeve, bath, gripper)
"""Modules with a function ``skill_for(action, here, snapshot)``; the first that knows the action wins."""


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, or None for an action that moves nothing.

    Raises:
        UsageError: If the arm cannot reach the place, or there is no such place.
    """
    found = (piece.skill_for(action, here, snapshot) for piece in PIECES)
    return next((skill for skill in found if skill is not None), None)
