"""One Modbus line: every request goes through here, one at a time, and no late answer gets through.

pymodbus 3.16.1 frames and checks; what it cannot know is that an RTU answer may belong to an earlier
question (its own documentation says so). So retries are off, and after any silence or doubt nothing is
asked until the device cannot answer any more; then the line is flushed.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from pymodbus import ExceptionResponse, FramerType, ModbusException
from pymodbus.client import ModbusSerialClient, ModbusTcpClient

from firmware_bridge.modbus.registers import RegisterMap
from rig.core.clock import Clock
from rig.core.errors import RigFault

logging.getLogger("pymodbus").addHandler(logging.NullHandler())  # what it says is said here, as a `LineError`

EXCEPTIONS = {
    1: "illegal function", 2: "illegal data address", 3: "illegal data value", 4: "device failure",
    5: "acknowledged, still working", 6: "device busy", 7: "negative acknowledgement", 8: "memory parity error",
    10: "gateway path unavailable", 11: "gateway target silent",
}  # fmt: skip
"""Modbus application protocol 1.1b3, section 7."""


class Fault(StrEnum):
    """What can come of a request."""

    SILENT = "no answer in time"
    REFUSED = "exception"
    WRONG = "answer that is not to this question"
    GONE = "line cannot be opened"
    UNHEEDED = "written, but not there when read back"


@dataclass(frozen=True, slots=True)
class LineError(Exception):
    """A request that failed; ``fault`` says how, ``detail`` in words."""

    fault: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.detail}"


class _Client(Protocol):
    def connect(self) -> bool: ...
    def close(self) -> None: ...
    def read_holding_registers(self, address: int, *, count: int, device_id: int) -> Any: ...  # noqa: ANN401
    def write_registers(self, address: int, values: list[int], *, device_id: int) -> Any: ...  # noqa: ANN401


class Line:
    """Requests to one unit on a line.

    Args:
        address: ``tcp:HOST:PORT``, else the device file of a serial port.
        unit: The device's number.
        registers: Its map.
        clock: For the quarantine.
        baud: Speed of a serial line.
        patience_s: How long an answer is waited for; by default twice what the device may take.

    Attributes:
        counts: How often each `Fault` happened.
        quarantines: How often the line was quarantined.
    """

    def __init__(
        self, address: str, unit: int, registers: RegisterMap, clock: Clock, baud: int = 19_200,
        patience_s: float | None = None,
    ) -> None:  # fmt: skip
        self.address, self.unit, self.registers = address, unit, registers
        self.counts = dict.fromkeys(Fault, 0)
        self.quarantines = 0
        self._clock = clock
        self._quiet_until_ns = 0
        self._lock = threading.RLock()
        self._timeout_s = patience_s or max(2 * registers.longest_answer_ns / 1e9, 0.05)
        self._tcp = address.startswith("tcp:")
        if self._tcp:
            host, port = address.split(":")[1:]
            self._client: _Client = ModbusTcpClient(host, port=int(port), timeout=self._timeout_s, retries=0)
        else:
            self._client = ModbusSerialClient(
                address, framer=FramerType.RTU, baudrate=baud, timeout=self._timeout_s, retries=0
            )

    def open(self) -> None:
        """Open the line and make sure of who is there.

        Raises:
            RigFault: If it cannot be opened, nobody answers, or another device does.
        """
        try:
            self._connect()
            self.read("identity")
        except LineError as error:
            self.close()
            raise RigFault(
                f"{self.address} unit {self.unit}: {error}; check address, power and wiring"
            ) from None

    def close(self) -> None:
        """Close the line."""
        with self._lock, contextlib.suppress(OSError):
            self._client.close()

    def read(self, block: str) -> list[int]:
        """Return the registers of a block.

        Raises:
            LineError: If there was no answer that can be believed.
        """
        b = self.registers.blocks[block]
        with self._lock:
            words = self._ask(
                lambda: self._client.read_holding_registers(b.address, count=b.length, device_id=self.unit)
            )
            if wrong := self.registers.wrong(block, words):
                self._quarantine()
                raise self._failed(Fault.WRONG, wrong)
        return words

    def write(self, words: Sequence[int]) -> None:
        """Write the command block and read it back.

        Raises:
            LineError: If the device did not take it; it may have, unless the fault is REFUSED.
        """
        b = self.registers.blocks["command"]
        with self._lock:
            self._ask(lambda: self._client.write_registers(b.address, list(words), device_id=self.unit))
            there = self.read("command")
        if list(words) != there:
            raise self._failed(Fault.UNHEEDED, f"wrote {list(words)}, reads {there}")

    def _ask(self, request: Callable[[], Any]) -> list[int]:
        self._wait_out()
        self._connect()
        try:
            answer = request()
        except (ModbusException, OSError) as error:
            self._quarantine()
            raise self._failed(Fault.SILENT, str(error)) from None
        if isinstance(answer, ExceptionResponse):
            code = answer.exception_code
            raise self._failed(Fault.REFUSED, f"{code} {EXCEPTIONS.get(code, 'not in the standard')}")
        if answer.isError() or answer.dev_id != self.unit:
            self._quarantine()
            raise self._failed(Fault.WRONG, f"an answer of unit {answer.dev_id}")
        return list(answer.registers)

    def _connect(self) -> None:
        try:
            connected = self._client.connect()
        except (ModbusException, OSError) as error:
            raise self._failed(Fault.GONE, str(error)) from None
        if not connected:
            raise self._failed(Fault.GONE, "is it there, and no other program on it?")

    def _failed(self, fault: Fault, detail: str) -> LineError:
        self.counts[fault] += 1
        return LineError(fault, detail)

    # ---- late answers -----------------------------------------------------------------------

    def _quarantine(self) -> None:
        """Ask nothing until the device cannot answer any more."""
        self.quarantines += 1
        if self._tcp:  # its answers carry the number of their question; a new connection ends the rest
            self._client.close()
        self._quiet_until_ns = self._clock.now_ns() + self.registers.longest_answer_ns

    def _wait_out(self) -> None:
        if not self._quiet_until_ns:
            return
        self._clock.sleep_until(self._quiet_until_ns)
        self._quiet_until_ns = 0
        port = getattr(self._client, "socket", None)
        if not self._tcp and port is not None:
            with contextlib.suppress(OSError):
                port.reset_input_buffer()
