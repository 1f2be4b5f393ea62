"""Measure the link to the real firmware on ptys: round trip, clock residual, and time to SAFE.

Run as ``python tests/benchmarks/bench_link.py [--heartbeat MS] [--repeats N] [--only NAME]`` in a checkout.
The machine's load decides the tails: compare figures of one run only.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.clock_sync import fit
from firmware_bridge.codec import framed, unpack
from firmware_bridge.framing import Decoder, encode
from rig.core.clock import MonotonicClock, monotonic_ns
from rig.core.command import Command
from tests.firmware_bridge.process import CONTROLLER, MONITOR, NodeProcess, node_process, script, watched

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


CASES: dict[str, Callable[[NodeProcess, int, int], None]] = {
    "controller kill -9": lambda node, controller, monitor: os.kill(controller, signal.SIGKILL),
    "controller SIGSTOP": lambda node, controller, monitor: os.kill(controller, signal.SIGSTOP),
    "monitor kill -9": lambda node, controller, monitor: os.kill(monitor, signal.SIGKILL),
    "monitor SIGSTOP": lambda node, controller, monitor: os.kill(monitor, signal.SIGSTOP),
    "emergency stop pressed": lambda node, controller, monitor: node.tell("estop 1"),
    "supply lost": lambda node, controller, monitor: node.tell("supply 0"),
}


def times_to_safe(heartbeat_ms: int, repeats: int) -> bool:
    """Print how long each way of dying takes to be made safe; return whether all kept the limit."""
    limit_us = 1000 * (heartbeat_ms + TRIP_MARGIN_MS)
    kept = True
    for name, blow in CASES.items():
        times = []
        for _ in range(repeats):
            with (
                node_process(heartbeat_ms) as node,
                script(MONITOR, node.ports[1]) as monitor,
                script(CONTROLLER, node.ports[0]) as controller,
            ):
                start_us = monotonic_ns() / 1000
                blow(node, controller.pid, monitor.pid)
                _, tripped_us = node.until(m.State.SAFE)
                times.append(tripped_us - start_us)
        figures(f"{name} -> SAFE (time-out {heartbeat_ms} ms)", times)
        kept &= max(times) <= limit_us
    print(f"declared limit {limit_us / 1000:.0f} ms: {'kept' if kept else 'NOT KEPT'}")
    return kept


def main() -> int:
    """Run what was asked for; return 1 if a declared limit was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heartbeat", type=int, default=100, help="time-out of either heartbeat, ms")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--writes", type=int, default=5000)
    parser.add_argument("--only", choices=["codec", "trips", "safe"])
    chosen = parser.parse_args()
    kept = True
    if chosen.only in (None, "codec"):
        codec()
    if chosen.only in (None, "trips"):
        round_trips(chosen.writes)
    if chosen.only in (None, "safe"):
        kept = times_to_safe(chosen.heartbeat, chosen.repeats)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
