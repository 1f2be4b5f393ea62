"""The writer thread: takes ticks off a bounded queue and turns them into durable segments.

The loop's side (`Pump.put`, `Pump.closed`) is a few microseconds under a lock. Where chunks end,
when they are made durable and where segments end depends on tick numbers and trial time only, so
that the same ticks give the same bytes however fast the machine is.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rig.core.channel import Layout, Quality, Trace, joined
from rig.core.errors import RecorderFault, UsageError
from rig.core.record import wire
from rig.core.record.images import Image
from rig.core.record.mirror import Note
from rig.core.record.options import Full, Options
from rig.core.record.segment import Closed, Origin, SegmentWriter, file_name


@dataclass(frozen=True, slots=True)
class Counts:
    """Ticks handed over, and what became of them; ``taken`` is the sum of the rest."""

    taken: int
    stored: int
    dropped: int
    lost: int
    images: "ImageCounts"


@dataclass(frozen=True, slots=True)
class ImageCounts:
    """Camera frames handed over, and what became of them; ``taken`` is the sum of the rest."""

    taken: int
    stored: int
    dropped: int

    @property
    def lost(self) -> int:
        """Neither stored nor dropped: the disk did not take them."""
        return self.taken - self.stored - self.dropped


def check_ticks(trace: Trace, layout: Layout, after_ns: int) -> None:
    """Refuse ticks that are not of ``layout``, or whose time does not advance from ``after_ns`` on.

    Raises:
        UsageError: With what is wrong.
    """
    shape = (len(trace), len(layout))
    if trace.layout is not layout and trace.layout != layout:
        raise UsageError("telemetry: the trace is not of the record's layout")
    if not trace.values.shape == trace.sampled_ns.shape == trace.quality.shape == shape:
        raise UsageError(f"telemetry: values, sampled_ns and quality must have shape {shape}")
    if not (int(trace.t_ns[0]) > after_ns and bool((trace.t_ns[1:] > trace.t_ns[:-1]).all())):
        raise UsageError(f"telemetry: time must advance from tick to tick; the last was at {after_ns} ns")
    if int(trace.quality.max(initial=0)) > max(Quality):
        known = [int(quality) for quality in Quality]
        raise UsageError(f"telemetry: quality {int(trace.quality.max())} is not one of {known}")


_Item = (
    tuple[int, Trace] | Note | Image
)  # ticks with the number of the first, an event for the mirror, a frame
_Single = Note | Image
_IMAGES_AT_ONCE = 4 << 20  # bytes of frames in a chunk: bounds memory between two flushes
_SMALL = 64  # ticks in a trace worth putting together with its neighbours


def _merged(batch: Sequence[_Item]) -> Iterator[_Item]:
    """Put small traces that follow one another together.

    A real-time loop hands over one tick at a time. Encoding each by itself would hold the
    interpreter for milliseconds on end, and the loop would wake late.
    """
    small: list[tuple[int, Trace]] = []
    n = 0
    for item in batch:
        alone = isinstance(item, _Single) or len(item[1]) >= _SMALL
        if small and (isinstance(item, _Single) or alone or item[0] != small[0][0] + n):
            yield _one(small)
            small, n = [], 0
        if isinstance(item, _Single) or alone:
            yield item
        else:
            small.append(item)
            n += len(item[1])
    if small:
        yield _one(small)


def _one(parts: Sequence[tuple[int, Trace]]) -> tuple[int, Trace]:
    first, trace = parts[0]
    return first, trace if len(parts) == 1 else joined([part for _, part in parts], trace.layout)


class Pump:
    """Moves ticks to disk on a thread of its own."""

    def __init__(self, folder: Path, origin: Origin, flush_every_ns: int, options: Options) -> None:
        self._folder, self._origin, self._options = folder, origin, options
        self._flush_every_ns = flush_every_ns
        row_bytes = wire.row_type(len(origin.layout)).itemsize
        chunk_rows = max(1, options.chunk_bytes // row_bytes)
        self._chunk: wire.Rows = np.repeat(wire.template(len(origin.layout)), chunk_rows)
        self._queue_rows = max(1, options.queue_bytes // row_bytes)
        self._wake_rows = max(1, chunk_rows // 2)
        self.segment_rows = max(1, options.segment_bytes // row_bytes)
        self._state = threading.Condition()
        self._queue: deque[_Item] = deque()
        self._waiting = 0  # ticks in the queue
        self._ending = False
        self._closed: list[Closed] = []
        self._taken = self._dropped = self._last_ns = 0
        self._image_bytes = 0  # of frames in the queue
        self._images_taken = self._images_dropped = 0
        # From here on the thread's own.
        self._segment: SegmentWriter | None = None
        self._notes: list[Note] = []
        self._images: list[Image] = []
        self._filled = self._seen_ns = 0
        self.fault: RecorderFault | None = None
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, trace: Trace) -> bool:
        """Hand ticks over; return False if they were dropped because the queue is full.

        Raises:
            RecorderFault: If earlier ticks could not be written.
        """
        n = len(trace)
        with self._state:
            first, self._taken = self._taken, self._taken + n
            while self._waiting and self._waiting + n > self._queue_rows and self.fault is None:
                if self._options.full is Full.DROP:
                    self._dropped += n
                    return False
                self._state.notify_all()
                self._state.wait()
            if self.fault is not None:
                raise self.fault
            self._queue.append((first, trace))
            self._waiting += n
            newest = int(trace.t_ns[-1])
            due = newest // self._flush_every_ns != self._last_ns // self._flush_every_ns
            self._last_ns = newest
            if due or self._waiting >= self._wake_rows:
                self._state.notify_all()
        return True

    def note(self, note: Note) -> None:
        """Hand over an event for the mirror; it goes to disk with the ticks behind it."""
        with self._state:
            if self.fault is None:
                self._queue.append(note)

    def image(self, image: Image) -> bool:
        """Hand a frame over; return False if it was dropped. Frames never take the room of ticks or events.

        Raises:
            RecorderFault: If earlier ticks or frames could not be written.
        """
        size = len(image.data)
        with self._state:
            self._images_taken += 1
            while (
                self._image_bytes
                and self._image_bytes + size > self._options.image_bytes
                and self.fault is None
            ):
                if self._options.full is Full.DROP:
                    self._images_dropped += 1
                    return False
                self._state.notify_all()
                self._state.wait()
            if self.fault is not None:
                raise self.fault
            self._queue.append(image)
            self._image_bytes += size
        return True

    @property
    def segments_due(self) -> int:
        """How many segments must be finished by now, not counting the newest finished one."""
        return max(0, (self._taken - self._dropped) // self.segment_rows - 1)

    def closed(self, n: int, wait: bool) -> tuple[Closed, ...]:
        """Return the segments finished so far, at least ``n`` of them if told to wait."""
        with self._state:
            while wait and len(self._closed) < n and self.fault is None and self._thread.is_alive():
                self._state.wait(0.1)
            return tuple(self._closed)

    def finish(self) -> Counts:
        """Write what is waiting, close the last segment, end the thread.

        Raises:
            RecorderFault: If the disk does not take it within the time allowed.
        """
        with self._state:
            self._ending = True
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join(self._options.close_timeout_s)
        if self._thread.is_alive():
            raise RecorderFault(
                f"{self._folder}: telemetry did not reach the disk within "
                f"{self._options.close_timeout_s:g} s; `runrig recover` keeps what did"
            )
        self._mend()
        stored = sum(segment.ticks for segment in self._closed)
        images = ImageCounts(
            self._images_taken, sum(sum(s.images.values()) for s in self._closed), self._images_dropped
        )
        return Counts(self._taken, stored, self._dropped, self._taken - stored - self._dropped, images)

    # ---- the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                for item in _merged(batch):
                    if isinstance(item, Note):
                        self._notes.append(item)
                    elif isinstance(item, Image):
                        self._take(item)
                    else:
                        self._write(*item)
            self._end_segment()
        except Exception as error:  # whatever it is, the loop must learn of it and not wait for ever
            self._fail(error)

    def _next(self) -> "tuple[_Item, ...] | None":
        """Return what is waiting; None once there is nothing left and no more to come."""
        with self._state:
            while not self._queue and not self._ending:
                self._state.wait()
            if not self._queue:
                return None
            batch = tuple(self._queue)
            self._queue.clear()
            self._waiting = self._image_bytes = 0
            self._state.notify_all()
            return batch

    def _take(self, image: Image) -> None:
        """Keep a frame until the chunk ends, or until there are enough for a chunk of their own."""
        self._images.append(image)
        if self._segment is not None and sum(len(i.data) for i in self._images) >= _IMAGES_AT_ONCE:
            self._put_images(self._segment)

    def _put_images(self, segment: SegmentWriter) -> None:
        if self._images:
            segment.put_images(self._images)
            self._images = []

    def _write(self, first: int, trace: Trace) -> None:
        """Encode a trace; end a chunk where it is full, where its time is up, and at a segment's end."""
        period = trace.t_ns // self._flush_every_ns
        turns = np.flatnonzero(np.diff(period, prepend=self._seen_ns // self._flush_every_ns)).tolist()
        k = 0
        for turn in [*turns, len(trace)]:
            while k < turn:
                k = self._fill(first, trace, k, turn)
            if turn < len(trace):
                self._flush()
        self._seen_ns = int(trace.t_ns[-1])

    def _fill(self, first: int, trace: Trace, k: int, end: int) -> int:
        """Encode ticks k to ``end`` as far as they fit into the chunk; return the next tick."""
        if self._segment is None:
            number = len(self._closed)
            path = self._folder / file_name(number)
            self._segment = SegmentWriter(self._options.disk, path, number, self._origin, self._options.level)
            self._segment.open()
        left = self.segment_rows - self._segment.ticks - self._filled
        n = min(end - k, len(self._chunk) - self._filled, left)
        part = Trace(
            trace.layout, trace.t_ns[k : k + n], trace.values[k : k + n],
            trace.sampled_ns[k : k + n], trace.quality[k : k + n],
        )  # fmt: skip
        wire.encode(part, first + k, self._origin.epoch_utc_ns, self._chunk[self._filled : self._filled + n])
        self._filled += n
        if n == left:
            self._end_segment()
        elif self._filled == len(self._chunk):
            self._end_chunk()
        return k + n

    def _end_chunk(self) -> None:
        if self._segment is None:
            return
        if self._filled:
            self._segment.chunk(self._chunk[: self._filled])
            self._filled = 0
        if self._notes:
            self._segment.notes(self._notes)
            self._notes = []
        self._put_images(self._segment)

    def _flush(self) -> None:
        self._end_chunk()
        if self._segment is not None:
            self._segment.sync()

    def _end_segment(self) -> None:
        self._end_chunk()
        if self._segment is not None:
            done = self._segment.finish()
            self._segment = None
            with self._state:
                self._closed.append(done)
                self._state.notify_all()

    def _fail(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) else repr(error)
        fault = RecorderFault(
            f"{self._folder}: telemetry cannot be written: {reason}; "
            f"the trial cannot go on, what was recorded is kept"
        )
        fault.__cause__ = error
        with self._state:
            self._queue.clear()
            self._waiting = 0
            self.fault = fault
            self._state.notify_all()

    def _mend(self) -> None:
        """After a fault: cut the segment behind its last whole chunk and close it, if the disk lets us.

        By now the reserve is given back, so a disk that was full has room for the index. Failing
        that, the segment stays torn, which `verify` says and `recover` mends.
        """
        segment, self._segment = self._segment, None
        if segment is not None:
            with contextlib.suppress(OSError):
                segment.cut()
                if segment.ticks:
                    self._closed.append(segment.finish())
            segment.abandon()
