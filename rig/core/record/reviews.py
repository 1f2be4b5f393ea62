"""What people said of a record afterwards: ``reviews/*.jsonl``, one append-only chain per reviewer.

Each file is a chain of its own that begins at the trial id, hashed as the events are (see ``chain``), so
that a label cannot be changed or taken out unseen. Nothing is ever deleted: who changes a mind appends. A
review never touches the record's own files, and the record verifies with or without it.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.core.clock import wall_utc
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import strict

FOLDER = "reviews"
ADJUDICATION = "adjudication"
JUDGE = "judge."
NAME = re.compile(r"^[a-z0-9][a-z0-9.-]{0,59}$")
MAX_LINE = 1 << 18
_PREV = b',"prev":"'
_HASH = b',"hash":"'
_END = b'"}\n'


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing said in a review.

    Attributes:
        seq: Its place in the file, from 0.
        utc: Wall time, ISO 8601.
        kind: What is said: ``opened``, ``labelled``, ``locked``, ``retracted``, ...
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


def file_name(reviewer: str) -> str:
    """Return the name of a reviewer's file, without its ending.

    >>> file_name("Dr. A. Example")
    'dr.-a.-example'

    Raises:
        UsageError: If nothing of the name can stand in a file name.
    """
    name = re.sub(r"[^a-z0-9.]+", "-", reviewer.lower()).strip("-.")[:60]
    if not NAME.match(name):
        raise UsageError(f"{reviewer!r} cannot name a review; use letters and digits")
    return name


def path_of(record: Path, name: str) -> Path:
    """Return where a review is; ``name`` as `file_name` gives it."""
    if not NAME.match(name):
        raise UsageError(f"{name!r} is not the name of a review")
    return record / FOLDER / f"{name}.jsonl"


def reviews_in(record: Path) -> tuple[str, ...]:
    """Return the names of the reviews of a record, adjudication and judges among them."""
    return tuple(sorted(p.stem for p in (record / FOLDER).glob("*.jsonl") if NAME.match(p.stem)))


def read_review(record: Path, name: str, trial_id: str) -> tuple[Entry, ...]:
    """Return the entries of a review, none if it does not exist.

    A last line that was cut off was never acknowledged and is left out.

    Raises:
        RecordError: If a line was altered, taken out, or is another record's.
    """
    path = path_of(record, name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    return _entries(data, path, trial_id)[0]


def _entries(data: bytes, path: Path, trial_id: str) -> tuple[tuple[Entry, ...], int]:
    """Return the entries and how many bytes they take."""
    found: list[Entry] = []
    prev, at = trial_id, 0
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
            raise RecordError(f"{path}: line {seq + 1} is not an entry of a review")


def append_review(
    record: Path, name: str, trial_id: str, *, kind: str, by: str, role: str, body: Mapping[str, Json]
) -> Entry:
    """Append to a review; when this returns, the entry is on the medium.

    Args:
        record: The record's folder.
        name: As `file_name` gives it, or `ADJUDICATION`.
        trial_id: Of the record.
        kind: What is said.
        by: Who says it.
        role: As what.
        body: The particulars, strict JSON.

    Raises:
        UsageError: If the entry is not strict JSON, is too long, or the folder cannot be written.
        RecordError: If what is there was altered.
    """
    path = path_of(record, name)
    try:
        path.parent.mkdir(exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # two pages of one reviewer
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read()
        entries, good = _entries(data, path, trial_id)
        entry, line = _line(entries, trial_id, (kind, by, role, body))
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
    entries: tuple[Entry, ...], trial_id: str, said: tuple[str, str, str, Mapping[str, Json]]
) -> tuple[Entry, bytes]:
    kind, by, role, body = said
    utc, seq = wall_utc().isoformat(timespec="milliseconds"), len(entries)
    prev = entries[-1].hash if entries else trial_id
    value = {"seq": seq, "utc": utc, "kind": kind, "by": by, "role": role, "body": strict.plain(body)}
    payload = strict.dumps(value, "review")[:-1] + _PREV + prev.encode() + b'"'
    own = hashlib.sha256(payload).hexdigest()
    line = payload + _HASH + own.encode() + _END
    if len(line) > MAX_LINE:
        raise UsageError(f"an entry of a review is at most {MAX_LINE} bytes; this one has {len(line)}")
    return Entry(seq, utc, kind, by, role, dict(body), own), line


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
