"""Messages of the ``foxglove`` schemas, written by hand: what any viewer reads beside the telemetry.

Events and camera frames are few and irregular, so each is serialised by itself; ticks are not (see `wire`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rig.core.clock import NS_PER_S
from rig.core.record.wire import MESSAGE_OPCODE, varint

VARINT, BYTES, FIXED32 = 0, 2, 5
"""Protobuf wire types."""
HEAD = 31
"""Bytes before the data of an MCAP message: opcode, length, channel, sequence, log time, publish time."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message for an MCAP file: its sequence number, its UTC times in nanoseconds, its data."""

    seq: int
    log_ns: int
    published_ns: int
    data: bytes


def field(number: int, wire_type: int, data: bytes) -> bytes:
    """Return a protobuf field on the wire; its number is below 16."""
    return bytes([number << 3 | wire_type]) + data


def text(number: int, data: bytes) -> bytes:
    """Return a protobuf field of bytes, text or a submessage on the wire."""
    return field(number, BYTES, varint(len(data)) + data)


def timestamp(number: int, utc_ns: int) -> bytes:
    """Return a ``google.protobuf.Timestamp`` field on the wire."""
    seconds, nanos = divmod(utc_ns, NS_PER_S)
    return text(number, field(1, VARINT, varint(seconds)) + field(2, VARINT, varint(nanos)))


def packed(channel: int, messages: Iterable[Message]) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return messages as MCAP message records, with the log time and the offset of each."""
    times, offsets, out = [], [], bytearray()
    for one in messages:
        times.append(one.log_ns)
        offsets.append(len(out))
        out += bytes([MESSAGE_OPCODE]) + (HEAD - 9 + len(one.data)).to_bytes(8, "little")
        out += channel.to_bytes(2, "little") + one.seq.to_bytes(4, "little")
        out += one.log_ns.to_bytes(8, "little") + one.published_ns.to_bytes(8, "little") + one.data
    return bytes(out), np.array(times, np.uint64), np.array(offsets, np.uint64)


def described(
    name: str, fields: Sequence[tuple[int, str, str, str | None]], enums: Mapping[str, Sequence[str]]
) -> bytes:
    """Return the serialised FileDescriptorSet of a message of the package ``foxglove``.

    Args:
        name: Of the message.
        fields: Number, name, protobuf type (``STRING``, ``MESSAGE``, ...) and type name of each.
        enums: Names of the values of each enum within the message.
    """
    from google.protobuf import descriptor_pb2 as pb
    from google.protobuf import timestamp_pb2

    kind = pb.FieldDescriptorProto
    stamp = pb.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    stamp.ClearField("options")
    file = pb.FileDescriptorProto(
        name=f"foxglove/{name}.proto", package="foxglove", syntax="proto3", dependency=[stamp.name]
    )
    message = file.message_type.add(name=name)
    for enum, values in enums.items():
        listed = message.enum_type.add(name=enum)
        for number, value in enumerate(values):
            listed.value.add(name=value, number=number)
    for number, title, sort, type_name in fields:
        message.field.add(
            name=title, number=number, label=kind.LABEL_OPTIONAL, type=getattr(kind, f"TYPE_{sort}"), type_name=type_name
        )  # fmt: skip
    data: bytes = pb.FileDescriptorSet(file=[stamp, file]).SerializeToString(deterministic=True)
    return data
