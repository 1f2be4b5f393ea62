"""The records under a folder, and what was derived from each, kept up in the background.

Pages name a record by a key the server gave out, never by a path. What is derived lives in the cache, in a
folder named by what the record was when it was read; a record that has grown is read again.
"""

import contextlib
import hashlib
import json
import logging
import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rig.console import eventlog, fold, story
from rig.core.clock import NS_PER_S, monotonic_ns
from rig.core.errors import RunError, UsageError
from rig.core.event import Kind
from rig.core.record import Record, read, records_under
from rig.core.record.chain import FILE as EVENTS
from rig.core.record.manifest import FILE as MANIFEST

LOOK_AGAIN_NS = 2 * NS_PER_S
OPEN = 8  # records held open at a time
LARGE = 64 << 20  # bytes of events from which a record is not held in memory as a whole

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Item:
    """One record on the shelf.

    Attributes:
        key: What pages call it.
        folder: Where it is.
        stamp: Changes whenever the record does.
    """

    key: str
    folder: Path
    stamp: str


def key_of(runs: Path, folder: Path) -> str:
    """Return what pages call a record: says nothing of agent or scenario, and is no path."""
    return hashlib.sha256(str(folder.relative_to(runs)).encode()).hexdigest()[:20]


DERIVED = "2"
"""Goes up with every change of what is derived from a record."""


def stamp_of(folder: Path) -> str:
    """Return a word that changes when the record does, or what is derived from it."""
    parts = [DERIVED]
    for name in (MANIFEST, EVENTS):
        with contextlib.suppress(OSError):
            found = (folder / name).stat()
            parts.append(f"{found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def without_paths(text: str) -> str:
    """Return a message without the folders of this machine: where things are is nobody's business.

    >>> without_paths("/home/x/runs/a/manifest.json: not JSON")
    'manifest.json: not JSON'
    """
    return re.sub(r"(?:/[^\s/:]+)+/", "", text)


def derive(folder: Path, out: Path) -> None:
    """Derive everything from a record into a folder that is there whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=out.parent))
    try:
        (draft / "story.json").write_text(json.dumps(_derived(folder, draft), allow_nan=False))
        if out.exists():
            shutil.rmtree(out, ignore_errors=True)
        draft.rename(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    for other in out.parent.iterdir():  # what the record was before it grew
        if other != out and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)


def _derived(folder: Path, draft: Path) -> dict[str, Any]:
    try:
        record = read(folder)
        found = eventlog.index(folder)
        np.save(draft / "events.npy", found)
        told = story.story_of(record)
        told["ticks"] = fold.fold(record, draft)
        if told["ticks"]:
            last = float(np.load(draft / "end.npy", mmap_mode="r")[-1]) / NS_PER_S
            told["end_s"] = max(told["end_s"], last)
    except RunError as error:
        return {"unreadable": without_paths(str(error))}
    return told


def _quietly() -> None:
    """Keep out of the way of a trial, and leave Ctrl-C to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(10)


class Shelf:
    """The records of one runs folder; a context manager that owns the worker process."""

    def __init__(self, runs: Path, cache: Path) -> None:
        self.runs, self._cache = runs, cache
        self._lock = threading.RLock()
        self._items: dict[str, Item] = {}
        self._looked_ns = -LOOK_AGAIN_NS
        self._pool: ProcessPoolExecutor | None = None
        self._jobs: dict[str, Future[None]] = {}
        self._stories: dict[str, tuple[str, dict[str, Any]]] = {}
        self._records: OrderedDict[tuple[str, str], Record] = OrderedDict()

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def items(self) -> list[Item]:
        """Return the records there are now, by folder."""
        with self._lock:
            if monotonic_ns() - self._looked_ns >= LOOK_AGAIN_NS:
                found = {}
                with contextlib.suppress(OSError, UsageError):
                    for folder in records_under(self.runs):
                        key = key_of(self.runs, folder)
                        found[key] = Item(key, folder, stamp_of(folder))
                self._items, self._looked_ns = found, monotonic_ns()
            return list(self._items.values())

    def look_again(self) -> None:
        """Let the next question find records that came this moment."""
        self._looked_ns = -LOOK_AGAIN_NS

    def item(self, key: str) -> Item:
        """Return a record by key.

        Raises:
            UsageError: If there is none.
        """
        self.items()
        with self._lock:
            if key not in self._items:
                raise UsageError("there is no such record in this folder of runs (any more)")
            return self._items[key]

    def derived(self, item: Item) -> Path:
        """Return where what is derived from a record is or will be."""
        return self._cache / item.key / item.stamp

    def story(self, item: Item) -> dict[str, Any] | None:
        """Return a record's story; None while it is being derived, which this starts."""
        with self._lock:
            known = self._stories.get(item.key)
            if known is not None and known[0] == item.stamp:
                return known[1]
        path = self.derived(item) / "story.json"
        if path.is_file():
            try:
                told: dict[str, Any] = json.loads(path.read_bytes())
            except (OSError, ValueError):
                shutil.rmtree(path.parent, ignore_errors=True)
            else:
                with self._lock:
                    self._stories[item.key] = (item.stamp, told)
                return told
        self._start(item)
        return None

    def last_story(self, item: Item) -> dict[str, Any] | None:
        """Return the newest story there is, even if the record has grown since."""
        fresh = self.story(item)
        known = self._stories.get(item.key)
        return fresh or (known[1] if known else None)

    def wait(self, item: Item, timeout_s: float = 120.0) -> dict[str, Any]:
        """Return a record's story, however long it takes to derive.

        Raises:
            UsageError: If it is not derived within the time.
        """
        found = self.story(item)
        if found is None:
            job = self._jobs.get(f"{item.key}/{item.stamp}")
            if job is not None:
                with contextlib.suppress(TimeoutError):
                    job.result(timeout_s)
            found = self.story(item)
        if found is None:
            raise UsageError("the record is still being read; ask again in a moment")
        return found

    def _start(self, item: Item) -> None:
        with self._lock:
            name = f"{item.key}/{item.stamp}"
            job = self._jobs.get(name)
            if job is not None and not job.done():
                return
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(1, context, initializer=_quietly)
            try:
                self._jobs[name] = self._pool.submit(derive, item.folder, self.derived(item))
            except BrokenProcessPool:
                _log.warning("the process that reads records died; starting another")
                self._pool = None

    def record(self, item: Item) -> Record:
        """Return the record itself, held open for the next question.

        Raises:
            RecordError: If it is damaged.
        """
        name = (item.key, item.stamp)
        with self._lock:
            if name in self._records:
                self._records.move_to_end(name)
                return self._records[name]
        record = read(item.folder)
        if (item.folder / EVENTS).stat().st_size > LARGE:  # a million events are read page by page
            record = _without_events(record)
        with self._lock:
            self._records[name] = record
            while len(self._records) > OPEN:
                self._records.popitem(last=False)
        return record


def _without_events(record: Record) -> Record:
    """Return a record that remembers of its events only where the telemetry is."""
    kept = record.of_kind(Kind.TELEMETRY_CLOSED)
    return Record(
        record.folder, record.manifest, record.trial_id, record.layout, record.epoch_utc_ns, kept,
        record.head, record.complete, record.problem,
    )  # fmt: skip


def stories(shelf: Shelf) -> Iterator[tuple[Item, dict[str, Any] | None]]:
    """Give every record with its story, None where it is still to be derived."""
    for item in shelf.items():
        yield item, shelf.story(item)
