"""Events mirrored into the telemetry files, so that any viewer shows them on its timeline.

The mirror is a convenience and never evidence: the chain in ``events.jsonl`` is. It carries
``foxglove.Log`` messages on ``/events``, whose ``line`` is the event's line in that file.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rig.core.event import Event, Severity
from rig.core.record import chain, foxglove
from rig.core.record.foxglove import FIXED32, VARINT, Message, field, text, timestamp
from rig.core.record.wire import varint

EVENTS_ID = 2  # MCAP channel and schema number
TOPIC = "/events"
MESSAGE_TYPE = "foxglove.Log"
_LEVEL = {Severity.INFO: 2, Severity.NOTICE: 2, Severity.WARNING: 3, Severity.CRITICAL: 5}
_LEVELS = ("UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL")


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
    data = (
        timestamp(1, epoch_utc_ns + event.t_ns)
        + field(2, VARINT, varint(_LEVEL[event.severity]))
        + text(3, event.kind.value.encode() + b" " + body)
        + text(4, event.source.encode())
        + text(5, chain.FILE.encode())
        + field(6, FIXED32, (0 if seq is None else seq + 1).to_bytes(4, "little"))
    )
    return Note(event.t_ns, 0 if seq is None else seq, data)


def packed(notes: list[Note], epoch_utc_ns: int) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return notes as MCAP message records, with the log time and the offset of each."""
    times = ((one, epoch_utc_ns + one.t_ns) for one in notes)
    return foxglove.packed(EVENTS_ID, (Message(one.seq, utc_ns, utc_ns, one.data) for one, utc_ns in times))


@lru_cache(maxsize=1)
def descriptor() -> bytes:
    """Return the serialised FileDescriptorSet of ``foxglove.Log``."""
    fields = (
        (1, "timestamp", "MESSAGE", ".google.protobuf.Timestamp"),
        (2, "level", "ENUM", ".foxglove.Log.Level"),
        (3, "message", "STRING", None),
        (4, "name", "STRING", None),
        (5, "file", "STRING", None),
        (6, "line", "FIXED32", None),
    )
    return foxglove.described("Log", fields, {"Level": _LEVELS})
