"""The monitor in a process of its own: nothing the controller or an agent does can hold it up.

The process takes snapshots from a shared ring in a compiled loop that never touches Python, at
real-time priority where it is allowed. It gives permission to move as a dead-man's token: a time at
which it last lived and a flag. Whoever drives actuators asks `RemoteMonitor.permits` before every
write; a monitor that is stopped, killed or late withholds permission by doing nothing.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.core.channel import Channel, Layout, Snapshot
from rig.core.clock import monotonic_ns
from rig.core.errors import RigFault, RunError
from safety_monitor.monitor import Monitor
from safety_monitor.realtime import Loop, run_loop
from safety_monitor.ring import WORD, Rows, Shape, newest_events, push, set_word, word
from safety_monitor.rules import load_rules

WATCHDOG_NS = 20_000_000
"""Without a sign of life for this long the monitor counts as dead, and so does whoever started it."""
PULSE_S = 0.004
START_S = 180.0  # the first time a rule set is compiled, on a busy machine
PRIORITY = 50
Companion = Callable[[Callable[[], bool], Callable[[], bool]], None]
"""Runs in a thread beside the loop, in its process; asks whether the loop and the process that started it live, and
whether the loop has stopped. A killed parent stays on the system's books while its memory is cleared away, a tenth of a
second on a busy machine: so it is its pulse that counts, not its entry there."""


@dataclass(frozen=True, slots=True)
class Change:
    """What the monitor process saw at one tick.

    Attributes:
        row: Number of the snapshot; negative for a tick without one.
        ingest_ns: Monotonic time at which the snapshot was published.
        verdict_ns: Monotonic time at which the verdicts stood.
        kind: ``changed``, ``overrun`` (the tick took longer than the budget) or ``missed`` (rows lost).
        attention: Attention of every rule afterwards: 0 clear, 1 violated, 2 lost.
    """

    row: int
    ingest_ns: int
    verdict_ns: int
    kind: str
    attention: tuple[int, ...]


KINDS = ("changed", "overrun", "missed")


@dataclass(frozen=True, slots=True)
class Vitals:
    """How the monitor process is doing: rows taken and lost, overruns, its worst tick, its priority.

    ``late``, ``duplicate`` and ``disordered`` are samples (see `safety_monitor.monitor.Arrivals`).
    """

    taken: int
    missed: int
    late: int
    duplicate: int
    disordered: int
    overruns: int
    worst_tick_ns: int
    priority: str


class RemoteMonitor:
    """A monitor process and the ring to it; a context manager."""

    def __init__(
        self,
        paths: Sequence[Path],
        layout: Layout,
        loop: Loop | None = None,
        companion: Companion | None = None,
    ) -> None:
        """Describe the process; nothing is started before the context is entered.

        Args:
            paths: Rule files.
            layout: The channels.
            loop: Timing of the loop.
            companion: What else the process does: a heartbeat on a link of its own, for example.
        """
        self._paths, self._layout, self._companion = tuple(paths), layout, companion
        self._loop = loop or Loop()
        self.rules = load_rules(self._paths, layout)
        self._shape = Shape(len(layout), len(self.rules.rules))
        self._events = 0
        self._priority = "not started"

    def __enter__(self) -> Self:
        self._memory = SharedMemory(create=True, size=self._shape.size())
        self._rows: Rows = self._shape.view(self._memory)
        for part in self._rows:
            part.fill(0)
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_main,
            args=(self._memory.name, self._paths, self._layout.channels, self._loop, theirs, self._companion),
            name="safety-monitor",
            daemon=True,
        )
        self._process.start()
        theirs.close()
        self._ending = threading.Event()
        self._pulse = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self._pulse.start()
        try:
            if not ours.poll(START_S):
                raise RigFault(f"the monitor process did not arm within {START_S:g} s")
            said = ours.recv()
        except EOFError:
            said = "ended before it was armed"
        if not said.startswith("ready"):
            self._end()
            raise RigFault(f"the monitor process: {said}")
        self._priority = said.removeprefix("ready, ")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _beat(self) -> None:
        while not self._ending.wait(PULSE_S):
            set_word(self._rows, WORD.writer_ns, monotonic_ns())

    def _end(self) -> None:
        self._ending.set()
        self._pulse.join()
        set_word(self._rows, WORD.quit, 1)
        self._process.join(2.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        del self._rows
        self._memory.close()
        self._memory.unlink()

    @property
    def pid(self) -> int:
        """Process id of the monitor."""
        return int(self._process.pid or 0)

    def send(self, snapshot: Snapshot) -> None:
        """Hand a snapshot over; never waits."""
        push(self._rows, snapshot, monotonic_ns())

    def permits(self) -> bool:
        """Return whether motion is permitted: the monitor lives, and no actuating rule is broken or lost."""
        return _alive(self._rows) and word(self._rows, WORD.permit) == 1

    def reset(self) -> None:
        """Let the monitor forget and permit again: a person's decision, after a stop."""
        set_word(self._rows, WORD.reset, word(self._rows, WORD.reset) + 1)

    def changes(self) -> tuple[Change, ...]:
        """Return what happened since the last call, oldest first; for the record only."""
        self._events, events, attention = newest_events(self._rows, self._events)
        return tuple(
            Change(int(e[0]), int(e[1]), int(e[2]), KINDS[int(e[3])], tuple(int(x) for x in a))
            for e, a in zip(events, attention, strict=True)
        )

    def vitals(self) -> Vitals:
        """Return how the process is doing."""

        def at(i: int) -> int:
            return word(self._rows, i)

        return Vitals(
            taken=at(WORD.tail), missed=at(WORD.missed), late=at(WORD.late), duplicate=at(WORD.duplicate),
            disordered=at(WORD.disordered), overruns=at(WORD.overruns), worst_tick_ns=at(WORD.worst_ns),
            priority=self._priority,
        )  # fmt: skip


def _main(
    name: str,
    paths: Sequence[Path],
    channels: Sequence[Channel],
    loop: Loop,
    pipe: Connection,
    companion: Companion | None,
) -> None:
    """Be the monitor process: load, arm, say so, run."""
    memory = SharedMemory(name=name)
    try:
        layout = Layout(channels)
        rules = load_rules(paths, layout)
        monitor = Monitor(rules, layout)
        monitor.arm()
        rows = Shape(len(layout), len(rules.rules)).view(memory)
        set_word(rows, WORD.alive_ns, monotonic_ns())
        set_word(rows, WORD.permit, 1)
        priority = _real_time()
        if companion is not None:  # it inherits the priority: its silence is a stop
            words = lambda: _alive(rows) and _started(rows), lambda: word(rows, WORD.stopped) == 1
            threading.Thread(target=companion, args=words, name="companion", daemon=True).start()
        pipe.send(f"ready, {priority}")
    except RunError as error:
        pipe.send(f"not armed: {error}")
        return
    run_loop(monitor.watch, monitor.program, rows, rules, loop)


def _alive(rows: Rows) -> bool:
    return monotonic_ns() - word(rows, WORD.alive_ns) <= WATCHDOG_NS


def _started(rows: Rows) -> bool:
    """Return whether the process that started the monitor lives."""
    return monotonic_ns() - word(rows, WORD.writer_ns) <= WATCHDOG_NS


def _real_time() -> str:
    """Ask for real-time priority and say what was granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (OSError, AttributeError) as error:
        return f"normal priority (real-time priority was refused: {error})"
    return f"real-time priority {PRIORITY}"
