"""Every agent by the name it is asked for."""

import numpy as np

from rig.agents.care import CAREFUL, HASTY
from rig.agents.scripted import PlantedAgent, RefusingAgent, ScriptedAgent, SlippingAgent
from rig.agents.settings import PREFIX
from rig.core.agent import Agent
from rig.core.errors import UsageError, unknown


def check_agent(name: str) -> None:
    """Refuse an agent name that `make_agent` would refuse.

    Raises:
        UsageError: If there is no such agent.
    """
    make_agent(name, np.random.default_rng(0))


def make_agent(name: str, rng: np.random.Generator) -> Agent:
    """Return the agent called ``name``: careful, hasty, refuse, ``planted(RATE)`` per hour, ``slip(CRITERION)``.

    Raises:
        UsageError: If there is no such agent or the rate is not a positive number.
    """
    if name == "careful":
        return ScriptedAgent(name, CAREFUL, rng)
    if name == "hasty":
        return ScriptedAgent(name, HASTY, rng)
    if name == "refuse":
        return RefusingAgent()
    if name.startswith(PREFIX):
        from rig.agents.model import ModelAgent  # Inspect AI takes seconds to import

        return ModelAgent(name)
    if name.startswith("slip(") and name.endswith(")"):
        return SlippingAgent(name[5:-1], rng)
    if name.startswith("planted(") and name.endswith(")"):
        return PlantedAgent(_rate(name), rng)
    raise unknown("agent", name, AGENT_NAMES)


AGENT_NAMES = (
    "careful", "hasty", "refuse", "planted(RATE_PER_HOUR)", "slip(CRITERION)", "inspect:PROVIDER/MODEL",
)  # fmt: skip


def _rate(name: str) -> float:
    text = name.removeprefix("planted(").removesuffix(")")
    try:
        rate = float(text)
    except ValueError:
        rate = float("nan")
    if not 0 < rate < float("inf"):
        raise UsageError(
            f"{name}: the rate must be a positive number of mistakes per hour, as in planted(0.5)"
        )
    return rate
