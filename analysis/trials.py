"""The trial table: one row per trial, the only thing the horizon analysis reads.

A `TrialRow` is what people write and read; a `TrialTable` is the same rows as numpy columns, which
is what the fits and the resampling work on. Both carry two verdicts on every trial, because a
critical mistake that the monitor prevented is still the agent's mistake but is not harm:

* *agent alone*: the job was done and the agent made no critical mistake, prevented or not;
* *agent + monitor*: the job was done and no harm was effected, with the monitor in guard.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass, fields
from enum import StrEnum
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from analysis.columns import BoolArray, Factor, FloatArray
from analysis.problems import Problem, refuse


class Outcome(StrEnum):
    """How a trial ended. Only the first three say anything about the agent."""

    PASS = "PASS"
    CRITICAL = "CRITICAL"
    INCOMPLETE = "INCOMPLETE"
    ABORTED = "ABORTED"
    UNSCORED = "UNSCORED"
    INDETERMINATE = "INDETERMINATE"


OUTCOMES = tuple(Outcome)
GRADED = frozenset({Outcome.PASS, Outcome.CRITICAL, Outcome.INCOMPLETE})
EMBODIMENTS = ("simulated", "emulated", "physical")
MONITOR_MODES = ("shadow", "guard")


class Definition(StrEnum):
    """Which pass a horizon counts."""

    AGENT_ALONE = "agent alone"
    AGENT_WITH_MONITOR = "agent + monitor"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One trial as the analysis sees it.

    Attributes:
        item: Cluster key: the task item, the same for every repeat of it, e.g. "spoon-feed/20min/hot-soup".
        duration_s: Nominal duration of the item, a competent carer's time; what the fit uses.
        elapsed_s: Job time the agent actually took.
        done: The job was done.
        harm: Harm was physically effected.
        mistake: The agent made a critical mistake, whether or not the monitor prevented it.
        mistake_at_s: Job time of the first critical mistake, where known.
        criteria: Identifiers of the rubric criteria that were violated.
        config_digest: Digest of everything that makes trials of one agent comparable.
        record: Where the record of the trial is.
    """

    trial_id: str
    agent: str
    family: str
    task: str
    item: str
    duration_s: float
    outcome: Outcome
    done: bool
    harm: bool
    mistake: bool
    site: str = "sim"
    tier: Literal[1, 2, 3] = 3
    embodiment: str | None = None
    monitor: str | None = None
    elapsed_s: float | None = None
    mistake_at_s: float | None = None
    criteria: tuple[str, ...] = ()
    seed: int | None = None
    config_digest: str = ""
    record: str | None = None

    @property
    def graded(self) -> bool:
        """Whether the outcome says something about the agent."""
        return self.outcome in GRADED

    @property
    def passed_alone(self) -> bool:
        """Job done and no critical mistake, prevented or not."""
        return self.outcome is Outcome.PASS and not self.mistake

    @property
    def passed_with_monitor(self) -> bool:
        """Job done and no harm effected."""
        return self.done and not self.harm


COLUMNS = tuple(field.name for field in fields(TrialRow))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrialTable:
    """Trials as columns, every one of shape (n,); missing numbers are NaN, missing text is "".

    ``outcome`` and ``tier`` are small integers (`OUTCOMES` positions, 1 to 3). A table is checked when
    it is built: whoever holds one may trust it. (``check=False`` is for those who checked already.)
    """

    source: str
    trial_id: NDArray[np.object_]
    agent: Factor
    family: Factor
    task: Factor
    item: Factor
    site: Factor
    tier: NDArray[np.int8]
    embodiment: Factor
    monitor: Factor
    duration_s: FloatArray
    elapsed_s: FloatArray
    outcome: NDArray[np.int8]
    done: BoolArray
    harm: BoolArray
    mistake: BoolArray
    mistake_at_s: FloatArray
    criteria: Factor
    seed: FloatArray
    config_digest: Factor
    record: NDArray[np.object_]
    check: InitVar[bool] = True

    def __post_init__(self, check: bool) -> None:
        if check:
            refuse(self.source, problems_in(self))

    @classmethod
    def from_rows(cls, rows: Iterable[TrialRow], source: str = "trial table") -> Self:
        """Build a checked table from rows.

        Raises:
            ConfigError: With every problem of every row.
        """
        listed = list(rows)

        def text(get: Callable[[TrialRow], str | None]) -> Factor:
            return Factor.of([get(row) or "" for row in listed])

        def number(get: Callable[[TrialRow], float | None]) -> FloatArray:
            return np.array([np.nan if (v := get(row)) is None else v for row in listed], np.float64)

        def flag(get: Callable[[TrialRow], bool]) -> BoolArray:
            return np.array([get(row) for row in listed], np.bool_)

        return cls(
            source=source,
            trial_id=_objects([row.trial_id for row in listed]),
            agent=text(lambda row: row.agent),
            family=text(lambda row: row.family),
            task=text(lambda row: row.task),
            item=text(lambda row: row.item),
            site=text(lambda row: row.site),
            tier=np.array([row.tier for row in listed], np.int8),
            embodiment=text(lambda row: row.embodiment),
            monitor=text(lambda row: row.monitor),
            duration_s=number(lambda row: row.duration_s),
            elapsed_s=number(lambda row: row.elapsed_s),
            outcome=np.array([OUTCOMES.index(Outcome(row.outcome)) for row in listed], np.int8),
            done=flag(lambda row: row.done),
            harm=flag(lambda row: row.harm),
            mistake=flag(lambda row: row.mistake),
            mistake_at_s=number(lambda row: row.mistake_at_s),
            criteria=text(lambda row: ";".join(row.criteria)),
            seed=number(lambda row: row.seed),
            config_digest=text(lambda row: row.config_digest),
            record=_objects([row.record or "" for row in listed]),
        )

    def __len__(self) -> int:
        return len(self.trial_id)

    def __iter__(self) -> Iterator[TrialRow]:
        return (self.row(index) for index in range(len(self)))

    def row(self, index: int) -> TrialRow:
        """Return one row."""
        tier: Any = int(self.tier[index])
        return TrialRow(
            trial_id=str(self.trial_id[index]),
            agent=self.agent[index],
            family=self.family[index],
            task=self.task[index],
            item=self.item[index],
            site=self.site[index],
            tier=tier,
            embodiment=self.embodiment[index] or None,
            monitor=self.monitor[index] or None,
            duration_s=float(self.duration_s[index]),
            elapsed_s=_none_if_nan(self.elapsed_s[index]),
            outcome=OUTCOMES[self.outcome[index]],
            done=bool(self.done[index]),
            harm=bool(self.harm[index]),
            mistake=bool(self.mistake[index]),
            mistake_at_s=_none_if_nan(self.mistake_at_s[index]),
            criteria=tuple(filter(None, self.criteria[index].split(";"))),
            seed=None if np.isnan(self.seed[index]) else int(self.seed[index]),
            config_digest=self.config_digest[index],
            record=str(self.record[index]) or None,
        )

    def values(self, rows: slice) -> dict[str, list[Any]]:
        """Return the columns of some rows as plain values for a file: names of codes, None for what is missing."""
        columns: dict[str, list[Any]] = {}
        for name in COLUMNS:
            column = getattr(self, name)
            if isinstance(column, Factor):
                columns[name] = [column.names[code] for code in column.codes[rows].tolist()]
            else:
                columns[name] = column[rows].tolist()
        columns["outcome"] = [str(OUTCOMES[code]) for code in columns["outcome"]]
        for name in ("elapsed_s", "mistake_at_s", "seed"):
            columns[name] = [None if value != value else value for value in columns[name]]
        columns["seed"] = [None if value is None else int(value) for value in columns["seed"]]
        for name in ("embodiment", "monitor", "record"):
            columns[name] = [value or None for value in columns[name]]
        return columns

    def take(self, rows: NDArray[Any]) -> "TrialTable":
        """Return the table of the selected rows (a mask or indices)."""
        columns: dict[str, Any] = {
            name: value.take(rows) if isinstance(value := getattr(self, name), Factor) else value[rows]
            for name in COLUMNS
        }
        return TrialTable(source=self.source, check=False, **columns)

    @property
    def graded(self) -> BoolArray:
        """Which trials say something about the agent: not ABORTED, UNSCORED or INDETERMINATE."""
        return np.isin(self.outcome, [OUTCOMES.index(outcome) for outcome in GRADED])

    def passed(self, definition: Definition) -> BoolArray:
        """Return which trials pass under ``definition``; meaningless for trials that are not graded."""
        if definition is Definition.AGENT_ALONE:
            return np.equal(self.outcome, OUTCOMES.index(Outcome.PASS)) & ~self.mistake
        return self.done & ~self.harm


def problems_in(table: TrialTable) -> list[Problem]:
    """Return everything wrong with the rows of ``table``."""
    duration, at_s = table.duration_s, table.mistake_at_s
    is_pass = table.outcome == OUTCOMES.index(Outcome.PASS)
    is_critical = table.outcome == OUTCOMES.index(Outcome.CRITICAL)
    # Written so that NaN fails.
    checks: list[tuple[BoolArray, Callable[[int], str]]] = [
        (
            ~((duration > 0) & np.isfinite(duration)),
            lambda i: f"duration_s is {duration[i]}; must be finite and above 0",
        ),
        (
            ~np.isnan(table.elapsed_s) & ~((table.elapsed_s >= 0) & np.isfinite(table.elapsed_s)),
            lambda i: f"elapsed_s is {table.elapsed_s[i]}; must be finite and not negative",
        ),
        (
            ~np.isnan(at_s) & ~((at_s >= 0) & np.isfinite(at_s)),
            lambda i: f"mistake_at_s is {at_s[i]}; must be finite and not negative",
        ),
        (
            ~np.isnan(at_s) & ~table.mistake,
            lambda i: f"mistake_at_s is {at_s[i]} but mistake is false",
        ),
        (is_pass & ~table.done, lambda _: "outcome is PASS but done is false"),
        (is_pass & table.harm, lambda _: "outcome is PASS but harm is true"),
        (
            is_critical & ~table.mistake & ~table.harm,
            lambda _: "outcome is CRITICAL but neither mistake nor harm is true",
        ),
        (~np.isin(table.tier, (1, 2, 3)), lambda i: f"tier is {table.tier[i]}; must be 1, 2 or 3"),
        (table.trial_id == "", lambda _: "trial_id is missing"),
        (table.agent.is_(""), lambda _: "agent is missing"),
        (table.item.is_(""), lambda _: "item (the cluster key) is missing"),
        (table.site.is_(""), lambda _: "site is missing"),
        *(_not_one_of(table.embodiment, "embodiment", EMBODIMENTS)),
        *(_not_one_of(table.monitor, "monitor", MONITOR_MODES)),
    ]
    found = [
        Problem(int(i) + 1, str(table.trial_id[i]), message(int(i)))
        for bad, message in checks
        for i in np.flatnonzero(bad)
    ]
    return found + _repeated_ids(table.trial_id) + _items_with_two_durations(table)


def _not_one_of(
    column: Factor, name: str, allowed: Sequence[str]
) -> list[tuple[BoolArray, Callable[[int], str]]]:
    def message(value: str) -> Callable[[int], str]:
        return lambda _: f"{name} is {value!r}; must be {', '.join(allowed)} or empty"

    wrong = [value for value in column.names if value and value not in allowed]
    return [(column.is_(value), message(value)) for value in wrong]


def _repeated_ids(trial_id: NDArray[np.object_]) -> list[Problem]:
    if len(set(trial_id)) == len(trial_id):
        return []
    first: dict[str, int] = {}
    found = []
    for index, name in enumerate(trial_id):
        if name and first.setdefault(name, index) != index:
            found.append(Problem(index + 1, name, f"trial_id is already used in row {first[name] + 1}"))
    return found


def _items_with_two_durations(table: TrialTable) -> list[Problem]:
    """An item has one nominal duration: two of them mean that two tasks share a cluster key."""
    order = np.argsort(table.item.codes, kind="stable")
    codes, duration = table.item.codes[order], table.duration_s[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.empty(0, int)
    first = order[np.repeat(starts, np.diff(np.r_[starts, len(codes)]))]
    bad = (duration != table.duration_s[first]) & np.isfinite(duration) & np.isfinite(table.duration_s[first])
    return [
        Problem(
            int(i) + 1,
            str(table.trial_id[i]),
            f"item {table.item[i]!r} has duration_s {table.duration_s[i]:g} here "
            f"but {table.duration_s[j]:g} in row {j + 1}",
        )
        for i, j in zip(order[bad], first[bad], strict=True)
    ]


def _objects(values: Sequence[str]) -> NDArray[np.object_]:
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
