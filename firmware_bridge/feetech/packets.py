"""Packets of the Feetech STS bus: bytes in, values out; no port.

``FF FF id length instruction parameters... checksum``; length counts instruction, parameters and checksum; the
checksum is the inverted low byte of the sum from the id on. STS registers are little-endian. Source: Feetech,
"Communication Protocol User Manual" (SCS/STS series) and the STS3215 memory table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PING, READ, WRITE, SYNC_WRITE = 0x01, 0x02, 0x03, 0x83
BROADCAST = 0xFE
SIGN = 1 << 15
"""Signed registers hold sign and magnitude, not two's complement."""

MODEL, ID, TORQUE_ENABLE, GOAL_POSITION, LOCK, PRESENT_POSITION = 3, 5, 40, 42, 55, 56
PRESENT_LENGTH = 15  # position, speed, load, voltage, temperature, ..., current: registers 56 to 70
STS3215 = 777
STEPS = 4096
"""Steps of a full turn."""

ERRORS = {0: "voltage", 1: "angle sensor", 2: "overheating", 3: "overcurrent", 5: "overload"}
"""Bits of the status byte."""


@dataclass(frozen=True, slots=True)
class Status:
    """A servo's answer."""

    servo: int
    error: int
    data: bytes

    def problems(self) -> tuple[str, ...]:
        """Return what the servo complains of."""
        return tuple(name for bit, name in ERRORS.items() if self.error >> bit & 1)


def checksum(body: bytes) -> int:
    """Return the checksum of everything between header and checksum.

    >>> hex(checksum(bytes([1, 2, 1])))
    '0xfb'
    """
    return ~sum(body) & 0xFF


def packet(servo: int, instruction: int, data: bytes = b"") -> bytes:
    """Return an instruction packet."""
    body = bytes([servo, len(data) + 2, instruction]) + data
    return b"\xff\xff" + body + bytes([checksum(body)])


def read_packet(servo: int, address: int, length: int) -> bytes:
    """Return the packet that asks for registers."""
    return packet(servo, READ, bytes([address, length]))


def sync_write_packet(address: int, values: Mapping[int, bytes]) -> bytes:
    """Return the packet that writes the same registers of several servos at once; nobody answers it.

    Raises:
        ValueError: If the values are not all equally long.
    """
    lengths = {len(v) for v in values.values()}
    if len(lengths) != 1:
        raise ValueError(f"values of {sorted(lengths)} bytes; a sync write needs one length")
    data = bytes([address, lengths.pop()])
    return packet(BROADCAST, SYNC_WRITE, data + b"".join(bytes([s]) + v for s, v in sorted(values.items())))


def word(value: int) -> bytes:
    """Return a 16-bit register, sign and magnitude.

    Raises:
        ValueError: If it does not fit.
    """
    if not -SIGN < value < SIGN:
        raise ValueError(f"{value} does not fit a register")
    return (abs(value) | (SIGN if value < 0 else 0)).to_bytes(2, "little")


def number(data: bytes) -> int:
    """Return the value of a 16-bit register, sign and magnitude.

    >>> number(word(-3)), number(bytes([0x10, 0x00]))
    (-3, 16)
    """
    raw = int.from_bytes(data[:2], "little")
    return -(raw & SIGN - 1) if raw & SIGN else raw


def take_status(text: bytes, servo: int, length: int) -> tuple[Status | None, bytes]:
    """Return the answer of one servo out of received bytes, and the bytes after it; None while it is not whole.

    Anything else is skipped: noise, another servo's answer, an answer with a wrong checksum or of another
    length than was asked for. Our own echo on a half-duplex line has an answer's very form: it must be gone.
    """
    start = 0
    while (start := text.find(b"\xff\xff", start)) >= 0 and len(text) >= start + 6 + length:
        body = text[start + 2 : start + 5 + length]
        good = body[0] == servo and body[1] == length + 2 and checksum(body) == text[start + 5 + length]
        if good:
            return Status(servo, body[2], body[3:]), text[start + 6 + length :]
        start += 1
    return None, text[max(start, 0) :] if start >= 0 else text[-1:]
