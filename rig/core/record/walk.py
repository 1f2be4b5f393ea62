"""Walking the bytes of a segment, whole, torn or altered, without trusting any length in it."""

import io
import struct
import threading
import zlib
from dataclasses import dataclass

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Metadata
from mcap.writer import MCAP0_MAGIC

from rig.core.record.options import MIB

_CHUNK = struct.Struct("<QQQII")  # start, end, size, crc, length of the compression's name
_MAX_RAW = 64 * MIB  # no chunk of ours is near this; bounds memory on altered bytes


class DamagedChunk(Exception):
    """A chunk that cannot be unpacked, or whose bytes are not those its CRC is of."""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """Where a chunk is and what it says of itself.

    Attributes:
        at: Offset of the chunk record.
        data_at: Offset of the compressed bytes.
        data_size: How many.
        raw_size: Size unpacked.
        crc: CRC-32 of the unpacked bytes.
        start: Log time of the first message, inclusive.
        end: Log time of the last message, inclusive.
        end_at: Offset behind the chunk record.
        channel: MCAP channel of its messages, 0 if the file ends before saying so.
    """

    at: int
    data_at: int
    data_size: int
    raw_size: int
    crc: int
    start: int
    end: int
    end_at: int
    channel: int


@dataclass(frozen=True, slots=True)
class Walk:
    """What a pass over a segment found.

    Attributes:
        chunks: The chunks before the first bad place.
        facts: The ``runrig`` metadata: trial id, segment number, epoch.
        good_bytes: Offset of the first bad place, or the size.
        finished: Whether the file ends as a finished MCAP file does.
        problem: What is wrong at ``good_bytes``, or None.
    """

    chunks: tuple[ChunkRef, ...]
    facts: dict[str, str]
    good_bytes: int
    finished: bool
    problem: str | None


def walk(data: bytes | memoryview, start: int = 0) -> Walk:
    """Find the records of a segment.

    Args:
        data: The whole file as it is now.
        start: Where an earlier walk stopped for want of bytes; 0 for the beginning.
    """
    view = memoryview(data)
    size, magic = len(view), len(MCAP0_MAGIC)
    chunks: list[ChunkRef] = []
    facts: dict[str, str] = {}
    if bytes(view[:magic]) != MCAP0_MAGIC:
        return Walk((), facts, 0, False, "it does not start as an MCAP file")
    at, problem, finished = max(start, magic), None, False
    while at < size and problem is None:
        if size - at < 9:
            problem = "cut off inside a record's head"
            break
        opcode, length = view[at], int.from_bytes(view[at + 1 : at + 9], "little")
        if length > size - at - 9:
            problem = "a record is longer than the rest of the file"
            break
        body = view[at + 9 : at + 9 + length]
        if opcode == Opcode.CHUNK:
            ref = _chunk(body, at, view[at + 9 + length : at + 9 + length + 11])
            if ref is None:
                problem = "a chunk whose head makes no sense"
                break
            chunks.append(ref)
        elif opcode == Opcode.METADATA:
            facts = _metadata(body)
        elif opcode == Opcode.FOOTER:
            finished = bytes(view[at + 9 + length :]) == MCAP0_MAGIC
            problem = None if finished else "the closing magic is missing or altered"
            at = size if finished else at + 9 + length
            break
        elif opcode not in _KNOWN:
            problem = f"record type {opcode} is none of a segment's"
            break
        at += 9 + length
    return Walk(tuple(chunks), facts, at, finished, problem)


_KNOWN = frozenset(
    (
        Opcode.HEADER, Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE_INDEX, Opcode.DATA_END,
        Opcode.STATISTICS, Opcode.CHUNK_INDEX, Opcode.METADATA_INDEX, Opcode.SUMMARY_OFFSET,
    )
)  # fmt: skip


def _chunk(body: memoryview, at: int, behind: memoryview) -> ChunkRef | None:
    head = _CHUNK.size + 4 + 8
    if len(body) < head:
        return None
    start, end, raw_size, crc, name_length = _CHUNK.unpack_from(body)
    name = bytes(body[_CHUNK.size : _CHUNK.size + 4])
    data_size = int.from_bytes(body[_CHUNK.size + 4 : head], "little")
    if (
        name_length != 4
        or name != b"zstd"
        or data_size != len(body) - head
        or start > end
        or raw_size > _MAX_RAW
    ):
        return None
    indexed = len(behind) == 11 and behind[0] == Opcode.MESSAGE_INDEX
    channel = int.from_bytes(behind[9:], "little") if indexed else 0
    return ChunkRef(at, at + 9 + head, data_size, raw_size, crc, start, end, at + 9 + len(body), channel)


def _metadata(body: memoryview) -> dict[str, str]:
    try:
        record = Metadata.read(ReadDataStream(io.BytesIO(body)))
    except Exception:  # mcap raises whatever the altered bytes lead it to
        return {}
    return dict(record.metadata) if record.name == "runrig" else {}


_local = threading.local()  # an unpacker is costly to make and serves one thread at a time


def _unpacker() -> zstandard.ZstdDecompressor:
    if not hasattr(_local, "unpacker"):
        _local.unpacker = zstandard.ZstdDecompressor()
    made: zstandard.ZstdDecompressor = _local.unpacker
    return made


def unpack(data: bytes | memoryview, ref: ChunkRef) -> bytes:
    """Return the unpacked bytes of a chunk, checked against its CRC.

    Raises:
        DamagedChunk: If they cannot be had, or are not what was written.
    """
    packed = memoryview(data)[ref.data_at : ref.data_at + ref.data_size]
    try:
        raw: bytes = _unpacker().decompress(packed, max_output_size=ref.raw_size)
    except (zstandard.ZstdError, ValueError, MemoryError) as error:
        raise DamagedChunk(f"cannot be unpacked: {error}") from None
    if len(raw) != ref.raw_size or zlib.crc32(raw) != ref.crc:
        raise DamagedChunk("its contents do not have the checksum it states")
    return raw


def first_damage(data: bytes | memoryview, found: Walk) -> tuple[int, str] | None:
    """Return offset and nature of the first damage that structure and checksums show, or None."""
    for ref in found.chunks:
        try:
            unpack(data, ref)
        except DamagedChunk as damage:
            return ref.at, f"the chunk there {damage}"
    if found.problem is not None:
        return found.good_bytes, found.problem
    return None
