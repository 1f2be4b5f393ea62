"""Every agent by the name it is asked for."""

from dataclasses import replace

import numpy as np

from rig.agents import planted, replay
from rig.agents.care import CAREFUL, HASTY, Speed
from rig.agents.human import HumanAgent
from rig.agents.planted import PlantedAgent, parse_planted
from rig.agents.scripted import RefusingAgent, ScriptedAgent, SlippingAgent
from rig.agents.settings import PREFIX
from rig.core.agent import Agent
from rig.core.errors import unknown

AGENT_NAMES = (
    "careful", "careful(SPEED)", "hasty", "refuse", "planted(RATE_PER_HOUR)", "slip(CRITERION)",
    "inspect:PROVIDER/MODEL", "small", "human", "replay:FOLDER",
)  # fmt: skip
SPEEDS: tuple[Speed, ...] = ("slow", "normal", "fast")
AT_ONE_SPEED = {f"careful({speed})": replace(CAREFUL, comes=speed) for speed in SPEEDS}


def check_agent(name: str) -> None:
    """Refuse an agent name that `make_agent` would refuse.

    Raises:
        UsageError: If there is no such agent.
    """
    make_agent(name, np.random.default_rng(0))


def make_agent(name: str, rng: np.random.Generator) -> Agent:
    """Return the agent called ``name``; nothing is opened before it is given a job.

    Args:
        name: One of `AGENT_NAMES`; what may stand in the brackets is in the module of the agent.
        rng: The agent's own randomness.

    Raises:
        UsageError: If there is no such agent, or what it needs is not there.
    """
    match name:
        case "careful":
            return ScriptedAgent(name, CAREFUL, rng)
        case "hasty":
            return ScriptedAgent(name, HASTY, rng)
        case "refuse":
            return RefusingAgent()
        case "human":
            return HumanAgent()
        case "small":
            from rig.agents.small_model import SmallModelAgent

            return SmallModelAgent()
    if name in AT_ONE_SPEED:
        return ScriptedAgent(name, AT_ONE_SPEED[name], rng)
    if name.startswith(PREFIX):
        from rig.agents.model import ModelAgent  # Inspect AI takes seconds to import

        return ModelAgent(name)
    if name.startswith(replay.PREFIX):
        return replay.ReplayAgent(name)
    if name.startswith("slip(") and name.endswith(")"):
        return SlippingAgent(name[5:-1], rng)
    if name.startswith(planted.PREFIX) and name.endswith(")"):
        return PlantedAgent(parse_planted(name), rng)
    raise unknown("agent", name, AGENT_NAMES)
