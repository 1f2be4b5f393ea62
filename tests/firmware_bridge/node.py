"""The real firmware, built by the system's C compiler, in virtual time; and wires to it."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from firmware_bridge import messages as m
from firmware_bridge.faults import FaultyWire, WireFaults
from firmware_bridge.session import Outcome, Received, Session, Settings
from firmware_bridge.states import LinkState
from rig.core.data import hardware_dir

MS = 1_000_000
PERFECT = WireFaults()


@functools.cache
def built(target: str) -> Path:
    """Return a product of hardware/firmware/Makefile, built once for each run of the tests."""
    for tool in ("make", "cc"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on this machine: the firmware cannot be built")
    out = out_folder()
    done = subprocess.run(
        ["make", "--silent", "-C", str(hardware_dir() / "firmware"), f"OUT={out}", f"{out}/{target}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Path(out) / target


@functools.cache
def out_folder() -> str:
    folder = tempfile.TemporaryDirectory(prefix="firmware-")
    _FOLDERS.append(folder)  # removed when the interpreter ends
    return folder.name


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


class Node:
    """The firmware in a library; time moves when told."""

    def __init__(self, heartbeat_ms: int = 100, seed: int = 1) -> None:
        self._lib = ctypes.CDLL(str(built("libnode.so")))
        self._lib.host_create.restype = ctypes.c_void_p
        self._lib.host_create.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
        for name, result, *arguments in (
            ("host_destroy", None), ("host_reset", None, ctypes.c_uint8),
            ("host_advance", None, ctypes.c_uint64, ctypes.c_uint64),
            ("host_receive", None, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32),
            ("host_take", ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p),
            ("host_estop", None, ctypes.c_int), ("host_supply", None, ctypes.c_uint32),
            ("host_channel", None, ctypes.c_int, ctypes.c_int32, ctypes.c_int, ctypes.c_int),
            ("host_move", None, ctypes.c_int, ctypes.c_int32), ("host_now_us", ctypes.c_uint64),
            ("host_state", ctypes.c_uint32), ("host_reason", ctypes.c_uint32),
            ("host_rejected", ctypes.c_uint32), ("host_kicks", ctypes.c_uint32),
            ("host_driven", ctypes.c_int32, ctypes.c_int), ("host_traced", ctypes.c_uint32),
            ("host_trace", ctypes.c_uint64, ctypes.c_uint32),
        ):  # fmt: skip
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, [ctypes.c_void_p, *arguments]
        self._h = self._lib.host_create(heartbeat_ms, seed)
        self._buffer = ctypes.create_string_buffer(1 << 16)

    def __del__(self) -> None:
        self._lib.host_destroy(self._h)

    def advance(self, us: int, period_us: int = 1000) -> None:
        self._lib.host_advance(self._h, us, period_us)

    def receive(self, port: int, data: bytes) -> None:
        self._lib.host_receive(self._h, port, data, len(data))

    def take(self, port: int) -> bytes:
        return self._buffer.raw[:n] if (n := self._lib.host_take(self._h, port, self._buffer)) else b""

    def reset(self, cause: m.ResetCause) -> None:
        self._lib.host_reset(self._h, cause)

    def estop(self, pressed: bool) -> None:
        self._lib.host_estop(self._h, pressed)

    def supply(self, mv: int) -> None:
        self._lib.host_supply(self._h, mv)

    def channel(self, i: int, counts: int = 0, forced: bool = True, silent: bool = False) -> None:
        self._lib.host_channel(self._h, i, counts, forced, silent)

    def move(self, i: int, counts: int) -> None:
        self._lib.host_move(self._h, i, counts)

    @property
    def state(self) -> m.State:
        return m.State(self._lib.host_state(self._h))

    @property
    def reason(self) -> m.Reason:
        return m.Reason(self._lib.host_reason(self._h))

    @property
    def now_us(self) -> int:
        return self._lib.host_now_us(self._h)

    @property
    def rejected(self) -> int:
        return self._lib.host_rejected(self._h)

    @property
    def kicks(self) -> int:
        return self._lib.host_kicks(self._h)

    def driven(self, i: int) -> int:
        return self._lib.host_driven(self._h, i)

    @property
    def traced(self) -> int:
        return self._lib.host_traced(self._h)

    def trace(self, k: int) -> tuple[int, int, int]:
        """Return session, sequence number and kind of the k-th command carried out."""
        packed = self._lib.host_trace(self._h, k)
        return packed >> 24, packed >> 8 & 0xFFFF, packed & 0xFF


class Wire:
    """A session joined to a port of the node by two faulty wires."""

    def __init__(self, session: Session, port: int, faults: WireFaults, seed: int) -> None:
        rngs = [np.random.default_rng([seed, port, way]) for way in range(2)]
        self.session, self.port = session, port
        self.to_node, self.to_host = (FaultyWire(faults, rng) for rng in rngs)
        self.received: list[Received] = []
        self.outcomes: dict[int, Outcome] = {}
        self.frozen = False  # the host process is stopped

    def exchange(self, node: Node, now_ns: int) -> None:
        if not self.frozen:
            self.to_node.put(self.session.poll(now_ns), now_ns)
        if data := self.to_node.take(now_ns):
            node.receive(self.port, data)
        self.to_host.put(node.take(self.port), now_ns)
        if not self.frozen:
            self.received += self.session.receive(self.to_host.take(now_ns), now_ns)
        while self.session.outcomes:
            outcome = self.session.outcomes.popleft()
            assert outcome.ticket not in self.outcomes, "a command ended twice"
            self.outcomes[outcome.ticket] = outcome


class Stage:
    """A node with a controller and a monitor, in virtual time."""

    def __init__(
        self, faults: WireFaults = PERFECT, seed: int = 1, heartbeat_ms: int = 100, **settings
    ) -> None:
        self.node = Node(heartbeat_ms, seed)
        self.host_ahead_ns = 5_000_000_000  # the host's clock started earlier
        self.settings = settings
        self.controller = self.join(m.Role.CONTROLLER, 0, faults, seed)
        self.monitor = self.join(m.Role.MONITOR, 1, faults, seed)
        self.wires = [self.controller, self.monitor]

    def join(
        self, role: m.Role, port: int, faults: WireFaults = PERFECT, seed: int = 1, nonce: int = 77
    ) -> Wire:
        session = Session(Settings(role=role, nonce=nonce + role, **self.settings))
        session.start(self.now_ns)
        return Wire(session, port, faults, seed)

    @property
    def now_ns(self) -> int:
        return self.node.now_us * 1000 + self.host_ahead_ns

    def run(self, ms: float, step_us: int = 1000) -> None:
        for _ in range(round(ms * 1000 / step_us)):
            self.node.advance(step_us)
            for wire in self.wires:
                wire.exchange(self.node, self.now_ns)

    def do(self, message: m.Message, wire: Wire | None = None, within_ms: int = 2000) -> Outcome:
        wire = wire or self.controller
        ticket = wire.session.submit(message)
        for _ in range(within_ms):
            self.run(1)
            if ticket in wire.outcomes:
                return wire.outcomes[ticket]
        raise AssertionError(f"{message} never ended")

    def up(self) -> "Stage":
        for _ in range(20):
            self.run(100)
            if self.controller.session.state is self.monitor.session.state is LinkState.UP:
                break
        assert self.controller.session.state is self.monitor.session.state is LinkState.UP
        return self

    def armed(self) -> "Stage":
        self.up()
        outcome = self.do(m.Arm())
        assert outcome.ending == "done", outcome
        assert self.node.state is m.State.ARMED
        return self

    def setpoints(self, lease_ms: int, **counts: int) -> m.Setpoints:
        values = [0] * 16
        mask = 0
        for name, value in counts.items():
            i = [o.name.replace(".", "_") for o in m.OUTPUTS].index(name)
            values[i], mask = value, mask | 1 << i
        return m.Setpoints((self.node.now_us + lease_ms * 1000) & 0xFFFFFFFF, mask, tuple(values))
