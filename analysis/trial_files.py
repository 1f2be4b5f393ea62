"""Trial tables in files: CSV, JSON Lines and Parquet of our columns, METR's ``runs.jsonl``, Inspect logs.

Files are read in chunks straight into columns, so that ten million rows fit into memory; what is wrong with
any row is reported together with the rest.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from analysis.inspect_logs import read_inspect
from analysis.parsing import METR_COLUMNS, TableBuilder, check_columns, from_metr
from analysis.trials import COLUMNS, TrialTable
from rig.core.errors import ConfigError, UsageError

CHUNK = 8192  # rows: few enough to stay in the cache
_KINDS = {
    **dict.fromkeys(("duration_s", "elapsed_s", "mistake_at_s"), "float64"),
    **dict.fromkeys(("done", "harm", "mistake"), "bool"),
    **dict.fromkeys(("tier", "seed"), "int64"),
}
"""Arrow types of the columns that are not text; written out so that an empty column keeps its own."""


def read_trials(path: Path) -> TrialTable:
    """Read a trial table; the suffix says what kind of file it is.

    Raises:
        UsageError: If the file is missing, of an unknown kind, or needs an extra that is not installed.
        ConfigError: With everything wrong in it, by row and trial id.
    """
    readers = {
        ".csv": _read_csv,
        ".jsonl": _read_json_lines,
        ".parquet": _read_parquet,
        ".eval": read_inspect,
        ".json": read_inspect,
    }
    if path.suffix not in readers:
        raise UsageError(f"{path}: unknown kind of trial table; known: {', '.join(sorted(readers))}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    builder = TableBuilder(str(path))
    try:
        readers[path.suffix](path, builder)
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), [f"is not UTF-8 text: {error}"]) from None
    return builder.table()


def from_mappings(rows: Sequence[Mapping[str, Any]], source: str) -> TrialTable:
    """Build a checked table from rows as mappings of our columns, or METR's.

    Raises:
        ConfigError: With everything wrong, by row and trial id.
    """
    builder = TableBuilder(source)
    _extend(builder, rows)
    return builder.table()


def write_trials(table: TrialTable, path: Path) -> None:
    """Write ``table`` as CSV, JSON Lines or Parquet, by the suffix of ``path``.

    Raises:
        UsageError: If the kind is unknown or needs an extra that is not installed.
    """
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(COLUMNS)
            for chunk in _chunks(table):
                writer.writerows(zip(*chunk.values(), strict=True))  # which writes None as nothing
    elif path.suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as stream:
            for chunk in _chunks(table):
                rows = (dict(zip(chunk, row, strict=True)) for row in zip(*chunk.values(), strict=True))
                stream.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    elif path.suffix == ".parquet":
        arrow, parquet = _pyarrow()
        schema = arrow.schema([(name, arrow.type_for_alias(_KINDS.get(name, "string"))) for name in COLUMNS])
        with parquet.ParquetWriter(path, schema) as writer:
            for chunk in _chunks(table):
                writer.write_table(arrow.table(chunk, schema=schema))
    else:
        raise UsageError(f"{path}: unknown kind of trial table; known: .csv, .jsonl, .parquet")


def _chunks(table: TrialTable) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns in pieces, so that a million rows need the memory of some thousands."""
    return (table.values(slice(start, start + CHUNK)) for start in range(0, len(table), CHUNK))


def _extend(builder: TableBuilder, rows: Sequence[Mapping[str, Any]]) -> None:
    """Take in rows as mappings, in our own columns or METR's."""
    names = {name for row in rows for name in row}
    chunk = {name: [row.get(name) for row in rows] for name in names}
    builder.extend(from_metr(chunk, len(rows)) if names >= METR_COLUMNS else chunk, len(rows))


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    source = iter(rows)
    while batch := list(islice(source, CHUNK)):
        yield batch


def _read_csv(path: Path, builder: TableBuilder) -> None:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream)
        header = next(reader, None)
        if header is None:
            return
        repeated = sorted({name for name in header if header.count(name) > 1})
        if repeated:
            raise ConfigError(str(path), [f"column {name!r} appears twice" for name in repeated])
        metr = set(header) >= METR_COLUMNS
        if not metr:
            check_columns(header, str(path))
        done = 0
        for batch in _batches(row for row in reader if row):
            ragged = [i for i, row in enumerate(batch) if len(row) != len(header)]
            found = {i: len(batch[i]) for i in ragged}
            for i in ragged:
                batch[i] = (batch[i] + [""] * len(header))[: len(header)]
            chunk = dict(zip(header, zip(*batch, strict=True), strict=True))
            builder.extend(from_metr(chunk, len(batch)) if metr else chunk, len(batch))
            for i in ragged:
                builder.skip(done + i, f"has {found[i]} fields, the header {len(header)}")
            done += len(batch)


def _read_json_lines(path: Path, builder: TableBuilder) -> None:
    done = 0
    with path.open(encoding="utf-8") as stream:
        for batch in _batches(line for line in stream if line.strip()):
            rows, wrong = [], []
            for number, line in enumerate(batch):
                row, message = _json_row(line)
                rows.append(row)
                if message:
                    wrong.append((done + number, message))
            _extend(builder, rows)
            for number, message in wrong:
                builder.skip(number, message)
            done += len(batch)


def _json_row(line: str) -> tuple[dict[str, Any], str]:
    """Return the row of a line, or an empty one and what is wrong with it."""
    try:
        value = json.loads(line)
    except ValueError as error:
        return {}, f"is not JSON: {error}"
    if not isinstance(value, dict):
        return {}, f"must be a JSON object, not {type(value).__name__}"
    return value, ""


def _read_parquet(path: Path, builder: TableBuilder) -> None:
    arrow, parquet = _pyarrow()
    try:
        source = parquet.ParquetFile(path)
    except arrow.ArrowInvalid as error:
        raise ConfigError(str(path), [f"is not Parquet: {error}"]) from None
    metr = set(source.schema_arrow.names) >= METR_COLUMNS
    for batch in source.iter_batches(CHUNK):
        chunk = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        builder.extend(from_metr(chunk, batch.num_rows) if metr else chunk, batch.num_rows)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs the optional extra: pip install 'runrig[parquet]'") from None
    return pyarrow, pyarrow.parquet
