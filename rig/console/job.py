"""The job of a trial whose agent is a person at the page, as the server knows it: told, asked, decided."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rig.agents.calls import action_of
from rig.agents.schema import offered
from rig.console.bench_state import NotNow
from rig.console.seat import Asked, Briefed
from rig.core.agent import Briefing
from rig.core.clock import NS_PER_S, monotonic_ns
from rig.core.errors import UsageError
from rig.core.malformed import Malformed
from rig.core.tools import Action, CallHuman, Stop

MOST_LINES = 200
MOST_READ = 100


@dataclass(frozen=True, slots=True)
class Line:
    """One thing in the course of the job.

    Attributes:
        t_s: Job time.
        who: Where it comes from; the rig says what became of a decision.
        text: In words.
    """

    t_s: float
    who: Literal["you", "rig", "heard", "noticed"]
    text: str


@dataclass(slots=True)
class Job:
    """What the person has been told, and whether a decision is waited for.

    Attributes:
        version: Goes up with everything the page shows.
        briefing: The job, the person, the care notes, the tools.
        asked: What is to be decided on; the last of it while a decision is being carried out.
        waits: Whether a decision is waited for.
        doing: What is being carried out, in words.
        lines: The course of the job, oldest first.
        read: Entries of care documents that were read, each with the job time, for acts that must rest on some.
    """

    version: int = 0
    briefing: Briefing | None = None
    asked: Asked | None = None
    waits: bool = False
    doing: str = ""
    lines: deque[Line] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    read: dict[str, tuple[float, Mapping[str, Any]]] = field(default_factory=dict)
    _since_ns: int = 0
    _cutting_short: bool = False

    @property
    def thinking_s(self) -> float:
        """How long a decision has been waited for, seconds."""
        return (monotonic_ns() - self._since_ns) / NS_PER_S if self.waits else 0.0

    def take(self, told: Briefed | Asked) -> None:
        """Take in what the person is told."""
        self.version += 1
        if isinstance(told, Briefed):
            self.briefing = told.briefing
            return
        self.asked, self.waits, self.doing, self._cutting_short = told, True, "", False
        self._since_ns = monotonic_ns()
        t_s, last = float(told.view["job_time_s"]), told.view.get("last_action")
        if last is not None:
            self.lines.append(Line(t_s, "rig", f"{last['status'].replace('_', ' ')}: {last['message']}"))
            for entry in last.get("entries", ()):
                self.lines.append(Line(t_s, "rig", f"{entry['document'].replace('_', ' ')}: {entry['text']}"))
                if len(self.read) < MOST_READ:
                    self.read[entry["id"]] = (t_s, entry)
        self.lines.extend(Line(t_s, "heard", text) for text in told.view.get("heard", ()))
        self.lines.extend(Line(t_s, "noticed", text) for text in told.view.get("noticed", ()))

    def decide(self, observation_id: int, tool: str, arguments: Mapping[str, Any]) -> Action:
        """Return the action decided on; stop and a call for help are taken at any time.

        Raises:
            NotNow: If nothing is asked, or something else by now.
            UsageError: If the call cannot be understood; says what is wrong.
        """
        if self.briefing is None or self.asked is None:
            raise NotNow("the job has not begun yet; a moment")
        action = action_of(tool, arguments, offered(self.briefing.tools))
        if isinstance(action, Malformed):
            raise UsageError(action.problem)
        if not isinstance(action, Stop | CallHuman):
            if not self.waits:
                raise NotNow(f"still at it ({self.doing}); only stop and call_human come in between")
            if observation_id != self.asked.observation_id:
                raise NotNow("there is something newer to see than your page showed; look again")
        elif self._cutting_short:
            raise NotNow("a stop or call is under way already")
        self._cutting_short = not self.waits
        return action

    def decided(self, action: Action, t_s: float) -> None:
        """Note that a decision is on its way to the rig."""
        self.version += 1
        given = action.model_dump(mode="json", exclude={"tool", "evidence"}, exclude_defaults=True)
        self.doing = " ".join([action.tool, *(str(value) for value in given.values())])
        self.waits = False
        self.lines.append(Line(t_s, "you", self.doing))
