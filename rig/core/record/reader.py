"""Reading a record back: events as values, telemetry as arrays."""

import mmap
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.core.channel import Layout, Trace
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json, Kind
from rig.core.record import chain, manifest, wire
from rig.core.record.chain import StoredEvent
from rig.core.record.walk import ChunkRef, DamagedChunk, unpack, walk


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it stands on disk.

    Attributes:
        folder: Where it is.
        manifest: Every entry of the manifest.
        trial_id: Which trial.
        layout: The channels of the telemetry.
        epoch_utc_ns: UTC at trial time 0.
        events: The events, intact and linked.
        head: Hash of the last of them.
        complete: Whether the trial was ended and the record closed; False for one that is still
            being written or was cut off, whose events and telemetry are then the valid beginning.
        problem: Why it is not complete, empty if it is.
    """

    folder: Path
    manifest: Mapping[str, Json]
    trial_id: str
    layout: Layout
    epoch_utc_ns: int
    events: tuple[StoredEvent, ...]
    head: str
    complete: bool
    problem: str

    def of_kind(self, *kinds: Kind) -> tuple[StoredEvent, ...]:
        """Return the events of these kinds, in order."""
        return tuple(e for e in self.events if e.kind in kinds)

    @property
    def segments(self) -> tuple[Path, ...]:
        """The telemetry files: those the chain states, and while incomplete those it does not yet."""
        stated = [self.folder / str(e.body["file"]) for e in self.of_kind(Kind.TELEMETRY_CLOSED)]
        if self.complete:
            return tuple(stated)
        found = sorted(self.folder.glob("telemetry.*.mcap"))
        return (*stated, *(path for path in found if path not in stated))

    def trace(
        self, channels: Sequence[str] | None = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> Trace:
        """Return the telemetry as arrays.

        Args:
            channels: Names of the channels wanted, in the order wanted; all of them if None.
            start_ns: First trial time wanted, inclusive; from the beginning if None.
            end_ns: Trial time to stop before, exclusive; to the end if None.

        Raises:
            UsageError: If there is no such channel.
            RecordError: If a segment is missing, damaged, or another trial's.
        """
        layout = self.layout if channels is None else Layout([self.layout[name] for name in channels])
        columns = (
            None if channels is None else np.array([self.layout.index(name) for name in channels], np.intp)
        )
        parts = [part for path in self.segments for part in self._decoded(path, columns, (start_ns, end_ns))]
        return _joined(parts, layout)

    def _decoded(
        self,
        path: Path,
        columns: "np.ndarray[tuple[int], np.dtype[np.intp]] | None",
        window: tuple[int | None, int | None],
    ) -> list[Trace]:
        """Decode the chunks of one segment that touch a window of trial time."""
        low = -(1 << 62) if window[0] is None else window[0]
        high = 1 << 62 if window[1] is None else window[1]
        data = mapped(path)
        found = walk(data)
        if found.facts.get("trial_id", self.trial_id) != self.trial_id:
            raise RecordError(f"{path}: belongs to trial {found.facts['trial_id']}, not {self.trial_id}")
        if found.problem is not None and self.complete:
            raise RecordError(f"{path}: byte {found.good_bytes}: {found.problem}; see `runrig verify`")
        wanted = [
            c for c in found.chunks if c.start - self.epoch_utc_ns < high and c.end - self.epoch_utc_ns >= low
        ]

        def one(ref: ChunkRef) -> Trace | None:
            try:
                raw = unpack(data, ref)
            except DamagedChunk as damage:
                raise RecordError(f"{path}: chunk at byte {ref.at}: {damage}; see `runrig verify`") from None
            if not wire.is_telemetry(raw, len(self.layout)):
                return None
            rows = wire.decode(raw, len(self.layout))
            t_ns = rows["t_ns"]
            if ref.start - self.epoch_utc_ns < low or ref.end - self.epoch_utc_ns >= high:
                rows = rows[(t_ns >= low) & (t_ns < high)]
            return wire.trace_of(rows, self.layout, columns)

        if len(wanted) < 8:
            return [part for part in map(one, wanted) if part is not None]
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # zstd and numpy release the GIL
            return [part for part in pool.map(one, wanted) if part is not None]


def _joined(parts: Sequence[Trace], layout: Layout) -> Trace:
    from rig.core.channel import joined

    traces = [Trace(layout, p.t_ns, p.values, p.sampled_ns, p.quality) for p in parts]
    return joined(traces, layout)


def mapped(path: Path) -> memoryview:
    """Return the bytes of a file, without reading those nobody looks at.

    Raises:
        RecordError: If the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # Not closed by hand: whoever still holds a view of it, an exception's traceback say, keeps it.
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    return memoryview(data)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        RecordError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None


def must_be_record(folder: Path) -> None:
    """Refuse a folder that holds nothing of a record.

    Raises:
        UsageError: With what a record is.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if not any((folder / name).exists() for name in (manifest.FILE, chain.FILE)):
        raise UsageError(f"{folder}: not a trial record: neither {manifest.FILE} nor {chain.FILE} is there")


def read(folder: Path) -> Record:
    """Return the record in a folder; one that is live or torn to its last whole event.

    Raises:
        UsageError: If the folder holds no record.
        RecordError: If the record is damaged (bytes altered, events missing, parts of another
            record) or of a future version; `verify` says more.
    """
    folder = Path(folder)
    must_be_record(folder)
    about = manifest.parse(read_bytes(folder / manifest.FILE), folder / manifest.FILE)
    events_path = folder / chain.FILE
    data = read_bytes(events_path) if events_path.exists() else b""
    found = chain.scan(data, about.trial_id)
    if found.problem is not None and not found.torn:
        raise RecordError(f"{events_path}: {found.problem}; see `runrig verify {folder}`")
    events = found.events
    if events and events[0].body.get("manifest_sha256") != about.digest:
        raise RecordError(f"{folder / manifest.FILE}: not the manifest the chain was started with")
    problem = found.problem or ""
    if not problem and not (events and events[-1].kind is Kind.TRIAL_ENDED):
        problem = "no trial_ended event: still being written, or cut off"
    return Record(
        folder, about.entries, about.trial_id, about.layout, about.epoch_utc_ns, events,
        events[-1].hash if events else about.trial_id, not problem, problem,
    )  # fmt: skip
