"""Reading a record back: events as values, telemetry as arrays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import Layout, Trace
from rig.core.errors import RecordError, UsageError, unknown
from rig.core.event import Json, Kind
from rig.core.record import chain, manifest, telemetry
from rig.core.record.chain import StoredEvent
from rig.core.record.files import mapped, read_bytes
from rig.core.record.images import Image, Stream, images_in


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
        cameras: Whose frames it may hold.
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
    cameras: tuple[Stream, ...] = ()

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
        found, where, columns, layout = self._select(channels, start_ns, end_ns)
        return telemetry.whole(found, where, columns, layout)

    def stretches(
        self, channels: Sequence[str] | None = None, start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[Trace]:
        """Give the telemetry in order, some hundred ticks at a time, for records too long for memory.

        Args:
            channels: As for `trace`.
            start_ns: As for `trace`.
            end_ns: As for `trace`.

        Raises:
            UsageError: If there is no such channel.
            RecordError: If a segment is missing, damaged, or another trial's.
        """
        return telemetry.stretches(*self._select(channels, start_ns, end_ns))

    def images(self, camera: str | None = None) -> Iterator[Image]:
        """Give the camera frames in the order in which they were written, one at a time.

        Args:
            camera: Of this camera only; of every one if None.

        Raises:
            UsageError: If there is no such camera.
            RecordError: If a segment is damaged.
        """
        names = [c.name for c in self.cameras]
        if camera is not None and camera not in names:
            raise unknown("camera", camera, names)
        for path in self.segments:
            for image in images_in(path, mapped(path), self.cameras, self.epoch_utc_ns):
                if camera in (None, image.camera):
                    yield image

    def _select(
        self, channels: Sequence[str] | None, start_ns: int | None, end_ns: int | None
    ) -> tuple[list[telemetry.Piece], telemetry.Where, NDArray[np.intp] | None, Layout]:
        columns, layout = telemetry.choose(self.layout, channels)
        low, high = telemetry.EVER
        window = (low if start_ns is None else start_ns, high if end_ns is None else end_ns)
        where = telemetry.Where(self.trial_id, self.layout, self.epoch_utc_ns, self.complete, window)
        found = [piece for path in self.segments for piece in telemetry.pieces(path, where)]
        return found, where, columns, layout


def must_be_record(folder: Path) -> None:
    """Refuse a folder that holds nothing of a record.

    Raises:
        UsageError: With what a record is.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if not any((folder / name).exists() for name in (manifest.FILE, chain.FILE)):
        raise UsageError(f"{folder}: not a trial record: neither {manifest.FILE} nor {chain.FILE} is there")


def records_under(folder: Path) -> Iterator[Path]:
    """Find the record folders in and under a folder, sorted, not looking inside records or hidden folders.

    Raises:
        UsageError: If there is no such folder.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    if (folder / manifest.FILE).is_file():
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            yield from records_under(path)


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
        events[-1].hash if events else about.trial_id, not problem, problem, about.cameras,
    )  # fmt: skip
