"""Following a record while it is written: the live view reads what the reader of tomorrow reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.core.channel import Trace, joined
from rig.core.errors import RecordError
from rig.core.event import Kind
from rig.core.record import chain, manifest, telemetry
from rig.core.record.chain import StoredEvent
from rig.core.record.files import mapped, read_bytes
from rig.core.record.images import Image, images_of
from rig.core.record.manifest import Manifest
from rig.core.record.reader import must_be_record
from rig.core.record.segment import file_name
from rig.core.record.walk import ChunkRef, walk


class Tail:
    """Gives what is new in a record since it was last asked; the constructor touches nothing.

    Events are given once they are durable, ticks once their chunk is written: at most one flush
    period of the recorder behind the trial.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._about: Manifest | None = None
        self._position, self._seq, self._head = 0, 0, ""
        self._ticks, self._images = _Place(), _Place()
        self.ended = False

    @property
    def about(self) -> Manifest:
        """The record's manifest.

        Raises:
            UsageError: If there is no record yet.
            RecordError: If it is damaged or of a future version.
        """
        if self._about is None:
            must_be_record(self.folder)
            path = self.folder / manifest.FILE
            self._about = manifest.parse(read_bytes(path), path)
            self._head = self._about.trial_id
        return self._about

    def events(self) -> tuple[StoredEvent, ...]:
        """Return the events since the last call, intact and linked; `ended` is set behind the last one.

        Raises:
            UsageError: If there is no record yet.
            RecordError: If what was appended does not belong to the chain.
        """
        start = self._head or self.about.trial_id
        path = self.folder / chain.FILE
        if not path.exists():
            return ()
        found = chain.scan(bytes(mapped(path)[self._position :]), start, self._seq)
        if found.problem is not None and not found.torn:
            raise RecordError(f"{path}: {found.problem}")
        if found.events:
            self._position += found.good_bytes
            self._seq, self._head = found.events[-1].seq + 1, found.events[-1].hash
            self.ended = found.events[-1].kind is Kind.TRIAL_ENDED
        return found.events

    def ticks(self, channels: Sequence[str] | None = None) -> Trace:
        """Return the ticks since the last call.

        Args:
            channels: Names of the channels wanted, in the order wanted; all of them if None.

        Raises:
            UsageError: If there is no record yet, or no such channel.
            RecordError: If the telemetry is damaged.
        """
        about = self.about
        columns, layout = telemetry.choose(about.layout, channels)
        where = telemetry.Where(about.trial_id, about.layout, about.epoch_utc_ns, whole=False)
        parts = [
            telemetry.whole([telemetry.Piece(path, data, ref) for ref in chunks], where, columns, layout)
            for path, data, chunks in self._ticks.news(self.folder)
        ]
        return joined(parts, layout)

    def images(self) -> Mapping[str, Image]:
        """Return the newest frame of every camera of which any has come since the last call.

        Raises:
            UsageError: If there is no record yet.
            RecordError: If the telemetry is damaged.
        """
        cameras, epoch_utc_ns = self.about.cameras, self.about.epoch_utc_ns
        newest: dict[str, Image] = {}
        for path, data, chunks in self._images.news(self.folder) if cameras else ():
            newest |= {i.camera: i for i in images_of(path, data, chunks, cameras, epoch_utc_ns)}
        return newest


@dataclass(slots=True)
class _Place:
    """How far the segments have been read.

    Attributes:
        number: Of the segment.
        offset: Of the first byte in it that has not been taken.
    """

    number: int = 0
    offset: int = 0

    def news(self, folder: Path) -> Iterator[tuple[Path, memoryview, Sequence[ChunkRef]]]:
        """Give the chunks that have been written since, segment by segment."""
        while (path := folder / file_name(self.number)).exists():
            data = mapped(path)
            found = walk(data, self.offset)
            chunks, self.offset = found.chunks, found.good_bytes
            if chunks and not found.finished and chunks[-1].channel == 0:  # its index is not written yet
                self.offset = chunks[-1].at
                chunks = chunks[:-1]
            yield path, data, chunks
            if not found.finished:
                break
            self.number, self.offset = self.number + 1, 0
