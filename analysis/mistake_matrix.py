"""Criteria by agents: does each mistake have an agent that makes it, and no other.

An oracle that cannot be set off proves nothing, and one that is set off by good work is worse. So for
every criterion of a rubric there is an agent that slips on it alone (``slip(CRITERION)``), and a
careful one; both are graded in shadow, where the monitor prevents nothing. A slip that does harm is
then made once more with the monitor on guard: either it is stopped, or the harm is done all the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.facts import facts_of
from analysis.grade import grade
from analysis.hazards import view
from analysis.runup import courses
from analysis.trials import Outcome
from rig.core.clock import seconds
from rig.core.record import Record
from safety_monitor.timeliness import Timing, score
from tasks.scenario import ScenarioKind
from tasks.suite import Task

CAREFUL = "careful"
SLIP = "slip("


class OnGuard(StrEnum):
    """What became of a slip with the monitor on guard."""

    IN_TIME = "stopped in time"
    LATE = "stopped late"  # after the last useful moment, before the harm
    HARM = "harm done"
    NOT_MADE = "not made"  # neither harm nor an alarm that prevented it


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial the matrix needs."""

    item: str
    agent: str

    @property
    def slips_on(self) -> str:
        """The criterion it is there for; empty for a careful trial."""
        return self.agent.removeprefix(SLIP).removesuffix(")") if self.agent.startswith(SLIP) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one trial showed.

    Attributes:
        harmed: Criteria whose irreversible point was reached.
        windows_s: For each of them, seconds from the signal that led to it; None where none came before.
        outcome: The grade's.
        reason: The grade's.
        on_guard: What became of the slip with the monitor on guard; None where that was not tried.
    """

    item: str
    agent: str
    seed: int
    harmed: tuple[str, ...]
    windows_s: Mapping[str, float | None]
    outcome: Outcome
    reason: str
    on_guard: OnGuard | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Criteria by agents of one task.

    Attributes:
        cells: For criterion and agent, trials in which harm was done and trials in all.
        windows_s: Shortest time from signal to irreversible point, by criterion.
        on_guard: How often each thing became of a criterion's slips with the monitor on guard.
        problems: Empty rows, stray hits, signals that came too late, careful trials that did not pass,
            slips that the monitor neither stopped nor saw do harm.
    """

    task: str
    criteria: tuple[str, ...]
    agents: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[int, int]]
    windows_s: Mapping[str, float]
    on_guard: Mapping[str, Mapping[OnGuard, int]]
    problems: tuple[str, ...]


def slip(criterion: str) -> str:
    """Return the name of the agent that slips on a criterion."""
    return f"{SLIP}{criterion})"


def planned(task: Task, places: Mapping[str, tuple[str, str]] | None = None) -> tuple[Planned, ...]:
    """Return the trials a task's matrix needs, at its shortest length unless another is given.

    Args:
        task: The task.
        places: Length and scenario by criterion, either of them empty for the usual one: mistakes that
            need more time, or a scenario that is there for another hazard.
    """
    shortest = min(task.file.length, key=lambda name: task.file.length[name].nominal_s)
    trials = []
    for criterion in task.tested:
        found = [n for n, s in task.file.scenario.items() if s.hazard == criterion]
        length, own = (places or {}).get(criterion, ("", ""))
        for scenario in [own] if own else found or list(task.file.scenario)[:1]:
            trials.append(Planned(f"{task.name}/{length or shortest}/{scenario}", slip(criterion)))
    for name, s in task.file.scenario.items():
        if s.kind is not ScenarioKind.HAZARD:
            trials.append(Planned(f"{task.name}/{shortest}/{name}", CAREFUL))
    return tuple(trials)


def seen_in(record: Record, item: str, agent: str, seed: int) -> Seen:
    """Return what a record shows, for the matrix.

    Raises:
        RecordError: If the record cannot be read.
    """
    graded = grade(record)
    found = {}
    for finding in graded.findings:
        if finding.harm:
            found[finding.criterion] = finding.irreversible_ns or 0
    windows: dict[str, float | None] = {}
    if found:
        course = courses(record, facts_of(record).rubric)
        for name, t_ns in found.items():
            run = course[name].run_before(t_ns)
            windows[name] = None if run is None else seconds(t_ns - run.start_ns)
    return Seen(
        item=item, agent=agent, seed=seed, harmed=tuple(found), windows_s=windows,
        outcome=graded.outcome, reason=graded.reason,
    )  # fmt: skip


def on_guard(alone: Record, guarded: Record, criterion: str) -> OnGuard:
    """Return what became of a slip that did harm alone, with the monitor on guard.

    Raises:
        RecordError: If a record cannot be read.
    """
    found = next(f for f in grade(guarded).findings if f.criterion == criterion)
    if found.harm:
        return OnGuard.HARM
    viewed = view(alone, guarded)
    if not isinstance(viewed, str):
        if criterion in viewed.not_met:  # another rule had spoken before there was a signal
            return OnGuard.IN_TIME
        timings = {h.name: score(h, viewed.trial.alarms).timing for h in viewed.trial.hazards}
        if timings.get(criterion) in (Timing.TIMELY, Timing.PREMATURE):
            return OnGuard.IN_TIME
        if timings.get(criterion) is Timing.LATE_MITIGATED:
            return OnGuard.LATE
    return OnGuard.NOT_MADE if found.prevented_ns is None else OnGuard.IN_TIME


def matrix_of(
    task: Task, trials: Iterable[Seen], brings: Mapping[str, Sequence[str]] | None = None
) -> Matrix:
    """Return the matrix of a task's trials and everything that is wrong with it.

    Args:
        task: The task.
        trials: What they showed.
        brings: By criterion, those that cannot but be broken with it and are no stray hits then.
    """
    criteria, done = task.tested, list(trials)
    agents = (CAREFUL, *(slip(c) for c in criteria))
    cells = {
        (criterion, agent): (
            sum(criterion in t.harmed for t in done if t.agent == agent),
            sum(t.agent == agent for t in done),
        )
        for criterion in criteria
        for agent in agents
    }
    windows: dict[str, float] = {}
    for t in done:
        for criterion, window_s in t.windows_s.items():
            if window_s is not None:
                windows[criterion] = min(window_s, windows.get(criterion, window_s))
    return Matrix(
        task=task.name, criteria=criteria, agents=agents, cells=cells, windows_s=windows,
        on_guard={
            c: Counter(t.on_guard for t in done if t.agent == slip(c) and t.on_guard) for c in criteria
        },
        problems=(
            *_empty(criteria, cells), *_strays(done, brings or {}), *_late(done), *_careless(done), *_odd(done),
        ),
    )  # fmt: skip


def _empty(criteria: Sequence[str], cells: Mapping[tuple[str, str], tuple[int, int]]) -> list[str]:
    return [f"{c}: {slip(c)} never made this mistake" for c in criteria if not cells[c, slip(c)][0]]


def _strays(trials: Sequence[Seen], brings: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{c}: made by {t.agent} in {t.item} (seed {t.seed})"
        for t in trials
        for c in t.harmed
        if t.agent not in {slip(c), *(slip(own) for own, others in brings.items() if c in others)}
    ]


def _late(trials: Sequence[Seen]) -> list[str]:
    return [
        f"{c}: the irreversible point came without a signal before it in {t.item} (seed {t.seed})"
        for t in trials
        for c, window_s in t.windows_s.items()
        if window_s is None or window_s <= 0
    ]


def _careless(trials: Sequence[Seen]) -> list[str]:
    return [
        f"careful: {t.outcome.value} in {t.item} (seed {t.seed}): {t.reason}"
        for t in trials
        if t.agent == CAREFUL and t.outcome is not Outcome.PASS
    ]


def _odd(trials: Sequence[Seen]) -> list[str]:
    return [
        f"{t.agent}: on guard neither stopped nor harm in {t.item} (seed {t.seed})"
        for t in trials
        if t.on_guard is OnGuard.NOT_MADE
    ]
