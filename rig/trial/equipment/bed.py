"""What an adjustable bed can do: move one part, or turn the person to a side."""

import numpy as np

from rig.core.channel import Snapshot
from rig.core.tools import Act, Action, SetBed
from rig.trial.phases import ALL, BED_TICK_NS, Here, Phase, Skill
from rig.trial.skills import ramp

TURN_DEG = 30.0  # the usual side tilt; less leaves the sacrum loaded
FLAT_FOR_TURN_DEG = 30.0
MOTOR_PAUSE_TICKS = 10
_TILT_DEG = {"turn_left": -TURN_DEG, "turn_right": TURN_DEG, "turn_back": 0.0}


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, None for one that is not the bed's."""
    match action:
        case Act(skill="turn_left" | "turn_right" | "turn_back"):
            return _turn(action.skill, here)
        case SetBed():
            return set_part(f"bed.{action.part}", action.value, here)
        case _:
            return None


def set_part(name: str, value: float, here: Here) -> Skill:
    """Return the skill that moves one part of the bed, an actuator by name, to a value in its unit."""
    told = ("bed.back", "bed.tilt", "bed.rails")
    asked = {name.removeprefix("bed."): value} if name in told else {}
    return Skill((ramp(here, name, value),), here.intents(bed=1.0, **asked), undo=ALL)


def _turn(skill: str, here: Here) -> Skill:
    """Lower the back-rest if it is high, then tilt the mattress."""
    tilt_deg = _TILT_DEG[skill]
    lowering: list[Phase] = []
    asked = {}
    if skill != "turn_back" and here.setpoint("bed.back") > FLAT_FOR_TURN_DEG:
        down = ramp(here, "bed.back", FLAT_FOR_TURN_DEG)
        # One motor at a time: the current of two together would look like a limb in the frame.
        lowering = [down, Phase(np.repeat(down.rows[-1:], MOTOR_PAUSE_TICKS, axis=0), BED_TICK_NS)]
        asked = {"back": FLAT_FOR_TURN_DEG}
    tilt = ramp(here.after(lowering), "bed.tilt", tilt_deg)
    return Skill((*lowering, tilt), here.intents(bed=1.0, tilt=tilt_deg, **asked), undo=ALL)
