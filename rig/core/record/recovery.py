"""Making an interrupted record whole again, without losing or inventing anything.

The whole record is first built beside the torn one and verified there; only then do its files take
the place of the torn ones, which are kept in the subfolder ``torn``. What was done is an event.

Interrupted is not the same as altered: a record whose bytes were changed, or whose tail was cut
after it was closed, is refused, because mending it would hide that.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.core.errors import RecordError, UsageError
from rig.core.event import Event, Json, Kind, Severity
from rig.core.record import chain, manifest, signing, wire
from rig.core.record.checking import verify
from rig.core.record.disk import Disk, being_written, write_file
from rig.core.record.evidence import Evidence, gather, number, total
from rig.core.record.files import mapped
from rig.core.record.manifest import Manifest
from rig.core.record.options import Options
from rig.core.record.reader import must_be_record
from rig.core.record.segment import Closed, Origin, SegmentWriter, file_name
from rig.core.record.verdicts import Status, Verification
from rig.core.record.walk import DamagedChunk, unpack, walk

KEPT = "torn"
_STAGE = ".recovering"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What recovering did.

    Attributes:
        folder: The record.
        changed: False if it was whole already.
        events: Events kept; all that were acknowledged.
        ticks: Ticks kept.
        cut_bytes: Bytes behind the last whole event and the last whole chunk, left out.
        kept: Where the torn files are, or None.
        verification: Of the record as it is now; always ok.
    """

    folder: Path
    changed: bool
    events: int
    ticks: int
    cut_bytes: int
    kept: Path | None
    verification: Verification

    def lines(self) -> tuple[str, ...]:
        """Return what was done, for people."""
        if not self.changed:
            return (f"{self.folder}: whole already; nothing to recover",)
        return (
            f"{self.folder}: recovered {self.events} events and {self.ticks} ticks; "
            f"{self.cut_bytes} unfinished bytes left out, the torn files are in {self.kept}",
        )


def recover(folder: Path, disk: Disk | None = None) -> Recovery:
    """Close an interrupted record so that it verifies.

    Raises:
        UsageError: If the folder holds no record, is still being written, or nothing had been
            recorded yet.
        RecordError: If the record was altered rather than interrupted, or the result does not verify;
            the original is then as it was.
    """
    folder, disk = Path(folder), disk or Disk()
    must_be_record(folder)
    if being_written(folder / chain.FILE):
        raise UsageError(f"{folder}: still being written; stop the trial first")
    shutil.rmtree(folder / _STAGE, ignore_errors=True)  # what an interrupted recovery left
    before = verify(folder)
    found = gather(folder)
    if before.ok:
        ticks = sum(number(body, "ticks") for body in found.segments.values())
        return Recovery(folder, False, len(found.events), ticks, 0, None, before)
    about = _refuse_altered(found, before)
    stage = folder / _STAGE
    try:
        mended = _Mended(found, about, stage, disk)
        mended.build()
        staged = verify(stage)
        if not staged.ok:
            raise RecordError(
                "\n".join((f"{folder}: the recovered record does not verify:", *staged.lines()))
            )
        _replace(folder, stage, disk)
    except OSError as error:
        raise RecordError(f"{folder}: cannot be recovered here: {error.strerror}; free some space") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    after = verify(folder)
    if not after.ok:
        raise RecordError("\n".join((f"{folder}: the recovered record does not verify:", *after.lines())))
    return Recovery(
        folder, True, len(found.events), mended.ticks, mended.cut_bytes, folder / KEPT, after
    )  # fmt: skip


def _refuse_altered(found: Evidence, before: Verification) -> Manifest:
    """Tell an interruption from an alteration; return the manifest.

    Raises:
        UsageError: If nothing had been recorded.
        RecordError: If the record was altered.
    """
    if not found.events and (found.scan.problem is None or found.scan.torn):
        raise UsageError(f"{found.folder}: nothing had been recorded yet; there is nothing to recover")
    altered = [
        check
        for check in before.checks
        if check.status is Status.FAILED
        and (
            check.name in ("payload", "counts", "signature")
            or (check.name == "chain" and not found.scan.torn)
            or (check.name == "segments" and check.place.partition(",")[0] in found.segments)
        )
    ]
    if altered or found.about is None:
        raise RecordError(
            "\n".join(
                (
                    f"{found.folder}: altered, not only interrupted; recovering would hide that:",
                    *(f"  {check.name}: {check.text}" for check in altered),
                )
            )
        )
    return found.about


class _Mended:
    """The whole record in the making, in a folder of its own."""

    def __init__(self, found: Evidence, about: Manifest, stage: Path, disk: Disk) -> None:
        self._found, self._about, self._stage, self._disk = found, about, stage, disk
        self._closed: list[Closed] = []
        self.cut_bytes = 0
        self.ticks = 0

    def build(self) -> None:
        """Write it: what is whole is linked, what is torn is written anew to its last whole part."""
        self._stage.mkdir()
        _link(self._found.folder / manifest.FILE, self._stage / manifest.FILE)
        stated = self._found.segments
        for name in stated:
            _link(self._found.folder / name, self._stage / name)
        for path in sorted(self._found.folder.glob("telemetry.*.mcap")):
            if path.name not in stated:
                self._mend_segment(path, len(stated) + len(self._closed))
        seq, head = self._write_chain()
        files = [self._stage / manifest.FILE, self._stage / chain.FILE, *self._stage.glob("telemetry.*.mcap")]
        subject = {path.name: _sha256(path) for path in files}
        signing.seal(self._disk, self._stage / signing.FILE, subject, (self._found.trial_id, seq, head))

    def _mend_segment(self, path: Path, k: int) -> None:
        """Bring over the whole chunks of a segment the chain does not state yet."""
        about = self._about
        data = mapped(path)
        walked = walk(data)
        owner = walked.facts.get("trial_id", self._found.trial_id)
        if owner != self._found.trial_id:
            raise RecordError(f"{path}: belongs to trial {owner}, not {self._found.trial_id}")
        origin = Origin(self._found.trial_id, about.layout, about.epoch_utc_ns, about.cameras)
        target = self._stage / file_name(k)
        segment = SegmentWriter(self._disk, target, k, origin, Options().level)
        good = walked.good_bytes
        segment.open()
        try:
            for ref in walked.chunks:
                try:
                    raw = unpack(data, ref)
                except DamagedChunk:
                    good = ref.at
                    break
                if wire.is_telemetry(raw, len(about.layout)):
                    segment.chunk(wire.decode(raw, len(about.layout)))
                else:
                    segment.copy_messages(raw)
            if segment.ticks:
                self._closed.append(segment.finish())
                self.ticks += segment.ticks
        finally:
            segment.abandon()
        if not segment.ticks:
            target.unlink()
        self.cut_bytes += len(data) - good

    def _write_chain(self) -> tuple[int, str]:
        """Write good events, note, segments and ending; return number and hash of the last."""
        found = self._found
        path = found.folder / chain.FILE
        good = path.read_bytes()[: found.scan.good_bytes]
        self.cut_bytes += path.stat().st_size - len(good)
        last = found.events[-1]
        self.ticks += sum(number(body, "ticks") for body in found.segments.values())
        lines, seq, prev = [good], last.seq + 1, last.hash
        for event in self._events(last.t_ns):
            line, prev = chain.line_of(event, seq, prev)
            lines.append(line)
            seq += 1
        write_file(self._disk, self._stage / chain.FILE, b"".join(lines))
        return seq - 1, prev

    def _events(self, t_ns: int) -> list[Event]:
        found = self._found
        note: dict[str, Json] = {
            "text": "The recorder was interrupted; this record was closed afterwards by recovery. "
            "Every event before this one is as it was recorded; "
            "ticks that had not reached the disk are gone, and nobody knows how many.",
            "recovered": {
                "events": len(found.events), "ticks": self.ticks, "cut_bytes": self.cut_bytes,
                "torn_events_sha256": _sha256(found.folder / chain.FILE),
            },
        }  # fmt: skip
        events = [Event(t_ns, Kind.NOTED, "recovery", note, Severity.WARNING)]
        events += [Event(t_ns, Kind.TELEMETRY_CLOSED, "recovery", closed.body()) for closed in self._closed]
        end_ns = max(t_ns, *(closed.to_ns for closed in self._closed), 0)
        ending: Mapping[str, Json] = {"ending": "aborted", "reason": "the recorder was interrupted"}
        taken = 0
        if found.ending is not None:
            ending = found.ending.body
            counted = ending.get("counts")
            taken = number(counted, "ticks") if isinstance(counted, dict) else 0
        faults = (e.body for e in found.events if e.kind is Kind.FAULT and e.source == "recorder")
        dropped = sum(number(body, "ticks") for body in faults if body.get("what") == "telemetry dropped")
        taken = max(taken, self.ticks + dropped)
        counts: dict[str, Json] = {
            "events": len(found.events) + len(events) + 1, "ticks": taken, "ticks_stored": self.ticks,
            "ticks_dropped": dropped, "ticks_lost": taken - self.ticks - dropped,
            **(self._image_counts(found) if self._about.cameras else {}),
        }  # fmt: skip
        body = {**ending, "elapsed_s": end_ns / 1e9, "counts": counts}
        return [*events, Event(end_ns, Kind.TRIAL_ENDED, "recovery", body, Severity.WARNING)]

    def _image_counts(self, found: Evidence) -> dict[str, Json]:
        """Return what is known of camera frames: those that are there, and those said to have been dropped."""
        kept = sum(sum(closed.images.values()) for closed in self._closed)
        kept += sum(total(body.get("images")) for body in found.segments.values())
        faults = (e.body for e in found.events if e.kind is Kind.FAULT and e.source == "recorder")
        dropped = sum(total(body.get("images")) for body in faults if body.get("what") == "images dropped")
        taken = kept + dropped
        if found.ending is not None and isinstance(stated := found.ending.body.get("counts"), dict):
            taken = max(taken, number(stated, "images"))
        return {
            "images": taken, "images_stored": kept, "images_dropped": dropped,
            "images_lost": taken - kept - dropped,
        }  # fmt: skip


def _replace(folder: Path, stage: Path, disk: Disk) -> None:
    """Keep the torn files, then put the whole ones in their place; the events last but for the checkpoint."""
    kept = folder / KEPT
    kept.mkdir(exist_ok=True)
    named = (chain.FILE, signing.FILE)
    old = [p for p in (*(folder / n for n in named), *sorted(folder.glob("telemetry.*.mcap"))) if p.exists()]
    for path in old:
        new = stage / path.name
        if new.exists() and new.samefile(path):
            continue
        place = kept / f"{path.name}.torn"  # a name under which nobody takes it for a record's
        if not place.exists():
            _link(path, place)
        if not new.exists() or path.name == signing.FILE:
            path.unlink()  # an empty segment; a checkpoint of what the events are no longer
    disk.sync_folder(kept)
    for path in (*sorted(stage.glob("telemetry.*.mcap")), stage / chain.FILE, stage / signing.FILE):
        path.replace(folder / path.name)
        disk.sync_folder(folder)
    (folder / ".reserve").unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _sha256(path: Path) -> str:
    return hashlib.sha256(mapped(path)).hexdigest()
