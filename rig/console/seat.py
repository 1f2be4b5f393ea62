"""The seat of a person who does the job at the page, inside the process of the trial: the agent `human` there.

The person is told what any agent is told, through the same views, and answers with the same typed actions; what
cannot be understood never comes this far, the server says so at once. The bench goes on meanwhile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from rig.agents.human import NAME
from rig.agents.view import view_of
from rig.core.agent import Briefing, Decision, Observation
from rig.core.clock import Clock, MonotonicClock, seconds
from rig.core.errors import AgentUnreachable, UsageError
from rig.core.tools import Action, CallHuman, Stop


@dataclass(frozen=True, slots=True)
class Briefed:
    """What the person is told before the job, and again when another one takes over."""

    briefing: Briefing


@dataclass(frozen=True, slots=True)
class Asked:
    """What the person sees, and is to decide on.

    Attributes:
        view: As every agent outside the rig's process is shown it.
        pictures: What was looked at, as JPEG; the view says of which camera, in the same order, and what is wrong
            with those that are empty.
    """

    observation_id: int
    view: Mapping[str, Any]
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody at the page has decided."""

    action: Action
    who: str
    role: str


class PersonAtPage:
    """Whoever sits at the page.

    Args:
        say: Called from the agent's thread with what the person is told.
        clock: Times the decisions.
    """

    name = NAME

    def __init__(self, say: Callable[[Briefed | Asked], None], clock: Clock | None = None) -> None:
        self._say, self._clock = say, clock or MonotonicClock()
        self._answers: SimpleQueue[Action | None] = SimpleQueue()
        self._briefing: Briefing | None = None
        self._break_off: Callable[[], None] = lambda: None

    def sit_down(self, break_off: Callable[[], None]) -> None:
        """Take the seat."""
        self._break_off = break_off

    def get_up(self) -> None:
        """Leave it: whoever waits for a decision waits no longer."""
        self._answers.put(None)

    def begin(self, briefing: Briefing) -> None:
        """Tell the person the job."""
        self._briefing = briefing
        self._say(Briefed(briefing))

    def act(self, observation: Observation) -> Decision:
        """Ask the person, and wait.

        Raises:
            AgentUnreachable: If the job is over meanwhile.
        """
        if self._briefing is None:
            raise UsageError("nobody was given a job")
        before_ns = self._clock.now_ns()
        pictures = tuple(seen.data for seen in observation.sightings)
        self._say(Asked(observation.observation_id, view_of(observation, self._briefing), pictures))
        action = self._answers.get()
        if action is None:
            raise AgentUnreachable("left", "nobody sits at the page any more")
        return Decision(action, seconds(self._clock.now_ns() - before_ns))

    def decide(self, action: Action) -> None:
        """Take what the person has decided; a stop or a call for help cuts short what is under way."""
        if isinstance(action, Stop | CallHuman):
            self._break_off()
        self._answers.put(action)
