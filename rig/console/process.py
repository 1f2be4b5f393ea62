"""The process that runs trials, seen from the server: started, told things, heard, and broken into."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence

from rig.console import worker
from rig.console.seat import Asked, Briefed, Decided
from rig.trial.attended import Word

STOP_ACK_S = 0.5
"""After so long without an answer to a stop the trial is broken into."""
STOP_KILL_S = 8.0
CLOSE_S = 10.0

Said = worker.Ready | worker.Unfit | worker.Reached | worker.Over | Briefed | Asked


class TrialProcess:
    """One warm process for the trials of a bench; `rig.console.worker` is what runs in it.

    Args:
        tasks: Tasks to be ready for, in this order.
        bench: Bench they run on.
        hear: Called with what the process says, from a thread of its own.
        gone: Called once when it is gone, whatever ended it.

    Attributes:
        ready: Tasks a trial of which begins at once.
        unfit: Tasks the bench cannot bear, and why.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        bench: str,
        hear: "Callable[[TrialProcess, Said], None]",
        gone: "Callable[[TrialProcess], None]",
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=worker.main, args=(theirs, tasks, bench), daemon=False)
        self._process.start()
        theirs.close()
        self._hear, self._gone = hear, gone
        self._safe, self._safe_ns = threading.Event(), 0
        self.ready: frozenset[str] = frozenset()
        self.unfit: dict[str, str] = {}
        threading.Thread(target=self._listen, name="worker", daemon=True).start()

    def _listen(self) -> None:
        """Take in what the process says until it is gone."""
        while True:
            try:
                said = self._pipe.recv()
            except (EOFError, OSError):
                self._pipe.close()
                self._gone(self)
                return
            if isinstance(said, worker.Safe):
                self._safe_ns = said.at_ns
                self._safe.set()
                continue
            if isinstance(said, worker.Ready):
                self.ready |= {said.task}
            if isinstance(said, worker.Unfit):
                self.unfit = {**self.unfit, said.task: said.why}
            self._hear(self, said)

    def tell(self, what: worker.Run | worker.Pace | Word | Decided) -> None:
        """Say something to the process; callers take turns.

        Raises:
            OSError: If it is gone.
        """
        self._pipe.send(what)

    def ask_to_stop(self, word: Word) -> None:
        """Ask for a stop; `safe_within` says what came of it."""
        self._safe.clear()
        with contextlib.suppress(OSError):
            self.tell(word)

    def safe_within(self, seconds: float) -> int | None:
        """Return when the bench was safe (`monotonic_ns`); None where nothing answered in time."""
        return self._safe_ns if self._safe.wait(seconds) else None

    def break_in(self) -> None:
        """Interrupt a trial that hears nobody, and end it for good if that does not help."""
        if self._process.pid is not None:
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, signal.SIGUSR1)

        def end() -> None:
            self._process.join(STOP_KILL_S)
            if self._process.is_alive() and not self._safe.is_set():
                self._process.kill()

        threading.Thread(target=end, daemon=True).start()

    def let_go(self) -> None:
        """Tell it to end: between trials at once, in a trial it stops that first.

        The line stays open until it has ended: closed here, under a thread that reads from it, it would not
        break on the other side.
        """
        with contextlib.suppress(OSError):
            self._pipe.send(worker.Leave())

    def wait(self) -> None:
        """Wait for its end, for a while."""
        self._process.join(CLOSE_S)
