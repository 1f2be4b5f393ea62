"""From a trial table to time under way: when mistakes come, and what else ends a trial."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from analysis.columns import BoolArray, FloatArray, IntArray, combine
from analysis.counting import second_looks
from analysis.survival import (
    Incidence,
    Rate,
    Survival,
    Weibull,
    aalen_johansen,
    constant_rate,
    hazard,
    kaplan_meier,
    weibull,
)
from analysis.trials import OUTCOMES, Definition, Outcome, TrialTable
from rig.core.errors import UsageError

STRETCHES = 6
MOST_FOR_INCIDENCE = 4000  # its standard errors cost trials times distinct times


class End(IntEnum):
    """How a trial ended, as far as time to a mistake is concerned."""

    DONE = 0
    MISTAKE = 1
    HANDED_OVER = 2
    RIG_STOPPED = 3


END_WORDS = {
    End.MISTAKE: "mistake",
    End.HANDED_OVER: "ended with the job not done",
    End.RIG_STOPPED: "stopped by the rig",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Exposure:
    """Time under way of one agent, until its first mistake (agent alone) or first harm (with monitor).

    Attributes:
        trials: Trials with a known time.
        untimed: Trials left out because neither elapsed time nor time of the mistake is known.
        stretches_s: Ends of the stretches of ``hazard``, one more than there are rates.
        weibull: None without at least two mistakes at different times.
        incidence: How probable each way of ending is; None for very many trials.
    """

    agent: str
    tier: int
    embodiment: str
    definition: Definition
    trials: int
    untimed: int
    survival: Survival
    rate: Rate
    stretches_s: tuple[float, ...]
    hazard: tuple[Rate, ...]
    weibull: Weibull | None
    incidence: Incidence | None


def exposures(table: TrialTable, confidence: float = 0.95) -> tuple[Exposure, ...]:
    """Return the time under way of every agent on every kind of bench, where times are known."""
    group, first = combine(table.agent.codes, table.tier, table.embodiment.codes)
    counts = {
        Definition.AGENT_ALONE: ~second_looks(table),
        Definition.AGENT_WITH_MONITOR: table.monitor.is_("guard"),
    }
    each = (
        _exposure(table, np.flatnonzero((group == number) & rows), definition, confidence)
        for number in range(len(first))
        for definition, rows in counts.items()
    )
    return tuple(one for one in each if one is not None)


def _exposure(
    table: TrialTable, index: IntArray, definition: Definition, confidence: float
) -> Exposure | None:
    time_s, end = _times(table, index, definition)
    known = np.isfinite(time_s) & (time_s > 0.0)
    if not known.any():
        return None
    index, time_s, end = index[known], time_s[known], end[known]
    mistake = end == End.MISTAKE
    edges = _stretches(time_s)
    return Exposure(
        agent=table.agent[int(index[0])],
        tier=int(table.tier[index[0]]),
        embodiment=table.embodiment[int(index[0])],
        definition=definition,
        trials=len(index),
        untimed=int(np.count_nonzero(~known)),
        survival=kaplan_meier(time_s, mistake, confidence),
        rate=constant_rate(float(time_s.sum()), int(mistake.sum()), confidence),
        stretches_s=tuple(edges.tolist()),
        hazard=hazard(time_s, mistake, edges, confidence),
        weibull=_weibull(time_s, mistake),
        incidence=aalen_johansen(time_s, end, 3) if len(index) <= MOST_FOR_INCIDENCE else None,
    )


def _times(table: TrialTable, index: IntArray, definition: Definition) -> tuple[FloatArray, IntArray]:
    """Return when each trial ended for this purpose, and how."""
    alone = definition is Definition.AGENT_ALONE
    bad = table.mistake[index] if alone else table.harm[index]
    elapsed, at = table.elapsed_s[index], table.mistake_at_s[index]
    outcome = table.outcome[index]
    end = np.where(outcome == OUTCOMES.index(Outcome.PASS), End.DONE, End.HANDED_OVER)
    # With the monitor a prevented mistake ends nothing by itself: the job may still be done.
    end = np.where(table.done[index] & ~bad, End.DONE, end)
    end = np.where(table.graded[index], end, End.RIG_STOPPED)
    end = np.where(bad, End.MISTAKE, end)
    return np.where(bad & np.isfinite(at), at, elapsed), end.astype(np.int64)


def _stretches(time_s: FloatArray) -> FloatArray:
    """Return ends of stretches with about equal exposure, starting at 0."""
    ordered = np.sort(time_s)
    left = len(ordered) - np.arange(len(ordered))
    exposure = np.cumsum(np.diff(np.r_[0.0, ordered]) * left)
    shares = np.linspace(0.0, exposure[-1], STRETCHES + 1)[1:-1]
    cuts = np.interp(shares, np.r_[0.0, exposure], np.r_[0.0, ordered])
    return np.unique(np.r_[0.0, cuts, ordered[-1]])


def _weibull(time_s: FloatArray, mistake: BoolArray) -> Weibull | None:
    try:
        return weibull(time_s, mistake) if np.count_nonzero(mistake) > 1 else None
    except UsageError:
        return None  # all mistakes at one time: no shape
