"""What leaves the console as a file: a stretch of a record, a redacted copy, the labels. Copies, never evidence."""

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rig.console.access import Person
from rig.console.film import EXTRA, can_film, film
from rig.console.labels import Label, Review
from rig.console.pictures import Pictures, cameras
from rig.console.reviewing import Standing
from rig.core.clock import NS_PER_S, nanoseconds
from rig.core.errors import UsageError
from rig.core.record import Record, export_csv, redact

LONGEST_CLIP_S = 600.0
MOST_PICTURES = 20_000
LABEL_COLUMNS = (
    "trial_id", "item", "agent", "monitor", "as", "by", "locked", "retracted", "seconds_spent", "done", "criterion",
    "what", "signal_s", "useful_s", "harm_s", "start_s", "end_s", "text", "event", "confidence", "rationale", "rubric",
)  # fmt: skip


def clip(record: Record, start_s: float, end_s: float, scratch: Path) -> Path:
    """Write a stretch of a record as a zip file: events and telemetry as CSV, pictures and films, and what it is of.

    Args:
        record: The record.
        start_s: From, trial time, inclusive.
        end_s: To, trial time, exclusive.
        scratch: An empty folder to work in; the file is in it.

    Raises:
        UsageError: If the stretch is empty or too long.
        RecordError: If the telemetry cannot be read.
    """
    if not 0 <= start_s < end_s:
        raise UsageError("a clip must end after it starts, and start at 0 s or later")
    if end_s - start_s > LONGEST_CLIP_S:
        raise UsageError(
            f"a clip may be {LONGEST_CLIP_S:g} s long; for more use: runrig export, on the whole record"
        )
    span_ns = (nanoseconds(start_s), nanoseconds(end_s))
    folder = scratch / "clip"
    export_csv(record, folder, span_ns=span_ns)
    filmed = _pictures(record, span_ns, folder)
    listed = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    about = {
        "text": "A stretch of a record, copied out: never evidence. The record is what verifies.",
        "trial_id": record.trial_id, "head": record.head, "complete": record.complete, "start_s": start_s,
        "end_s": end_s, "film": filmed, "sha256": listed,
    }  # fmt: skip
    (folder / "clip.json").write_text(json.dumps(about, indent=1) + "\n")
    return _zipped(folder, scratch / f"clip-{record.trial_id[:8]}-{start_s:.1f}s-{end_s:.1f}s.zip")


def _pictures(record: Record, span_ns: tuple[int, int], folder: Path) -> str:
    """Write the pictures of a stretch, and a film of each camera's; return what there is to say of films."""
    pictures, filming = Pictures(record), can_film()
    for camera in cameras(record):
        times = pictures.times_ns(camera)
        wanted = [n for n, t_ns in enumerate(times) if span_ns[0] <= t_ns < span_ns[1]]
        if len(wanted) > MOST_PICTURES:
            raise UsageError(f"{len(wanted)} pictures of {camera}; a clip may hold {MOST_PICTURES}")
        place = folder / "pictures" / camera.replace("/", "_")
        place.mkdir(parents=True, exist_ok=True)
        for number in wanted:
            data, kind = pictures.frame(camera, number)
            (place / f"{times[number] / NS_PER_S:012.3f}.{kind.rsplit('/')[-1]}").write_bytes(data)
        if filming and wanted:
            shown = (
                (times[n] / NS_PER_S - span_ns[0] / NS_PER_S, *pictures.frame(camera, n)) for n in wanted
            )
            film(shown, folder / f"{place.name}.mp4")
    return "H.264" if filming else EXTRA


def redacted(record: Record, person: Person, without: Iterable[str], scratch: Path) -> Path:
    """Write a redacted copy of a record as a zip file: texts taken out, channels left out, no pictures.

    Raises:
        UsageError: If the record is not complete, or there is no such channel.
        RecordError: If the telemetry cannot be read.
    """
    folder = scratch / f"redacted-{record.trial_id[:8]}"
    redact(record, folder, by=f"{person.name} ({person.role.value})", without=tuple(without))
    return _zipped(folder, scratch / f"{folder.name}.zip")


def _zipped(folder: Path, out: Path) -> Path:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"{out.stem}/{path.relative_to(folder)}")
    return out


def label_rows(
    about: Mapping[str, Any], standing: Standing
) -> list[dict[str, str | float | int | bool | None]]:
    """Return every label of a trial, a row per criterion and per marked range; open labels are not told.

    Args:
        about: ``trial_id``, ``item``, ``agent`` and ``monitor``.
        standing: Its reviews.
    """
    found: list[tuple[str, Review]] = [("reviewer", r) for r in standing.locked]
    found += [("model that judges", r) for r in standing.judges]
    if standing.adjudication is not None and standing.adjudication.locked:
        found.append(("adjudicator", standing.adjudication))
    return [
        {**about, **_of_review(role, review, review.label), **part}
        for role, review in found
        if review.label is not None
        for part in _parts(review.label)
    ]


def _of_review(role: str, review: Review, label: Label) -> dict[str, Any]:
    return {
        "as": role, "by": review.by, "locked": review.locked, "retracted": "; ".join(review.retracted),
        "seconds_spent": review.spent_s, "done": label.done, "confidence": label.confidence,
        "rationale": label.rationale, "rubric": label.rubric,
    }  # fmt: skip


def _parts(label: Label) -> Iterable[dict[str, Any]]:
    for name, c in label.criteria.items():
        yield {
            "criterion": name, "what": c.what, "signal_s": c.signal_s, "useful_s": c.useful_s,
            "harm_s": c.harm_s,
        }  # fmt: skip
    for name, s in label.speech.items():
        yield {"criterion": name, "what": f"said: {s.found}", "event": s.event}
    for r in label.ranges:
        yield {
            "criterion": r.criterion,
            "what": "range",
            "start_s": r.start_s,
            "end_s": r.end_s,
            "text": r.text,
        }


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a text that a spreadsheet would take for a formula is kept from being one."""
    out = io.StringIO()
    writer = csv.DictWriter(out, LABEL_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(row.get(name)) for name in LABEL_COLUMNS} for row in rows)
    return out.getvalue()


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
