"""One MCAP file of telemetry, written a chunk at a time.

The records that are rare go through the mcap package's own types; chunks of rows are put together
here in bulk. A file is readable to its last whole chunk at any moment; `SegmentWriter.finish` adds
the index that seeking readers want.
"""

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC
from numpy.typing import NDArray

from rig.core.channel import Layout
from rig.core.event import Json
from rig.core.record import images, mirror, wire
from rig.core.record.disk import Disk
from rig.core.record.manifest import RECORD_SCHEMA
from rig.core.record.strict import dumps

_CHUNK_HEAD = struct.Struct("<BQQQQII4sQ")  # opcode, length, start, end, size, crc, "zstd", data length
_INDEX_HEAD = struct.Struct("<BQHI")  # opcode, length, channel, length of the entries
_INDEX_ENTRY = np.dtype([("time", "<u8"), ("offset", "<u8")])


def file_name(number: int) -> str:
    """Return the name of segment ``number``.

    >>> file_name(3)
    'telemetry.0003.mcap'
    """
    return f"telemetry.{number:04d}.mcap"


@dataclass(frozen=True, slots=True)
class Closed:
    """A finished segment, as the chain will state it."""

    file: str
    sha256: str
    size: int
    ticks: int
    first_tick: int
    from_ns: int
    to_ns: int
    images: Mapping[str, int] = field(default_factory=dict)  # by camera

    def body(self) -> dict[str, Json]:
        """Return what a `TELEMETRY_CLOSED` event says."""
        return {
            "file": self.file, "sha256": self.sha256, "bytes": self.size, "ticks": self.ticks,
            "first_tick": self.first_tick, "from_ns": self.from_ns, "to_ns": self.to_ns,
            **({"images": dict(self.images)} if self.images else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """What every segment of a record has in common."""

    trial_id: str
    layout: Layout
    epoch_utc_ns: int
    cameras: tuple[images.Stream, ...] = ()


class SegmentWriter:
    """Writes one segment; used by one thread."""

    def __init__(self, disk: Disk, path: Path, number: int, origin: Origin, level: int) -> None:
        self._disk, self._path, self._number, self._origin = disk, path, number, origin
        self._zstd = zstandard.ZstdCompressor(level=level)
        self._fd = -1
        self._size = self._crc = 0
        self._sha = hashlib.sha256()
        self._chunks: list[ChunkIndex] = []
        self._metadata_index: list[MetadataIndex] = []
        self._messages = {wire.TELEMETRY_ID: 0, mirror.EVENTS_ID: 0}
        self._messages |= {images.FIRST_ID + k: 0 for k in range(len(origin.cameras))}
        self.ticks = self._first_tick = self._from_ns = self._to_ns = 0

    def open(self) -> None:
        """Create the file and write everything that stands before the first chunk."""
        self._fd = self._disk.create(self._path)
        out = RecordBuilder()
        out.write(MCAP0_MAGIC)
        Header(profile="", library="runrig").write(out)
        metadata = Metadata("runrig", self._facts())
        start = out.count
        metadata.write(out)
        self._metadata_index.append(MetadataIndex(start, out.count - start, metadata.name))
        self._describe(out)
        self._append(out.end())
        self._disk.sync(self._fd)
        self._disk.sync_folder(self._path.parent)

    def _facts(self) -> dict[str, str]:
        return {
            "record_schema": str(RECORD_SCHEMA),
            "trial_id": self._origin.trial_id,
            "segment": str(self._number),
            "epoch_utc_ns": str(self._origin.epoch_utc_ns),
        }

    def _describe(self, out: RecordBuilder) -> tuple[int, int]:
        """Write the schemas and the channels; return where each kind ends."""
        layout = self._origin.layout
        units = dict(zip(wire.field_names(layout), (c.unit for c in layout), strict=True))
        kinds = [
            (wire.TELEMETRY_ID, wire.MESSAGE_TYPE, wire.descriptor(layout)),
            (mirror.EVENTS_ID, mirror.MESSAGE_TYPE, mirror.descriptor()),
        ]
        if self._origin.cameras:
            kinds.append((images.SCHEMA_ID, images.MESSAGE_TYPE, images.descriptor()))
        for number, name, data in kinds:
            Schema(id=number, name=name, encoding="protobuf", data=data).write(out)
        schema_end = out.count
        topics: list[tuple[int, int, str, dict[str, str]]] = [
            (wire.TELEMETRY_ID, wire.TELEMETRY_ID, wire.TOPIC, {"units": dumps(units, "units").decode()}),
            (mirror.EVENTS_ID, mirror.EVENTS_ID, mirror.TOPIC, {}),
        ]
        for number, camera in enumerate(self._origin.cameras, images.FIRST_ID):
            about = {key: str(value) for key, value in camera.json().items()}
            topics.append((number, images.SCHEMA_ID, f"/{camera.name}", about))
        for number, schema, topic, about in topics:
            Channel(
                id=number, topic=topic, message_encoding="protobuf", schema_id=schema, metadata=about
            ).write(out)  # fmt: skip
        return schema_end, out.count

    def _append(self, data: bytes) -> None:
        self._disk.write(self._fd, data)
        self._size += len(data)
        self._crc = zlib.crc32(data, self._crc)
        self._sha.update(data)

    def chunk(self, rows: wire.Rows) -> None:
        """Write rows as one chunk with its message index."""
        offsets = np.arange(len(rows), dtype=np.uint64) * np.uint64(rows.dtype.itemsize)
        self._put_chunk(wire.TELEMETRY_ID, rows.view(np.uint8).data, rows["log_time"], offsets)
        if not self.ticks:
            self._first_tick, self._from_ns = int(rows["sequence"][0]), int(rows["t_ns"][0])
        self.ticks += len(rows)
        self._to_ns = int(rows["t_ns"][-1])

    def notes(self, notes: list[mirror.Note]) -> None:
        """Write mirrored events as one chunk."""
        self._put_chunk(mirror.EVENTS_ID, *mirror.packed(notes, self._origin.epoch_utc_ns))

    def put_images(self, pending: Sequence[images.Image]) -> None:
        """Write frames, one chunk for each camera."""
        for number, camera in enumerate(self._origin.cameras, images.FIRST_ID):
            own = [image for image in pending if image.camera == camera.name]
            if own:
                self._put_chunk(number, *images.packed(own, number, self._origin.epoch_utc_ns))

    @property
    def image_counts(self) -> dict[str, int]:
        """Frames written so far, by camera."""
        return {c.name: self._messages[k] for k, c in enumerate(self._origin.cameras, images.FIRST_ID)}

    def copy_messages(self, raw: bytes) -> None:
        """Write a chunk of mirrored events or of frames that another segment held, unpacked."""
        offsets, times, at = [], [], 0
        while at < len(raw):
            offsets.append(at)
            times.append(int.from_bytes(raw[at + 15 : at + 23], "little"))
            at += 9 + int.from_bytes(raw[at + 1 : at + 9], "little")
        channel = int.from_bytes(raw[9:11], "little")
        self._put_chunk(channel, raw, np.array(times, np.uint64), np.array(offsets, np.uint64))

    def _put_chunk(
        self, channel: int, raw: bytes | memoryview, times: NDArray[np.uint64], offsets: NDArray[np.uint64]
    ) -> None:
        packed = self._zstd.compress(raw)
        start, end = int(times.min()), int(times.max())
        index = np.empty(len(times), _INDEX_ENTRY)
        index["time"], index["offset"] = times, offsets
        head = _CHUNK_HEAD.pack(
            Opcode.CHUNK, _CHUNK_HEAD.size - 9 + len(packed), start, end, len(raw), zlib.crc32(raw),
            4, b"zstd", len(packed),
        )  # fmt: skip
        index_head = _INDEX_HEAD.pack(Opcode.MESSAGE_INDEX, 6 + index.nbytes, channel, index.nbytes)
        at, length = self._size, len(head) + len(packed)
        self._append(b"".join((head, packed, index_head, index.tobytes())))
        self._chunks.append(
            ChunkIndex(
                message_start_time=start, message_end_time=end, chunk_start_offset=at, chunk_length=length,
                message_index_offsets={channel: at + length},
                message_index_length=len(index_head) + index.nbytes,
                compression="zstd", compressed_size=len(packed), uncompressed_size=len(raw),
            )
        )  # fmt: skip
        self._messages[channel] += len(times)

    def sync(self) -> None:
        """Return once everything written is on the medium."""
        self._disk.sync(self._fd)

    def cut(self) -> None:
        """After a failed write: drop what may stand behind the last whole chunk, or a file without one."""
        if self.ticks:
            self._disk.truncate(self._fd, self._size)
        else:
            self._path.unlink(missing_ok=True)

    def finish(self) -> Closed:
        """Write the index, make the file durable and close it."""
        out = RecordBuilder()
        DataEnd(self._crc).write(out)
        data_end = out.end()
        self._append(data_end + self._summary(self._size + len(data_end)))
        self._disk.sync(self._fd)
        self.abandon()
        return Closed(
            self._path.name, self._sha.hexdigest(), self._size, self.ticks,
            self._first_tick, self._from_ns, self._to_ns, self.image_counts,
        )  # fmt: skip

    def abandon(self) -> None:
        """Close the file as it stands."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1

    def _summary(self, start: int) -> bytes:
        """Return the summary section, footer and closing magic of a file whose data ends at ``start``."""
        out = RecordBuilder()
        schema_end, channel_end = self._describe(out)
        groups = [(Opcode.SCHEMA, 0, schema_end), (Opcode.CHANNEL, schema_end, channel_end)]
        counted = {channel: n for channel, n in self._messages.items() if n}
        Statistics(
            attachment_count=0, channel_count=len(self._messages), channel_message_counts=counted,
            chunk_count=len(self._chunks), message_count=sum(counted.values()), metadata_count=1,
            schema_count=3 if self._origin.cameras else 2,
            message_start_time=min(c.message_start_time for c in self._chunks),
            message_end_time=max(c.message_end_time for c in self._chunks),
        ).write(out)  # fmt: skip
        groups.append((Opcode.STATISTICS, channel_end, out.count))
        for opcode, records in (
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, self._metadata_index),
        ):
            begin = out.count
            for record in records:
                record.write(out)
            groups.append((opcode, begin, out.count))
        offsets = out.count
        for opcode, begin, end in groups:
            if end > begin:
                SummaryOffset(opcode, start + begin, end - begin).write(out)
        body: bytes = out.end()
        opening = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, start + offsets)
        Footer(start, start + offsets, zlib.crc32(opening, zlib.crc32(body))).write(out)
        footer: bytes = out.end()
        return bytes(body + footer + MCAP0_MAGIC)
