"""A Modbus device as every other backend: polled, written with a lease, read back."""

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

import numpy as np

from firmware_bridge.leaving import switch_off
from firmware_bridge.modbus.line import Fault, Line, LineError
from firmware_bridge.modbus.registers import RegisterMap, check_units
from rig.core.channel import Layout, Quality, Snapshot
from rig.core.clock import Clock
from rig.core.command import Actuator, Command, must_be_fit
from rig.core.errors import RigFault, UsageError

HOLD, FOLLOW = 0, 1
LEASE_MS = 1000
LOST_AFTER = 5
"""Polls in a row without an answer after which the device counts as lost."""
STANDSTILL_S = 1.0
MOVING = 1


class ModbusBackend:
    """One device on one line.

    Args:
        line: The line to it.
        layout: The bench's channels that it measures.
        actuators: The bench's actuators that it drives; it takes all of them together.
        clock: The trial's clock.
        poll_ns: How often it is asked what it measures.
        beside: Whether a thread polls; otherwise whoever lets time pass calls `poll`, as in virtual time.
    """

    def __init__(
        self, line: Line, layout: Layout, actuators: Sequence[Actuator], clock: Clock,
        poll_ns: int = 25_000_000, *, beside: bool = True,
    ) -> None:  # fmt: skip
        self.layout, self.actuators = layout, tuple(actuators)
        self.registers: RegisterMap = line.registers
        check_units(self.registers, layout, actuators)
        if missing := sorted(set(self.registers.actuators) ^ {a.name for a in actuators}):
            raise UsageError(
                f"{line.registers.name} drives other actuators than asked for: {', '.join(missing)}"
            )
        self._line, self._clock = line, clock
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._poll_ns, self._due_ns = poll_ns, 0
        self._thread = (
            threading.Thread(target=self._run, name=f"modbus {line.address}", daemon=True) if beside else None
        )
        self._words: list[int] = []
        self._sampled_ns = 0
        self._beat = -1
        self._missed = 0
        self._why = ""
        self._setpoints: dict[str, float] = {}
        self._open = False

    def __enter__(self) -> Self:
        """Open the line, make sure who is there, and take charge of where everything stands.

        Raises:
            RigFault: If the device cannot be reached or is another one; nothing is left moving.
        """
        self._line.open()
        try:
            self._look()
            self._setpoints = self._positions()
        except (LineError, RigFault) as error:
            self._line.close()
            raise RigFault(f"{self._line.address} unit {self._line.unit}: {error}") from None
        self._open = True
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        switch_off((self.make_safe, self._close), error)

    def _close(self) -> None:
        self._open = False
        self._ending.set()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join(5.0)
        self._line.close()

    # ---- reading ----------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending.is_set():
            self.poll()
            self._ending.wait(max(0, self._due_ns - self._clock.now_ns()) / 1e9)

    def poll(self) -> None:
        """Ask for what it measures, if that is due; an answer that does not come is counted (`why_lost`)."""
        now_ns = self._clock.now_ns()
        if now_ns < self._due_ns:
            return
        try:
            self._look()
            self._missed = 0
        except LineError as error:
            self._missed += 1
            self._why = str(error)
        self._due_ns = max(self._due_ns + self._poll_ns, now_ns)

    def _look(self) -> None:
        asked_ns = self._clock.now_ns()
        words = self._line.read("status")
        beat = self.registers.word("beat", words)
        with self._lock:
            # A device that has stopped counting shows old values, however politely it answers.
            if beat != self._beat or not self._words:
                self._words, self._sampled_ns, self._beat = words, asked_ns, beat

    def _positions(self) -> dict[str, float]:
        with self._lock:
            values = self.registers.values("status", self._words)
        silent = [a.name for a in self.actuators if math.isnan(values[a.name])]
        if unknown := [name for name in silent if name not in self._setpoints]:
            raise RigFault(f"{self._line.address}: does not say where {', '.join(unknown)} is")
        measured = {**values, **{name: self._setpoints[name] for name in silent}}
        return {a.name: min(max(measured[a.name], a.low), a.high) for a in self.actuators}

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel; never blocks.

        Raises:
            RigFault: If the backend is closed.
        """
        if not self._open:
            raise RigFault(f"{self._line.address}: closed")
        with self._lock:
            words, sampled_ns = self._words, min(self._sampled_ns, t_ns)
        found = self.registers.values("status", words)
        n = len(self.layout)
        values, quality = np.full(n, np.nan), np.full(n, Quality.FAULT, np.uint8)
        for i, channel in enumerate(self.layout):
            if channel.name in found:
                values[i] = found[channel.name]
                if np.isnan(values[i]):
                    continue
                inside = channel.low <= values[i] <= channel.high
                quality[i] = Quality.GOOD if inside else Quality.OUT_OF_RANGE
                if t_ns - sampled_ns >= channel.stale_after_s * 1e9:
                    quality[i] = Quality.STALE
        return Snapshot(self.layout, t_ns, values, np.full(n, sampled_ns, np.int64), quality)

    def resync(self) -> None:
        """Look anew, and take where everything stands for what is wanted.

        Raises:
            RigFault: If the device does not answer.
        """
        try:
            self._look()
        except LineError as error:
            raise RigFault(f"{self._line.address} unit {self._line.unit}: {error}") from None
        self._setpoints = self._positions()

    def why_lost(self) -> str | None:
        """Return why the device counts as lost, None while it answers."""
        return f"{self._line.address}: {self._why}" if self._missed >= LOST_AFTER else None

    # ---- writing ----------------------------------------------------------------------------

    def write(self, commands: Iterable[Command]) -> None:
        """Write setpoints, all or none, with a lease; what was not named stays as it was last set.

        Raises:
            RigFault: If one may not be sent, or the device did not take it.
        """
        now_ns, wanted = self._clock.now_ns(), dict(self._setpoints)
        taken = tuple(commands)
        must_be_fit(taken, self.actuators, now_ns, "device")
        wanted |= {command.actuator: command.value for command in taken}
        if taken:
            lease_ms = min(LEASE_MS, *(max(1, (c.expires_ns - now_ns) // 1_000_000) for c in taken))
            self._send(wanted, FOLLOW, lease_ms)
            self._setpoints = wanted

    def _send(self, setpoints: Mapping[str, float], mode: int, lease_ms: int) -> None:
        if not self._open:
            raise RigFault(f"{self._line.address}: closed")
        try:
            self._line.write(self.registers.command(setpoints, mode, lease_ms))
        except LineError as error:
            raise RigFault(f"{self._line.address} unit {self._line.unit}: {error}") from None

    def make_safe(self) -> None:
        """Hold everything where it is, and see that it does; `write` takes charge again.

        Raises:
            RigFault: If that cannot be seen; the device then holds by itself when its lease ends.
        """
        if not self._open or not self.actuators:
            return
        self._send(self._setpoints, HOLD, LEASE_MS)
        end_ns = self._clock.now_ns() + round(STANDSTILL_S * 1e9)
        while self._clock.now_ns() < end_ns:
            try:
                if not self.registers.word("state", self._line.read("status")) & MOVING:
                    self._look()
                    self._setpoints = self._positions()
                    return
            except LineError as error:
                if error.fault is Fault.GONE:
                    break
            self._clock.sleep_until(self._clock.now_ns() + 10_000_000)
        raise RigFault(
            f"{self._line.address} unit {self._line.unit}: not seen to stand still; it holds by itself within "
            f"{LEASE_MS} ms; use the emergency stop and look"
        )
