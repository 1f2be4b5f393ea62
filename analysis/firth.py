"""Firth's logistic regression with several covariates: finite estimates where trials are separated.

The likelihood is multiplied by Jeffreys' prior, the square root of the determinant of the information
(Firth 1993). `analysis.fit` does the same for duration alone, and faster; this is for models with more
than one covariate.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from analysis.bounds import Interval
from analysis.columns import BoolArray, FloatArray
from analysis.fit import expit
from rig.core.errors import UsageError

MOST_ITERATIONS = 200
TOLERANCE = 1e-10  # on the change of any linear predictor in one step
LONGEST_STEP = 5.0  # change of a linear predictor
FARTHEST = 100.0  # standard errors within which an end of an interval is sought


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What is regressed: one row per trial, or per cell of like trials.

    Attributes:
        x: Covariates, with a column of ones where an intercept is wanted, shape (n, k).
        passes: Passed trials of each row, shape (n,).
        trials: Trials of each row, shape (n,).
    """

    x: FloatArray
    passes: FloatArray
    trials: FloatArray

    def __post_init__(self) -> None:
        wrong = []
        if self.x.ndim != 2 or not len(self.x) == len(self.passes) == len(self.trials):
            raise UsageError("x must be (rows, covariates), with passes and trials of one value per row")
        if not np.all(np.isfinite(self.x)):
            wrong.append("every covariate must be finite")
        if not np.all((self.passes >= 0) & (self.passes <= self.trials) & np.isfinite(self.trials)):
            wrong.append("passes must lie between 0 and trials in every row")
        if not wrong and np.linalg.matrix_rank(self.x[self.trials > 0]) < self.x.shape[1]:
            wrong.append("the covariates are not of full rank: two of them cannot be told apart")
        if wrong:
            raise UsageError("; ".join(wrong))


@dataclass(frozen=True, slots=True, eq=False)
class FirthFit:
    """A penalised fit.

    Attributes:
        beta: Coefficients, shape (k,).
        covariance: Inverse of the expected information at ``beta``, shape (k, k).
        penalised: Log likelihood plus half the log determinant of the information.
    """

    trials: Trials
    beta: FloatArray
    covariance: FloatArray
    penalised: float
    iterations: int

    @property
    def se(self) -> FloatArray:
        """Standard errors of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    def profile(self, index: int, confidence: float = 0.95) -> Interval:
        """Return the profile penalised-likelihood interval of one coefficient.

        Raises:
            UsageError: If an end lies more than 100 standard errors away.
        """
        critical = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2
        low, high = (self._end(index, side, critical) for side in (-1.0, 1.0))
        return Interval(low, high, confidence, "profile penalised likelihood")

    def _end(self, index: int, side: float, critical: float) -> float:
        from scipy.optimize import brentq

        free = np.arange(len(self.beta)) != index
        start, unit = self.beta.copy(), float(self.se[index])

        def excess(distance: float) -> float:
            start[index] = self.beta[index] + side * distance * unit
            found, at, _ = _maximise(self.trials, start, free)
            start[:] = found  # the next value asked for lies near
            return 2.0 * (self.penalised - at.objective) - critical

        inside, outside = 0.0, math.sqrt(critical)
        while excess(outside) < 0.0:
            inside, outside = outside, 1.5 * outside
            if outside > FARTHEST:
                raise UsageError(f"coefficient {index} has no end within {FARTHEST:g} standard errors")
        distance = float(brentq(excess, inside, outside, xtol=1e-9))
        return float(self.beta[index] + side * distance * unit)


class _Point(NamedTuple):
    objective: float
    score: FloatArray
    information: FloatArray
    curvature: FloatArray


def fit_firth(trials: Trials) -> FirthFit:
    """Maximise the penalised likelihood; its maximum is finite for every result of the trials.

    Raises:
        UsageError: If the iteration does not converge.
    """
    count = trials.x.shape[1]
    beta, at, iterations = _maximise(trials, np.zeros(count), np.ones(count, bool))
    return FirthFit(trials, beta, np.asarray(np.linalg.inv(at.information)), at.objective, iterations)


def _maximise(trials: Trials, start: FloatArray, free: BoolArray) -> tuple[FloatArray, _Point, int]:
    """Climb from ``start`` in the ``free`` coefficients, shape (k,), the others held."""
    beta, at = start.copy(), _point(trials, start)
    if not free.any():
        return beta, at, 0
    within, previous = np.ix_(free, free), math.inf
    for iteration in range(1, MOST_ITERATIONS + 1):
        step = np.zeros(len(beta))
        try:  # only where the surface is curved downwards does Newton's step lead up
            np.linalg.cholesky(-at.curvature[within])
            step[free] = np.linalg.solve(-at.curvature[within], at.score[free])
        except np.linalg.LinAlgError:
            step[free] = np.linalg.solve(at.information[within], at.score[free])
        change = float(np.max(np.abs(trials.x @ step)))
        scale = min(1.0, LONGEST_STEP / change) if change > 0.0 else 1.0
        while True:
            proposal = _point(trials, beta + scale * step)
            if proposal.objective >= at.objective - 1e-12 * abs(at.objective) or scale < 1e-8:
                break
            scale /= 2.0
        beta, at = beta + scale * step, proposal
        if change < TOLERANCE or (change < 1e-6 and change >= previous):  # or only rounding is left
            return beta, at, iteration
        previous = change
    raise UsageError(f"the fit did not converge in {MOST_ITERATIONS} iterations; check the covariates")


def _point(trials: Trials, beta: FloatArray) -> _Point:
    """Return the penalised log likelihood and what is needed to climb it."""
    x, eta = trials.x, trials.x @ beta
    p = expit(eta)
    w = trials.trials * p * (1.0 - p)
    information = x.T @ (w[:, None] * x)
    _, log_determinant = np.linalg.slogdet(information)
    objective = float(trials.passes @ eta - trials.trials @ np.logaddexp(0.0, eta)) + 0.5 * log_determinant
    try:
        root = np.linalg.inv(np.linalg.cholesky(information))
    except np.linalg.LinAlgError:  # every p is 0 or 1 to the last digit: a place never to step to
        return _Point(-math.inf, np.zeros_like(beta), information, -information)
    half = x @ root.T
    leverage = w * np.einsum("ij,ij->i", half, half)
    tilt = 1.0 - 2.0 * p
    score = x.T @ (trials.passes - trials.trials * p + 0.5 * leverage * tilt)
    # Second derivatives of half the log determinant: of the weights, then of the inverse information.
    bend = leverage * (0.5 * tilt**2 - p * (1.0 - p))
    pairs = (half[:, :, None] * half[:, None, :]).reshape(len(x), -1)
    turned = (x * (w * tilt)[:, None]).T @ pairs
    curvature = -information + x.T @ (bend[:, None] * x) - 0.5 * turned @ turned.T
    return _Point(objective, score, information, curvature)
