"""Small chains beside records: what people said and did, one append-only file each, hashed as events are.

A line is JSON whose last members are ``prev``, the hash of the line before (in the first line, a word
given by whoever keeps the file), and ``hash``, the SHA-256 of the line's bytes up to and including
``prev``. So nothing can be changed or taken out unseen, and nothing is ever deleted.
"""

import fcntl
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.core.clock import wall_utc
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import strict

MAX_LINE = 1 << 18
_PREV = b',"prev":"'
_HASH = b',"hash":"'
_END = b'"}\n'


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing said or done.

    Attributes:
        seq: Its place in the file, from 0.
        utc: Wall time, ISO 8601.
        kind: What is said: in a word
        by: Who, by name.
        role: As what.
        body: The particulars.
        hash: SHA-256 of its line.
    """

    seq: int
    utc: str
    kind: str
    by: str
    role: str
    body: Mapping[str, Json]
    hash: str


def read_entries(path: Path, start: str) -> tuple[Entry, ...]:
    """Return the entries of a file, none if it does not exist.

    A last line that was cut off was never acknowledged and is left out.

    Args:
        path: The file.
        start: What its first line is linked to.

    Raises:
        RecordError: If a line was altered, taken out, or is another file's.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    return _entries(data, path, start)[0]


def _entries(data: bytes, path: Path, start: str) -> tuple[tuple[Entry, ...], int]:
    """Return the entries and how many bytes they take."""
    found: list[Entry] = []
    prev, at = start, 0
    for line in data.splitlines(keepends=True):
        if not line.endswith(_END):
            if at + len(line) == len(data):
                break
            raise RecordError(f"{path}: line {len(found) + 1} is altered")
        payload, _, seal = line.rpartition(_HASH)
        own = hashlib.sha256(payload).hexdigest()
        if seal != own.encode() + _END or not payload.endswith(_PREV + prev.encode() + b'"'):
            raise RecordError(f"{path}: line {len(found) + 1} is altered, or lines before it are missing")
        found.append(_entry(payload[: payload.rindex(_PREV)] + b"}", own, path, len(found)))
        prev, at = own, at + len(line)
    return tuple(found), at


def _entry(text: bytes, own: str, path: Path, seq: int) -> Entry:
    match strict.loads_intact(text):
        case {
            "seq": int(stated), "utc": str(utc), "kind": str(kind), "by": str(by), "role": str(role),
            "body": dict(body),
        } if stated == seq:  # fmt: skip
            return Entry(seq, utc, kind, by, role, body, own)
        case _:
            raise RecordError(f"{path}: line {seq + 1} is not an entry")


def append_entry(path: Path, start: str, *, kind: str, by: str, role: str, body: Mapping[str, Json]) -> Entry:
    """Append to a file, made if need be; when this returns, the entry is on the medium.

    Raises:
        UsageError: If the entry is not strict JSON, is too long, or the file cannot be written.
        RecordError: If what is there was altered.
    """
    try:
        path.parent.mkdir(exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # two pages of one person
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read()
        entries, good = _entries(data, path, start)
        entry, line = _line(entries, start, (kind, by, role, body))
        if good < len(data):
            os.ftruncate(fd, good)
        os.pwrite(fd, line, good)
        os.fdatasync(fd)
        if not entries:
            _sync_folder(path.parent)
        return entry
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        os.close(fd)


def _line(
    entries: tuple[Entry, ...], start: str, said: tuple[str, str, str, Mapping[str, Json]]
) -> tuple[Entry, bytes]:
    kind, by, role, body = said
    utc, seq = wall_utc().isoformat(timespec="milliseconds"), len(entries)
    prev = entries[-1].hash if entries else start
    value = {"seq": seq, "utc": utc, "kind": kind, "by": by, "role": role, "body": strict.plain(body)}
    payload = strict.dumps(value, "entry")[:-1] + _PREV + prev.encode() + b'"'
    own = hashlib.sha256(payload).hexdigest()
    line = payload + _HASH + own.encode() + _END
    if len(line) > MAX_LINE:
        raise UsageError(f"an entry is at most {MAX_LINE} bytes; this one has {len(line)}")
    return Entry(seq, utc, kind, by, role, dict(body), own), line


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
