"""The chain: one line of ``events.jsonl`` per event, each bound to the one before.

A line is a JSON object whose last two members are ``prev``, the hash of the line before (for the
first line, the trial id), and ``hash``, the SHA-256 of the line's own bytes up to and including
``prev``. Hashes are of bytes as stored: checking never re-serialises.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from rig.core.errors import UsageError
from rig.core.event import Event, Json, Kind, Severity
from rig.core.record import strict

FILE = "events.jsonl"
MAX_LINE = 1 << 20  # bytes; bounds what a reader must hold, generous beside events of some kilobytes
_PREV = b',"prev":"'
_HASH = b',"hash":"'
_END = b'"}\n'
_TAIL = len(_HASH) + 64 + len(_END)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it stands in a record.

    Attributes:
        seq: Its place in the chain, from 0.
        t_ns: Trial time.
        kind: What it says.
        source: Who said it.
        severity: How much it matters to a reader in a hurry.
        body: The particulars.
        hash: SHA-256 of its line, the next line's ``prev``.
    """

    seq: int
    t_ns: int
    kind: Kind
    source: str
    severity: Severity
    body: Mapping[str, Json]
    hash: str


def line_of(event: Event, seq: int, prev: str) -> tuple[bytes, str]:
    """Return the stored line of ``event`` and its hash.

    Raises:
        UsageError: If the body is not strict JSON or the line is longer than `MAX_LINE`.
    """
    what = f"{event.kind} event"
    payload = strict.dumps(
        {
            "seq": seq,
            "t_ns": int(event.t_ns),
            "kind": event.kind.value,
            "source": event.source,
            "severity": event.severity.value,
            "body": strict.plain(event.body),
        },
        what,
    )
    payload = payload[:-1] + _PREV + prev.encode() + b'"'
    own = hashlib.sha256(payload).hexdigest()
    line = payload + _HASH + own.encode() + _END
    if len(line) > MAX_LINE:
        raise UsageError(f"{what}: {len(line)} bytes; an event is at most {MAX_LINE}: store bulk data apart")
    return line, own


def body_of(line: bytes) -> bytes:
    """Return the body in a line made by `line_of`, as it is spelled there."""
    return line[line.index(b',"body":') + len(b',"body":') : line.rindex(_PREV)]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a pass over the bytes of ``events.jsonl`` found.

    Attributes:
        events: The events before the first bad line.
        good_bytes: How many bytes they take.
        problem: What is wrong with the first bad line, or None.
        torn: True when the bad bytes can be the remains of an interrupted write: nothing behind
            them is a line of a record.
    """

    events: tuple[StoredEvent, ...]
    good_bytes: int
    problem: str | None
    torn: bool


class _Bad(Exception):
    """What is wrong with a line, in words."""


def scan(data: bytes, start: str, seq: int = 0) -> Scan:
    """Read lines as long as they are whole, intact and linked.

    Args:
        data: Bytes of ``events.jsonl``.
        start: What the first line's ``prev`` must be: the trial id, or the hash of the line before.
        seq: The number the first line must have.
    """
    events: list[StoredEvent] = []
    position, prev, problem = 0, start, None
    while position < len(data) and problem is None:
        end = data.find(b"\n", position, position + MAX_LINE) + 1 or min(len(data), position + MAX_LINE)
        try:
            event = _read_line(data[position:end], seq + len(events), prev)
        except _Bad as bad:
            problem = f"line {seq + len(events) + 1} (seq {seq + len(events)}, byte {position}): {bad}"
        else:
            events.append(event)
            position, prev = end, event.hash
    torn = problem is not None and not any(
        _intact(line) for line in data[position:].splitlines(keepends=True)
    )
    return Scan(tuple(events), position, problem, torn)


def stated_start(data: bytes) -> str:
    """Return what the first line says it is linked to, empty if there is none to say so."""
    head = data[: data.find(b"\n")].rpartition(_HASH)[0].rpartition(_PREV)[2]
    return head.rstrip(b'"').decode("ascii", "replace")


def _intact(line: bytes) -> bool:
    payload, seal = line[:-_TAIL], line[-_TAIL:]
    return seal == _HASH + hashlib.sha256(payload).hexdigest().encode() + _END


def _read_line(line: bytes, seq: int, prev: str) -> StoredEvent:
    if not line.endswith(b"\n"):
        raise _Bad("cut off: no end of line")
    if not _intact(line):
        raise _Bad("its bytes do not have the hash it states: altered")
    payload, seal = line[:-_TAIL], line[-_TAIL:]
    body, found, stated = payload.rpartition(_PREV)
    if not found or not stated.endswith(b'"'):
        raise _Bad("no link to the line before")
    try:
        entry = strict.loads_intact(body + b"}")
    except ValueError as error:
        raise _Bad(f"not strict JSON: {error}") from None
    linked = stated[:-1].decode("ascii", "replace")
    own = seal[len(_HASH) : -len(_END)].decode()
    if not isinstance(entry, dict):
        raise _Bad("not an event")
    if linked != prev or entry.get("seq") != seq:
        raise _Bad(_misfit(entry.get("seq"), seq, linked, prev))
    return _event(entry, own)


def _misfit(found_seq: object, seq: int, linked: str, prev: str) -> str:
    if found_seq == seq:
        return (
            f"intact by itself but linked to {linked[:16]}, not {prev[:16]}: from another record, or spliced"
        )
    if isinstance(found_seq, int) and found_seq > seq:
        return f"events {seq} to {found_seq - 1} are missing before it"
    return f"says it is seq {found_seq}: repeated or out of place"


def _event(entry: dict[str, object], own: str) -> StoredEvent:
    match entry:
        case {
            "seq": int(seq),
            "t_ns": int(t_ns),
            "kind": str(kind),
            "source": str(source),
            "severity": str(level),
            "body": dict(body),
        } if len(entry) == 6:
            try:
                return StoredEvent(seq, t_ns, Kind(kind), source, Severity(level), body, own)
            except ValueError as error:
                raise _Bad(f"{error} of this record schema") from None
        case _:
            raise _Bad("not an event: members are missing, foreign or of another type")
