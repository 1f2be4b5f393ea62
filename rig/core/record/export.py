"""Records in forms that other programs read: CSV and Parquet, camera frames as files. Derived, never evidence.

Every export says in ``export.json`` what it was made from: trial, chain head, whether the record was
complete. Files appear under their names only when they are whole.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from rig.core.channel import Quality, Trace
from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.record import strict
from rig.core.record.disk import opening
from rig.core.record.reader import Record

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "exports"
Span = tuple[int, int]
"""Trial time from, inclusive, and to, exclusive; nanoseconds."""
_OLDEST_PYARROW = 17
_QUALITY = tuple(quality.name.lower() for quality in Quality)


def export_csv(
    record: Record,
    folder: Path | None = None,
    channels: Sequence[str] | None = None,
    span_ns: Span | None = None,
) -> tuple[Path, ...]:
    """Write ``events.csv`` and ``telemetry.csv``; return the files written.

    Telemetry has a row per tick: ``t_ns``, then per channel its value, its quality as a word and its
    age in nanoseconds. A value that is not finite is an empty cell; numbers read back to the bit.

    Args:
        record: The record.
        folder: Where to; the record's ``exports`` if None.
        channels: The channels wanted; all of them if None.
        span_ns: Trial time from (inclusive) and to (exclusive); the whole record if None. ``export.json``
            states it.

    Raises:
        UsageError: If the folder cannot be written, there is no such channel, or the span is empty.
        RecordError: If the telemetry cannot be read.
    """
    if span_ns is not None and not span_ns[0] < span_ns[1]:
        raise UsageError("a span must end after it starts")
    return _export(
        record, folder, ".csv", lambda record, path: _csv_events(record, path, span_ns),
        lambda path: _csv_ticks(record, path, channels, span_ns or (None, None)), span_ns,
    )  # fmt: skip


def export_parquet(
    record: Record, folder: Path | None = None, channels: Sequence[str] | None = None
) -> tuple[Path, ...]:
    """Write ``events.parquet`` and ``telemetry.parquet``; return the files written.

    Telemetry has a row per tick: ``t_ns``, then per channel ``NAME`` (double, in the unit the column's
    metadata states), ``NAME.quality`` (uint8, `Quality` codes) and ``NAME.sampled_ns`` (int64).

    Args:
        record: The record.
        folder: Where to; the record's ``exports`` if None.
        channels: The channels wanted; all of them if None.

    Raises:
        UsageError: If pyarrow is missing or too old, the folder cannot be written, or there is no
            such channel.
        RecordError: If the telemetry cannot be read.
    """
    _pyarrow()
    return _export(
        record, folder, ".parquet", _parquet_events, lambda path: _parquet_ticks(record, path, channels)
    )


def _export(
    record: Record,
    folder: Path | None,
    suffix: str,
    events: Callable[[Record, Path], None],
    ticks: Callable[[Path], None],
    span_ns: Span | None = None,
) -> tuple[Path, ...]:
    folder = record.folder / FOLDER if folder is None else Path(folder)
    about: dict[str, Json] = {
        "trial_id": record.trial_id, "head": record.head, "seq": len(record.events) - 1,
        "complete": record.complete, "problem": record.problem,
    }  # fmt: skip
    if span_ns is not None:
        about["span_ns"] = list(span_ns)
    paths = (folder / f"events{suffix}", folder / f"telemetry{suffix}", folder / "export.json")
    frames: tuple[Path, ...] = ()
    with opening(folder, "export"):
        folder.mkdir(parents=True, exist_ok=True)
        with _whole(paths[0]) as draft:
            events(record, draft)
        with _whole(paths[1]) as draft:
            ticks(draft)
        if record.cameras:
            frames = (_frames(record, folder),)
        with _whole(paths[2]) as draft:
            draft.write_bytes(strict.dumps(about, "export") + b"\n")
    return (*paths, *frames)


def _frames(record: Record, folder: Path) -> Path:
    """Write every camera frame as a file of its own, and a table of them; return the table.

    The table says of each frame when it was exposed, how old it was when the rig had it, and its digest.
    """
    table = folder / "frames.csv"
    with _whole(table) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("camera", "number", "exposed_ns", "t_ns", "age_ns", "sha256", "file"))
        for image in record.images():
            place = folder / "frames" / image.camera / f"{image.number:08d}.{image.format}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(image.data)
            out.writerow(
                (image.camera, image.number, image.exposed_ns, image.t_ns, image.t_ns - image.exposed_ns,
                 image.sha256, place.relative_to(folder).as_posix())
            )  # fmt: skip
    return table


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give a place to write to; it takes the name only if nothing went wrong."""
    draft = path.with_name(f".{path.name}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _csv_events(record: Record, path: Path, span_ns: Span | None) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("seq", "t_ns", "kind", "source", "severity", "body"))
        for e in record.events:
            if span_ns is not None and not span_ns[0] <= e.t_ns < span_ns[1]:
                continue
            out.writerow((e.seq, e.t_ns, e.kind.value, e.source, e.severity.value, _text(e.body)))


def _text(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False)


def _csv_ticks(
    record: Record, path: Path, channels: Sequence[str] | None, span_ns: tuple[int | None, int | None]
) -> None:
    names = record.layout.names if channels is None else tuple(channels)
    with path.open("w", newline="", encoding="utf-8") as file:
        head = [f"{name}{part}" for name in names for part in ("", ".quality", ".age_ns")]
        csv.writer(file, lineterminator="\n").writerow(["t_ns", *head])
        for trace in record.stretches(channels, *span_ns):
            _csv_rows(file, trace)


def _csv_rows(file: TextIO, trace: Trace) -> None:
    n, c = trace.values.shape
    cells = np.empty((n, 1 + 3 * c), dtype=object)
    cells[:, 0] = [str(t) for t in trace.t_ns.tolist()]
    finite = np.isfinite(trace.values)
    ages = trace.t_ns[:, None] - trace.sampled_ns
    for i in range(c):
        values = zip(trace.values[:, i].tolist(), finite[:, i].tolist(), strict=True)
        cells[:, 1 + 3 * i] = [repr(value) if good else "" for value, good in values]
        cells[:, 2 + 3 * i] = [_QUALITY[q] for q in trace.quality[:, i].tolist()]
        cells[:, 3 + 3 * i] = [str(age) for age in ages[:, i].tolist()]
    file.writelines(",".join(row) + "\n" for row in cells.tolist())


def _pyarrow() -> None:
    """Refuse to go on without a usable pyarrow.

    Raises:
        UsageError: With what to install; a missing and an unusable one are told apart.
    """
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed: pip install 'runrig[parquet]'"
        ) from None
    except ImportError as error:
        raise UsageError(f"pyarrow is installed but does not load: {error}") from None
    if int(pyarrow.__version__.split(".")[0]) < _OLDEST_PYARROW:
        raise UsageError(
            f"pyarrow {pyarrow.__version__} is installed but too old (needs {_OLDEST_PYARROW}): "
            f"pip install --upgrade 'runrig[parquet]'"
        )


def _about(record: Record) -> dict[str, str]:
    return {"runrig.trial_id": record.trial_id, "runrig.head": record.head}


def _parquet_events(record: Record, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    events = record.events
    table = pa.table(
        {
            "seq": pa.array([e.seq for e in events], pa.int64()),
            "t_ns": pa.array([e.t_ns for e in events], pa.int64()),
            "kind": [e.kind.value for e in events],
            "source": [e.source for e in events],
            "severity": [e.severity.value for e in events],
            "body": [_text(e.body) for e in events],
            "hash": [e.hash for e in events],
        }
    ).replace_schema_metadata(_about(record))
    pq.write_table(table, path, compression="zstd")


def _parquet_ticks(record: Record, path: Path, channels: Sequence[str] | None) -> None:
    import pyarrow.parquet as pq

    layout = record.layout if channels is None else [record.layout[name] for name in channels]
    schema = _tick_schema([(c.name, c.unit) for c in layout], _about(record))
    doubles = {name: "BYTE_STREAM_SPLIT" for name in schema.names if name in record.layout}
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=False, column_encoding=doubles
    ) as out:
        waiting: list[pa.RecordBatch] = []
        for trace in record.stretches(channels):
            waiting.append(_batch(trace, schema))
            if sum(len(batch) for batch in waiting) >= 50_000:
                out.write_table(_table(waiting, schema))
                waiting = []
        out.write_table(_table(waiting, schema))


def _tick_schema(channels: Sequence[tuple[str, str]], about: dict[str, str]) -> "pa.Schema":
    import pyarrow as pa

    fields = [pa.field("t_ns", pa.int64(), False)]
    for name, unit in channels:
        fields.append(pa.field(name, pa.float64(), False, {"unit": unit}))
        fields.append(pa.field(f"{name}.quality", pa.uint8(), False))
        fields.append(pa.field(f"{name}.sampled_ns", pa.int64(), False))
    return pa.schema(fields, about)


def _batch(trace: Trace, schema: "pa.Schema") -> "pa.RecordBatch":
    import pyarrow as pa

    columns = [pa.array(trace.t_ns)]
    for i in range(len(trace.layout)):
        for part in (trace.values, trace.quality, trace.sampled_ns):
            columns.append(pa.array(np.ascontiguousarray(part[:, i])))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _table(batches: "Sequence[pa.RecordBatch]", schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_batches(batches, schema)
