"""The link's description, ``hardware/vectors/protocol.toml``, as checked values.

Read when code is generated and tested; the running link uses the generated tables only.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rig.core.data import hardware_file
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, load_validated

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i32": 4}
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i"}
I32_MAX = 2**31 - 1


FieldPair = tuple[
    Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")],
    Annotated[str, Field(pattern=r"^(u8|u16|u32|u64|i32)(\[[1-9][0-9]?\])?$")],
]


class MessageTable(Table):
    """One message as the file has it."""

    id: Annotated[int, Field(ge=1, le=255)]
    kind: Literal["command", "query", "reply", "stream"]
    text: str
    plain: bool = False
    fields: tuple[FieldPair, ...]


class ActuatorTable(Table):
    """One output of the node."""

    unit: str
    range: tuple[float, float]
    rate: Annotated[float, Field(gt=0)]
    scale: Annotated[float, Field(gt=0)]
    safe: Literal["hold"] | float
    text: str


class ChannelTable(Table):
    """One input of the node."""

    unit: str
    range: tuple[float, float]
    scale: Annotated[float, Field(gt=0)]
    stale_after: str
    audience: Literal["agent", "monitor", "oracle"] = "agent"
    follows: str = ""
    text: str


class ProtocolFile(Table):
    """The whole file."""

    name: str
    version: Annotated[int, Field(ge=1)]
    limits: dict[str, Annotated[int, Field(ge=1)]]
    enum: dict[str, dict[str, Annotated[int, Field(ge=0, le=255)]]]
    message: dict[str, MessageTable]
    actuator: dict[str, ActuatorTable]
    channel: dict[str, ChannelTable]


@dataclass(frozen=True, slots=True)
class Item:
    """One field of a payload: ``count`` numbers of one type; a count of 0 means a single number."""

    name: str
    type: str
    count: int

    @property
    def format(self) -> str:
        """The field in the notation of `struct`."""
        return f"{self.count or ''}{FORMATS[self.type]}"

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return SIZES[self.type] * max(1, self.count)


def items(message: MessageTable) -> tuple[Item, ...]:
    """Return the fields of a message, in wire order."""
    found = []
    for name, text in message.fields:
        base, _, rest = text.partition("[")
        found.append(Item(name, base, int(rest[:-1]) if rest else 0))
    return tuple(found)


def payload_size(message: MessageTable) -> int:
    """Return the bytes of a message's payload."""
    return sum(item.size for item in items(message))


def counts(value: float, scale: float) -> int:
    """Return a value in counts of ``scale``, to the nearest."""
    return round(value / scale)


def _mistakes(file: ProtocolFile) -> list[str]:
    found: list[str] = []
    ids: dict[int, str] = {}
    for name, message in file.message.items():
        if message.id in ids:
            found.append(f"message.{name}: id {message.id} is {ids[message.id]}'s too; ids must differ")
        ids[message.id] = name
        if payload_size(message) > file.limits["payload"]:
            found.append(
                f"message.{name}: {payload_size(message)} bytes; limits.payload is {file.limits['payload']}"
            )
    for kind, table in (("actuator", file.actuator), ("channel", file.channel)):
        if len(table) > file.limits[f"{kind}s"]:
            found.append(f"{kind}: {len(table)} of them; limits.{kind}s is {file.limits[f'{kind}s']}")
        for name, entry in table.items():
            low, high = entry.range
            if not low < high:
                found.append(f"{kind}.{name}: range {low} to {high}; the first must be below the second")
            if not max(abs(low), abs(high)) / entry.scale <= I32_MAX:
                found.append(f"{kind}.{name}: the range does not fit 32 bits at scale {entry.scale}")
    for name, actuator in file.actuator.items():
        low, high = actuator.range
        if actuator.safe != "hold" and not low <= actuator.safe <= high:
            found.append(f"actuator.{name}: safe {actuator.safe} is outside the range {low} to {high}")
    for name, channel in file.channel.items():
        followed = file.actuator.get(channel.follows)
        if channel.follows and followed is None:
            found.append(f"channel.{name}: follows {channel.follows!r}, which is no actuator")
        if followed is not None and followed.scale != channel.scale:
            found.append(
                f"channel.{name}: scale {channel.scale}; the actuator it follows has {followed.scale}"
            )
    return found


def load_protocol(path: Path | None = None) -> ProtocolFile:
    """Load and check the link's description.

    Raises:
        ConfigError: If it says something that cannot be; all mistakes at once.
    """
    path = path or hardware_file("vectors", "protocol.toml")
    file = load_validated(path, ProtocolFile)
    needed = {"payload", "actuators", "channels", "lease_ms", "status_ms", "telemetry_ms"}
    missing = sorted(needed - set(file.limits))
    mistakes = [f"limits.{name}: missing" for name in missing] or _mistakes(file)
    if mistakes:
        raise ConfigError(str(path), mistakes)
    return file


def fingerprint(file: ProtocolFile) -> int:
    """Return the first 32 bits of the SHA-256 of everything that changes what bytes mean.

    The order of messages' fields, actuators and channels counts; words for people do not.
    """
    essence = {
        "name": file.name,
        "version": file.version,
        "limits": sorted(file.limits.items()),
        "enum": sorted((k, sorted(v.items())) for k, v in file.enum.items()),
        "message": sorted((m.id, name, m.kind, m.plain, m.fields) for name, m in file.message.items()),
        "actuator": [(n, a.unit, a.range, a.rate, a.scale, a.safe) for n, a in file.actuator.items()],
        "channel": [(n, c.unit, c.range, c.scale, c.follows) for n, c in file.channel.items()],
    }
    digest = hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:4], "big")
