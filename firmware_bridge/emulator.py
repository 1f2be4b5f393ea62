"""The firmware on an emulated Cortex-M3: QEMU as a process, its serial ports on TCP sockets of this machine.

QEMU starts paused and runs once everything is connected, so no byte of the start is lost. Its serial ports write
byte by byte, and a unix socket takes fewer than 300 such writes before the emulated processor stands still
until somebody reads (measured); TCP joins them and takes minutes of telemetry. A byte that comes in costs QEMU a
dozen system calls, so the plant's port is the board's Ethernet: a packet costs no more than a byte. QEMU is
killed by the kernel when the thread that started it dies: no emulated drive outlives its world.
"""

import contextlib
import json
import os
import re
import secrets
import select
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from firmware_bridge.build import QEMU, image, why_no_tool
from firmware_bridge.plant_port import Drives, DrivesReader, World, world_bytes
from rig.core.clock import MonotonicClock, monotonic_ns
from rig.core.errors import RigFault

START_S = 10.0
PRIORITY = 20
Condition = Callable[[Drives], bool]
Seen = tuple[Drives, int]
"""A report, and the machine's monotonic time (ns) at which it was seen."""
ESTOP_KEY = "up"  # the board's key on port E, pin 0
ADDRESSES = b"\xff" * 6 + b"\x02\0\0\0\0\x02" + b"\x88\xb5"
"""What stands before every packet's payload: to everybody, from us, of the type for experiments."""
PACKET_MAX = 1514


def emulator_problem() -> str | None:
    """Return why the emulator cannot run on this machine, None when it can."""
    return why_no_tool("qemu-system-arm", "arm-none-eabi-gcc", "make")


class EmulatedNode:
    """A node under QEMU; a context manager that ends it.

    Args:
        heartbeat_ms: How long either heartbeat may be missing; longer on machines shared with others.

    Attributes:
        controller: Address of the controller's port, for `Link`.
        monitor: Address of the monitor's port.
        reader: What the node's drives do, newest first known after `exchange` or `wait_for`.
    """

    def __init__(self, heartbeat_ms: int = 100) -> None:
        self.heartbeat_ms = heartbeat_ms
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._plant: socket.socket | None = None
        self._qmp: socket.socket | None = None
        self._clock = MonotonicClock()
        self.reader = DrivesReader()
        self.controller = self.monitor = ""

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            RigFault: If QEMU or the compiler is missing, or it does not start; nothing is left running.
        """
        if problem := emulator_problem():
            raise RigFault(f"the emulated board cannot run: {problem}")
        elf = image(QEMU)
        self._folder = tempfile.TemporaryDirectory(prefix="runrig-qemu-")
        try:
            self._start(elf, Path(self._folder.name))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for port in (self._plant, self._qmp):
            if port is not None:
                port.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._plant = self._qmp = self._process = self._folder = None

    @property
    def pid(self) -> int:
        """Process id of QEMU."""
        return self._running().pid

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RigFault("the emulated board is not running")
        return self._process

    def _start(self, elf: Path, folder: Path) -> None:
        serial = ["-serial", "tcp:127.0.0.1:0,server=on,wait=off,nodelay=on"] * 2
        self._plant, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._plant.setblocking(False)
        command = [
            "qemu-system-arm", "-machine", "lm3s6965evb", "-display", "none", "-monitor", "none", "-S", "-nodefaults",
            "-kernel", str(elf), *serial, "-nic", f"socket,model=stellaris,fd={far.fileno()}",
            "-qmp", f"unix:{folder / 'qmp'},server=on,wait=off",
            "-device", f"loader,addr=0x20000000,data={secrets.randbits(32)},data-len=4",
            "-device", f"loader,addr=0x20000004,data={self.heartbeat_ms},data-len=4",
        ]  # fmt: skip
        if shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        with far:  # its end, and no longer ours once it has it: its death then ends the pair
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[far.fileno()],
            )  # fmt: skip
        with contextlib.suppress(OSError, AttributeError):  # as punctual as a chip, where that is allowed
            os.sched_setscheduler(self._process.pid, os.SCHED_RR, os.sched_param(PRIORITY))
        self._qmp = self._connected(folder / "qmp")
        self._qmp.settimeout(START_S)
        self._answer()
        self.ask("qmp_capabilities")
        self.controller, self.monitor = self._ports()
        self.ask("cont")
        self.press(False)
        if self.wait_for(lambda drives: True, START_S) is None:
            raise RigFault("the firmware under the emulator does not start")

    def _connected(self, path: Path) -> socket.socket:
        end_ns = self._clock.now_ns() + round(START_S * 1e9)
        while self._clock.now_ns() < end_ns:
            process = self._running()
            if process.poll() is not None:
                said = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
                raise RigFault(f"the emulator ended at once: {said or process.returncode}")
            port = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                port.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                port.close()
                self._clock.sleep_until(self._clock.now_ns() + 5_000_000)
            else:
                return port
        raise RigFault(f"the emulator did not open {path.name} within {START_S:g} s")

    # ---- its machine protocol ---------------------------------------------------------------

    def _answer(self) -> dict[str, object]:
        if self._qmp is None:
            raise RigFault("the emulated board is not running")
        text = b""
        while not text.endswith(b"\n"):
            chunk = self._qmp.recv(65536)
            if not chunk:
                raise RigFault("the emulator has ended")
            text += chunk
        return dict(json.loads(text.splitlines()[-1]))

    def _ports(self) -> tuple[str, str]:
        """Return the addresses QEMU's serial ports have got."""
        listed = self.ask("query-chardev")
        found = {}
        for port in listed if isinstance(listed, list) else []:
            name = re.search(r"tcp:127\.0\.0\.1:\d+", port["filename"])
            if name is not None:
                found[port["label"]] = name[0]
        return found["serial0"], found["serial1"]

    def ask(self, command: str, **arguments: object) -> object:
        """Send a command of QEMU's machine protocol and return its answer.

        Raises:
            RigFault: If it is refused.
        """
        if self._qmp is None:
            raise RigFault("the emulated board is not running")
        self._qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self._answer()
            if "error" in answer:
                raise RigFault(f"the emulator refused {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def press(self, pressed: bool) -> None:
        """Press or release the emergency stop on the board's pin."""
        key = {"type": "qcode", "data": ESTOP_KEY}
        for down in (True, False) if not pressed else (True,):  # a reset forgets the level: tell it anew
            self.ask("input-send-event", events=[{"type": "key", "data": {"down": down, "key": key}}])

    def reset(self) -> None:
        """Reset the board, as a brown-out would; what drives it stays where it was."""
        self.ask("system_reset")

    # ---- its plant port ---------------------------------------------------------------------

    def exchange(self, world: World) -> Drives | None:
        """Show the node the world; return what its drives do (the newest report)."""
        if self._plant is None:
            raise RigFault("the emulated board is not running")
        try:
            with contextlib.suppress(BlockingIOError):  # it stands still: what it has not read is news enough
                self._plant.send(ADDRESSES + world_bytes(world))
        except OSError as error:
            raise RigFault(f"the emulator has ended ({error})") from None
        self._take(0.0)
        return self.reader.newest

    def _take(self, timeout_s: float) -> list[Drives]:
        if self._plant is None or self._process is None:
            raise RigFault("the emulated board is not running")
        found = []
        ready = select.select([self._plant], [], [], timeout_s)[0]
        if not ready and self._process.poll() is not None:
            raise RigFault("the emulator has ended")
        with contextlib.suppress(BlockingIOError):
            while ready:
                found += self.reader.feed(self._plant.recv(PACKET_MAX)[len(ADDRESSES) :])
        return found

    def wait_for(self, condition: Condition, timeout_s: float, world: World | None = None) -> Seen | None:
        """Return the first report for which ``condition`` holds and when it was seen, None if none came.

        Args:
            condition: From a report to whether it is the one.
            timeout_s: How long to wait.
            world: Shown to the node every 20 ms meanwhile.
        """
        end_ns = monotonic_ns() + round(timeout_s * 1e9)
        while monotonic_ns() < end_ns:
            if world is not None:
                self.exchange(world)
            for drives in self._take(0.02):
                if condition(drives):
                    return drives, monotonic_ns()
        return None
