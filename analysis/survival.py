"""How long until the first critical mistake: time under way, not the length of the job.

A trial that ended without a mistake is censored: it says that no mistake came until then. Ends that
forestall a mistake (a hand-over, a stop of the rig) compete with it. Reference answers are those of R's
survival package, to its printed digits.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from analysis.bounds import Interval
from analysis.columns import BoolArray, FloatArray, IntArray
from rig.core.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class Survival:
    """A Kaplan-Meier curve with log-log bands, as steps.

    Attributes:
        time_s: Times at which something ended, increasing, shape (n,).
        survival: Probability of no mistake until just after each time, shape (n,).
        low: Lower end of the band, shape (n,).
        high: Upper end of the band, shape (n,).
        at_risk: Trials still under way just before each time, shape (n,).
        events: Mistakes at each time, shape (n,).
    """

    time_s: FloatArray
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    at_risk: IntArray
    events: IntArray
    confidence: float

    def at(self, time_s: float) -> float:
        """Return the survival probability just after ``time_s``."""
        index = int(np.searchsorted(self.time_s, time_s, side="right")) - 1
        return 1.0 if index < 0 else float(self.survival[index])

    def quantile(self, probability: float) -> float:
        """Return the first time at which survival is at most ``probability``; infinite if it never is."""
        below = np.flatnonzero(self.survival <= probability + 1e-12)
        return float(self.time_s[below[0]]) if len(below) else math.inf

    def restricted_mean_s(self, until_s: float) -> float:
        """Return the mean time without a mistake, counted up to ``until_s``."""
        steps = np.r_[0.0, self.time_s[self.time_s < until_s], until_s]
        heights = np.r_[1.0, self.survival[self.time_s < until_s]]
        return float(np.diff(steps) @ heights)


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """Probability of having ended by each cause (Aalen-Johansen).

    Attributes:
        time_s: Times at which something ended, shape (n,).
        probability: For each cause and time, shape (causes, n).
        se: Infinitesimal-jackknife standard errors, shape (causes, n).
    """

    time_s: FloatArray
    probability: FloatArray
    se: FloatArray

    def at(self, time_s: float) -> tuple[FloatArray, FloatArray]:
        """Return probabilities and standard errors of all causes just after ``time_s``."""
        index = int(np.searchsorted(self.time_s, time_s, side="right")) - 1
        if index < 0:
            return np.zeros(len(self.probability)), np.zeros(len(self.probability))
        return self.probability[:, index], self.se[:, index]


@dataclass(frozen=True, slots=True)
class Rate:
    """A constant rate of mistakes: events over exposure, with exact bounds.

    Attributes:
        exposure_s: Time under way in all trials.
        mean_s: Mean time between mistakes; infinite without any.
        interval: Exact interval of ``mean_s`` for a test that ends at a set time.
    """

    events: int
    exposure_s: float
    mean_s: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Weibull:
    """A Weibull fit, ``log t = location + scale * noise`` with a location per group.

    Attributes:
        shape: Below 1 mistakes get rarer with time, above 1 more frequent.
        scale_s: Characteristic time of each group, in order of group code.
    """

    shape: float
    scale_s: tuple[float, ...]
    log_likelihood: float


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """Repeated mistakes whose rate ``a * b * t**(b - 1)`` changes with time under way.

    Attributes:
        b: Below 1 mistakes get rarer.
        b_interval: Exact interval of ``b``.
        a: Mistakes expected in the first second.
        mean_at_end_s: Mean time between mistakes at the end of the longest run.
    """

    b: float
    b_interval: Interval
    a: float
    mean_at_end_s: float


def kaplan_meier(time_s: FloatArray, mistake: BoolArray, confidence: float = 0.95) -> Survival:
    """Estimate the probability of no mistake until each time.

    Args:
        time_s: When each trial made its first mistake or ended, shape (n,).
        mistake: Whether it ended with a mistake, shape (n,).
        confidence: Of the band, two-sided, point by point.
    """
    times, at_risk, ends = _ends(time_s, mistake.astype(np.int64), 1)
    events = ends[0]
    survival = np.cumprod(1.0 - events / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(events / (at_risk * (at_risk - events)))
        log_survival = np.log(survival)
        spread = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(variance) / -log_survival
        low, high = survival ** np.exp(spread), survival ** np.exp(-spread)
    low, high = np.where(survival >= 1.0, 1.0, low), np.where(survival >= 1.0, 1.0, high)
    gone = survival <= 0.0  # no band where nobody is left
    return Survival(
        times, survival, np.where(gone, 0.0, low), np.where(gone, 0.0, high), at_risk, events, confidence
    )


def aalen_johansen(time_s: FloatArray, cause: IntArray, causes: int) -> Incidence:
    """Estimate how probable each way of ending is, where every end forestalls the others.

    Ties are exact: everything that happens at one time happens to those at risk just before it.

    Args:
        time_s: When each trial ended, shape (n,).
        cause: 0 for censored, else 1 to ``causes``, shape (n,).
        causes: How many causes there are.
    """
    time_s, cause = np.asarray(time_s, np.float64), np.asarray(cause)
    times, at_risk, ends = _ends(time_s, cause, causes)
    probability = np.zeros((causes, len(times)))
    se = np.zeros((causes, len(times)))
    survival, reached = 1.0, np.zeros(causes)
    # Influence of each trial on survival and on each probability, carried from time to time.
    on_survival, on_reached = np.zeros(len(time_s)), np.zeros((causes, len(time_s)))
    for i, (time, n) in enumerate(zip(times, at_risk, strict=True)):
        rate = ends[:, i] / n
        here, under_way = time_s == time, time_s >= time
        own = np.stack([here & (cause == k + 1) for k in range(causes)])
        shift = (own - under_way * rate[:, None]) / n
        on_reached += on_survival * rate[:, None] + survival * shift
        on_survival = on_survival * (1.0 - rate.sum()) - survival * shift.sum(axis=0)
        reached = reached + survival * rate
        survival *= 1.0 - rate.sum()
        probability[:, i] = reached
        se[:, i] = np.sqrt((on_reached**2).sum(axis=1))
    return Incidence(times, probability, se)


def log_rank(time_s: FloatArray, mistake: BoolArray, group: IntArray) -> float:
    """Return the log-rank chi-square (one degree of freedom) between groups 0 and 1."""
    observed = expected = variance = 0.0
    for time in np.unique(time_s[mistake]):
        risk, here = time_s >= time, (time_s == time) & mistake
        n, n1, d = int(risk.sum()), int((risk & (group == 1)).sum()), int(here.sum())
        observed += int((here & (group == 1)).sum())
        expected += d * n1 / n
        if n > 1:
            variance += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1)
    return (observed - expected) ** 2 / variance


def constant_rate(exposure_s: float, events: int, confidence: float = 0.95) -> Rate:
    """Bound the mean time between mistakes, for a test that ends at a set time.

    Without any mistake the whole error goes to the lower end: the interval is one-sided.

    Raises:
        UsageError: If there is no exposure.
    """
    from scipy.special import chdtri

    if not exposure_s > 0.0 or events < 0:
        raise UsageError(f"need exposure above 0 and no negative events, not {exposure_s} s and {events}")
    tail = (1.0 - confidence) / (2.0 if events else 1.0)
    low = 2.0 * exposure_s / float(chdtri(2 * events + 2, tail))
    high = 2.0 * exposure_s / float(chdtri(2 * events, 1.0 - tail)) if events else math.inf
    mean = exposure_s / events if events else math.inf
    return Rate(events, exposure_s, mean, Interval(low, high, confidence, "chi-square"))


def weibull(time_s: FloatArray, mistake: BoolArray, group: IntArray | None = None) -> Weibull:
    """Fit a Weibull distribution with one shape and a scale for each group, by maximum likelihood.

    Raises:
        UsageError: If a group has no mistake; its scale would be infinite.
    """
    from scipy.optimize import brentq

    group = np.zeros(len(time_s), np.int64) if group is None else group
    events = np.bincount(group, mistake)
    if not np.all(events > 0):
        raise UsageError("a Weibull fit needs at least one mistake in every group")
    log_t = np.log(time_s)
    longest = np.full(len(events), -np.inf)
    np.maximum.at(longest, group, log_t)
    before = log_t - longest[group]  # never above 0, so that no power of it overflows

    def rates(shape: float) -> tuple[FloatArray, FloatArray]:
        power = np.exp(shape * before)
        return np.asarray(np.bincount(group, power)), np.asarray(np.bincount(group, power * before))

    def score(shape: float) -> float:
        total, moment = rates(shape)
        return float(events.sum() / shape + (before * mistake).sum() - (events * moment / total).sum())

    # The score falls with the shape; these ends lie far beyond any real data.
    if score(1e4) > 0.0:
        raise UsageError("a Weibull fit needs mistakes at different times")
    shape = float(brentq(score, 1e-4, 1e4, xtol=1e-13))
    total, _ = rates(shape)
    log_scale = np.log(total / events) / shape + longest
    log_likelihood = float((mistake * (math.log(shape) + shape * (log_t - log_scale[group]) - log_t)).sum())
    return Weibull(shape, tuple(np.exp(log_scale)), log_likelihood - float(events.sum()))


def power_law(times_s: tuple[FloatArray, ...], ends_s: FloatArray, confidence: float = 0.95) -> PowerLaw:
    """Fit a power-law rate to repeated mistakes in runs that were stopped at set times.

    Args:
        times_s: Times of the mistakes of each run, all above 0 and at most its end.
        ends_s: When each run was stopped, shape (runs,).
        confidence: Of the interval, two-sided.

    Raises:
        UsageError: If there are fewer than two mistakes, or one outside its run.
    """
    from scipy.special import chdtri

    count = sum(len(times) for times in times_s)
    if count < 2:
        raise UsageError(f"a trend needs at least two mistakes, not {count}")
    if any(not np.all((t > 0) & (t <= end)) for t, end in zip(times_s, ends_s, strict=True)):
        raise UsageError("every mistake must lie after 0 and at or before the end of its run")
    logs = float(sum(np.log(end / times).sum() for times, end in zip(times_s, ends_s, strict=True)))
    b = (count - 1) / logs  # unbiased; the maximum-likelihood estimate is count / logs
    a = count / float((ends_s**b).sum())
    end = float(ends_s.max())
    tail = (1.0 - confidence) / 2.0
    # 2 * b * logs is chi-square with 2 * count degrees of freedom, given the number of mistakes.
    low, high = (float(chdtri(2 * count, p)) / (2.0 * logs) for p in (1.0 - tail, tail))
    return PowerLaw(b, Interval(low, high, confidence, "chi-square"), a, end ** (1.0 - b) / (a * b))


def hazard(
    time_s: FloatArray, mistake: BoolArray, edges_s: FloatArray, confidence: float = 0.95
) -> tuple[Rate, ...]:
    """Return the rate of mistakes in each stretch of time under way.

    Args:
        time_s: When each trial made its first mistake or ended, shape (n,).
        mistake: Whether it was a mistake, shape (n,).
        edges_s: Ends of the stretches, increasing; the first may be 0, shape (stretches + 1,).
        confidence: Of each exact interval.

    Returns:
        One rate per stretch; stretches that no trial reached are left out.
    """
    found = []
    for low, high in pairwise(edges_s):
        exposure = float(np.clip(time_s - low, 0.0, high - low).sum())
        if exposure > 0.0:
            events = int((mistake & (time_s > low) & (time_s <= high)).sum())
            found.append(constant_rate(exposure, events, confidence))
    return tuple(found)


def _ends(time_s: FloatArray, cause: IntArray, causes: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return distinct times, those at risk just before each, and ends by cause, shape (causes, n)."""
    time_s = np.asarray(time_s, np.float64)
    if not len(time_s) or not np.all((time_s >= 0) & np.isfinite(time_s)):
        raise UsageError("needs at least one trial, and every time finite and not negative")
    times, at = np.unique(time_s, return_inverse=True)
    leaving = np.bincount(at, minlength=len(times))
    at_risk = len(time_s) - np.r_[0, np.cumsum(leaving)[:-1]]
    ends = np.stack([np.bincount(at[cause == k + 1], minlength=len(times)) for k in range(causes)])
    return times, at_risk.astype(np.int64), ends.astype(np.int64)
