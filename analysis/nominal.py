"""What a competent carer's time for a job is, from people who did it: the duration a horizon is measured in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from analysis.bounds import Interval
from analysis.trials import Outcome, TrialRow
from rig.core.errors import UsageError

FEWEST = 2


@dataclass(frozen=True, slots=True)
class NominalTime:
    """One length of one task, as people did it.

    Attributes:
        people: Trials that were passed; only these count, since a job half done takes no time at all.
        failed: Trials that were not.
        mean_s: Geometric mean of the time taken, thinking included.
        interval: Of that mean, log-normal; None with fewer than two trials.
        stated_s: What the task's file says.
    """

    task: str
    length: str
    people: int
    failed: int
    mean_s: float
    interval: Interval | None
    stated_s: float

    @property
    def agrees(self) -> bool | None:
        """Whether the stated time lies in the interval; None where there is none."""
        return None if self.interval is None else self.interval.low <= self.stated_s <= self.interval.high


def nominal_times(
    rows: Sequence[TrialRow], agent: str = "human", confidence: float = 0.95
) -> list[NominalTime]:
    """Return the time people took for each length of each task.

    Raises:
        UsageError: If no graded trial is by a person.
    """
    groups: dict[tuple[str, str], list[TrialRow]] = {}
    for row in rows:
        if row.agent == agent and row.graded:
            groups.setdefault((row.task, row.item.split("/")[1]), []).append(row)
    if not groups:
        raise UsageError(f"NOT ASSESSED: no graded trial of agent {agent!r} is there")
    return [_time_of(task, length, trials, confidence) for (task, length), trials in sorted(groups.items())]


def _time_of(task: str, length: str, trials: Sequence[TrialRow], confidence: float) -> NominalTime:
    logs = np.array([math.log(r.elapsed_s) for r in trials if r.outcome is Outcome.PASS and r.elapsed_s])
    n = len(logs)
    mean = float(logs.mean()) if n else math.nan
    interval = None
    if n >= FEWEST:
        half = float(student.ppf((1 + confidence) / 2, n - 1) * logs.std(ddof=1) / math.sqrt(n))
        interval = Interval(math.exp(mean - half), math.exp(mean + half), confidence, "log-normal mean")
    return NominalTime(
        task, length, n, len(trials) - n, math.exp(mean) if n else math.nan, interval, trials[0].duration_s
    )
