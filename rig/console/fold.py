"""Signals at a glance: lowest and highest of every few ticks, made once per record, kept on disk.

No peak is ever lost to the width of a screen. A window with few ticks is read from the record itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import IntArray, Quality, Trace
from rig.core.errors import UsageError
from rig.core.record import Record

FOLD = 64
"""Ticks per fold: a screen's width of folds is still quick to read from the record tick by tick."""

_BLOCK = 4096  # folds turned round at a time, which bounds memory

Folds = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Folded:
    """A record's folds, mapped from disk.

    Attributes:
        names: The channels, c of them.
        start_ns: First tick of each fold, shape (n,).
        end_ns: Last tick of each fold, shape (n,).
        low: Lowest good value, shape (c, n); NaN where none was good.
        high: Highest good value, shape (c, n).
        ticks: Ticks in the record.
    """

    names: tuple[str, ...]
    start_ns: IntArray
    end_ns: IntArray
    low: Folds
    high: Folds
    ticks: int


@dataclass(frozen=True, slots=True)
class Curve:
    """One channel over a window: at each of n times the lowest and highest value, NaN where unknown."""

    name: str
    low: Folds
    high: Folds


@dataclass(frozen=True, slots=True)
class Window:
    """Channels over a window of trial time.

    Attributes:
        t_ns: Shape (n,).
        curves: One per channel asked for.
        exact: Whether every tick is shown as it was measured.
    """

    t_ns: IntArray
    curves: tuple[Curve, ...]
    exact: bool


def fold(record: Record, folder: Path) -> int:
    """Write a record's folds into a folder; return how many ticks it has.

    Raises:
        RecordError: If the telemetry cannot be read.
    """
    starts: list[IntArray] = []
    ends: list[IntArray] = []
    ticks, draft = 0, folder / "folds.draft"
    with draft.open("wb") as file:
        for t_ns, values in _whole_folds(record):
            ticks += len(t_ns)
            edges = np.arange(0, len(t_ns), FOLD)
            starts.append(t_ns[edges])
            ends.append(t_ns[np.minimum(edges + FOLD, len(t_ns)) - 1])
            _write(file, values, edges)
    np.save(folder / "start.npy", np.concatenate(starts) if starts else np.empty(0, np.int64))
    np.save(folder / "end.npy", np.concatenate(ends) if ends else np.empty(0, np.int64))
    _turn_round(draft, folder, sum(map(len, starts)), len(record.layout))
    draft.unlink()
    return ticks


def _whole_folds(record: Record) -> Iterator[tuple[IntArray, Folds]]:
    """Give the ticks in lots of whole folds, the last lot with what is left."""
    left_t, left_v = np.empty(0, np.int64), np.empty((0, len(record.layout)), np.float32)
    for trace in record.stretches():
        t_ns = np.concatenate([left_t, trace.t_ns])
        good = np.where(trace.quality == Quality.GOOD, trace.values, np.nan).astype(np.float32)
        values = np.concatenate([left_v, good])
        whole = len(t_ns) // FOLD * FOLD
        if whole:
            yield t_ns[:whole], values[:whole]
        left_t, left_v = t_ns[whole:], values[whole:]
    if len(left_t):
        yield left_t, left_v


def _write(file: BinaryIO, values: Folds, edges: NDArray[np.intp]) -> None:
    whole = len(values) // FOLD * FOLD
    low, high = (np.empty((len(edges), values.shape[1]), np.float32) for _ in range(2))
    for out, function in ((low, np.fmin), (high, np.fmax)):
        function.reduce(values[:whole].reshape(-1, FOLD, values.shape[1]), axis=1, out=out[: whole // FOLD])
        if whole < len(values):
            out[-1] = function.reduce(values[whole:], axis=0)
    file.write(np.stack((low, high), axis=1).tobytes())


def _turn_round(draft: Path, folder: Path, n: int, c: int) -> None:
    """Store channel by channel what was written fold by fold, so that a few channels are read alone."""
    out = {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (c, n))
        for name in ("low", "high")
    }
    if n:
        rows = np.memmap(draft, np.float32, "r", shape=(n, 2, c))
        for at in range(0, n, _BLOCK):
            block = rows[at : at + _BLOCK]
            out["low"][:, at : at + _BLOCK] = block[:, 0].T
            out["high"][:, at : at + _BLOCK] = block[:, 1].T
    for array in out.values():
        array.flush()


def open_folds(folder: Path, names: Sequence[str], ticks: int) -> Folded:
    """Return the folds in a folder; only what is looked at is read."""
    arrays = {
        name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("start", "end", "low", "high")
    }
    return Folded(tuple(names), arrays["start"], arrays["end"], arrays["low"], arrays["high"], ticks)


def window(
    folded: Folded, record: Record, channels: Sequence[str], span_ns: tuple[int, int], points: int
) -> Window:
    """Return channels over a window of trial time in about ``points`` steps, or tick by tick if so few.

    Raises:
        UsageError: If there is no such channel.
        RecordError: If the telemetry cannot be read.
    """
    if missing := [name for name in channels if name not in folded.names]:
        raise UsageError(f"no channel {missing[0]!r} in this record; it has {', '.join(folded.names)}")
    start_ns, end_ns = span_ns
    first = int(np.searchsorted(folded.end_ns, start_ns))
    last = int(np.searchsorted(folded.start_ns, end_ns, side="right"))
    if last - first <= points:
        return _ticks(record, channels, span_ns, points)
    return _binned(folded, channels, (first, last), span_ns, points)


def _ticks(record: Record, channels: Sequence[str], span_ns: tuple[int, int], points: int) -> Window:
    trace = record.trace(channels, span_ns[0], span_ns[1] + 1)
    if len(trace) <= 2 * points:
        exact = [trace.column(name).astype(np.float32) for name in channels]
        curves = tuple(Curve(name, v, v) for name, v in zip(channels, exact, strict=True))
        return Window(trace.t_ns, curves, exact=True)
    edges = _edges(trace.t_ns, span_ns, points)
    return Window(trace.t_ns[edges], tuple(_curve(trace, name, edges) for name in channels), exact=False)


def _curve(trace: Trace, name: str, edges: NDArray[np.intp]) -> Curve:
    values = trace.column(name)
    return Curve(
        name,
        np.fmin.reduceat(values, edges).astype(np.float32),
        np.fmax.reduceat(values, edges).astype(np.float32),
    )


def _binned(
    folded: Folded, channels: Sequence[str], folds: tuple[int, int], span_ns: tuple[int, int], points: int
) -> Window:
    part = slice(*folds)
    t_ns = folded.start_ns[part]
    edges = _edges(t_ns, span_ns, points)
    curves = []
    for name in channels:
        row = folded.names.index(name)
        low = np.fmin.reduceat(folded.low[row, part], edges)
        high = np.fmax.reduceat(folded.high[row, part], edges)
        curves.append(Curve(name, low, high))
    return Window(np.asarray(t_ns[edges]), tuple(curves), exact=False)


def _edges(t_ns: IntArray, span_ns: tuple[int, int], points: int) -> NDArray[np.intp]:
    """Return the first of each run of times that fall into one step of the window."""
    step = max(1, (span_ns[1] - span_ns[0]) // points)
    at = (np.asarray(t_ns) - span_ns[0]) // step
    return np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
