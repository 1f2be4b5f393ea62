"""What an agent is to the rig: something that is shown an observation and proposes an action."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rig.core.channel import Reading
from rig.core.tools import Action, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the agent is told before it starts: the job, the person, the care documents, its tools."""

    task: str
    goal: str
    care_notes: tuple[str, ...]
    tools: tuple[str, ...]
    nominal_s: float
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The part of a snapshot the agent may see, with what it heard and noticed since the last one.

    Distinct from `Snapshot` so that showing ground truth to an agent is a type error.
    """

    observation_id: int
    t_ns: int
    readings: Mapping[str, Reading]
    heard: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    last_reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and how long the agent thought about it (charged to the job clock)."""

    action: Action
    think_s: float


class Agent(Protocol):
    """An agent under test."""

    name: str

    def begin(self, briefing: Briefing) -> None:
        """Take the job; called once before the first `act`."""
        ...

    def act(self, observation: Observation) -> Decision:
        """Propose the next action."""
        ...
