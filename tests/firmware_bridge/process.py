"""The firmware as a process on two ptys, and what a host does to it, in real time."""

import contextlib
import multiprocessing
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.faults import FaultyWires, WireFaults
from firmware_bridge.link import Link, settings
from rig.core.clock import MonotonicClock
from rig.core.command import Command
from tests.firmware_bridge.node import built

PRIORITY = 10
HEARTBEAT_MS = 250
"""Long enough for a machine whose cores are shared with others; a bench of its own uses 100 ms."""

FORKSERVER = multiprocessing.get_context("forkserver")
"""Host processes of their own are forked from one that has imported everything: they are at work at once."""
FORKSERVER.set_forkserver_preload(["__main__", "tests.firmware_bridge.process"])


def be_punctual(pid: int = 0) -> None:
    """Let a process, or this one, run at real-time priority where that is allowed, as those of a rig do."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(PRIORITY))


def control(port: str, ready: Connection) -> None:
    """Be a controller that moves the bed; SIGUSR1 pulls its cable."""
    be_punctual()
    clock = MonotonicClock()
    with BridgeBackend(port, clock) as backend:

        def pull(*_: object) -> None:
            wires = FaultyWires(np.random.default_rng(0))
            wires.set(WireFaults(), cut=True)
            backend.link.wires = wires

        signal.signal(signal.SIGUSR1, pull)
        for k in range(10**6):
            backend.write([Command("bed.back", 80.0, clock.now_ns() + 1_000_000_000)])
            if k == 0:
                ready.send("moving")
            clock.sleep_until(clock.now_ns() + 10_000_000)


def watch(port: str, ready: Connection) -> None:
    """Be a monitor that consents."""
    be_punctual()
    clock = MonotonicClock()
    with Link(port, settings(m.Role.MONITOR), clock):
        ready.send("watching")
        clock.sleep_until(10**12)


class NotUp(AssertionError):
    """A host process ended before it was at work."""


class NodeProcess:
    """The process; its stdout is the oracle of its state."""

    def __init__(self, heartbeat_ms: int = HEARTBEAT_MS) -> None:
        self.process = subprocess.Popen(
            [built("node"), str(heartbeat_ms), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        be_punctual(self.process.pid)
        self._text = b""
        self.ports = [self.line().split()[2] for _ in range(2)]

    def line(self, within_s: float = 10.0) -> str:
        """Return the next line it writes."""
        assert self.process.stdout is not None
        fd, end = self.process.stdout.fileno(), time.monotonic() + within_s
        while b"\n" not in self._text:
            ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no line within {within_s} s"
            chunk = os.read(fd, 4096)
            assert chunk, "the node has ended"
            self._text += chunk
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def until(self, state: m.State) -> tuple[m.Reason, int]:
        """Return why and when (machine's monotonic time, microseconds) it went to ``state``."""
        while True:
            words = self.line().split()
            if int(words[1]) == state:
                return m.Reason(int(words[3])), int(words[5])

    def tell(self, order: str) -> None:
        """Make something happen to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@contextlib.contextmanager
def node_process(heartbeat_ms: int = HEARTBEAT_MS) -> Iterator[NodeProcess]:
    node = NodeProcess(heartbeat_ms)
    try:
        yield node
    finally:
        node.close()


@contextlib.contextmanager
def watched(node: NodeProcess) -> Iterator[Link]:
    """A monitor on the node's second port."""
    with Link(node.ports[1], settings(m.Role.MONITOR), MonotonicClock()) as link:
        yield link


@contextlib.contextmanager
def beside(work: Callable[[str, Connection], None], port: str) -> Iterator[BaseProcess]:
    """A host process of its own; inside the block it is at work."""
    ours, theirs = FORKSERVER.Pipe(duplex=False)
    child = FORKSERVER.Process(target=work, args=(port, theirs))
    child.start()
    theirs.close()
    try:
        try:
            ours.recv()
        except EOFError:
            raise NotUp(work.__name__) from None
        yield child
    finally:
        child.kill()
        child.join()
        ours.close()
