"""Measure the link to the real firmware on ptys: round trip, clock residual, and time to SAFE.

Run as ``python tests/benchmarks/bench_link.py [--heartbeat MS] [--repeats N] [--only NAME]`` in a checkout.
The machine's load decides the tails: compare figures of one run only.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.clock_sync import fit
from firmware_bridge.codec import framed, unpack
from firmware_bridge.emulator import EmulatedNode
from firmware_bridge.framing import Decoder, encode
from firmware_bridge.plant_port import Drives, World
from rig.core.clock import MonotonicClock, monotonic_ns
from rig.core.command import Command
from tests.firmware_bridge.process import (
    CONTROLLER,
    MONITOR,
    NodeProcess,
    NotUp,
    node_process,
    script,
    watched,
)

TRIES = 3
TRIP_MARGIN_MS = 25
"""Allowed beyond the heartbeat time-out: a step of the node, its reading of a queue, and a busy machine."""


def figures(name: str, values_us: list[float]) -> None:
    """Print the spread of some times."""
    p50, p99, worst = np.percentile(values_us, [50, 99, 100])
    print(f"{name:48} n={len(values_us):6}  p50 {p50:10.1f}  p99 {p99:10.1f}  max {worst:10.1f} us")


def codec() -> None:
    """Print what encoding and decoding cost."""
    message = m.Setpoints(1, 1023, tuple(range(16)))
    wire, n = encode(framed(message, 1, 1, 1)), 20_000
    start = time.perf_counter_ns()
    for k in range(n):
        encode(framed(message, 1, k & 0xFFFF, 1))
    middle = time.perf_counter_ns()
    decoder = Decoder()
    for _ in range(n):
        (frame,) = decoder.feed(wire)
        unpack(frame.kind, frame.payload)
    end = time.perf_counter_ns()
    encode_us, decode_us = (middle - start) / n / 1000, (end - middle) / n / 1000
    print(f"codec, Setpoints ({len(wire)} bytes): encode {encode_us:.2f} us, decode {decode_us:.2f} us")


def round_trips(n: int) -> None:
    """Print the time of a write from the gate's side, and how well the clocks agree."""
    with node_process() as node, watched(node):
        clock = MonotonicClock()
        with BridgeBackend(node.ports[0], clock) as backend:
            times = []
            for k in range(n):
                start = monotonic_ns()
                backend.write([Command("bed.back", 10.0 + k % 2, clock.now_ns() + 10**9)])
                times.append((monotonic_ns() - start) / 1000)
            figures("write, acknowledged by the node", times)
            exchanges = list(backend.link.seen(lambda s: list(s.clocks.raw)))
            gaps, unreadable = backend.link.seen(lambda s: (s.gaps, s.unreadable))
        line = fit(exchanges)
        residuals = [
            abs(line.host_ns(round(e.node_ns / 1000)) - e.node_ns - e.offset_ns) / 1000 for e in exchanges
        ]
        figures("clock residual about the fitted line", residuals)
        print(
            f"telemetry gaps {gaps}, unreadable {unreadable}, uncertainty {line.uncertainty_ns / 1000:.1f} us"
        )


@dataclass(frozen=True)
class Case:
    """A way for things to go wrong: signals to the host's processes, or something done to the node."""

    name: str
    controller: int = 0
    monitor: int = 0
    node: str = ""


CASES = (
    Case("controller kill -9", controller=signal.SIGKILL),
    Case("controller SIGSTOP", controller=signal.SIGSTOP),
    Case("monitor kill -9", monitor=signal.SIGKILL),
    Case("monitor SIGSTOP", monitor=signal.SIGSTOP),
    Case("both SIGSTOP", controller=signal.SIGSTOP, monitor=signal.SIGSTOP),
    Case("cable pulled", controller=signal.SIGUSR1),
    Case("emergency stop pressed", node="estop"),
    Case("supply lost", node="supply"),
    Case("node reset", node="reset"),
)


class OnHost:
    """The firmware as a process on ptys."""

    def __init__(self, heartbeat_ms: int) -> None:
        self._node = NodeProcess(heartbeat_ms)
        self.controller, self.monitor = self._node.ports

    def __enter__(self) -> "OnHost":
        return self

    def __exit__(self, *_: object) -> None:
        self._node.close()

    def blow(self, what: str) -> None:
        self._node.tell({"estop": "estop 1", "supply": "supply 0", "reset": "reset 2"}[what])

    def until_safe(self, reset: bool) -> float:
        """Return the machine's time (us) at which outputs were safe: SAFE, or started anew and unarmed."""
        return self._node.until(m.State.IDLE if reset else m.State.SAFE)[1]


class UnderQemu:
    """The firmware on the emulated board; the plant port is the oracle."""

    def __init__(self, heartbeat_ms: int) -> None:
        self._node = EmulatedNode(heartbeat_ms)
        self._world = World(np.array([0.0 if i.low <= 0.0 else i.low for i in m.INPUTS]))

    def __enter__(self) -> "UnderQemu":
        self._node.__enter__()
        self.controller, self.monitor = self._node.controller, self._node.monitor
        self._node.exchange(self._world)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()
        return self

    def _pump(self) -> None:
        while not self._ending.wait(0.02):
            self._node.exchange(self._world)

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        self._node.__exit__(None, None, None)

    def blow(self, what: str) -> None:
        self.boot = self._node.reader.newest.boot
        if what == "supply":
            self._world = replace(self._world, supply_mv=0)
            self._node.exchange(self._world)
        elif what == "estop":
            self._node.press(True)
        else:
            self._node.reset()

    def until_safe(self, reset: bool) -> float:
        self._ending.set()
        self._thread.join()
        if (done := self._seen(self._node.reader.newest, reset)) is not None:
            return done
        found = self._node.wait_for(lambda d: self._seen(d, reset) is not None, 20.0)
        assert found is not None, "never safe"
        return found[1] / 1000

    def _seen(self, drives: Drives, reset: bool) -> float | None:
        safe = drives.boot != self.boot if reset else drives.state == m.State.SAFE
        return monotonic_ns() / 1000 if safe else None


def times_to_safe(board: type[OnHost] | type[UnderQemu], heartbeat_ms: int, repeats: int) -> bool:
    """Print how long each way of dying takes to be made safe; return whether all kept the limit."""
    limit_us = 1000 * (heartbeat_ms + TRIP_MARGIN_MS)
    kept = True
    for case in CASES:
        times = []
        for _ in range(TRIES * repeats):
            if len(times) == repeats:
                break
            with (
                contextlib.suppress(NotUp),  # on a machine too busy to arm there is nothing to measure
                board(heartbeat_ms) as node,
                script(MONITOR, node.monitor) as monitor,
                script(CONTROLLER, node.controller) as controller,
            ):
                start_us = monotonic_ns() / 1000
                if case.controller:
                    os.kill(controller.pid, case.controller)
                if case.monitor:
                    os.kill(monitor.pid, case.monitor)
                if case.node:
                    node.blow(case.node)
                times.append(node.until_safe(case.node == "reset") - start_us)
        figures(f"{case.name} -> SAFE (time-out {heartbeat_ms} ms)", times)
        kept &= max(times) <= limit_us
    print(f"declared limit {limit_us / 1000:.0f} ms: {'kept' if kept else 'NOT KEPT'}")
    return kept


BOARDS: dict[str, type[OnHost] | type[UnderQemu]] = {"host": OnHost, "qemu": UnderQemu}


def main() -> int:
    """Run what was asked for; return 1 if a declared limit was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heartbeat", type=int, default=100, help="time-out of either heartbeat, ms")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--writes", type=int, default=5000)
    parser.add_argument("--board", choices=list(BOARDS), default="host")
    parser.add_argument("--only", choices=["codec", "trips", "safe"])
    chosen = parser.parse_args()
    kept = True
    if chosen.only in (None, "codec"):
        codec()
    if chosen.only in (None, "trips"):
        round_trips(chosen.writes)
    if chosen.only in (None, "safe"):
        kept = times_to_safe(BOARDS[chosen.board], chosen.heartbeat, chosen.repeats)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
