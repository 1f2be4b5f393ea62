"""Frames on the wire: bytes in, frames out; no port, no thread, no clock.

A frame is ``kind u8, session u32, seq u16, t_us u32, payload, crc u32`` (little-endian), COBS-encoded
between two zero bytes. The zero in front costs a byte and lets a receiver resynchronise after noise:
one damaged byte costs at most the frame it is in and its neighbour. The checksum is CRC-32 (IEEE
802.3) continued from the description's fingerprint, so ends that disagree on the description reject
each other. What cannot be read is a value with a status, never an exception.
"""

import struct
import zlib
from dataclasses import dataclass
from enum import Enum

from firmware_bridge.messages import FINGERPRINT, MAX_PAYLOAD, PLAIN_KINDS

HEADER = struct.Struct("<BIHI")
CRC = struct.Struct("<I")
MAX_FRAME = HEADER.size + MAX_PAYLOAD + CRC.size
MAX_ENCODED = MAX_FRAME + 1
"""COBS adds one byte to anything shorter than 254 bytes."""


class Status(Enum):
    """What became of the bytes between two delimiters."""

    OK = "ok"
    BAD_COBS = "bad COBS"
    BAD_LENGTH = "bad length"
    BAD_CRC = "bad checksum"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; only ``status`` means anything unless it is OK.

    Attributes:
        kind: Message id.
        session: Session number; of the node's own accord its boot number.
        seq: Sequence number of the command this is or answers.
        t_us: Sender's clock, microseconds, modulo 2**32.
        payload: Bytes of the message.
        status: Whether it arrived whole.
    """

    kind: int
    session: int
    seq: int
    t_us: int
    payload: bytes
    status: Status = Status.OK


def cobs_encode(data: bytes) -> bytes:
    """Return ``data`` (below 254 bytes) without zeros, one byte longer.

    >>> cobs_encode(bytes([1, 0, 2])).hex()
    '02010202'
    """
    return b"".join(bytes([len(part) + 1]) + part for part in data.split(b"\0"))


def cobs_decode(data: bytes) -> bytes | None:
    """Return what `cobs_encode` was given, or None where no input gives ``data``."""
    out, i, n = bytearray(data), 0, len(data)
    while i < n:
        step = data[i]
        if step == 0:
            return None
        out[i] = 0
        i += step
    return bytes(out[1:]) if n and i == n else None


def seed(kind: int) -> int:
    """Return the start value of the checksum of a message kind."""
    return 0 if kind in PLAIN_KINDS else FINGERPRINT


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame, delimiters included."""
    body = HEADER.pack(frame.kind, frame.session, frame.seq, frame.t_us) + frame.payload
    return b"\0" + cobs_encode(body + CRC.pack(zlib.crc32(body, seed(frame.kind)))) + b"\0"


def _unreadable(status: Status) -> Frame:
    return Frame(0, 0, 0, 0, b"", status)


def decode(block: bytes) -> Frame:
    """Return the frame in the bytes between two delimiters."""
    if len(block) > MAX_ENCODED:
        return _unreadable(Status.BAD_LENGTH)
    raw = cobs_decode(block)
    if raw is None:
        return _unreadable(Status.BAD_COBS)
    if len(raw) < HEADER.size + CRC.size:
        return _unreadable(Status.BAD_LENGTH)
    body, (crc,) = raw[: -CRC.size], CRC.unpack(raw[-CRC.size :])
    if zlib.crc32(body, seed(body[0])) != crc:
        return _unreadable(Status.BAD_CRC)
    kind, session, seq, t_us = HEADER.unpack_from(body)
    return Frame(kind, session, seq, t_us, body[HEADER.size :])


class Decoder:
    """Cuts a byte stream into frames, however it is split; holds at most one frame's bytes."""

    def __init__(self) -> None:
        self._block = bytearray()
        self._overlong = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that ``data`` completes, in order, unreadable ones included."""
        frames = []
        head, *rest = data.split(b"\0")
        self._extend(head)
        for part in rest:
            if self._overlong:
                frames.append(_unreadable(Status.BAD_LENGTH))
            elif self._block:
                frames.append(decode(bytes(self._block)))
            self._block.clear()
            self._overlong = False
            self._extend(part)
        return frames

    def _extend(self, part: bytes) -> None:
        if self._overlong or len(self._block) + len(part) > MAX_ENCODED:
            self._overlong = True
            self._block.clear()
        else:
            self._block += part
