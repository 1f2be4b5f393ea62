"""Shares and rates with exact limits, and with limits that respect clusters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

REPLICATES = 2000


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with its level and method."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of events, with exact and clustered intervals; None where there were none to count."""

    hits: int
    of: int
    value: float | None
    exact: Interval | None
    clustered: Interval | None


@dataclass(frozen=True, slots=True)
class PerHour:
    """Events per hour of exposure with exact Poisson limits."""

    events: int
    hours: float
    value: float | None
    exact: Interval | None


def clopper_pearson(hits: int, of: int, level: float = 0.95) -> Interval:
    """Return exact limits for a share.

    >>> round(clopper_pearson(0, 59).high, 4), round(clopper_pearson(59, 59).low, 4)
    (0.0606, 0.9394)
    """
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, hits, of - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - tail, hits + 1, of - hits)) if hits < of else 1.0
    return Interval(low, high, level, "Clopper-Pearson")


def zero_miss_bound(n: int, level: float = 0.95) -> float:
    """Return the one-sided upper bound on the share of misses after none in ``n``.

    >>> round(zero_miss_bound(299), 4)
    0.01
    """
    return float(1 - (1 - level) ** (1 / n)) if n else 1.0


def poisson_per_hour(events: int, hours: float, level: float = 0.95) -> PerHour:
    """Return a rate with exact limits.

    >>> round(poisson_per_hour(0, 10.0).exact.high, 3)
    0.369
    """
    if not hours > 0:
        return PerHour(events, hours, None, None)
    tail = (1 - level) / 2
    low = float(stats.chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    high = float(stats.chi2.ppf(1 - tail, 2 * events + 2)) / 2
    return PerHour(events, hours, events / hours, Interval(low / hours, high / hours, level, "exact Poisson"))


def rate(
    hits: Sequence[bool], clusters: Sequence[str], rng: np.random.Generator, level: float = 0.95
) -> Rate:
    """Return a share with exact limits, and with limits from resampling whole clusters."""
    if not hits:
        return Rate(0, 0, None, None, None)
    n, of = sum(hits), len(hits)
    return Rate(n, of, n / of, clopper_pearson(n, of, level), _clustered(hits, clusters, rng, level))


def _clustered(
    hits: Sequence[bool], clusters: Sequence[str], rng: np.random.Generator, level: float
) -> Interval | None:
    """Resample whole clusters; None with fewer than two."""
    names, which = np.unique(np.array(clusters), return_inverse=True)
    if len(names) < 2:
        return None
    reached = np.bincount(which, weights=np.array(hits, dtype=np.float64))
    sizes = np.bincount(which)
    drawn = rng.integers(len(names), size=(REPLICATES, len(names)))
    shares = reached[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, "cluster bootstrap")
