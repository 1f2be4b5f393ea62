"""From values as files hold them to the columns of a trial table, chunk by chunk.

Every distinct value of a text column is looked at once, however many rows hold it, and everything that is
wrong is kept with its row until the end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.columns import Factor, FloatArray
from analysis.problems import Problem, refuse
from analysis.trials import COLUMNS, OUTCOMES, Outcome, TrialTable, problems_in
from rig.core.errors import ConfigError

REQUIRED = ("trial_id", "agent", "item", "duration_s")
VERDICTS = ("outcome", "done", "harm", "mistake")
PASSED = "passed"  # stands for the four verdicts where only one is known
NUMBERS = ("duration_s", "elapsed_s", "mistake_at_s", "seed")
DEFAULTS: Mapping[str, str] = {"site": "sim", "tier": "3"}
METR_COLUMNS = frozenset({"alias", "score_binarized", "human_minutes", "task_id", "run_id"})

Chunk = Mapping[str, Sequence[Any]]


def check_columns(columns: Iterable[str], source: str) -> None:
    """Refuse columns that are missing, unknown or contradict each other.

    Raises:
        ConfigError: With all of them; a misspelt column would otherwise silently become its default.
    """
    names = set(columns)
    mistakes = [f"column {name!r} is missing" for name in REQUIRED if name not in names]
    if PASSED not in names:
        missing = [name for name in VERDICTS if name not in names]
        if missing:
            mistakes.append(f"columns {', '.join(missing)} are missing (or give one column 'passed')")
    elif names & set(VERDICTS):
        both = ", ".join(name for name in VERDICTS if name in names)
        mistakes.append(f"give either 'passed' or {both}, not both")
    mistakes += [
        f"unknown column {name!r}; known: {', '.join((*COLUMNS, PASSED))}"
        for name in sorted(names - {*COLUMNS, PASSED})
    ]
    if mistakes:
        raise ConfigError(source, mistakes)


def from_metr(chunk: Chunk, rows: int) -> Chunk:
    """Return METR runs in our columns; a run that ended in an error of its scaffold is ABORTED."""
    missing: Sequence[Any] = [None] * rows
    broken = chunk.get("fatal_error_from", missing)
    return {
        "trial_id": chunk["run_id"],
        "agent": chunk["alias"],
        "family": chunk.get("task_family", missing),
        "task": chunk["task_id"],
        "item": chunk["task_id"],
        "duration_s": [_times_60(value) for value in chunk["human_minutes"]],
        "tier": [1] * rows,
        PASSED: [
            Outcome.ABORTED if error else score
            for error, score in zip(broken, chunk["score_binarized"], strict=True)
        ],
    }


def _times_60(minutes: Any) -> Any:  # noqa: ANN401
    """Return minutes as seconds; what is no number is left for the column of numbers to refuse."""
    try:
        return 60.0 * float(minutes)
    except (ValueError, TypeError):
        return minutes


class Coded:
    """A growing column whose distinct values are numbered as they come."""

    def __init__(self) -> None:
        self.distinct: dict[Any, int] = {}
        self.chunks: list[NDArray[np.int32]] = []

    def extend(self, values: Sequence[Any]) -> None:
        """Take in more rows."""
        known = self.distinct
        try:
            codes = [known.setdefault(value, len(known)) for value in values]
        except TypeError:  # a list or an object of JSON
            codes = [known.setdefault(_as_text(value), len(known)) for value in values]
        self.chunks.append(np.array(codes, np.int32))

    def words(self) -> list[Any]:
        """Return the distinct values; missing ones and empty text are the same."""
        return ["" if value is None else value for value in self.distinct]

    @property
    def codes(self) -> NDArray[np.int32]:
        """Number of the value of each row."""
        return np.concatenate(self.chunks) if self.chunks else np.empty(0, np.int32)


class Numbers:
    """A growing column of numbers; missing ones are NaN."""

    def __init__(self) -> None:
        self.chunks: list[FloatArray] = []
        self.wrong: list[tuple[int, Any]] = []
        self._rows = 0

    def extend(self, values: Sequence[Any] | FloatArray) -> None:
        """Take in more rows."""
        try:
            # A text column with gaps, and booleans, take the careful way.
            if any(isinstance(value, bool) for value in values[:1]):
                raise TypeError
            parsed = np.array(values, np.float64)
        except (ValueError, TypeError):
            parsed = np.array([self._one(i, value) for i, value in enumerate(values, self._rows)], np.float64)
        self._rows += len(values)
        self.chunks.append(parsed)

    def _one(self, row: int, value: Any) -> float:  # noqa: ANN401
        if value is None or value == "":
            return float("nan")
        try:
            if isinstance(value, bool):
                raise TypeError
            return float(value)
        except (ValueError, TypeError):
            self.wrong.append((row, value))
            return float("nan")

    @property
    def values(self) -> FloatArray:
        """All numbers, shape (n,)."""
        return np.concatenate(self.chunks) if self.chunks else np.empty(0)


class TableBuilder:
    """Collects chunks of raw columns and makes a checked table of them.

    Args:
        source: Where the rows come from, for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._trial_ids: list[str] = []
        self._coded: dict[str, Coded] = {}
        self._numbers = {name: Numbers() for name in NUMBERS}
        self._columns: set[str] = set()
        self._problems: list[Problem] = []
        self._unread: set[int] = set()

    def extend(self, chunk: Chunk, rows: int) -> None:
        """Take in ``rows`` rows; a column that is not in ``chunk`` is missing in all of them."""
        self._columns |= set(chunk)
        missing: list[Any] = [None] * rows
        before = len(self._trial_ids)
        self._trial_ids += ["" if v is None else str(v).strip() for v in chunk.get("trial_id", missing)]
        for name, numbers in self._numbers.items():
            numbers.extend(chunk[name] if name in chunk else np.full(rows, np.nan))
        for name in (*COLUMNS, PASSED):
            if name in NUMBERS or name == "trial_id":
                continue
            column = self._coded.get(name)
            if column is None:
                if name not in chunk:
                    continue
                column = self._coded[name] = Coded()
                column.extend([None] * before)
            column.extend(chunk.get(name, missing))

    def table(self) -> TrialTable:
        """Return the table of everything taken in.

        Raises:
            ConfigError: With everything wrong, by row and trial id; also if there is no row.
        """
        if not self._trial_ids:
            raise ConfigError(self._source, ["holds no trials"])
        check_columns(self._columns, self._source)
        size = len(self._trial_ids)
        trial_id = np.empty(size, np.object_)
        trial_id[:] = self._trial_ids
        for name, numbers in self._numbers.items():
            for row, value in numbers.wrong:
                self._complain(row, f"{name} is {value!r}; must be a number")
        outcome, done, harm, mistake = self._verdicts(size)
        record = self._text("record", size)
        columns: dict[str, Any] = {name: numbers.values for name, numbers in self._numbers.items()}
        columns |= {name: self._text(name, size) for name in TEXTS}
        table = TrialTable(
            source=self._source,
            trial_id=trial_id,
            tier=self._parsed("tier", size, _tier, 3).astype(np.int8),
            outcome=outcome.astype(np.int8),
            done=done.astype(np.bool_),
            harm=harm.astype(np.bool_),
            mistake=mistake.astype(np.bool_),
            criteria=self._text("criteria", size, _criteria),
            record=np.array(record.names, np.object_)[record.codes],
            check=False,
            **columns,
        )
        # A row that could not be read would only be complained about twice.
        broken = {problem.row for problem in self._problems}
        found = [problem for problem in problems_in(table) if problem.row not in broken]
        refuse(self._source, self._problems + found)
        return table

    def skip(self, row: int, message: str) -> None:
        """Note that a row, counted from 0, could not be read; nothing else is said about it."""
        self._complain(row, message)
        self._unread.add(row)

    def _complain(self, row: int, message: str) -> None:
        if row not in self._unread:
            self._problems.append(Problem(row + 1, self._trial_ids[row], message))

    def _text(self, name: str, size: int, parse: Callable[[Any], str] = lambda v: str(v).strip()) -> Factor:
        column = self._coded.get(name)
        if column is None:
            return Factor(np.zeros(size, np.int32), (DEFAULTS.get(name, ""),))
        words = [parse(value) or DEFAULTS.get(name, "") for value in column.words()]
        names = sorted(set(words))
        position = {word: i for i, word in enumerate(names)}
        return Factor(np.array([position[word] for word in words], np.int32)[column.codes], tuple(names))

    def _parsed(
        self, name: str, size: int, parse: Callable[[Any], int], default: int | None
    ) -> NDArray[np.int64]:
        """Return a column of small integers; without a default, a missing value is a mistake."""
        column = self._coded.get(name)
        if column is None:
            return np.full(size, default or 0)
        codes, values = column.codes, []
        for code, value in enumerate(column.words()):
            try:
                values.append(parse(value) if value != "" or default is None else default)
            except ValueError as error:
                values.append(0)
                message = f"{name} is missing" if value == "" else f"{name} is {value!r}; {error}"
                for row in np.flatnonzero(codes == code).tolist():
                    self._complain(row, message)
        return np.array(values, np.int64)[codes]

    def _verdicts(self, size: int) -> tuple[NDArray[np.int64], ...]:
        """Return outcome (positions in `OUTCOMES`), done, harm and mistake."""
        if PASSED not in self._columns:
            outcome = self._parsed("outcome", size, _outcome, None)
            return outcome, *(self._parsed(name, size, _flag, None) for name in VERDICTS[1:])
        # 0 failed, 1 passed, 2 aborted
        meaning = [OUTCOMES.index(name) for name in (Outcome.INCOMPLETE, Outcome.PASS, Outcome.ABORTED)]
        passed = self._parsed(PASSED, size, _passed, None)
        nothing = np.zeros(size, np.int64)
        return np.array(meaning)[passed], (passed == 1).astype(np.int64), nothing, nothing


TEXTS = ("agent", "family", "task", "item", "site", "embodiment", "monitor", "config_digest")


def _as_text(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list | tuple):
        return ";".join(map(str, value))
    return repr(value) if isinstance(value, dict) else value


def _flag(value: Any) -> int:  # noqa: ANN401
    known = {"1": 1, "0": 0, "true": 1, "false": 0, "1.0": 1, "0.0": 0}
    try:
        return known[str(value).strip().lower()]
    except KeyError:
        raise ValueError("must be 0, 1, true or false") from None


def _passed(value: Any) -> int:  # noqa: ANN401
    if str(value).strip().upper() == Outcome.ABORTED:
        return 2
    return _flag(value)


def _outcome(value: Any) -> int:  # noqa: ANN401
    word = str(value).strip().upper()
    if word not in OUTCOMES:
        raise ValueError(f"must be one of {', '.join(OUTCOMES)}")
    return OUTCOMES.index(Outcome(word))


def _tier(value: Any) -> int:  # noqa: ANN401
    if str(value).strip() not in ("1", "2", "3", "1.0", "2.0", "3.0"):
        raise ValueError("must be 1, 2 or 3")
    return int(float(value))


def _criteria(value: Any) -> str:  # noqa: ANN401
    return ";".join(part.strip() for part in str(value).split(";") if part.strip())
