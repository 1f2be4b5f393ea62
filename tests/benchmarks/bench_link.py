"""Measure the link to the real firmware on ptys: round trip, clock residual, and time to SAFE.

Run as ``python tests/benchmarks/bench_link.py [--heartbeat MS] [--repeats N] [--only NAME] [--cases WORD...]`` in a
checkout. The machine's load decides the tails: compare figures of one run only.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
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
from firmware_bridge.link import Link, settings
from firmware_bridge.plant_port import Drives, World
from rig.core.bench import load_bench
from rig.core.clock import MonotonicClock, monotonic_ns
from rig.core.command import Command, Plan, actuator_index
from rig.doctor.emulated import rules_on
from rig.doctor.simulated import quickest
from rig.emulation.backend import EmulatedBackend
from rig.sim.backend import indifferent_watch
from tests.firmware_bridge.process import NodeProcess, NotUp, be_punctual, beside, control, watch
from tests.firmware_bridge.test_framing import garbage
from tests.firmware_bridge.test_session import BAD, through_faults

TRIES = 3
TRIP_MARGIN_MS = 25
"""Allowed beyond the heartbeat time-out: a step of the node, its reading of a queue, and a busy machine."""


def figures(name: str, values_us: list[float]) -> None:
    """Print the spread of some times."""
    if not values_us:
        print(f"{name:48} could not be measured on this machine now", flush=True)
        return
    p50, p99, worst = np.percentile(values_us, [50, 99, 100])
    print(
        f"{name:48} n={len(values_us):6}  p50 {p50:10.1f}  p99 {p99:10.1f}  max {worst:10.1f} us", flush=True
    )


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


Boards = type[OnHost] | type[UnderQemu]


def round_trips(board: Boards, heartbeat_ms: int, n: int) -> None:
    """Print the time of a write from the gate's side, and how well the clocks agree."""
    with board(heartbeat_ms) as node, Link(node.monitor, settings(m.Role.MONITOR), MonotonicClock()):
        clock = MonotonicClock()
        with BridgeBackend(node.controller, clock) as backend:
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


def times_to_safe(board: Boards, heartbeat_ms: int, repeats: int, words: Sequence[str]) -> bool:
    """Print how long each way of dying takes to be made safe; return whether all kept the limit."""
    limit_us = 1000 * (heartbeat_ms + TRIP_MARGIN_MS)
    kept = True
    for case in (c for c in CASES if not words or any(w in c.name for w in words)):
        times: list[float] = []
        for _ in range(TRIES * repeats):
            if len(times) == repeats:
                break
            with (
                contextlib.suppress(NotUp),  # on a machine too busy to arm there is nothing to measure
                board(heartbeat_ms) as node,
                beside(watch, node.monitor) as monitor,
                beside(control, node.controller) as controller,
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
        kept &= len(times) == repeats and max(times) <= limit_us
    print(f"declared limit {limit_us / 1000:.0f} ms: {'kept' if kept else 'NOT KEPT'}")
    return kept


BOARDS: dict[str, Boards] = {"host": OnHost, "qemu": UnderQemu}


def frames(garbage_frames: int, commands: int) -> bool:
    """Print how many frames of noise are accepted, and what becomes of commands through every fault of a wire."""
    accepted = garbage(garbage_frames)
    print(f"{garbage_frames} frames of random bytes: accepted {accepted}", flush=True)
    count = through_faults(commands, BAD, 6)
    for name in sorted(map(str, count)):
        print(f"{commands} commands through every fault: {name} {count[name]}")
    return not (accepted or count["executed twice"] or count["lost silently"])


def punctuality(bench: str, seconds: float) -> None:
    """Print how late the ticks of an emulated bench are while its quickest actuator swings."""
    spec = load_bench(bench)
    with EmulatedBackend(spec, 1, rules=rules_on(spec)) as backend:
        i = actuator_index(spec.actuators, quickest(spec).name)
        n = round(seconds * 1e9 / spec.tick_ns)
        rows = np.repeat(backend.setpoints[None, :], n, axis=0)
        rows[:, i] += 0.1 * np.sin(2 * np.pi * 0.25 * np.arange(n) * spec.tick_ns / 1e9)
        plan = Plan(spec.actuators, 0, spec.tick_ns, rows, 10**12)
        backend.stretch(plan, indifferent_watch())
        figures(f"tick of {bench}, later than due", [t / 1000 for t in backend.pace.late_ns])
        print(f"stood still for {backend.pace.stalled_ns / 1e9:.2f} s of {seconds:g} s")


def main() -> int:
    """Run what was asked for; return 1 if a declared limit was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heartbeat", type=int, default=100, help="time-out of either heartbeat, ms")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--writes", type=int, default=5000)
    parser.add_argument(
        "--cases", nargs="*", default=[], metavar="WORD", help="ways of dying with one of these in their name"
    )
    parser.add_argument("--board", choices=list(BOARDS), default="host")
    parser.add_argument("--only", choices=["codec", "trips", "safe", "frames", "pace"])
    chosen = parser.parse_args()
    be_punctual()
    kept = True
    if chosen.only in (None, "codec"):
        codec()
    if chosen.only in (None, "trips"):
        round_trips(BOARDS[chosen.board], chosen.heartbeat, chosen.writes)
    if chosen.only in (None, "frames"):
        kept &= frames(1_000_000, 100_000)
    if chosen.only in (None, "pace") and chosen.board == "qemu":
        punctuality("emulated", 20.0)
    if chosen.only in (None, "safe"):
        kept &= times_to_safe(BOARDS[chosen.board], chosen.heartbeat, chosen.repeats, chosen.cases)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
