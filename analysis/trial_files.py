"""Trial tables in files: CSV, JSON Lines and Parquet of our own columns, and METR's ``runs.jsonl``.

A reader collects what is wrong with every row before it complains. Columns it does not know are errors:
a misspelt column would otherwise silently become its default.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.trials import COLUMNS, Outcome, Problem, TrialRow, TrialTable, refuse
from rig.core.errors import ConfigError, UsageError

REQUIRED = ("trial_id", "agent", "item", "duration_s")
DEFAULTS: Mapping[str, Any] = {
    "family": "",
    "task": "",
    "site": "sim",
    "tier": 3,
    "embodiment": None,
    "monitor": None,
    "elapsed_s": None,
    "mistake_at_s": None,
    "criteria": (),
    "seed": None,
    "config_digest": "",
    "record": None,
}
METR_COLUMNS = frozenset({"alias", "score_binarized", "human_minutes", "task_id", "run_id"})
PASSED = "passed"  # stands for outcome, done, harm and mistake where only a verdict is known


def read_trials(path: Path) -> TrialTable:
    """Read a trial table; the suffix says what kind of file it is.

    Raises:
        UsageError: If the file is missing, of an unknown kind, or needs an extra that is not installed.
        ConfigError: With everything wrong in it, by row and trial id.
    """
    readers: dict[str, Callable[[Path], Iterator[tuple[int, Mapping[str, Any]]]]] = {
        ".csv": _csv_rows,
        ".jsonl": _json_rows,
        ".parquet": _parquet_rows,
    }
    if path.suffix not in readers:
        raise UsageError(f"{path}: unknown kind of trial table; known: {', '.join(sorted(readers))}")
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    numbered = list(readers[path.suffix](path))
    if not numbered:
        raise ConfigError(str(path), ["holds no trials"])
    return from_mappings(numbered, str(path))


def from_mappings(numbered: Sequence[tuple[int, Mapping[str, Any]]], source: str) -> TrialTable:
    """Build a checked table from (row number, values by column).

    Raises:
        ConfigError: With everything wrong, by row and trial id.
    """
    columns = {name for _, values in numbered for name in values}
    if columns >= METR_COLUMNS:
        numbered = [(row, _from_metr(values)) for row, values in numbered]
    else:
        _check_columns(columns, source)
    rows, problems = [], []
    for number, values in numbered:
        row, wrong = _row(values)
        trial_id = str(values.get("trial_id") or "")
        problems += [Problem(number, trial_id, message) for message in wrong]
        rows.append(row)
    refuse(source, problems)
    return TrialTable.from_rows([row for row in rows if row is not None], source)


def write_trials(table: TrialTable, path: Path) -> None:
    """Write ``table`` as CSV, JSON Lines or Parquet, by the suffix of ``path``.

    Raises:
        UsageError: If the kind is unknown or needs an extra that is not installed.
    """
    rows = [_mapping(row) for row in table]
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(
                {name: "" if value is None else value for name, value in row.items()} for row in rows
            )
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, allow_nan=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
    elif path.suffix == ".parquet":
        arrow, parquet = _pyarrow()
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        parquet.write_table(arrow.table(columns), path)
    else:
        raise UsageError(f"{path}: unknown kind of trial table; known: .csv, .jsonl, .parquet")


def _mapping(row: TrialRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in COLUMNS}
    return values | {"criteria": ";".join(row.criteria), "outcome": str(row.outcome)}


def _check_columns(columns: set[str], source: str) -> None:
    verdicts = {"outcome", "done", "harm", "mistake"}
    mistakes = [f"column {name!r} is missing" for name in REQUIRED if name not in columns]
    if PASSED not in columns:
        missing = sorted(verdicts - columns)
        if missing:
            mistakes.append(f"columns {', '.join(missing)} are missing (or give one column 'passed')")
    elif columns & verdicts:
        mistakes.append(f"give either 'passed' or {', '.join(sorted(columns & verdicts))}, not both")
    mistakes += [
        f"unknown column {name!r}; known: {', '.join((*COLUMNS, PASSED))}"
        for name in sorted(columns - {*COLUMNS, PASSED})
    ]
    if mistakes:
        raise ConfigError(source, mistakes)


def _row(values: Mapping[str, Any]) -> tuple[TrialRow | None, list[str]]:
    """Return the row, or what keeps it from being one."""
    wrong: list[str] = []

    def get(name: str, parse: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        value = values.get(name)
        if value is None or value == "":
            if name in DEFAULTS:
                return DEFAULTS[name]
            wrong.append(f"{name} is missing")
            return None
        try:
            return parse(value)
        except (ValueError, TypeError) as error:
            wrong.append(f"{name} is {value!r}: {error}")
            return None

    parsed = {name: get(name, parse) for name, parse in PARSERS.items()}
    if PASSED in values:
        passed = get(PASSED, _flag)
        parsed |= {
            "outcome": Outcome.PASS if passed else Outcome.INCOMPLETE,
            "done": passed,
            "harm": False,
            "mistake": False,
        }
    else:
        parsed |= {"outcome": get("outcome", _outcome)}
        parsed |= {name: get(name, _flag) for name in ("done", "harm", "mistake")}
    return (None, wrong) if wrong else (TrialRow(**parsed), [])


def _text(value: Any) -> str:  # noqa: ANN401
    return str(value).strip()


def _whole(value: Any) -> int:  # noqa: ANN401
    number = float(value)
    if number != int(number):
        raise ValueError("must be a whole number")
    return int(number)


def _flag(value: Any) -> bool:  # noqa: ANN401
    known = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}
    try:
        return known[str(value).strip().lower()]
    except KeyError:
        raise ValueError("must be 0, 1, true or false") from None


def _outcome(value: Any) -> Outcome:  # noqa: ANN401
    try:
        return Outcome(str(value).strip().upper())
    except ValueError:
        raise ValueError(f"must be one of {', '.join(Outcome)}") from None


def _criteria(value: Any) -> tuple[str, ...]:  # noqa: ANN401
    parts = value.split(";") if isinstance(value, str) else value
    return tuple(str(part).strip() for part in parts if str(part).strip())


PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "trial_id": _text,
    "agent": _text,
    "family": _text,
    "task": _text,
    "item": _text,
    "duration_s": float,
    "site": _text,
    "tier": _whole,
    "embodiment": _text,
    "monitor": _text,
    "elapsed_s": float,
    "mistake_at_s": float,
    "criteria": _criteria,
    "seed": _whole,
    "config_digest": _text,
    "record": _text,
}


def _from_metr(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return one METR run in our columns; runs that ended in an error of the scaffold are ABORTED."""
    minutes = values.get("human_minutes")
    mapped = {
        "trial_id": values.get("run_id"),
        "agent": values.get("alias"),
        "family": values.get("task_family"),
        "task": values.get("task_id"),
        "item": values.get("task_id"),
        "duration_s": 60.0 * minutes if isinstance(minutes, int | float) else minutes,
        "tier": 1,
    }
    if values.get("fatal_error_from"):
        return mapped | {"outcome": Outcome.ABORTED, "done": False, "harm": False, "mistake": False}
    return mapped | {PASSED: values.get("score_binarized")}


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream, strict=True)
        if reader.fieldnames is None:
            return
        repeated = sorted({name for name in reader.fieldnames if reader.fieldnames.count(name) > 1})
        if repeated:
            raise ConfigError(str(path), [f"column {name!r} appears twice" for name in repeated])
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                wrong = f"row {number}: has more or fewer fields than the header"
                raise ConfigError(str(path), [wrong])
            yield number, row


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    mistakes = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError as error:
                mistakes.append(f"row {number}: is not JSON: {error}")
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                mistakes.append(f"row {number}: must be a JSON object")
    if mistakes:
        raise ConfigError(str(path), mistakes)


def _parquet_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    _, parquet = _pyarrow()
    yield from enumerate(parquet.read_table(path).to_pylist(), start=1)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs the optional extra: pip install 'runrig[parquet]'") from None
    return pyarrow, pyarrow.parquet
