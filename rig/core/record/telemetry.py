"""Telemetry back from the segments as arrays, a chunk at a time, many chunks at once."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import Layout, Trace, joined
from rig.core.errors import RecordError
from rig.core.record import wire
from rig.core.record.files import mapped
from rig.core.record.walk import ChunkRef, DamagedChunk, unpack, walk

_WORKERS = min(4, os.cpu_count() or 1)
_AHEAD = 2 * _WORKERS
_GROUP_BYTES = 1 << 20
EVER = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True)
class Where:
    """Which telemetry: of what trial, which files, which window of trial time.

    Attributes:
        trial_id: Segments of other trials are refused.
        layout: The record's channels.
        epoch_utc_ns: UTC at trial time 0.
        whole: Whether every segment must be whole; a torn one is otherwise read to its last chunk.
        window: First trial time wanted and the one to stop before.
    """

    trial_id: str
    layout: Layout
    epoch_utc_ns: int
    whole: bool
    window: tuple[int, int] = EVER


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of telemetry in a file."""

    path: Path
    data: memoryview
    ref: ChunkRef


def choose(layout: Layout, names: Sequence[str] | None) -> tuple[NDArray[np.intp] | None, Layout]:
    """Return where channels are in a layout, and the layout of them alone; None for all of them.

    Raises:
        UsageError: If there is no such channel.
    """
    if names is None:
        return None, layout
    columns = np.array([layout.index(name) for name in names], np.intp)
    return columns, Layout([layout.channels[i] for i in columns])


def pieces(path: Path, where: Where) -> Iterator[Piece]:
    """Find the chunks of a segment that touch the window.

    Raises:
        RecordError: If the file cannot be read, is another trial's, or is not whole and must be.
    """
    data = mapped(path)
    found = walk(data)
    owner = found.facts.get("trial_id", where.trial_id)
    if owner != where.trial_id:
        raise RecordError(f"{path}: belongs to trial {owner}, not {where.trial_id}")
    if found.problem is not None and where.whole:
        raise RecordError(f"{path}: byte {found.good_bytes}: {found.problem}; see `runrig verify`")
    low, high = (edge + where.epoch_utc_ns for edge in where.window)
    for ref in found.chunks:
        if ref.channel in (wire.TELEMETRY_ID, 0) and ref.start < high and ref.end >= low:
            yield Piece(path, data, ref)


def rows_of(piece: Piece, where: Where) -> wire.Rows:
    """Unpack the rows of a chunk that lie in the window; none if it holds something else.

    Raises:
        RecordError: If the chunk is damaged.
    """
    c = len(where.layout)
    try:
        raw = unpack(piece.data, piece.ref)
    except DamagedChunk as damage:
        at = piece.ref.at
        raise RecordError(f"{piece.path}: chunk at byte {at}: {damage}; see `runrig verify`") from None
    if not wire.is_telemetry(raw, c):
        return wire.decode(b"", c)
    rows = wire.decode(raw, c)
    (low, high), epoch = where.window, where.epoch_utc_ns
    if piece.ref.start - epoch < low or piece.ref.end - epoch >= high:
        t_ns = rows["t_ns"]
        rows = rows[(t_ns >= low) & (t_ns < high)]
    return rows


def stretches(
    found: Sequence[Piece], where: Where, columns: NDArray[np.intp] | None, layout: Layout
) -> Iterator[Trace]:
    """Decode in order, some chunks at a time and a few ahead on other threads; memory stays the same."""
    with ThreadPoolExecutor(_WORKERS) as pool:  # zstd and numpy release the GIL
        waiting: deque[Future[Trace]] = deque()
        for group in _groups(found):
            waiting.append(pool.submit(_decoded, group, where, columns, layout))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def whole(found: Sequence[Piece], where: Where, columns: NDArray[np.intp] | None, layout: Layout) -> Trace:
    """Decode into arrays made once, each group of chunks on any thread into its own place."""
    groups = _groups(found)
    sizes = [_rows_at_most(group, where) for group in groups]
    starts = np.cumsum([0, *sizes]).tolist()
    room = _empty(starts[-1], layout)

    def fill(k: int) -> int:
        return _fill(groups[k], where, columns, _part(room, starts[k], starts[k + 1]))

    if len(groups) < 2:
        counts = [fill(k) for k in range(len(groups))]
    else:
        with ThreadPoolExecutor(_WORKERS) as pool:
            counts = list(pool.map(fill, range(len(groups))))
    if counts == sizes:
        return room
    # Chunks at the edges of the window gave fewer rows than there was room for.
    filled = [_part(room, start, start + n) for start, n in zip(starts, counts, strict=False) if n]
    return filled[0] if len(filled) == 1 else joined(filled, layout)


def _groups(found: Sequence[Piece]) -> list[list[Piece]]:
    """Put chunks together until a group is worth a thread's while."""
    groups: list[list[Piece]] = []
    size = _GROUP_BYTES
    for piece in found:
        if size >= _GROUP_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += piece.ref.raw_size
    return groups


def _rows_at_most(group: Sequence[Piece], where: Where) -> int:
    width = wire.row_type(len(where.layout)).itemsize
    return sum(piece.ref.raw_size // width for piece in group)


def _empty(n: int, layout: Layout) -> Trace:
    c = len(layout)
    t_ns, values = np.empty(n, np.int64), np.empty((n, c))
    return Trace(layout, t_ns, values, np.empty((n, c), np.int64), np.empty((n, c), np.uint8))


def _part(trace: Trace, start: int, end: int) -> Trace:
    part = slice(start, end)
    return Trace(
        trace.layout, trace.t_ns[part], trace.values[part], trace.sampled_ns[part], trace.quality[part]
    )


def _decoded(group: Sequence[Piece], where: Where, columns: NDArray[np.intp] | None, layout: Layout) -> Trace:
    room = _empty(_rows_at_most(group, where), layout)
    return _part(room, 0, _fill(group, where, columns, room))


def _fill(group: Sequence[Piece], where: Where, columns: NDArray[np.intp] | None, room: Trace) -> int:
    """Decode chunks one behind the other into ``room``; return how many rows there were."""
    n = 0
    for piece in group:
        rows = rows_of(piece, where)
        wire.decode_into(rows, columns, _part(room, n, n + len(rows)))
        n += len(rows)
    return n
