"""What can be done with a cup: tilt it at the mouth until a sip has flowed, then bring it level."""

import numpy as np

from rig.core.channel import Snapshot
from rig.core.tools import Action, GiveDrink
from rig.core.watch import Guard
from rig.kinematics import Pose
from rig.trial.phases import Here, Phase, Skill
from rig.trial.profiles import Profile, profiles
from rig.trial.skills import path, still

TILT_STEP_DEG = 5.0
FLOW_WAIT_S = 4.0
AT_LIPS: Profile = ((np.inf, 0.010),)


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of an action, None for one that is not the cup's."""
    match action:
        case GiveDrink():
            return _give(action, here, snapshot)
        case _:
            return None


def _give(action: GiveDrink, here: Here, snapshot: Snapshot) -> Skill:
    """Tilt about the rim, wait for the sip, come level on the way back.

    The cup's weight ends it: any guard brings the cup back and level at once (`Skill.lifts`).
    """
    lips = here.place("lips")
    guards = [Guard("cup.given", above=snapshot.value("cup.given") + action.ml)]
    if action.heeds_signs:
        guards += [
            Guard("mic.coughs", above=snapshot.value("mic.coughs") + 0.5),
            Guard("mic.talks", above=0.5),
            Guard("mic.refusal", above=0.5),
        ]
    phases: list[Phase] = []
    steps = max(1, int(np.ceil(action.tilt_deg / TILT_STEP_DEG)))
    for tilt in np.radians(np.linspace(0.0, action.tilt_deg, steps + 1)):
        down = np.cos(tilt) * lips.approach + np.sin(tilt) * np.array([0.0, 0.0, -1.0])
        pose = Pose(lips.position, down / np.linalg.norm(down))
        phases.append(path(here.after(phases), pose, AT_LIPS, tuple(guards)))
    there = here.after(phases)
    wait = still(there, round(FLOW_WAIT_S * 1e9 / here.bench.tick_ns))
    phases.append(Phase(wait.rows, wait.period_ns, tuple(guards)))
    back = path(there, here.place("near_mouth"), profiles()["out_of_mouth"])
    intents = here.intents(mouth=1.0, contact=1.0, push=1.0, pour=1.0)
    return Skill((*phases, back), intents, lifts=True)
