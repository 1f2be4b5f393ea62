"""Killing any parent leaves no child commanding 50 ms later."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge import messages as m
from firmware_bridge.emulator import emulator_problem
from tests.firmware_bridge.process import HEARTBEAT_MS, NodeProcess, NotUp, beside, control, watch

ROOT = Path(__file__).parents[2]
LIMIT_S = 0.05
GONE_S = 1.0
"""Until the system has cleared a killed process and its children away: nothing commands meanwhile."""
TRIES = 4
"""On a machine whose cores are taken, a process is not even told within the limit that its parent is dead."""

TRIAL = """
from rig.core.bench import load_bench
from rig.core.command import steady
from rig.emulation.backend import EmulatedBackend
from rig.sim.backend import indifferent_watch
from safety_monitor.rules import rule_files
if __name__ == "__main__":
    bench = load_bench("emulated")
    with EmulatedBackend(bench, 1, rules=rule_files("spoon-feed")) as backend:
        print("at work", flush=True)
        while True:
            plan = steady(backend.actuators, backend.setpoints, backend.now_ns, bench.tick_ns, 100)
            backend.stretch(plan, indifferent_watch())
"""
WATCHER = """
import sys
from firmware_bridge.heart import Heart
from rig.core.bench import load_bench
from rig.core.clock import MonotonicClock
from safety_monitor.process import RemoteMonitor
from safety_monitor.rules import rule_files
if __name__ == "__main__":
    clock = MonotonicClock()
    with RemoteMonitor(rule_files("spoon-feed"), load_bench("sim").layout, companion=Heart(sys.argv[1], True)):
        print("watching", flush=True)
        clock.sleep_until(10**12)
"""


def children(pid: int) -> list[int]:
    found = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def commands(pid: int) -> bool:
    """Whether a process can have a port open to a node: everything but Python's own keeper of shared memory."""
    return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()


def kill_and_see_children_gone(parent: subprocess.Popen[bytes]) -> None:
    left = [pid for pid in children(parent.pid) if commands(pid)]
    assert left, "nobody to be left behind"
    parent.kill()
    killed = time.monotonic()
    while left := [pid for pid in left if lives(pid)]:
        assert time.monotonic() - killed < GONE_S, f"{left} outlive their parent"
        time.sleep(0.001)


@contextlib.contextmanager
def started(folder: Path, text: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a file, because the monitor's process imports it anew; inside the block it is at work."""
    program = folder / "program.py"
    program.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(program), *arguments]
    parent = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None and parent.stdout.readline() in (b"at work\n", b"watching\n")
        yield parent
    finally:
        parent.kill()
        parent.wait()
        if parent.stdout is not None:
            parent.stdout.close()


@pytest.mark.skipif(emulator_problem() is not None, reason=str(emulator_problem()))
def test_a_trial_that_is_killed_takes_its_monitor_and_its_emulated_drives_with_it(tmp_path: Path) -> None:
    with started(tmp_path, TRIAL) as trial:
        kill_and_see_children_gone(trial)


def last_consent_s(folder: Path) -> float | None:
    """Kill the parent of a monitor; return how long after that the node got its last heartbeat, None on a busy machine.

    The node is the witness: it goes SAFE a heartbeat's time-out after the last one that proved anything.
    """
    node = NodeProcess()
    try:
        with started(folder, WATCHER, node.ports[1]) as parent, beside(control, node.ports[0]):
            killed_us = time.monotonic_ns() // 1000
            kill_and_see_children_gone(parent)
            reason, safe_us = node.until(m.State.SAFE)
            return (
                (safe_us - killed_us) / 1e6 - HEARTBEAT_MS / 1000 if reason is m.Reason.MONITOR_LOST else None
            )
    except NotUp:
        return None
    finally:
        node.close()


def test_a_monitor_whose_parent_is_killed_stops_consenting_and_the_node_goes_safe(tmp_path: Path) -> None:
    found: list[float] = []
    for _ in range(TRIES):
        if (consent_s := last_consent_s(tmp_path)) is not None:
            found.append(consent_s)
            if consent_s <= LIMIT_S:
                return
    if not found:
        pytest.skip(f"too busy a machine for a heartbeat of {HEARTBEAT_MS} ms")
    raise AssertionError(f"consented until {found} s after its parent's end")


def test_a_controller_that_is_killed_has_no_children_and_the_node_goes_safe() -> None:
    """What stays after SIGKILL is nothing: one process holds port, heartbeat and setpoints."""
    node = NodeProcess()
    try:
        with beside(watch, node.ports[1]), beside(control, node.ports[0]) as controller:
            assert children(controller.pid) == []
            os.kill(controller.pid, signal.SIGKILL)
            assert node.until(m.State.SAFE)[0] is m.Reason.CONTROLLER_LOST
    finally:
        node.close()
