"""What a gripper can do that hands things over: take up, turn round, reach out, let go, take back."""

from rig.core.channel import Snapshot
from rig.core.tools import Action, Give
from rig.trial.phases import Here, Skill
from rig.trial.skills import ramp

OUT_M = 0.60
OPEN, CLOSED = 1.0, 0.0


def skill_for(action: Action, here: Here, snapshot: Snapshot) -> Skill | None:
    """Return the skill of one step of handing over, None for an action that is not the gripper's."""
    if not isinstance(action, Give):
        return None
    tick_ns = here.bench.tick_ns
    match action.do:
        case "take_up":
            return Skill((ramp(here, "hand.grip", CLOSED, tick_ns),))
        case "turn_round":
            other_deg = 0.0 if here.setpoint("hand.turn") > 90.0 else 180.0
            return Skill((ramp(here, "hand.turn", other_deg, tick_ns),))
        case "reach_out":
            return Skill((ramp(here, "hand.reach", OUT_M, tick_ns),), here.intents(offer=1.0))
        case "let_go":
            return Skill((ramp(here, "hand.grip", OPEN, tick_ns),), here.intents(release=1.0))
        case "take_back":
            return Skill((ramp(here, "hand.reach", 0.0, tick_ns),), retreats=True)
