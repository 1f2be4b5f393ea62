"""From a trial table to a horizon report: one estimate per agent, task family, tier and definition."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any, Self

import numpy as np

from analysis.bootstrap import Scheme
from analysis.columns import BoolArray, Factor, FloatArray, IntArray, combine
from analysis.counting import counted
from analysis.estimate import EstimateOptions, Group, estimate
from analysis.findings import Estimate, Flag, Refusal
from analysis.fit import Cells
from analysis.harm import DoneHarm, done_harm
from analysis.trials import COLUMNS, OUTCOMES, Definition, TrialTable
from rig.core.errors import UsageError


class Configurations(StrEnum):
    """What to do with an agent whose trials ran under different configurations."""

    REFUSE = "refuse"
    POOL = "pool"
    SPLIT = "split"


class Weighting(StrEnum):
    """How trials count."""

    NONE = "none"
    TASK = "task"
    INVSQRT_FAMILY = "invsqrt_family"


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonOptions:
    """What to report and how.

    Attributes:
        estimate: How each estimate is made.
        by_family: Also estimate each task family of an agent on its own.
        configurations: What to do with an agent whose trials carry different configuration digests.
        weighting: ``none`` (the RUN protocol), each ``task`` alike, or tasks weighted by one over the
            square root of the number of tasks in their family, as METR does.
        guess_floor: Beside the horizon, also fit above this probability of a lucky guess.
        tier_replicates: Draws of the parametric bootstrap of the ratios between stages; 0 for none.
    """

    estimate: EstimateOptions = field(default_factory=EstimateOptions)
    by_family: bool = True
    configurations: Configurations = Configurations.REFUSE
    weighting: Weighting = Weighting.NONE
    guess_floor: float = 0.0
    tier_replicates: int = 0

    @classmethod
    def metr(cls, ridge_per_log2: float = 1e-5, **estimate: Any) -> Self:  # noqa: ANN401
        """Return the settings of METR's published horizons.

        Their code weights tasks by one over the square root of the family size, penalises the squared
        slope per doubling (0.1 before March 2026, 1e-5 since), and draws families, tasks and runs.
        """
        made = EstimateOptions(schemes=(Scheme.FAMILIES,), ridge_per_log2=ridge_per_log2, **estimate)
        return cls(estimate=made, by_family=False, weighting=Weighting.INVSQRT_FAMILY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whose horizon it is. Tiers and embodiments are never mixed.

    Attributes:
        family: Task family, or None for all families together.
        embodiment: How the bench is embodied, "" where a tier has none.
        config_digest: Set where configurations were split.
    """

    agent: str
    family: str | None
    tier: int
    embodiment: str
    definition: Definition
    config_digest: str | None = None

    def __str__(self) -> str:
        where = f"tier {self.tier}" + (f" {self.embodiment}" if self.embodiment else "")
        parts = [self.agent, self.family or "all families", where, str(self.definition)]
        return ", ".join(parts + ([self.config_digest[:12]] if self.config_digest else []))


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the report."""

    subject: Subject
    estimate: Estimate
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excluded:
    """A trial that says nothing about its agent."""

    trial_id: str
    agent: str
    outcome: str
    record: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonReport:
    """Everything the horizon analysis found in one trial table.

    Attributes:
        source: Where the table came from.
        data_digest: SHA-256 of the rows, whatever their order.
        pooled: Agents whose configurations were pooled on request, with their digests.
    """

    source: str
    data_digest: str
    trials: int
    options: HorizonOptions
    entries: tuple[Entry, ...]
    done_harm: tuple[DoneHarm, ...]
    excluded: tuple[Excluded, ...]
    pooled: tuple[tuple[str, tuple[str, ...]], ...]
    versions: tuple[tuple[str, str], ...]

    def of(self, agent: str, definition: Definition, family: str | None = None) -> tuple[Entry, ...]:
        """Return the entries of one agent."""
        return tuple(
            entry
            for entry in self.entries
            if (entry.subject.agent, entry.subject.definition, entry.subject.family)
            == (agent, definition, family)
        )

    @property
    def has_horizon(self) -> bool:
        """Whether at least one horizon was printed."""
        return any(entry.estimate.horizons for entry in self.entries)


def horizons(table: TrialTable, options: HorizonOptions | None = None) -> HorizonReport:
    """Estimate every horizon that ``table`` supports.

    Args:
        table: The trials; those that are not graded are excluded and listed.
        options: What to report; by default the RUN protocol.

    Raises:
        UsageError: If an agent's trials carry different configuration digests and ``options`` does not
            say what to do with them.
    """
    options = options or HorizonOptions()
    pooled = _configurations(table, options.configurations)
    entries = [_entry(table, rows, subject, options) for subject, rows in _subjects(table, options)]
    mixed = {agent for agent, _ in pooled}
    out = np.flatnonzero(~table.graded)
    return HorizonReport(
        source=table.source,
        data_digest=data_digest(table),
        trials=len(table),
        options=options,
        entries=tuple(_marked(entry) if entry.subject.agent in mixed else entry for entry in entries),
        done_harm=done_harm(table, options.estimate.confidence),
        excluded=tuple(
            Excluded(
                str(table.trial_id[i]),
                table.agent[int(i)],
                str(OUTCOMES[table.outcome[i]]),
                str(table.record[i]),
            )
            for i in out
        ),
        pooled=pooled,
        versions=_versions(),
    )


def data_digest(table: TrialTable) -> str:
    """Return the SHA-256 of the rows, the same for every order of them and wherever the records lie."""
    order = np.argsort(table.trial_id, kind="stable")
    total = hashlib.sha256("\n".join(table.trial_id[order]).encode())
    for name in COLUMNS:
        column = getattr(table, name)
        if isinstance(column, Factor):
            total.update("\x1f".join((name, *column.names)).encode())
            total.update(np.ascontiguousarray(column.codes[order], "<i4").tobytes())
        elif column.dtype != np.object_:
            total.update(np.ascontiguousarray(column[order].astype("<f8")).tobytes())
    return total.hexdigest()


def _configurations(
    table: TrialTable, configurations: Configurations
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the agents with several configurations, having refused them if so asked."""
    _, first = combine(table.agent.codes, table.config_digest.codes)
    found: dict[str, list[str]] = {}
    for row in first.tolist():
        found.setdefault(table.agent[row], []).append(table.config_digest[row])
    mixed = [(agent, tuple(digests)) for agent, digests in found.items() if len(digests) > 1]
    if mixed and configurations is Configurations.REFUSE:
        lines = [
            f"{table.source}: agent {agent!r} has trials of {len(digests)} configurations "
            f"({', '.join(digest[:12] or 'none given' for digest in digests)})"
            for agent, digests in mixed
        ]
        raise UsageError("\n".join([*lines, "say whether to pool or to split configurations"]))
    return tuple(mixed) if configurations is Configurations.POOL else ()


def _subjects(table: TrialTable, options: HorizonOptions) -> Iterator[tuple[Subject, BoolArray]]:
    """Yield whose horizons are asked for, with the trials that count for each."""
    split = options.configurations is Configurations.SPLIT
    config = table.config_digest.codes if split else np.zeros(len(table), np.int32)
    group, first = combine(table.agent.codes, table.tier, table.embodiment.codes, config)
    counts = {definition: counted(table, definition) for definition in Definition}
    for number, row in enumerate(first.tolist()):
        of_key = group == number
        families = np.flatnonzero(np.bincount(table.family.codes[of_key])).tolist()
        choices: list[int | None] = [None, *(families if options.by_family and len(families) > 1 else [])]
        for family in choices:
            rows = of_key if family is None else of_key & (table.family.codes == family)
            for definition in Definition:
                subject = Subject(
                    agent=table.agent[row],
                    family=None if family is None else table.family.names[family],
                    tier=int(table.tier[row]),
                    embodiment=table.embodiment[row],
                    definition=definition,
                    config_digest=table.config_digest[row] if split else None,
                )
                yield subject, rows & counts[definition]


def _entry(table: TrialTable, rows: BoolArray, subject: Subject, options: HorizonOptions) -> Entry:
    if not rows.any() and subject.definition is Definition.AGENT_WITH_MONITOR and table.graded.any():
        empty = Estimate(
            trials=0,
            passes=0,
            items=0,
            cells=Cells(np.empty(0), np.empty(0), np.empty(0)),
            refusal=Refusal.NO_GUARD,
            statement=f"not assessed: {Refusal.NO_GUARD}",
        )
        return Entry(subject, empty, ())
    index = np.flatnonzero(rows)
    group = Group(
        duration_s=table.duration_s[index],
        passed=table.passed(subject.definition)[index],
        item=table.item.codes[index].astype(np.int64),
        family=table.family.codes[index].astype(np.int64),
        weight=weights(table, index, options.weighting),
    )
    records = tuple(sorted({str(name) for name in table.record[index] if name}))
    return Entry(subject, estimate(group, options.estimate), records)


def _marked(entry: Entry) -> Entry:
    flags = (*entry.estimate.flags, Flag.CONFIGS_POOLED)
    return replace(entry, estimate=replace(entry.estimate, flags=flags))


def weights(table: TrialTable, index: IntArray, weighting: Weighting) -> FloatArray | None:
    """Return the weight of each selected trial, or None where all count alike."""
    if weighting is Weighting.NONE:
        return None
    item, family = table.item.codes[index], table.family.codes[index]
    each: FloatArray = 1.0 / np.bincount(item)[item]
    if weighting is Weighting.TASK:
        return each
    _, first = combine(family, item)
    tasks = np.bincount(family[first], minlength=int(family.max()) + 1)
    return np.asarray(each / np.sqrt(tasks[family]))


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("runrig", "numpy", "scipy", "numba"):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "not installed"))
    return tuple(found)
