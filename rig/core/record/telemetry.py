"""Telemetry back from the segments as arrays, a chunk at a time, many chunks at once."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import Layout, Trace
from rig.core.errors import RecordError
from rig.core.record import wire
from rig.core.record.files import mapped
from rig.core.record.walk import ChunkRef, DamagedChunk, unpack, walk

_WORKERS = min(4, os.cpu_count() or 1)
_AHEAD = 2 * _WORKERS
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
    """Decode chunk by chunk in order, a few ahead on other threads; memory does not grow with length."""

    def one(piece: Piece) -> Trace:
        return wire.trace_of(rows_of(piece, where), layout, columns)

    with ThreadPoolExecutor(_WORKERS) as pool:  # zstd and numpy release the GIL
        waiting: deque[Future[Trace]] = deque()
        for piece in found:
            waiting.append(pool.submit(one, piece))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def whole(found: Sequence[Piece], where: Where, columns: NDArray[np.intp] | None, layout: Layout) -> Trace:
    """Decode chunks into arrays made once, each chunk on any thread into its own place."""
    width = wire.row_type(len(where.layout)).itemsize
    starts = np.cumsum([0, *(piece.ref.raw_size // width for piece in found)])
    n, c = int(starts[-1]), len(layout)
    t_ns, values = np.empty(n, np.int64), np.empty((n, c))
    sampled_ns, quality = np.empty((n, c), np.int64), np.empty((n, c), np.uint8)
    counts = [0] * len(found)

    def fill(k: int) -> None:
        rows = rows_of(found[k], where)
        place = slice(int(starts[k]), int(starts[k]) + len(rows))
        out = Trace(layout, t_ns[place], values[place], sampled_ns[place], quality[place])
        wire.decode_into(rows, columns, out)
        counts[k] = len(rows)

    _each(len(found), fill)
    # Chunks at the edges of the window may have given fewer rows than there was place for.
    keep = np.concatenate(
        [np.arange(0), *(np.arange(s, s + k) for s, k in zip(starts, counts, strict=False))]
    )
    if len(keep) == n:
        return Trace(layout, t_ns, values, sampled_ns, quality)
    if len(keep) and keep[-1] - keep[0] + 1 == len(keep):
        part = slice(int(keep[0]), int(keep[-1]) + 1)
        return Trace(layout, t_ns[part], values[part], sampled_ns[part], quality[part])
    return Trace(layout, t_ns[keep], values[keep], sampled_ns[keep], quality[keep])


def _each(n: int, work: Callable[[int], None]) -> None:
    """Call ``work`` for 0 to n-1, on several threads if it is worth it."""
    if n < 2 * _WORKERS:
        for k in range(n):
            work(k)
        return
    with ThreadPoolExecutor(_WORKERS) as pool:
        for _ in pool.map(work, range(n)):
            pass
