"""What is wrong with rows of a trial table, collected until all of it can be said at once."""

from collections.abc import Sequence
from typing import NamedTuple

from rig.core.errors import ConfigError

MOST_PROBLEMS = 500  # a file of ten million wrong rows must not become a message of ten million lines


class Problem(NamedTuple):
    """Something wrong with one row, numbered from 1 as a person counts rows."""

    row: int
    trial_id: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row} (trial {self.trial_id or 'without id'}): {self.message}"


def refuse(source: str, problems: Sequence[Problem]) -> None:
    """Raise with every problem, by row and trial id, if there is any.

    Raises:
        ConfigError: If ``problems`` is not empty. Beyond `MOST_PROBLEMS` the rest is counted, not printed.
    """
    if not problems:
        return
    ordered = sorted(problems, key=lambda problem: problem.row)
    lines = [str(problem) for problem in ordered[:MOST_PROBLEMS]]
    if len(ordered) > MOST_PROBLEMS:
        rest = ordered[MOST_PROBLEMS:]
        lines.append(f"and {len(rest)} more problems, in rows {rest[0].row} to {rest[-1].row}")
    raise ConfigError(source, lines)
