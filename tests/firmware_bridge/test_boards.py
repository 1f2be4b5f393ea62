"""The firmware on microcontrollers: under QEMU with real start-up, interrupts and watchdog; and what is only compiled."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.build import NUCLEO, QEMU
from firmware_bridge.emulator import EmulatedNode, emulator_problem
from firmware_bridge.link import Link, settings
from firmware_bridge.plant_port import World
from firmware_bridge.session import Ending
from rig.core.clock import MonotonicClock
from rig.core.command import Command
from rig.core.data import hardware_dir
from rig.core.errors import RigFault
from tests.firmware_bridge.node import built

FIRMWARE = hardware_dir() / "firmware"
HEARTBEAT_MS = 500
"""For a machine whose cores are shared; limits are checked against it in the benchmark, not here."""
REST = np.array([0.0 if i.low <= 0.0 else i.low for i in m.INPUTS])
needs_qemu = pytest.mark.skipif(emulator_problem() is not None, reason=str(emulator_problem()))


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"not on this machine: {tool}")


# --- what the compilers and analysers say ---------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "flash", "ram"), [(QEMU, 256 << 10, 64 << 10), (NUCLEO, 128 << 10, 20 << 10)]
)
def test_the_image_fits_the_chip_with_room_to_spare(board: str, flash: int, ram: int) -> None:
    said = subprocess.run(
        ["arm-none-eabi-size", built(board)], capture_output=True, text=True, check=True
    ).stdout
    text, data, bss = (int(x) for x in said.splitlines()[1].split()[:3])
    assert text + data < flash / 4 and data + bss < ram / 2


@pytest.mark.parametrize("board", [QEMU, NUCLEO])
def test_nothing_allocates(board: str) -> None:
    said = subprocess.run(
        ["arm-none-eabi-nm", built(board)], capture_output=True, text=True, check=True
    ).stdout
    assert "node_step" in said
    assert not re.search(r"\b(malloc|calloc|realloc|free|_sbrk)\b", said)


def test_every_loop_of_the_core_is_bounded() -> None:
    """The core has no `while`, no `do`, no endless `for`: all its loops count."""
    for path in sorted((FIRMWARE / "core").glob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        assert not re.search(r"\bdo\s*\{|\bgoto\b|for\s*\(\s*;\s*;", text), path.name
        for loop in re.findall(r"\bwhile\s*\(([^)]*)\)", text):
            assert re.search(r"<|>", loop), f"{path.name}: while ({loop}) does not count"
        assert "recurs" not in text


@needs("cppcheck")
def test_cppcheck_finds_nothing() -> None:
    done = subprocess.run(
        ["cppcheck", "--quiet", "--enable=warning,performance,portability", "--std=c99", "--error-exitcode=9",
         "-Icore", "-Iports/host", "-Iports/bare", "-Iports/lm3s6965evb", "core", "ports"],
        cwd=FIRMWARE, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs("clang")
def test_clangs_analyser_finds_nothing(tmp_path: Path) -> None:
    sources = [str(p) for p in (*(FIRMWARE / "core").glob("*.c"), FIRMWARE / "ports/host/bench.c")]
    done = subprocess.run(
        ["clang", "--analyze", "--analyzer-output", "text", "-Xanalyzer", "-analyzer-werror", "-std=c99",
         f"-I{FIRMWARE}/core", f"-I{FIRMWARE}/ports/host", *sources],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- under the emulator ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def node() -> Iterator[EmulatedNode]:
    if problem := emulator_problem():
        pytest.skip(problem)
    with EmulatedNode(HEARTBEAT_MS) as emulated:
        yield emulated


@pytest.fixture
def reset(node: EmulatedNode) -> EmulatedNode:
    boot = node.reader.newest.boot
    node.reset()
    node.press(False)
    assert node.wait_for(lambda d: d.boot != boot and d.state == m.State.IDLE, 20.0, World(REST)) is not None
    return node


class Pumped:
    """Lets the world stand still while something else is looked at."""

    def __init__(self, node: EmulatedNode) -> None:
        import threading

        self._node, self._ending = node, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Pumped":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.wait(0.01):
            self._node.exchange(World(REST))


def linked(port: str, role: m.Role) -> Link:
    return Link(port, settings(role), MonotonicClock())


def test_commands_are_carried_out_and_answered(reset: EmulatedNode) -> None:
    clock = MonotonicClock()
    with (
        Pumped(reset),
        linked(reset.monitor, m.Role.MONITOR),
        BridgeBackend(reset.controller, clock) as backend,
    ):
        assert bytes(backend.link.seen(lambda s: s.identity.uid)) == b"qemu-lm3"
        for k in range(20):
            backend.write([Command("bed.back", 10.0 + k, clock.now_ns() + 10**9)])
        assert backend.link.seen(lambda s: s.status.rejected) == 0
        beyond = Command("bed.back", 1e6, clock.now_ns() + 10**9)
        with pytest.raises(RigFault, match="outside the hardware's"):
            backend.write([beyond])
        unchecked = backend.link.request(backend._setpoints([beyond]))
        assert (unchecked.ending, unchecked.refusal) == (Ending.REFUSED, m.Refusal.OUT_OF_RANGE)


def test_the_emergency_stop_pin_makes_it_safe(reset: EmulatedNode) -> None:
    reset.press(True)
    found = reset.wait_for(lambda d: d.state == m.State.SAFE, 20.0, World(REST))
    assert found is not None and found[0].reason == m.Reason.ESTOP
    reset.press(False)


def test_a_brown_out_makes_it_safe(reset: EmulatedNode) -> None:
    found = reset.wait_for(lambda d: d.state == m.State.SAFE, 20.0, World(REST, supply_mv=8000))
    assert found is not None and found[0].reason == m.Reason.SUPPLY_LOW


def test_a_reset_starts_anew_unarmed_and_says_so(reset: EmulatedNode) -> None:
    boot = reset.reader.newest.boot
    reset.reset()
    found = reset.wait_for(lambda d: d.boot != boot, 20.0)
    assert found is not None and found[0].state == m.State.IDLE
    with linked(reset.controller, m.Role.CONTROLLER) as link:
        assert link.seen(lambda s: s.identity.reset_cause) == m.ResetCause.BROWN_OUT


def test_firmware_that_hangs_is_reset_by_the_hardware_watchdog_and_stays_safe(reset: EmulatedNode) -> None:
    boot = reset.reader.newest.boot
    reset.exchange(World(REST, wedge=True))
    found = reset.wait_for(lambda d: d.boot != boot, 20.0)
    assert found is not None
    assert (found[0].state, found[0].reason) == (m.State.SAFE, m.Reason.WATCHDOG_RESET)


def test_a_second_host_gets_no_answer_and_is_told_what_to_check(reset: EmulatedNode) -> None:
    with (
        linked(reset.controller, m.Role.CONTROLLER),
        pytest.raises(RigFault, match="no node answers on this port"),
    ):
        linked(reset.controller, m.Role.CONTROLLER).__enter__()


@needs_qemu
def test_it_ends_with_whoever_started_it() -> None:
    """SIGKILL of the parent leaves no emulated drive behind."""
    text = (
        "from firmware_bridge.emulator import EmulatedNode\n"
        "import time\n"
        "with EmulatedNode(500) as n:\n"
        "    print(n.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    child = subprocess.Popen(["python", "-c", text], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    killed = time.monotonic()
    child.kill()
    child.wait()
    child.stdout.close()
    while time.monotonic() - killed < 5.0:
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.002)
    os.kill(pid, 9)
    raise AssertionError("QEMU outlived its parent")
