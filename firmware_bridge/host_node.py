"""The firmware in a library, in virtual time: deterministic, and hundreds of times faster than real time."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from firmware_bridge import messages as m
from firmware_bridge.build import LIBRARY, image


class HostNode:
    """The firmware in a library; time moves when told."""

    def __init__(self, heartbeat_ms: int = 100, seed: int = 1) -> None:
        self._lib = ctypes.CDLL(str(image(LIBRARY)))
        self._lib.host_create.restype = ctypes.c_void_p
        self._lib.host_create.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
        for name, result, *arguments in (
            ("host_destroy", None), ("host_reset", None, ctypes.c_uint8),
            ("host_advance", None, ctypes.c_uint64, ctypes.c_uint64),
            ("host_receive", None, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32),
            ("host_take", ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p),
            ("host_estop", None, ctypes.c_int), ("host_supply", None, ctypes.c_uint32),
            ("host_channel", None, ctypes.c_int, ctypes.c_int32, ctypes.c_int, ctypes.c_int),
            ("host_move", None, ctypes.c_int, ctypes.c_int32),
            ("host_world", None, ctypes.c_uint32, ctypes.c_void_p), ("host_drives", None, ctypes.c_void_p),
            ("host_now_us", ctypes.c_uint64),
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
        """Let time pass, stepping the firmware every ``period_us``."""
        self._lib.host_advance(self._h, us, period_us)

    def receive(self, port: int, data: bytes) -> None:
        """Give it bytes that arrived on a port."""
        self._lib.host_receive(self._h, port, data, len(data))

    def take(self, port: int) -> bytes:
        """Return what it has sent on a port since the last call."""
        return self._buffer.raw[:n] if (n := self._lib.host_take(self._h, port, self._buffer)) else b""

    def reset(self, cause: m.ResetCause) -> None:
        """Restart it, as after a reset; outputs stay where they were."""
        self._lib.host_reset(self._h, cause)

    def estop(self, pressed: bool) -> None:
        """Press or release the emergency stop."""
        self._lib.host_estop(self._h, pressed)

    def supply(self, mv: int) -> None:
        """Set the supply voltage."""
        self._lib.host_supply(self._h, mv)

    def channel(self, i: int, counts: int = 0, forced: bool = True, silent: bool = False) -> None:
        """Set what a channel shows; ``silent`` is a sensor that does not answer."""
        self._lib.host_channel(self._h, i, counts, forced, silent)

    def world(self, valid: int, counts: NDArray[np.int32]) -> None:
        """Set every channel at once, shape (channels,); a bit of ``valid`` that is 0 is a silent sensor."""
        self._lib.host_world(self._h, valid, counts.ctypes.data)

    def drives(self) -> NDArray[np.int32]:
        """Return where every output is driven to, counts, shape (outputs,)."""
        counts = np.empty(len(m.OUTPUTS), np.int32)
        self._lib.host_drives(self._h, counts.ctypes.data)
        return counts

    def move(self, i: int, counts: int) -> None:
        """Move an actuator, as a hand would while its drive is off."""
        self._lib.host_move(self._h, i, counts)

    @property
    def state(self) -> m.State:
        """State of the node."""
        return m.State(self._lib.host_state(self._h))

    @property
    def reason(self) -> m.Reason:
        """Why it is SAFE."""
        return m.Reason(self._lib.host_reason(self._h))

    @property
    def now_us(self) -> int:
        """Time of the node."""
        return int(self._lib.host_now_us(self._h))

    @property
    def rejected(self) -> int:
        """Frames it could not read."""
        return int(self._lib.host_rejected(self._h))

    @property
    def kicks(self) -> int:
        """Times it kicked its watchdog."""
        return int(self._lib.host_kicks(self._h))

    def driven(self, i: int) -> int:
        """Where an output is driven to, in counts."""
        return int(self._lib.host_driven(self._h, i))

    @property
    def traced(self) -> int:
        """Commands carried out so far."""
        return int(self._lib.host_traced(self._h))

    def trace(self, k: int) -> tuple[int, int, int]:
        """Return session, sequence number and kind of the k-th command carried out."""
        packed = int(self._lib.host_trace(self._h, k))
        return packed >> 24, packed >> 8 & 0xFFFF, packed & 0xFF
