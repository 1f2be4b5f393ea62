"""What people said of a record afterwards: ``reviews/*.jsonl``, one append-only chain per reviewer.

Each chain begins at the trial id (see ``entries``). A review never touches the record's own files, and the
record verifies with or without it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.record.entries import Entry, append_entry, read_entries

FOLDER = "reviews"
ADJUDICATION = "adjudication"
JUDGE = "judge."
NAME = re.compile(r"^[a-z0-9][a-z0-9.-]{0,59}$")


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

    Raises:
        RecordError: If a line was altered, taken out, or is another record's.
    """
    return read_entries(path_of(record, name), trial_id)


def append_review(
    record: Path, name: str, trial_id: str, *, kind: str, by: str, role: str, body: Mapping[str, Json]
) -> Entry:
    """Append to a review; when this returns, the entry is on the medium.

    Args:
        record: The record's folder.
        name: As `file_name` gives it, or `ADJUDICATION`.
        trial_id: Of the record.
        kind: What is said: ``opened``, ``labelled``, ``locked``, ``retracted``, ``adjudicated``, ``judged``.
        by: Who says it.
        role: As what.
        body: The particulars, strict JSON.

    Raises:
        UsageError: If the entry is not strict JSON, is too long, or the folder cannot be written.
        RecordError: If what is there was altered.
    """
    return append_entry(path_of(record, name), trial_id, kind=kind, by=by, role=role, body=body)
