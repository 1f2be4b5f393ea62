"""A trial that people attend: kept at their pace, stopped at their word, their notes on its record.

People are heard between ticks, at the backend's door: a stretch is run in pieces of at most `LOOK_S` of
their time, and a stop makes the bench safe before anything else happens. A stretch in pieces is tick for
tick the stretch in one, so attending a trial does not change it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite
from typing import Protocol

from rig.core.agent import Agent
from rig.core.backend import Stop, Stretch
from rig.core.channel import Trace, joined
from rig.core.clock import Clock, nanoseconds, seconds
from rig.core.command import Plan
from rig.core.event import Event, Kind, Severity
from rig.core.watch import Guard, Watch
from rig.trial.parts import Manikin, Recorder
from rig.trial.wrapped import Wrapped

LOOK_S = 0.01
"""How often people are heard, in their own time."""
AT_ONCE_TICKS = 500
"""Ticks between two looks where the trial runs as fast as it can."""


class Did(StrEnum):
    """What somebody at the bench did."""

    STARTED = "started"
    TOOK_THE_JOB = "took the job"  # decides from here on, where the agent is a person
    NOTED = "noted"
    ACKNOWLEDGED = "acknowledged"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Word:
    """What somebody at the bench did, for the record: who, as what, and in which words."""

    did: Did
    who: str
    role: str
    text: str = ""


class StoppedByPerson(Exception):
    """Somebody stopped the trial; the bench was made safe before this was raised."""


class Desk(Protocol):
    """Where the people at the bench are heard."""

    def words(self) -> Sequence[Word]:
        """Return what was said since the last call; never waits."""
        ...

    @property
    def pace(self) -> float:
        """Seconds of trial time per second of theirs; infinite for as fast as it goes."""
        ...

    def safe(self, word: Word) -> None:
        """Hear that the bench has been made safe after a stop."""
        ...

    def reached(self, t_ns: int, lag_s: float) -> None:
        """Hear how far the trial is, and how late it is against the pace."""
        ...


@dataclass(frozen=True, slots=True)
class Attendance:
    """How a trial is attended.

    Attributes:
        desk: Where people are heard.
        clock: Their clock.
        flush_every_ns: How often telemetry is made durable, trial time: how far a live view is behind.
        person: Who does the job where the agent is a person: whoever is asked at the desk, not at a terminal.
    """

    desk: Desk
    clock: Clock
    flush_every_ns: int
    person: Callable[[], Agent] | None = None


class Attended(Wrapped):
    """A backend that listens to people between ticks.

    Attributes:
        gives_way: Whether what runs is to make room for something else; a stretch then ends early, whoever asked
            for it sees to the rest.
    """

    gives_way: Callable[[], bool] = staticmethod(lambda: False)

    def __init__(self, backend: Manikin, recorder: Recorder, attendance: Attendance) -> None:
        super().__init__(backend)
        self._recorder = recorder
        self._desk, self._clock = attendance.desk, attendance.clock
        self._stopped: Word | None = None
        self._pace, self._from = 0.0, (0, 0)
        self._t_ns = 0

    # --- listening -----------------------------------------------------------------------------

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run a plan as the backend would, listening meanwhile.

        Raises:
            StoppedByPerson: If somebody has stopped the trial; what had run was returned before.
        """
        done: list[Trace] = []
        at = 0
        while at < len(plan):
            if self._heard_stop():
                if done:
                    return Stretch(joined(done, self.layout), Stop.END)
                raise StoppedByPerson(_sentence(self._stopped))
            piece = plan.part(at, at + self._ticks(plan.period_ns))
            found = self._backend.stretch(piece, watch, guards)
            done.append(found.trace)
            at += len(found.trace)
            self._t_ns = int(found.trace.t_ns[-1])
            if found.stop is not Stop.END:
                return Stretch(joined(done, self.layout), found.stop)
            self._keep_pace()
            if self.gives_way():
                break
        return Stretch(joined(done, self.layout), Stop.END)

    def _ticks(self, period_ns: int) -> int:
        pace = self._desk.pace
        return max(1, int(nanoseconds(LOOK_S) * pace // period_ns)) if isfinite(pace) else AT_ONCE_TICKS

    def _heard_stop(self) -> bool:
        for word in self._desk.words():
            if word.did is Did.STOPPED:
                if self._stopped is None:
                    self._backend.make_safe()  # first of all
                    self._stopped = word
                self._desk.safe(word)
            severity = Severity.CRITICAL if word.did is Did.STOPPED else Severity.NOTICE
            body = {"who": word.who, "role": word.role, "did": word.did.value, "text": word.text}
            self._recorder.append(Event(self._t_ns, Kind.OPERATOR, "console", body, severity))
        return self._stopped is not None

    def _keep_pace(self) -> None:
        """Wait until people's time has caught up with the trial's, hearing a stop meanwhile."""
        pace, now_ns = self._desk.pace, self._clock.now_ns()
        if pace != self._pace:
            self._pace, self._from = pace, (now_ns, self._t_ns)
        due_ns = now_ns if pace == inf else self._from[0] + int((self._t_ns - self._from[1]) / pace)
        self._desk.reached(self._t_ns, seconds(max(0, now_ns - due_ns)))
        while now_ns < due_ns and not self._heard_stop() and not self.gives_way():
            self._clock.sleep_until(min(due_ns, now_ns + nanoseconds(LOOK_S)))
            now_ns = self._clock.now_ns()


def _sentence(word: Word | None) -> str:
    if word is None:
        return "stopped by a person"
    return f"stopped by {word.who} ({word.role})" + (f": {word.text}" if word.text else "")
