"""What can be done with a spoon: scoop from the bowl, and bring the food into the mouth."""

from rig.core.channel import Snapshot
from rig.core.tools import Act, Action
from rig.core.watch import Guard
from rig.trial.phases import Here, Skill
from rig.trial.profiles import profiles
from rig.trial.skills import force_guard, path, push_n, still

TAKE_WAIT_S = 3.0
SCOOP_S = 0.3


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, None for one that is not the spoon's."""
    match action:
        case Act(skill="scoop"):
            return _scoop(here)
        case Act(skill="transfer"):
            return _transfer(action, here, snapshot)
        case _:
            return None


def _scoop(here: Here) -> Skill:
    down = path(here, here.place("bowl"), profiles()["normal"])
    there = here.after([down])
    up = path(there, there.place("rest"), profiles()["normal"])
    scoop = still(there, round(SCOOP_S * 1e9 / here.bench.tick_ns))
    return Skill((down, scoop, up))


def _transfer(action: Act, here: Here, snapshot: Snapshot) -> Skill:
    takes = snapshot["camera.takes"]  # where a take cannot be seen, the spoon stays its full time
    into = path(here, here.place("inside"), profiles()["into_mouth"], force_guard(action.guard_n))
    waits = round(TAKE_WAIT_S * 1e9 / here.bench.tick_ns)
    taken = (Guard("camera.takes", above=takes.value + 0.5),) if takes.good else ()
    wait = still(here.after([into]), waits, until=taken)
    return Skill((into, wait), here.intents(mouth=1.0, push=push_n(action.guard_n)))
