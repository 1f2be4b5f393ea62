"""Snapshots handed from one process to another through shared memory, without locks.

One writer puts fixed rows and publishes the count of rows with a release store; one reader takes it
with an acquire load. The writer never waits: a reader that is too slow loses rows, and knows it.
A few words beside the rows carry the dead-man's token back: when the reader last lived, and whether
it permits motion.
"""

from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from rig.core.channel import ByteArray, FloatArray, IntArray, Snapshot
from rig.core.errors import UsageError

CAPACITY = 1024
WORDS = 64  # 512 bytes: the writer's and the reader's words lie on cache lines of their own


class Word(NamedTuple):
    """Columns of the shared words."""

    head: int = 0  # rows published so far (writer)
    quit: int = 1  # not 0: the reader shall end (writer)
    reset: int = 2  # counted up by the writer: forget everything and permit again
    writer_ns: int = 3  # monotonic time at which the writer's process last ran
    tail: int = 16  # rows taken so far (reader)
    alive_ns: int = 17  # monotonic time at which the reader last ran
    permit: int = 18  # 1 while no actuating rule is broken or lost
    stop_ns: int = 19  # monotonic time at which permission was last withdrawn
    missed: int = 20  # rows lost because the reader was too slow
    overruns: int = 21  # ticks that took longer than the budget
    worst_ns: int = 22  # longest tick
    ready: int = 23  # 1 once armed, -1 if arming failed
    events: int = 24  # event rows published so far
    resets: int = 25  # resets carried out
    stopped: int = 26  # 1 once a rule has stopped the trial for good, until a reset
    late: int = 27  # samples that came late
    duplicate: int = 28  # samples with the stamp of the one before and another value
    disordered: int = 29  # samples with a stamp before one that had already come


WORD = Word()
EVENTS = 256
"""Event rows kept for the drain; older ones are overwritten."""
EVENT = 4
"""Words of an event: row number, monotonic ns of ingest, of the verdict, kind (0 changed, 1 overrun, 2 missed)."""


class Rows(NamedTuple):
    """The shared arrays.

    Attributes:
        words: Shape (`WORDS`,).
        t_ns: Shape (n,), trial time of each row.
        ingest_ns: Shape (n,), monotonic time at which it was written.
        values: Shape (n, c).
        sampled_ns: Shape (n, c).
        quality: Shape (n, c).
        attention: Shape (`EVENTS`, r), attention of every rule at each event.
        event: Shape (`EVENTS`, `EVENT`).
    """

    words: IntArray
    t_ns: IntArray
    ingest_ns: IntArray
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray
    attention: IntArray
    event: IntArray


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the shared block is: channels and rules."""

    channels: int
    rules: int

    def parts(self) -> tuple[tuple[tuple[int, ...], type], ...]:
        """Return shape and type of each array of `Rows`, in order."""
        n, c, r = CAPACITY, self.channels, self.rules
        return (
            ((WORDS,), np.int64), ((n,), np.int64), ((n,), np.int64), ((n, c), np.float64), ((n, c), np.int64),
            ((n, c), np.uint8), ((EVENTS, r), np.int64), ((EVENTS, EVENT), np.int64),
        )  # fmt: skip

    def size(self) -> int:
        """Return the bytes needed, every array on a cache line of its own."""
        return sum(_padded(int(np.prod(shape)) * np.dtype(kind).itemsize) for shape, kind in self.parts())

    def view(self, memory: SharedMemory) -> Rows:
        """Return the arrays that lie in the block.

        Raises:
            UsageError: If the block is too small for them.
        """
        if memory.size < self.size():
            raise UsageError(f"the shared block holds {memory.size} bytes, {self.size()} are needed")
        found, at = [], 0
        for shape, kind in self.parts():
            found.append(np.ndarray(shape, dtype=kind, buffer=memory.buf, offset=at))
            at += _padded(found[-1].nbytes)
        return Rows(*found)


def _padded(size: int) -> int:
    return -(-size // 64) * 64


@intrinsic  # type: ignore[untyped-decorator]
def load_acquire(context: Any, words: Any, i: Any) -> Any:  # noqa: ANN401 - numba's own types
    """Load a word so that nothing after it is read earlier."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.gep(builder, array.data, arguments[1])
        return builder.load_atomic(pointer, ordering="acquire", align=8)

    return types.int64(words, i), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_release(context: Any, words: Any, i: Any, value: Any) -> Any:  # noqa: ANN401
    """Store a word so that nothing before it is written later."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.gep(builder, array.data, arguments[1])
        builder.store_atomic(arguments[2], pointer, ordering="release", align=8)
        return context.get_dummy_value()

    return types.void(words, i, types.int64), emit


_WORDS, _TIMES = types.int64[::1], types.int64[::1]


@njit(
    types.void(
        _WORDS, _TIMES, _TIMES, types.float64[:, ::1], types.int64[:, ::1], types.uint8[:, ::1], types.int64,
        types.int64, types.float64[::1], types.int64[::1], types.uint8[::1],
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def _push(words, t_ns, ingest_ns, values, sampled_ns, quality, t, now, x, s, q):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    head = words[0]
    k = head % t_ns.shape[0]
    t_ns[k] = t
    ingest_ns[k] = now
    for i in range(x.shape[0]):
        values[k, i] = x[i]
        sampled_ns[k, i] = s[i]
        quality[k, i] = q[i]
    store_release(words, 0, head + 1)


@njit(types.int64(types.int64[::1], types.int64), cache=True, nogil=True)
def _load(words, i):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return load_acquire(words, i)


@njit(types.void(types.int64[::1], types.int64, types.int64), cache=True, nogil=True)
def _store(words, i, value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    store_release(words, i, value)


def push(rows: Rows, snapshot: Snapshot, now_ns: int) -> None:
    """Publish one snapshot; ``now_ns`` is the monotonic time of the writer. Never waits."""
    _push(
        rows.words, rows.t_ns, rows.ingest_ns, rows.values, rows.sampled_ns, rows.quality, snapshot.t_ns,
        now_ns, snapshot.values, snapshot.sampled_ns, snapshot.quality,
    )  # fmt: skip


def word(rows: Rows, i: int) -> int:
    """Return a shared word."""
    return int(_load(rows.words, i))


def set_word(rows: Rows, i: int, value: int) -> None:
    """Set a shared word."""
    _store(rows.words, i, value)


def newest_events(rows: Rows, since: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of events so far, and those after ``since`` that are still there.

    Returns:
        The count; the events, shape (m, `EVENT`); the attention of every rule at each, shape (m, r).
    """
    count = word(rows, WORD.events)
    first = max(since, count - EVENTS // 2)  # the older half may be overwritten while it is read
    which = np.arange(first, count) % EVENTS
    return count, rows.event[which].copy(), rows.attention[which].copy()
