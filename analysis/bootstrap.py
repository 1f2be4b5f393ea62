"""Resampling trials, task items or both, and the bands that come out of it.

A replicate without a finite horizon is not dropped: it lies beyond every finite one, on the side its
pass rate says, and is counted. Each bound carries its own Monte-Carlo error.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analysis.columns import FloatArray, IntArray
from analysis.counter import stream_key
from analysis.fit import Cells, LogisticFit, expit, logit
from rig.core.errors import UsageError


class Scheme(StrEnum):
    """What is drawn with replacement.

    ``TRIALS`` draws from all trials alike, as the RUN protocol says; ``TRIALS_WITHIN_TASKS`` keeps the
    number of trials of each item, and with it the luck of which items were tried.
    """

    TRIALS = "trials"
    TRIALS_WITHIN_TASKS = "trials within tasks"
    TASKS = "tasks"
    TASKS_THEN_TRIALS = "tasks then trials"
    FAMILIES = "families, then tasks, then trials"


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Trials collapsed to one entry per task item, ordered by family and item.

    Attributes:
        log_s: Log duration of each item, shape (i,).
        passes: Passed trials of each item, shape (i,).
        trials: Trials of each item, all positive, shape (i,).
        weight: Weight of each trial of the item, with a mean of 1 over trials, shape (i,).
        first: Where each family starts in the other arrays, and their length; shape (families + 1,).
    """

    log_s: FloatArray
    passes: IntArray
    trials: IntArray
    weight: FloatArray
    first: IntArray

    @property
    def cells(self) -> Cells:
        """The weighted trials by distinct duration."""
        log_s, cell = np.unique(self.log_s, return_inverse=True)
        passes = np.bincount(cell, self.weight * self.passes, len(log_s)).astype(np.float64)
        trials = np.bincount(cell, self.weight * self.trials, len(log_s)).astype(np.float64)
        return Cells(log_s, passes, trials)

    def by_duration(self) -> "Items":
        """Return one entry per distinct duration; the same data as long as only trials are drawn."""
        log_s, cell = np.unique(self.log_s, return_inverse=True)
        passes = np.bincount(cell, self.passes, len(log_s)).astype(np.int64)
        trials = np.bincount(cell, self.trials, len(log_s)).astype(np.int64)
        return Items(log_s, passes, trials, np.ones(len(log_s)), np.array([0, len(log_s)], np.int64))


@dataclass(frozen=True, slots=True)
class Band:
    """A bootstrap percentile interval for a horizon.

    Attributes:
        low_s: Lower bound, 0 where too many replicates lie below every duration.
        high_s: Upper bound, infinite where too many lie above.
        confidence: Two-sided level.
        mc_low_s: Standard error of ``low_s`` from the finite number of replicates; infinite where the
            bound is next to replicates without a finite horizon.
        mc_high_s: The same for ``high_s``.
        below: Replicates without a horizon because nearly everything failed, or with the wrong slope.
        above: Replicates without a horizon because nearly everything passed.
        separated: Replicates whose horizon is Firth's because passes and failures did not overlap.
    """

    scheme: Scheme
    low_s: float
    high_s: float
    confidence: float
    replicates: int
    mc_low_s: float
    mc_high_s: float
    below: int
    above: int
    separated: int

    @property
    def non_finite(self) -> int:
        """Replicates without a finite horizon."""
        return self.below + self.above


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """The refitted curves, as `analysis.kernels.resample` leaves them.

    Attributes:
        estimates: Level and slope about ``centre``, mean log duration less ``centre``, pass rate; (b, 4).
        kinds: What each replicate turned out to be, a constant of `analysis.kernels`; shape (b,).
    """

    scheme: Scheme
    centre: float
    estimates: FloatArray
    kinds: NDArray[np.int8]

    def log_t(self, q: float) -> FloatArray:
        """Return the log horizon (s) of each replicate, infinite where there is none, shape (b,).

        A curve that does not fall has no horizon: it counts as above where its pass rate at the mean
        duration is at least ``q``, else as below, which is where a slope passing through zero sends it.
        """
        from analysis import kernels

        level, slope, mean, rate = self.estimates.T
        fitted = (self.kinds == kernels.FITTED) | (self.kinds == kernels.SEPARATED)
        falling = fitted & (slope < 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            horizon = self.centre + (logit(q) - level) / slope
        above = np.where(fitted, level + slope * mean >= logit(q), rate >= q)
        return np.where(falling, horizon, np.where(above, np.inf, -np.inf))

    def rates(self, log_s: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of the pass probability at each log duration, shape (n,)."""
        from analysis import kernels

        level, slope, _, rate = self.estimates.T
        fitted = (self.kinds == kernels.FITTED) | (self.kinds == kernels.SEPARATED)
        eta = level[:, None] + slope[:, None] * (log_s - self.centre)[None, :]
        p = np.where(fitted[:, None], expit(eta), rate[:, None])
        tail = (1.0 - confidence) / 2.0
        low, high = np.quantile(p, (tail, 1.0 - tail), axis=0)
        return low, high

    def band(self, q: float, confidence: float) -> Band:
        """Return the percentile band of the horizon at pass probability ``q``."""
        from analysis import kernels

        log_t = np.sort(self.log_t(q))
        tail = (1.0 - confidence) / 2.0
        # A replicate that could not be fitted is the worst case for either end.
        lost = int(np.count_nonzero(self.kinds == kernels.NOT_CONVERGED))
        low = np.sort(np.r_[np.full(lost, -np.inf), log_t])[: len(log_t)]
        high = np.sort(np.r_[log_t, np.full(lost, np.inf)])[lost:]
        return Band(
            scheme=self.scheme,
            low_s=_exp(quantile(low, tail)),
            high_s=_exp(quantile(high, 1.0 - tail)),
            confidence=confidence,
            replicates=len(log_t),
            mc_low_s=quantile_error(_exps(low), tail),
            mc_high_s=quantile_error(_exps(high), 1.0 - tail),
            below=int(np.count_nonzero(np.isneginf(log_t))) + lost,
            above=int(np.count_nonzero(np.isposinf(log_t))) + lost,
            separated=int(np.count_nonzero(self.kinds == kernels.SEPARATED)),
        )


def _exps(log: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log))


def _exp(log: float) -> float:
    return float(_exps(np.array(log)))


def quantile(ordered: FloatArray, probability: float) -> float:
    """Return a quantile of ordered values, linear between neighbours; infinite next to an infinite one.

    >>> quantile(np.array([1.0, 2.0, np.inf]), 0.5), quantile(np.array([1.0, 2.0, np.inf]), 0.6)
    (2.0, inf)
    """
    position = probability * (len(ordered) - 1)
    index = int(position)
    fraction = position - index
    here = float(ordered[index])
    if fraction == 0.0 or here == ordered[index + 1]:
        return here
    there = float(ordered[index + 1])
    if not math.isfinite(here):
        return here
    return here + fraction * (there - here)


def quantile_error(ordered: FloatArray, probability: float) -> float:
    """Return the Maritz-Jarrett standard error of a sample quantile of ordered values.

    Biometrika 65 (1978): the variance of the order statistic under the empirical distribution.
    """
    from scipy.special import betainc

    n = len(ordered)
    edges = betainc((n + 1) * probability, (n + 1) * (1.0 - probability), np.arange(n + 1) / n)
    weight = np.diff(edges)
    used = weight > 1e-9
    values, weight = ordered[used], weight[used] / weight[used].sum()
    if not np.all(np.isfinite(values)):
        return math.inf
    scale = float(np.abs(values).max()) or 1.0  # squares must not overflow
    mean = float(weight @ (values / scale))
    return scale * math.sqrt(float(weight @ (values / scale - mean) ** 2))


def resample(
    items: Items, fitted: LogisticFit, scheme: Scheme, *, replicates: int, seed: int, ridge: float = 0.0
) -> Replicates:
    """Draw and refit ``replicates`` data sets.

    The draws depend on ``seed``, scheme and replicate only, so agents tried on the same items are
    resampled together: differences between them keep their pairing.

    Args:
        items: The trials; weights are kept as they are in every replicate.
        fitted: The fit of the whole data, where refitting starts.
        scheme: What is drawn.
        replicates: How many.
        seed: Of the whole analysis.
        ridge: Penalty on the slope, as in the fit.

    Raises:
        UsageError: If ``replicates`` is less than 2.
    """
    from analysis import kernels

    if replicates < 2:
        raise UsageError(f"replicates must be at least 2, not {replicates}")
    if scheme is Scheme.TRIALS and np.ptp(items.weight) == 0.0:
        items = items.by_duration()
    log_s, cell = np.unique(items.log_s, return_inverse=True)
    total = int(items.trials.sum())
    if scheme is Scheme.TRIALS and total <= kernels.DIRECT_DRAWS:
        outcomes = np.stack((items.passes, items.trials - items.passes), axis=1).ravel()
        owner = np.repeat(np.arange(2 * len(items.trials)), outcomes)
    else:
        owner = items.trials
    one_family = np.array([0, len(items.trials)], np.int64)
    codes = {
        Scheme.TRIALS: kernels.TRIALS,
        Scheme.TRIALS_WITHIN_TASKS: kernels.TRIALS_WITHIN_TASKS,
        Scheme.TASKS: kernels.TASKS,
    }
    estimates, kinds = np.empty((replicates, 4)), np.empty(replicates, np.int8)
    kernels.resample(
        log_s - fitted.centre,
        cell.astype(np.int64),
        items.passes,
        items.trials,
        items.weight,
        items.first if scheme is Scheme.FAMILIES else one_family,
        owner.astype(np.int64),
        codes.get(scheme, kernels.TASKS_THEN_TRIALS),
        ridge,
        np.array([fitted.level, -fitted.beta]),
        np.uint64(stream_key(seed, "bootstrap", scheme)),
        estimates,
        kinds,
    )
    return Replicates(scheme, fitted.centre, estimates, kinds)
