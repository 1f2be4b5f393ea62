"""Writing a record: log, then act.

`RecordWriter.append` returns only when the event is on the medium, so whatever the caller does
next is already on the record. Telemetry goes through a thread (`rig.core.record.pump`).
"""

import contextlib
import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.core.channel import Layout, Trace
from rig.core.clock import wall_utc
from rig.core.errors import RecorderFault, UsageError
from rig.core.event import Event, Json, Kind, Severity
from rig.core.record import chain, manifest, mirror, signing, strict, wire
from rig.core.record.disk import opening, write_file, writing
from rig.core.record.images import Image, Stream, check_image, check_streams
from rig.core.record.options import Full, Options
from rig.core.record.pump import Counts, Pump, check_ticks
from rig.core.record.segment import Origin

RESERVE = ".reserve"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a record was closed.

    Attributes:
        seq: Number of the last event.
        head: Its hash: what an anchor outside the folder should hold.
        counts: Ticks in and out.
        signer: Key id of the checkpoint's signature, or None.
        unsigned: Why there is no signature, empty if there is one.
        fault: Why telemetry is missing, empty if it is all there.
    """

    seq: int
    head: str
    counts: Counts
    signer: str | None
    unsigned: str
    fault: str


class RecordWriter:
    """Writes one trial's record; a context manager.

    Entering creates the folder, makes the manifest durable and appends event 0, `TRIAL_STARTED`,
    which holds the trial key and the manifest's digest: the caller does not append one. Leaving
    closes the record whatever happened; if the caller has not closed it, the trial is ABORTED.

    Args:
        folder: The record's folder; made if it is not there, must be empty if it is.
        entries: What the manifest says: ``key`` (the trial key), digests, anything reproducible;
            wall-clock facts under ``wall``.
        layout: The channels of the telemetry.
        epoch_utc_ns: UTC at trial time 0; for a simulated bench the scenario's own date, so that
            the same trial gives the same bytes.
        flush_every_ns: Telemetry is made durable this often, in trial time.
        options: Queue, chunks, reserve, file layer.
        cameras: Whose frames the record may hold.
    """

    def __init__(
        self,
        folder: Path,
        entries: Mapping[str, Json],
        layout: Layout,
        *,
        epoch_utc_ns: int,
        flush_every_ns: int,
        options: Options | None = None,
        cameras: Sequence[Stream] = (),
    ) -> None:
        if flush_every_ns <= 0:
            raise UsageError(f"flush_every_ns is {flush_every_ns}; it must be positive")
        wire.descriptor(layout)  # refuses a layout that no message can hold
        check_streams(cameras)
        self.folder, self.layout, self.cameras = Path(folder), layout, tuple(cameras)
        self._options = options or Options()
        self._disk = self._options.disk
        self._bytes, self._digest = manifest.build(
            entries, layout, epoch_utc_ns, flush_every_ns, wall_utc().isoformat(), self.cameras
        )
        self._epoch_utc_ns = epoch_utc_ns
        self._key = manifest.trial_key(entries)
        self.trial_id = manifest.trial_id(self._key)
        self._pump = Pump(
            self.folder,
            Origin(self.trial_id, layout, epoch_utc_ns, self.cameras),
            flush_every_ns,
            self._options,
        )
        self._lock = threading.RLock()
        self._fd = -1
        self._ours = False  # whether the files in the folder are this writer's
        self._tail = (0, self.trial_id, 0)  # next sequence number, hash it links to, bytes acknowledged
        self._sha = hashlib.sha256()  # over the acknowledged bytes
        self._unsure = False  # bytes beyond the acknowledged ones may be in the file
        self._event_ns = self._tick_ns = -1
        self._stated = 0  # closed segments the chain holds
        self._gap: tuple[int, int, int] | None = None  # dropped ticks not yet on the chain: n, from, to
        self._unseen: dict[str, int] = {}  # dropped frames not yet on the chain, by camera
        self._ended: Ended | None = None

    # ---- opening --------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            with opening(self.folder):
                self._create()
            body = {**self._key, "trial_id": self.trial_id, "manifest_sha256": self._digest}
            self._commit([Event(0, Kind.TRIAL_STARTED, "recorder", body)])
        except BaseException:
            self._release()
            self._discard()
            raise
        self._pump.start()
        return self

    def _create(self) -> None:
        """Make the folder and its files, the manifest durable first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise FileExistsError
        free, need = self._disk.free_bytes(self.folder), self._options.min_free_bytes
        if free < need:
            raise UsageError(
                f"{self.folder}: {free >> 20} MiB free, a trial asks for {need >> 20}; free some"
            )
        self._ours = True
        try:
            write_file(self._disk, self.folder / manifest.FILE, self._bytes)
        except FileExistsError:
            self._ours = False  # another writer was quicker
            raise
        self._disk.sync_folder(self.folder.parent)
        self._disk.reserve(self.folder / RESERVE, self._options.reserve_bytes)
        self._fd = self._disk.create(self.folder / chain.FILE)
        self._disk.lock(self._fd)
        self._disk.sync_folder(self.folder)

    def _discard(self) -> None:
        """Leave nothing behind of a record that could not be started."""
        if self._ours:
            with contextlib.suppress(OSError):
                for name in (chain.FILE, RESERVE, manifest.FILE):
                    (self.folder / name).unlink(missing_ok=True)
                self.folder.rmdir()

    # ---- recording ------------------------------------------------------------------------

    @property
    def head(self) -> str:
        """Hash of the last acknowledged event; what a live anchor would hold."""
        return self._tail[1]

    def append(self, event: Event) -> int:
        """Return the event's sequence number once it is durable.

        `TRIAL_ENDED` is the last event of a record: appending it closes the record.

        Raises:
            UsageError: If the record is not open, or the body is not strict JSON.
            RecorderFault: If the disk does not take it; the event is then not on the record.
        """
        return self.extend((event,))

    def extend(self, events: Iterable[Event]) -> int:
        """Append several events under one sync, all or none; return the last one's sequence number.

        Raises:
            UsageError: As for `append`; also if there is no event.
            RecorderFault: As for `append`.
        """
        events = tuple(events)
        if not events:
            raise UsageError("no event to append")
        with self._lock:
            self._must_be_open()
            if events[-1].kind is Kind.TRIAL_ENDED:
                if events[:-1]:
                    self._commit(events[:-1])
                return self.close(events[-1]).seq
            self._commit(events)
            return self._tail[0] - 1

    def telemetry(self, trace: Trace) -> None:
        """Hand ticks to the writer thread; the arrays are the recorder's from now on.

        Raises:
            UsageError: If the record is not open, or the trace is not of its layout, or time does
                not advance from tick to tick.
            RecorderFault: If earlier ticks could not be written.
        """
        self._must_be_open()
        if not len(trace):
            return
        check_ticks(trace, self.layout, self._tick_ns)
        self._tick_ns = int(trace.t_ns[-1])
        if not self._pump.put(trace):
            n, start = (self._gap[0], self._gap[1]) if self._gap else (0, int(trace.t_ns[0]))
            self._gap = (n + len(trace), start, self._tick_ns)
            return
        self._log_gap()
        # One segment behind, so that in practice nobody waits and the place in the chain is the same
        # in every run of a simulated trial.
        self._state_closed(self._pump.segments_due, wait=self._options.full is Full.WAIT)

    def image(self, image: Image) -> bool:
        """Hand a camera frame to the writer thread; return False if it was dropped for want of room.

        Raises:
            UsageError: If the record is not open, or the frame does not fit it.
            RecorderFault: If earlier telemetry could not be written.
        """
        self._must_be_open()
        check_image(image, self.cameras)
        if not self._pump.image(image):
            self._unseen[image.camera] = self._unseen.get(image.camera, 0) + 1
            return False
        self._log_unseen()
        return True

    def _log_unseen(self) -> None:
        """Put dropped frames on the chain, once, when there is room again."""
        unseen, self._unseen = self._unseen, {}
        if unseen:
            self._note(Kind.FAULT, {"what": "images dropped", "images": dict(unseen)}, Severity.WARNING)

    def _log_gap(self) -> None:
        """Put dropped ticks on the chain, once, when there is room again."""
        gap, self._gap = self._gap, None
        if gap is not None:
            n, start, end = gap
            body: dict[str, Json] = {"what": "telemetry dropped", "ticks": n, "from_ns": start, "to_ns": end}
            self._note(Kind.FAULT, body, Severity.WARNING)

    def _state_closed(self, n: int, wait: bool) -> None:
        """Put closed segments on the chain, the first ``n`` of them."""
        if n > self._stated:
            for segment in self._pump.closed(n, wait)[self._stated : n]:
                self._note(Kind.TELEMETRY_CLOSED, segment.body())
                self._stated += 1

    def _note(self, kind: Kind, body: Mapping[str, Json], severity: Severity = Severity.INFO) -> None:
        with self._lock:
            self._commit([Event(max(self._event_ns, 0), kind, "recorder", body, severity)])

    def _commit(self, events: Iterable[Event]) -> None:
        """Write the events' lines and sync; only then do they count."""
        seq, prev, size = self._tail
        lines: list[bytes] = []
        notes: list[mirror.Note] = []
        newest = self._event_ns
        for event in events:
            line, prev = chain.line_of(event, seq, prev)
            lines.append(line)
            if event.kind is not Kind.TELEMETRY_CLOSED:  # where these fall depends on how ticks come in
                notes.append(mirror.note(event, seq, chain.body_of(line), self._epoch_utc_ns))
            newest, seq = event.t_ns, seq + 1
        data = b"".join(lines)
        with writing(self.folder / chain.FILE):
            if self._unsure:  # an interrupted write: what it left was never acknowledged
                self._disk.truncate(self._fd, size)
            self._unsure = True
            self._disk.write(self._fd, data)
            self._disk.sync(self._fd)
        self._tail = (seq, prev, size + len(data))
        self._unsure = False
        self._sha.update(data)
        self._event_ns = newest
        for note in notes:
            self._pump.note(note)

    def _must_be_open(self) -> None:
        if self._fd < 0:
            raise UsageError(f"{self.folder}: the record is {'closed' if self._ended else 'not open'}")

    @property
    def ended(self) -> Ended | None:
        """How the record was closed, None while it is not."""
        return self._ended

    # ---- closing --------------------------------------------------------------------------

    def close(self, ended: Event) -> Ended:
        """End the record: telemetry to the last tick, the last event, the signed checkpoint.

        Args:
            ended: The `TRIAL_ENDED` event; the recorder adds ``counts`` to its body.

        Raises:
            UsageError: If the record is not open or the event is of another kind.
            RecorderFault: If the disk does not take it; `runrig recover` then makes the record whole.
        """
        if ended.kind is not Kind.TRIAL_ENDED:
            raise UsageError(f"a record ends with a trial_ended event, not {ended.kind}")
        with self._lock:
            self._must_be_open()
            try:
                with contextlib.suppress(OSError):
                    (self.folder / RESERVE).unlink(missing_ok=True)
                # Shown by viewers with what it ends, so it goes ahead of the last line of the chain.
                said = strict.dumps(strict.plain(ended.body), f"{ended.kind} event")
                self._pump.note(mirror.note(ended, None, said, self._epoch_utc_ns))
                counts = self._pump.finish()
                self._log_gap()
                self._log_unseen()
                self._state_closed(len(self._pump.closed(0, wait=False)), wait=False)
                if self._pump.fault is not None:
                    self._note(
                        Kind.FAULT,
                        {"what": "telemetry lost", "detail": str(self._pump.fault)},
                        Severity.CRITICAL,
                    )
                body = {**ended.body, "counts": self._counts_body(counts)}
                self._commit([Event(ended.t_ns, ended.kind, ended.source, body, ended.severity)])
                self._ended = self._checkpoint(counts)
            finally:
                self._release()
            return self._ended

    def _counts_body(self, counts: Counts) -> dict[str, Json]:
        return {
            "events": self._tail[0] + 1, "ticks": counts.taken, "ticks_stored": counts.stored,
            "ticks_dropped": counts.dropped, "ticks_lost": counts.lost,
            **(self._image_counts(counts) if self.cameras else {}),
        }  # fmt: skip

    def _image_counts(self, counts: Counts) -> dict[str, Json]:
        images = counts.images
        return {
            "images": images.taken, "images_stored": images.stored, "images_dropped": images.dropped,
            "images_lost": images.lost,
        }  # fmt: skip

    def _checkpoint(self, counts: Counts) -> Ended:
        seq, head, _ = self._tail
        subject = {
            manifest.FILE: hashlib.sha256(self._bytes).hexdigest(),
            chain.FILE: self._sha.hexdigest(),
            **{segment.file: segment.sha256 for segment in self._pump.closed(0, wait=False)},
        }
        path = self.folder / signing.FILE
        with writing(path):
            signer, unsigned = signing.seal(self._disk, path, subject, (self.trial_id, seq - 1, head))
        return Ended(seq - 1, head, counts, signer, unsigned, str(self._pump.fault or ""))

    def _release(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd < 0:
            return
        reason = f"{kind.__name__}: {error}" if kind else "left without an ending"
        body: dict[str, Json] = {"ending": "aborted", "reason": reason}
        try:
            self.close(Event(max(self._event_ns, 0), Kind.TRIAL_ENDED, "recorder", body, Severity.WARNING))
        except RecorderFault:
            if error is None:
                raise
