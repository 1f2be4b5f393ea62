"""A copy of a record that may be shown: what people said and wrote is taken out, and that it was.

The copy is a record of its own (its own trial id, chain and signature), so that it verifies and can
never pass for the original, whose chain head its key states.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.core.channel import Layout
from rig.core.errors import UsageError
from rig.core.event import Event, Json, Kind, Severity
from rig.core.record.chain import StoredEvent
from rig.core.record.manifest import RESERVED, trial_key
from rig.core.record.reader import Record
from rig.core.record.writer import RecordWriter

FREE_TEXT: Mapping[Kind, frozenset[str]] = {
    Kind.CONSULTED: frozenset(("text",)),
    Kind.PROPOSED: frozenset(("text", "reason", "summary")),
    Kind.REPLIED: frozenset(("message", "heard", "noticed")),
    Kind.SAID: frozenset(("text",)),
    Kind.RESET: frozenset(("who", "cause")),
    Kind.OPERATOR: frozenset(("who", "text")),
    Kind.CALLED: frozenset(("reason",)),
    Kind.NOTED: frozenset(("text", "by")),
    Kind.TRIAL_ENDED: frozenset(("reason",)),
}
"""Members of event bodies, at any depth, that hold what a person or an agent said, wrote or is called."""
REMOVED = "[redacted]"
_OWN = (Kind.TRIAL_STARTED, Kind.TELEMETRY_CLOSED, Kind.TRIAL_ENDED)  # written anew for the copy


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was taken out.

    Attributes:
        folder: The copy.
        texts: How many texts were removed, by kind of event and member.
        channels: The channels left out.
    """

    folder: Path
    texts: Mapping[str, int]
    channels: tuple[str, ...]


def redact(
    record: Record,
    folder: Path,
    *,
    by: str,
    members: Mapping[Kind, Collection[str]] = FREE_TEXT,
    without: Sequence[str] = (),
) -> Redaction:
    """Write a redacted copy of a complete record.

    Args:
        record: The original; it is not touched.
        folder: Where the copy goes.
        by: Who redacts, for the record.
        members: Body members whose texts are removed, by kind of event.
        without: Channels left out of the telemetry, for example microphones.

    Raises:
        UsageError: If the record is not complete, a channel does not exist, none would be left, or
            the folder cannot be used.
        RecordError: If the telemetry cannot be read.
    """
    if not record.complete:
        raise UsageError(f"{record.folder}: {record.problem}; only a complete record is redacted")
    for name in without:
        record.layout.index(name)
    kept = [c for c in record.layout if c.name not in without]
    if not kept:
        raise UsageError("no channel would be left")
    removed: Counter[str] = Counter()
    entries: dict[str, Json] = {
        name: value for name, value in record.manifest.items() if name not in RESERVED
    }
    origin: dict[str, Json] = {"trial_id": record.trial_id, "head": record.head}
    entries["key"] = {**trial_key(entries), "redacted_from": origin}
    events = [_without_text(e, members, removed) for e in record.events if e.kind not in _OWN]
    ending = _without_text(record.events[-1], members, removed)
    said: dict[str, Json] = {
        "text": "Redacted copy: texts were replaced, channels and every camera's frames left out as listed.",
        "by": by, "texts": dict(sorted(removed.items())), "channels": list(without),
        **({"cameras": [camera.name for camera in record.cameras]} if record.cameras else {}),
    }  # fmt: skip
    flush = record.manifest["flush_every_ns"]
    with RecordWriter(
        folder, entries, Layout(kept), epoch_utc_ns=record.epoch_utc_ns, flush_every_ns=int(str(flush))
    ) as copy:
        copy.extend([*events, Event(ending.t_ns, Kind.NOTED, "redaction", said, Severity.NOTICE)])
        for trace in record.stretches([c.name for c in kept]):
            copy.telemetry(trace)
        copy.close(ending)
    return Redaction(Path(folder), dict(removed), tuple(without))


def _without_text(
    event: StoredEvent, members: Mapping[Kind, Collection[str]], removed: Counter[str]
) -> Event:
    hidden = members.get(event.kind, ())

    def clean(value: Json, member: str, inside: bool) -> Json:
        inside = inside or member in hidden
        if isinstance(value, dict):
            return {name: clean(part, name, inside) for name, part in value.items()}
        if isinstance(value, list):
            return [clean(part, member, inside) for part in value]
        if isinstance(value, str) and inside:
            removed[f"{event.kind.value}.{member}"] += 1
            return REMOVED
        return value

    body = {name: clean(value, name, False) for name, value in event.body.items()}
    return Event(event.t_ns, event.kind, event.source, body, event.severity)
