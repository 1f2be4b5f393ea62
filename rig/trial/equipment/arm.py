"""What any tool on the arm can do: go to a place, and away from the skin."""

from rig.core.channel import Snapshot
from rig.core.tools import Act, Action, MoveTo
from rig.trial.phases import Here, Skill
from rig.trial.profiles import profiles
from rig.trial.skills import force_guard, path, push_n, withdraw


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, None for one that is not the arm's."""
    match action:
        case MoveTo():
            return _move(action, here)
        case Act(skill="withdraw"):
            return withdraw(here)
        case _:
            return None


def _move(action: MoveTo, here: Here) -> Skill:
    """Go straight to a place; towards the skin the rules are told how hard the motion would push."""
    way = path(here, here.place(action.target), profiles()[action.speed], force_guard(action.guard_n))
    contacts = here.arm.contacts
    towards = action.target in (*contacts, *contacts.values())
    intents = here.intents(mouth=1.0, contact=1.0, push=push_n(action.guard_n)) if towards else {}
    return Skill((way,), intents, retreats=action.target == "rest")
