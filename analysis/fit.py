"""Logistic regression of passing on the logarithm of duration, for one agent.

``p(d) = 1 / (1 + exp(-(alpha - beta ln d)))`` with ``d`` in seconds, so ``t50 = exp(alpha / beta)`` and
``t_q = exp((alpha - logit q) / beta)``. The likelihood is not penalised. Where its maximum is at
infinity (the trials are separated by duration) Firth's bias-reduced estimate takes its place, and the
fit says so.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np

from analysis.columns import BoolArray, FloatArray
from rig.core.errors import UsageError

MOST_ITERATIONS = 200
TOLERANCE = 1e-11  # on the change of the linear predictor in one step
NEAR = 0.5  # change of the linear predictor from which Newton is tried
DIFFERENCE = 1e-5  # of level and slope, for the curvature


class Separation(StrEnum):
    """What, if anything, keeps the likelihood from having a finite maximum with a slope."""

    NONE = "none"
    FALLING = "every pass is at most as long as every failure"
    RISING = "every pass is at least as long as every failure"
    ALL_PASS = "all trials passed"
    ALL_FAIL = "all trials failed"
    ONE_DURATION = "all trials have one duration"
    NO_TRIALS = "there are no trials"


class Estimator(StrEnum):
    """How the two coefficients were found."""

    MAXIMUM_LIKELIHOOD = "maximum likelihood"
    FIRTH = "Firth"
    RIDGE = "ridge"


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Trials collapsed to one cell per distinct duration; weighted counts when trials are weighted.

    Attributes:
        log_s: Natural logarithm of the duration in seconds, increasing, shape (g,).
        passes: Passed trials in each cell, shape (g,).
        trials: Trials in each cell, all positive, shape (g,).
    """

    log_s: FloatArray
    passes: FloatArray
    trials: FloatArray

    @classmethod
    def of(cls, duration_s: FloatArray, passed: BoolArray, weight: FloatArray | None = None) -> Self:
        """Collapse trials, shape (n,) each.

        Raises:
            UsageError: If shapes differ, or a duration is not finite and positive.
        """
        duration_s = np.asarray(duration_s, np.float64)
        if not (len(duration_s) == len(passed) and (weight is None or len(weight) == len(passed))):
            raise UsageError("duration_s, passed and weight must have the same length")
        if not np.all((duration_s > 0) & np.isfinite(duration_s)):
            raise UsageError("every duration_s must be finite and above 0")
        durations, cell = np.unique(duration_s, return_inverse=True)
        weight = np.ones(len(passed)) if weight is None else weight
        passes = np.bincount(cell, weight * passed, len(durations)).astype(np.float64)
        trials = np.bincount(cell, weight, len(durations)).astype(np.float64)
        return cls(np.log(durations), passes, trials)

    @property
    def duration_s(self) -> FloatArray:
        """The distinct durations."""
        return seconds(self.log_s)

    @property
    def centre(self) -> float:
        """Mean log duration of the trials, about which the fit is computed."""
        return float(np.average(self.log_s, weights=self.trials))

    @property
    def separation(self) -> Separation:
        """Whether a finite maximum with a slope exists (for one covariate this check is exact)."""
        passing, failing = self.log_s[self.passes > 0], self.log_s[self.passes < self.trials]
        if not len(self.log_s):
            return Separation.NO_TRIALS
        if not len(failing):
            return Separation.ALL_PASS
        if not len(passing):
            return Separation.ALL_FAIL
        if len(self.log_s) == 1:
            return Separation.ONE_DURATION
        if passing[-1] <= failing[0]:
            return Separation.FALLING
        if failing[-1] <= passing[0]:
            return Separation.RISING
        return Separation.NONE


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """A fitted curve. ``beta`` is positive where the pass rate falls with duration.

    Attributes:
        centre: Log duration about which ``level`` is the linear predictor.
        level: Linear predictor (log odds of a pass) at ``centre``.
        beta: Fall of the log odds for each e-fold of duration.
        covariance: Of (level, beta): variance, covariance, variance, from the expected information.
        log_likelihood: Of the trials (Bernoulli), without any penalty.
    """

    estimator: Estimator
    centre: float
    level: float
    beta: float
    covariance: tuple[float, float, float]
    log_likelihood: float
    iterations: int

    @property
    def alpha(self) -> float:
        """Linear predictor at one second."""
        return self.level + self.beta * self.centre

    @property
    def se_beta(self) -> float:
        """Standard error of ``beta``."""
        return math.sqrt(self.covariance[2])

    def log_t(self, q: float) -> float:
        """Return the log of the duration (s) at which the pass probability is ``q``."""
        return self.centre + (self.level - logit(q)) / self.beta

    def t_s(self, q: float) -> float:
        """Return the duration in seconds at which the pass probability is ``q``."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_t(q)))

    def se_log_t(self, q: float) -> float:
        """Return the delta-method standard error of ``log_t(q)``."""
        distance = (self.level - logit(q)) / self.beta
        v_level, cov, v_beta = self.covariance
        return math.sqrt(v_level - 2 * distance * cov + distance**2 * v_beta) / abs(self.beta)

    def p(self, duration_s: FloatArray) -> FloatArray:
        """Return the pass probability at each duration."""
        return expit(self.level - self.beta * (np.log(duration_s) - self.centre))


def seconds(log_s: FloatArray) -> FloatArray:
    """Return durations from their logarithms, without the digits that the way there and back blurs.

    >>> seconds(np.log([240.0, 0.3])).tolist()
    [240.0, 0.3]
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        exact = np.exp(log_s)
        digits = 10.0 ** (12 - np.ceil(np.log10(exact)))
        rounded = np.round(exact * digits) / digits
    return np.asarray(np.where(np.isfinite(rounded), rounded, exact))


def logit(q: float) -> float:
    """Return the log odds of ``q``."""
    return math.log(q) - math.log1p(-q)


def expit(eta: FloatArray) -> FloatArray:
    """Return the probability whose log odds are ``eta``, without overflow."""
    small = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, small) / (1.0 + small))


def log_likelihood(cells: Cells, eta: FloatArray) -> float:
    """Return the Bernoulli log likelihood of the trials at linear predictor ``eta``, shape (g,)."""
    return float(np.sum(cells.passes * eta - cells.trials * np.logaddexp(0.0, eta)))


def best_log_likelihood(cells: Cells) -> float:
    """Return the supremum of the log likelihood, also where it is approached only at infinity."""
    if cells.separation is Separation.NONE:
        return fit(cells).log_likelihood
    # Separated: only a cell holding both results keeps a likelihood below one.
    return float(np.sum(_binomial_entropy(cells.passes, cells.trials)))


def flat_log_likelihood(cells: Cells) -> float:
    """Return the log likelihood of one pass rate at every duration."""
    return float(_binomial_entropy(np.array([cells.passes.sum()]), np.array([cells.trials.sum()]))[0])


def _binomial_entropy(passes: FloatArray, trials: FloatArray) -> FloatArray:
    rate = passes / trials
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(passes > 0, passes * np.log(rate), 0.0)
        return np.asarray(each + np.where(passes < trials, (trials - passes) * np.log1p(-rate), 0.0))


def fit(cells: Cells, *, ridge: float = 0.0, firth: bool | None = None) -> LogisticFit:
    """Fit the curve.

    Args:
        cells: The trials.
        ridge: Penalty ``ridge / 2 * beta**2`` on the slope; 0 unless a published analysis is reproduced.
        firth: Use Firth's penalty; by default only where the likelihood has no finite maximum.

    Raises:
        UsageError: If there are fewer than two distinct durations.
    """
    if len(cells.log_s) < 2:
        raise UsageError("a slope needs trials of at least two durations")
    if firth is None:
        firth = ridge == 0.0 and cells.separation is not Separation.NONE
    z = cells.log_s - cells.centre
    rate = cells.passes.sum() / cells.trials.sum()
    total = cells.trials.sum()
    theta = np.array([logit((rate * total + 0.5) / (total + 1.0)), 0.0])
    objective, step = _step(cells, z, theta, ridge, firth)
    previous = math.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        change = float(np.max(np.abs(step[0] + step[1] * z)))
        scale = min(1.0, 5.0 / change) if change > 0 else 1.0
        while True:
            proposal = theta + scale * step
            new_objective, new_step = _step(cells, z, proposal, ridge, firth)
            if new_objective >= objective - 1e-12 * abs(objective) or scale < 1e-8:
                break
            scale /= 2
        theta, objective, step = proposal, new_objective, new_step
        if firth and change < NEAR:
            step = _newton_step(cells, z, theta, step)
        if change < TOLERANCE or (change < 1e-6 and change >= previous):  # or only rounding is left
            return _fitted(cells, z, theta, ridge, firth, iteration)
        previous = change
    raise UsageError(f"the fit did not converge in {MOST_ITERATIONS} iterations; check the durations")


def _newton_step(cells: Cells, z: FloatArray, theta: FloatArray, scoring: FloatArray) -> FloatArray:
    """Return Newton's step for Firth's penalty, or the scoring step where Newton's does not lead up.

    Scoring leaves the penalty out of the curvature and so comes near only by a constant factor, which is
    close to 1 when few trials carry the fit. The curvature is taken by differences of the scoring step.
    """

    def pull(at: FloatArray) -> FloatArray:
        _, _, total, mean, spread = _information(cells, z, at[0] + at[1] * z)
        information = np.array([[total, total * mean], [total * mean, spread + total * mean**2]])
        return np.asarray(information @ _step(cells, z, at, 0.0, True)[1])

    columns = [(pull(theta + d) - pull(theta - d)) / (2 * DIFFERENCE) for d in np.eye(2) * DIFFERENCE]
    curvature = np.column_stack(columns)
    if not (np.linalg.det(curvature) > 0 and np.trace(curvature) < 0):
        return scoring
    return np.asarray(np.linalg.solve(curvature, -pull(theta)))


def _step(
    cells: Cells, z: FloatArray, theta: FloatArray, ridge: float, firth: bool
) -> tuple[float, FloatArray]:
    """Return the penalised log likelihood at ``theta`` (level, slope) and the scoring step from there.

    Everything is computed about the mean of the information, where level and slope do not cancel each
    other's digits.
    """
    eta = theta[0] + theta[1] * z
    p, w, total, mean, spread = _information(cells, z, eta)
    objective = log_likelihood(cells, eta) - 0.5 * ridge * theta[1] ** 2
    residual = cells.passes - cells.trials * p
    if firth:
        residual = residual + w * (1.0 / total + (z - mean) ** 2 / spread) * (0.5 - p)
        objective += 0.5 * (math.log(total) + math.log(spread))
    slope = float(residual @ (z - mean) - ridge * theta[1]) / (spread + ridge)
    return objective, np.array([residual.sum() / total - mean * slope, slope])


def _information(
    cells: Cells, z: FloatArray, eta: FloatArray
) -> tuple[FloatArray, FloatArray, float, float, float]:
    """Return p and the information of each cell, its total, its mean ``z`` and its spread about that."""
    p = expit(eta)
    w = cells.trials * p * (1.0 - p)
    total = float(w.sum())
    mean = float(w @ z) / total
    return p, w, total, mean, float(w @ (z - mean) ** 2)


def _fitted(
    cells: Cells, z: FloatArray, theta: FloatArray, ridge: float, firth: bool, iterations: int
) -> LogisticFit:
    eta = theta[0] + theta[1] * z
    _, _, total, mean, spread = _information(cells, z, eta)
    spread += ridge
    estimator = Estimator.FIRTH if firth else Estimator.RIDGE if ridge > 0 else Estimator.MAXIMUM_LIKELIHOOD
    return LogisticFit(
        estimator=estimator,
        centre=cells.centre,
        level=float(theta[0]),
        beta=float(-theta[1]),
        # The sign of the covariance turns with beta = -slope.
        covariance=(1.0 / total + mean**2 / spread, mean / spread, 1.0 / spread),
        log_likelihood=log_likelihood(cells, eta),
        iterations=iterations,
    )
