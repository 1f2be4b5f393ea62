"""What the washing place can do: water, cloth, cover, rail and cart; wiping is a stroke like any other."""

from rig.core.channel import Snapshot
from rig.core.tools import Action, Wash
from rig.trial.phases import Here, Skill
from rig.trial.profiles import profiles
from rig.trial.skills import path, ramp, still

SOAK_TICKS = 4000
_SETS = {
    "cover": ("bath.cover", 1.0), "uncover": ("bath.cover", 0.0), "rail_up": ("bath.rail", 1.0),
    "rail_down": ("bath.rail", 0.0), "come_back": ("bath.away", 0.0),
}  # fmt: skip


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of one step of washing, None for an action that is none."""
    if not isinstance(action, Wash):
        return None
    match action.do:
        case "set_water":
            return Skill((ramp(here, "bath.valve", action.temperature_c),))
        case "soak":
            return _soak(here)
        case "leave":
            return Skill((ramp(here, "bath.away", 1.0),), here.intents(leave=1.0))
        case _:
            return Skill((ramp(here, *_SETS[action.do]),))


def _soak(here: Here) -> Skill:
    """Dip the cloth into the basin and bring it back to rest."""
    down = path(here, here.place("basin"), profiles()["normal"])
    there = here.after([down])
    up = path(there, there.place("rest"), profiles()["normal"])
    return Skill((down, still(there, SOAK_TICKS), up))
