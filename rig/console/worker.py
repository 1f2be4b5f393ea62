"""The process a trial runs in: apart from the server, so that neither can take the other down.

It is warm while the bench is armed: task by task it prepares the monitor, so that a trial begins at once.
What people say reaches it through a pipe; if the pipe breaks, because the server is gone, it stops the
trial: nobody would hear a stop any more.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from rig.console.seat import Decided, PersonAtPage
from rig.core.clock import MonotonicClock, monotonic_ns, nanoseconds, seconds
from rig.core.errors import ConfigError, RunError, UsageError
from rig.trial.attended import Attendance, Did, StoppedByPerson, Word
from rig.trial.run import prepare, run_trial
from rig.trial.spec import TrialSpec

FLUSH_S = 0.05
"""How far a live view is behind the trial, in people's time."""
REPORT_NS = nanoseconds(0.1)
LOST = Word(Did.STOPPED, "the console", "program", "the console is gone")


@dataclass(frozen=True, slots=True)
class Run:
    """Run this trial."""

    spec: TrialSpec
    folder: Path
    pace: float
    by: Word


@dataclass(frozen=True, slots=True)
class Pace:
    """Go on at another pace."""

    pace: float


@dataclass(frozen=True, slots=True)
class Leave:
    """The bench is no longer armed: end, and stop what is under way first."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The monitor of this task is compiled; a trial of it begins at once."""

    task: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """The bench cannot bear this task: it has not what the task's rules watch."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the trial is."""

    t_s: float
    lag_s: float


@dataclass(frozen=True, slots=True)
class Safe:
    """The bench was made safe after a stop, at this machine time (`monotonic_ns`)."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Over:
    """The trial has ended and its record is closed."""

    ending: str
    reason: str
    fault: bool = False


class PipeDesk:
    """Hears people through the pipe.

    Attributes:
        gone: Whether nobody is there any more.
    """

    def __init__(self, pipe: Connection, run: Run) -> None:
        self._pipe, self._pace = pipe, run.pace
        self._first: list[Word] = [run.by]
        self._reported_ns = 0
        self._speaking = threading.Lock()  # a person's seat speaks from a thread of its own
        self._seat: PersonAtPage | None = None
        self._sits = ""
        self.gone = False

    def seat(self) -> PersonAtPage:
        """Return the seat of a person who does the job, empty until somebody at the page decides."""
        self._seat = PersonAtPage(self._say)
        return self._seat

    @property
    def pace(self) -> float:
        """Seconds of trial time per second of people's."""
        return self._pace

    def words(self) -> Sequence[Word]:
        """Return what was said since the last call."""
        found, self._first = self._first, []
        try:
            while not self.gone and self._pipe.poll():
                said = self._pipe.recv()
                if isinstance(said, Pace):
                    self._pace = said.pace
                elif isinstance(said, Word):
                    found.append(said)
                elif isinstance(said, Decided):
                    self._decide(said, found)
                elif isinstance(said, Leave):
                    self._leave(found)
        except (EOFError, OSError):
            self._leave(found)
        return found

    def _decide(self, said: Decided, found: list[Word]) -> None:
        """Pass a decision on, and put on record whose decisions they are from here on."""
        if self._seat is None:
            return
        if said.who != self._sits:
            self._sits = said.who
            found.append(Word(Did.TOOK_THE_JOB, said.who, said.role))
        self._seat.decide(said.action)

    def _leave(self, found: list[Word]) -> None:
        self.gone = True
        found.append(LOST)

    def safe(self, word: Word) -> None:
        """Say that the bench is safe."""
        self._say(Safe(monotonic_ns()))

    def reached(self, t_ns: int, lag_s: float) -> None:
        """Say how far the trial is, now and then."""
        now = monotonic_ns()
        if now - self._reported_ns >= REPORT_NS:
            self._reported_ns = now
            self._say(Reached(seconds(t_ns), lag_s))

    def _say(self, what: object) -> None:
        with contextlib.suppress(OSError), self._speaking:
            self._pipe.send(what)


def main(pipe: Connection, tasks: Sequence[str], bench: str) -> None:
    """Get ready for one task after the other and run trials, until told to leave or the pipe breaks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the server's terminal is the server's
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a break-in that comes too late
    parent, waiting = os.getppid(), list(tasks)
    try:
        while os.getppid() == parent:
            if waiting and not pipe.poll():
                task = waiting.pop(0)
                pipe.send(_ready_for(task, bench))
                continue
            said = pipe.recv()
            if isinstance(said, Word) and said.did is Did.STOPPED:
                pipe.send(Safe(monotonic_ns()))  # said as the trial ended: nothing moves between trials
            elif isinstance(said, Leave) or (isinstance(said, Run) and not _run(pipe, said)):
                return
    except (EOFError, OSError):
        return
    except RunError as error:
        with contextlib.suppress(OSError):
            pipe.send(Over("aborted", str(error), fault=True))


def _ready_for(task: str, bench: str) -> Ready | Unfit:
    try:
        prepare(task, bench)[0].arm()
    except (ConfigError, UsageError) as error:
        return Unfit(task, str(error))
    return Ready(task)


def _run(pipe: Connection, run: Run) -> bool:
    """Run a trial, say how it ended, and return whether anybody is still there."""
    desk = PipeDesk(pipe, run)
    pipe.send(_ended(desk, run))
    return not desk.gone


def _ended(desk: PipeDesk, run: Run) -> Over:
    flush_ns = nanoseconds(FLUSH_S * min(run.pace, 1000.0))
    attendance = Attendance(desk, MonotonicClock(), max(1, flush_ns), desk.seat)
    with _interruptible():
        try:
            result = run_trial(run.spec, run.folder, attendance=attendance)
        except StoppedByPerson as stop:
            return Over("aborted", str(stop))
        except KeyboardInterrupt:
            desk.safe(LOST)
            return Over("aborted", "interrupted: the agent did not let go in time")
        except RunError as error:
            return Over("aborted", str(error), fault=True)
    return Over(result.ending.value, result.reason)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let the server break in (SIGUSR1) where the trial waits for an agent and hears nobody."""

    def break_in(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, break_in)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
