"""Events mirrored into the telemetry files, so that any viewer shows them on its timeline.

The mirror is a convenience and never evidence: the chain in ``events.jsonl`` is. It carries
``foxglove.Log`` messages on ``/events``, whose ``line`` is the event's line in that file.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rig.core.clock import NS_PER_S
from rig.core.event import Event, Severity
from rig.core.record import chain
from rig.core.record.wire import MESSAGE_OPCODE, varint

EVENTS_ID = 2  # MCAP channel and schema number
TOPIC = "/events"
MESSAGE_TYPE = "foxglove.Log"
_LEVEL = {Severity.INFO: 2, Severity.NOTICE: 2, Severity.WARNING: 3, Severity.CRITICAL: 5}
_LEVELS = ("UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL")
_BYTES, _VARINT, _FIXED32 = 2, 0, 5  # protobuf wire types


@dataclass(frozen=True, slots=True)
class Note:
    """An event on its way into the mirror: its time, its number, and its text."""

    t_ns: int
    seq: int
    data: bytes


def note(event: Event, seq: int | None, body: bytes, epoch_utc_ns: int) -> Note:
    """Return the mirror's message for an event.

    Args:
        event: The event.
        seq: Its number in the chain, None if it is not there yet.
        body: Its body as strict JSON.
        epoch_utc_ns: UTC at trial time 0.
    """
    seconds, nanos = divmod(epoch_utc_ns + event.t_ns, NS_PER_S)
    stamp = field(1, _VARINT, varint(seconds)) + field(2, _VARINT, varint(nanos))
    data = (
        text(1, stamp)
        + field(2, _VARINT, varint(_LEVEL[event.severity]))
        + text(3, event.kind.value.encode() + b" " + body)
        + text(4, event.source.encode())
        + text(5, chain.FILE.encode())
        + field(6, _FIXED32, (0 if seq is None else seq + 1).to_bytes(4, "little"))
    )
    return Note(event.t_ns, 0 if seq is None else seq, data)


def field(number: int, wire_type: int, data: bytes) -> bytes:
    """Return a protobuf field on the wire; its number is below 16."""
    return bytes([number << 3 | wire_type]) + data


def text(number: int, data: bytes) -> bytes:
    """Return a protobuf field of bytes, text or a submessage on the wire."""
    return field(number, _BYTES, varint(len(data)) + data)


def packed(notes: list[Note], epoch_utc_ns: int) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return notes as MCAP message records, with the log time and the offset of each."""
    times, offsets, out = [], [], bytearray()
    for one in notes:
        log_time = epoch_utc_ns + one.t_ns
        times.append(log_time)
        offsets.append(len(out))
        out += bytes([MESSAGE_OPCODE]) + (22 + len(one.data)).to_bytes(8, "little")
        out += EVENTS_ID.to_bytes(2, "little") + one.seq.to_bytes(4, "little")
        out += log_time.to_bytes(8, "little") * 2 + one.data
    return bytes(out), np.array(times, np.uint64), np.array(offsets, np.uint64)


@lru_cache(maxsize=1)
def descriptor() -> bytes:
    """Return the serialised FileDescriptorSet of ``foxglove.Log``."""
    from google.protobuf import descriptor_pb2 as pb
    from google.protobuf import timestamp_pb2

    kind = pb.FieldDescriptorProto
    stamp = pb.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    stamp.ClearField("options")
    file = pb.FileDescriptorProto(
        name="foxglove/Log.proto", package="foxglove", syntax="proto3", dependency=[stamp.name]
    )
    log = file.message_type.add(name="Log")
    level = log.enum_type.add(name="Level")
    for number, name in enumerate(_LEVELS):
        level.value.add(name=name, number=number)
    for number, (name, sort, type_name) in enumerate(
        (
            ("timestamp", kind.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
            ("level", kind.TYPE_ENUM, ".foxglove.Log.Level"),
            ("message", kind.TYPE_STRING, None),
            ("name", kind.TYPE_STRING, None),
            ("file", kind.TYPE_STRING, None),
            ("line", kind.TYPE_FIXED32, None),
        ),
        start=1,
    ):
        log.field.add(name=name, number=number, label=kind.LABEL_OPTIONAL, type=sort, type_name=type_name)
    data: bytes = pb.FileDescriptorSet(file=[stamp, file]).SerializeToString(deterministic=True)
    return data
