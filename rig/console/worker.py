"""The process a trial runs in: apart from the server, so that neither can take the other down.

It is warm while the bench is armed. What people say reaches it through a pipe; if the pipe breaks, because
the server is gone, it stops the trial: nobody would hear a stop any more.
"""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from rig.core.clock import MonotonicClock, monotonic_ns, nanoseconds, seconds
from rig.core.errors import RunError
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
class Ready:
    """The monitor is compiled; a trial begins at once."""


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
    """Hears people through the pipe."""

    def __init__(self, pipe: Connection, run: Run) -> None:
        self._pipe, self._pace = pipe, run.pace
        self._first: list[Word] = [run.by]
        self._reported_ns = 0
        self._gone = False

    @property
    def pace(self) -> float:
        """Seconds of trial time per second of people's."""
        return self._pace

    def words(self) -> Sequence[Word]:
        """Return what was said since the last call."""
        found, self._first = self._first, []
        try:
            while not self._gone and self._pipe.poll():
                said = self._pipe.recv()
                if isinstance(said, Pace):
                    self._pace = said.pace
                elif isinstance(said, Word):
                    found.append(said)
        except (EOFError, OSError):
            self._gone = True
            found.append(LOST)
        return found

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
        with contextlib.suppress(OSError):
            self._pipe.send(what)


def main(pipe: Connection, tasks: Sequence[str], bench: str) -> None:
    """Be ready, then run trials one after the other until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the server's terminal is the server's
    parent = os.getppid()
    try:
        for task in tasks:
            prepare(task, bench)[0].arm()  # compiled and tested now, so that a trial begins at once
        pipe.send(Ready())
        while os.getppid() == parent:
            said = pipe.recv()
            if isinstance(said, Run):
                pipe.send(_run(pipe, said))
            elif isinstance(said, Word) and said.did is Did.STOPPED:
                pipe.send(Safe(monotonic_ns()))  # nothing moves between trials
    except (EOFError, OSError):
        return
    except RunError as error:
        with contextlib.suppress(OSError):
            pipe.send(Over("aborted", str(error), fault=True))


def _run(pipe: Connection, run: Run) -> Over:
    desk = PipeDesk(pipe, run)
    flush_ns = nanoseconds(FLUSH_S * min(run.pace, 1000.0))
    attendance = Attendance(desk, MonotonicClock(), max(1, flush_ns))
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
