"""Exact bounds on a pass or failure probability, and what they say about a horizon without a model.

Every bound is about trials like the ones seen: a finite suite of tasks, independent draws. None is a
posterior, and none covers a hazard that no scenario contains.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.columns import FloatArray
from rig.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval with its level and method; infinite or 0 where it is open.

    ``confidence`` is two-sided: each end alone holds at ``(1 + confidence) / 2``.
    """

    low: float
    high: float
    confidence: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def exact_lower(passes: int, trials: int, confidence: float = 0.95) -> float:
    """Return the one-sided exact (Clopper-Pearson) lower bound on a probability.

    >>> round(exact_lower(30, 30), 5)
    0.90497
    """
    from scipy.special import betaincinv

    _check(passes, trials, confidence)
    return 0.0 if passes == 0 else float(betaincinv(passes, trials - passes + 1, 1.0 - confidence))


def exact_upper(events: int, trials: int, confidence: float = 0.95) -> float:
    """Return the one-sided exact (Clopper-Pearson) upper bound on a probability.

    >>> round(exact_upper(0, 30), 5)
    0.09503
    """
    return 1.0 - exact_lower(trials - events, trials, confidence)


def exact_interval(passes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return the two-sided Clopper-Pearson interval."""
    each = (1.0 + confidence) / 2.0
    low, high = exact_lower(passes, trials, each), exact_upper(passes, trials, each)
    return Interval(low, high, confidence, "Clopper-Pearson")


def wilson_interval(passes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval, which never collapses at 0 or 1.

    >>> round(wilson_interval(10, 10).low, 4)
    0.7225
    """
    from statistics import NormalDist

    _check(passes, trials, confidence)
    z2 = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2
    rate = passes / trials
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (rate * (1 - rate) + z2 / (4 * trials)) / trials) / (1 + z2 / trials)
    return Interval(max(0.0, middle - half), min(1.0, middle + half), confidence, "Wilson")


def zero_failure_bound(trials: int, confidence: float = 0.95) -> float:
    """Return the upper bound on the failure probability after ``trials`` clean independent trials.

    >>> [round(100 * zero_failure_bound(n), 3) for n in (30, 100, 300, 600, 3000)]
    [9.503, 2.951, 0.994, 0.498, 0.1]
    """
    _check(0, trials, confidence)
    return -math.expm1(math.log1p(-confidence) / trials)


def trials_needed(failure_rate: float, failures: int = 0, confidence: float = 0.95) -> int:
    """Return how many trials show a failure probability of at most ``failure_rate``.

    Args:
        failure_rate: The probability to be shown, between 0 and 1.
        failures: Failures allowed among those trials.
        confidence: One-sided.

    >>> [trials_needed(0.01, failures) for failures in (0, 1, 2)]
    [299, 473, 628]
    """
    if not 0.0 < failure_rate < 1.0:
        raise UsageError(f"failure_rate must be between 0 and 1, not {failure_rate}")
    low, high = failures, failures + 1
    while exact_upper(failures, high, confidence) > failure_rate:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if exact_upper(failures, middle, confidence) <= failure_rate else (middle, high)
        )
    return high


def monotone_bracket(
    duration_s: FloatArray, passes: FloatArray, trials: FloatArray, q: float, confidence: float = 0.95
) -> Interval:
    """Bracket the horizon at pass probability ``q`` assuming only that passing never gets easier.

    If the pass rate does not rise with duration, trials somewhat longer than ``d`` pass at most as often
    as trials of ``d`` do, so their exact lower bound also holds at ``d``. Each duration is tested with the
    trials from it upwards until there are twice as many as a row of passes would need; durations are
    tested from the shortest up, and the first that is not shown ends the row, which keeps the one-sided
    error at ``1 - confidence``. The upper end is the same from the longest duration down.

    Args:
        duration_s: Durations, in any order and repeated at will, shape (n,).
        passes: Independent units of that duration that passed, shape (n,).
        trials: All of them, shape (n,).
        q: Pass probability that defines the horizon.
        confidence: One-sided, for each end.

    Returns:
        ``low`` is 0 and ``high`` infinite where the trials do not show a bound.
    """
    durations, cell = np.unique(np.asarray(duration_s, np.float64), return_inverse=True)
    trials = np.bincount(cell, trials, len(durations)).astype(np.float64)
    passes = np.bincount(cell, passes, len(durations)).astype(np.float64)
    low, high = 0.0, math.inf
    for duration, units, good in _windows(durations, trials, passes, _enough(q, confidence)):
        if not exact_lower(good, units, confidence) >= q:
            break
        low = duration
    backwards = (durations[::-1], trials[::-1], passes[::-1])
    for duration, units, good in _windows(*backwards, _enough(1.0 - q, confidence)):
        if not exact_upper(good, units, confidence) < q:
            break
        high = duration
    return Interval(low, high, 2.0 * confidence - 1.0, "exact, monotone")


def _enough(q: float, confidence: float) -> int:
    return 2 * math.ceil(math.log1p(-confidence) / math.log(q))


def _windows(
    durations: FloatArray, trials: FloatArray, passes: FloatArray, enough: int
) -> Iterator[tuple[float, int, int]]:
    """Yield each duration with the trials and passes from it on, until there are ``enough``.

    What is in a window depends on how many trials there are, never on how they ended.
    """
    for i, duration in enumerate(durations):
        reached = np.cumsum(trials[i:])
        end = i + 1 + min(int(np.searchsorted(reached, enough)), len(reached) - 1)
        yield float(duration), round(trials[i:end].sum()), round(passes[i:end].sum())


def _check(passes: int, trials: int, confidence: float) -> None:
    if not 0 <= passes <= trials or trials < 1:
        raise UsageError(f"need 0 <= events <= trials and at least one trial, not {passes} of {trials}")
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must be between 0 and 1, not {confidence}")
