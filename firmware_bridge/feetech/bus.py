"""The servo bus: the only file with its port. One question at a time, each with a deadline."""

import contextlib
import os
import select
import termios

import serial

from firmware_bridge.feetech.packets import PING, Status, packet, read_packet, take_status
from rig.core.clock import Clock
from rig.core.errors import RigFault

ANSWER_NS = 20_000_000
TRIES = 3
"""Reading is repeated: it changes nothing. One lost answer must not end a session."""


class ServoBus:
    """A port with servos on it.

    Args:
        port: Device file.
        clock: For deadlines.
        baud: The bus's speed; SO-101 arms leave the shop with 1 Mbit/s.
        answer_ns: Longest wait for an answer; a servo's own delay is at most 0.5 ms.

    Attributes:
        lost: Answers that did not come in time or were not whole.
    """

    def __init__(self, port: str, clock: Clock, baud: int = 1_000_000, answer_ns: int = ANSWER_NS) -> None:
        self.port, self._clock, self._baud, self._answer_ns = port, clock, baud, answer_ns
        self._serial: serial.Serial | None = None
        self.lost = 0

    def open(self) -> None:
        """Open the port.

        Raises:
            RigFault: If it cannot be had.
        """
        port = serial.Serial()
        port.port, port.baudrate, port.exclusive = self.port, self._baud, True
        port.timeout, port.write_timeout = 0, 0.5
        try:
            port.open()
        except (serial.SerialException, OSError, termios.error, ValueError) as error:
            raise RigFault(
                f"{self.port}: cannot be opened ({error}); is it plugged in, and no other program on it?"
            ) from None
        self._serial = port

    def close(self) -> None:
        """Close the port."""
        if self._serial is not None:
            with contextlib.suppress(OSError, termios.error, serial.SerialException):
                self._serial.close()
        self._serial = None

    def tell(self, data: bytes) -> None:
        """Send a packet that nobody answers.

        Raises:
            RigFault: If the port is closed or gone.
        """
        port = self._port()
        try:
            port.write(data)
        except (serial.SerialException, OSError, termios.error) as error:
            raise RigFault(f"{self.port}: the port is gone ({error}); was it unplugged?") from None

    def ping(self, servo: int) -> Status | None:
        """Return a servo's answer to a ping, None when it does not answer."""
        return self._ask(packet(servo, PING), servo, 0)

    def read(self, servo: int, address: int, length: int) -> bytes:
        """Return registers of a servo.

        Raises:
            RigFault: If it does not answer.
        """
        status = self._ask(read_packet(servo, address, length), servo, length)
        if status is None:
            raise RigFault(f"{self.port}: servo {servo} does not answer; check its cable, power and number")
        if status.problems():
            raise RigFault(f"{self.port}: servo {servo} reports {', '.join(status.problems())}")
        return status.data

    def _port(self) -> serial.Serial:
        if self._serial is None:
            raise RigFault(f"{self.port}: closed")
        return self._serial

    def _ask(self, question: bytes, servo: int, length: int) -> Status | None:
        port = self._port()
        for _ in range(TRIES):
            with contextlib.suppress(termios.error, OSError):
                port.reset_input_buffer()  # an answer to an earlier question is of no use any more
            self.tell(question)
            status = self._answer(port, question, servo, length)
            if status is not None:
                return status
            self.lost += 1
        return None

    def _answer(self, port: serial.Serial, question: bytes, servo: int, length: int) -> Status | None:
        """Return the answer; adapters that echo send our question first, which has an answer's very form."""
        end_ns, text, echo = self._clock.now_ns() + self._answer_ns, b"", question
        while (left_ns := end_ns - self._clock.now_ns()) > 0:
            ready, _, _ = select.select([port.fileno()], [], [], left_ns / 1e9)
            if not ready:
                break
            try:
                text += os.read(port.fileno(), 4096)
            except OSError as error:
                raise RigFault(f"{self.port}: the port is gone ({error}); was it unplugged?") from None
            if echo:
                if len(text) < len(echo) and echo.startswith(text):
                    continue
                text, echo = text.removeprefix(echo), b""
            status, text = take_status(text, servo, length)
            if status is not None:
                return status
        return None
