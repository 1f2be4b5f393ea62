"""`runrig trials`: the graded trials of a folder as a table to filter and to sort."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from analysis.trials import COLUMNS, Outcome, TrialRow
from analysis.words import duration
from rig.cli.output import print_json
from rig.cli.speech_options import SpeechAsked, load_with_speech
from rig.core.errors import unknown


def show_trials(
    source: Path, wanted: dict[str, str | None], sort: str, speech: SpeechAsked, as_json: bool
) -> int:
    """Print the trials that fit, in the order asked for.

    Args:
        source: A folder of records, or a trial table.
        wanted: By column, the value it must have; None for any.
        sort: Columns, comma separated; one with ``-`` before it is sorted downwards.
        speech: How what was said is taken in.
        as_json: Print strict JSON instead.

    Raises:
        UsageError: If a column or an outcome is unknown, or there is no trial at all.
    """
    keys, outcome = _keys(sort), wanted.get("outcome")
    if outcome is not None and outcome not in list(Outcome):
        raise unknown("outcome", outcome, list(Outcome))
    table, heard = load_with_speech(source, speech)
    rows = [table.row(i) for i in range(len(table))]
    chosen = [row for row in rows if _fits(row, wanted)]
    for name, downwards in reversed(keys):
        chosen.sort(key=lambda row: _comparable(getattr(row, name)), reverse=downwards)
    if as_json:
        print_json([asdict(row) for row in chosen])
    else:
        _print(chosen, len(rows))
        if heard is not None and heard.line:
            print(heard.line)  # noqa: T201
    return 0


def _keys(sort: str) -> list[tuple[str, bool]]:
    keys = [(word.strip().removeprefix("-"), word.strip().startswith("-")) for word in sort.split(",")]
    if wrong := [name for name, _ in keys if name not in COLUMNS]:
        raise unknown("column", wrong[0], COLUMNS)
    return keys


def _fits(row: TrialRow, wanted: dict[str, str | None]) -> bool:
    return all(value is None or str(getattr(row, name)) == value for name, value in wanted.items())


def _comparable(value: object) -> tuple[bool, float, str]:
    """Return what to sort a cell by: what is unknown comes last, numbers by size, words by letters."""
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (value is None, 0.0, str(value))


def _print(rows: Sequence[TrialRow], of: int) -> None:
    """Print one line per trial: what is longest comes last, so that columns stay narrow."""
    cells = [
        ("outcome", "agent", "monitor", "seed", "took", "mistake at", "item", "criteria"),
        *map(_cells, rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells if rows else ():
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())  # noqa: T201
    print(f"{len(rows)} of {of} trials")  # noqa: T201


def _cells(row: TrialRow) -> tuple[str, ...]:
    return (
        row.outcome.value + (", harm" if row.harm else ""), row.agent, row.monitor or "",
        "" if row.seed is None else str(row.seed), "" if row.elapsed_s is None else duration(row.elapsed_s),
        "" if row.mistake_at_s is None else duration(row.mistake_at_s), row.item, ", ".join(row.criteria),
    )  # fmt: skip
