"""Cox regression: how covariates multiply the hazard of a mistake, whatever its course over time.

Three treatments of mistakes at one time. Efron's (the default) is good for a few ties; Breslow's is the
crudest; the exact one takes the times as truly discrete (the conditional logistic likelihood, R's
``ties = "exact"``), and its score test is the log-rank test.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from analysis.bounds import Interval
from analysis.columns import BoolArray, FloatArray
from rig.core.errors import UsageError

MOST_ITERATIONS = 50
TOLERANCE = 1e-10  # on the change of any linear predictor in one step
WIDEST = 30.0  # spread of the linear predictor: a hazard ratio of 1e13 is no estimate


class Ties(StrEnum):
    """How mistakes at one time are treated."""

    EFRON = "Efron"
    BRESLOW = "Breslow"
    EXACT = "exact"


@dataclass(frozen=True, slots=True, eq=False)
class CoxFit:
    """A fitted model.

    Attributes:
        beta: Log hazard ratio for each unit of each covariate, shape (k,).
        covariance: Inverse of the observed information, shape (k, k).
        log_likelihood: Partial, at ``beta``.
        flat_log_likelihood: Partial, without any effect.
        score_chi2: Score test of no effect at all, with k degrees of freedom.
    """

    ties: Ties
    beta: FloatArray
    covariance: FloatArray
    log_likelihood: float
    flat_log_likelihood: float
    score_chi2: float

    @property
    def se(self) -> FloatArray:
        """Standard errors of ``beta``."""
        return np.sqrt(np.diag(self.covariance))

    def hazard_ratio(self, index: int, confidence: float = 0.95) -> tuple[float, Interval]:
        """Return the hazard ratio of one covariate, and its Wald interval."""
        beta, se = float(self.beta[index]), float(self.se[index])
        half = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * se
        return math.exp(beta), Interval(math.exp(beta - half), math.exp(beta + half), confidence, "Wald")


class _Sum(NamedTuple):
    """A sum over trials of their relative hazards, with its first and second derivatives."""

    value: FloatArray
    first: FloatArray
    second: FloatArray


class _Point(NamedTuple):
    log_likelihood: float
    score: FloatArray
    information: FloatArray


def cox(time_s: FloatArray, mistake: BoolArray, x: FloatArray, ties: Ties = Ties.EFRON) -> CoxFit:
    """Fit by maximum partial likelihood.

    Args:
        time_s: When each trial made its first mistake or ended, shape (n,).
        mistake: Whether it ended with a mistake, shape (n,).
        x: Covariates, without a column of ones, shape (n, k), or (n,) for one.
        ties: How mistakes at one time are treated.

    Raises:
        UsageError: If the input is not of these shapes or not finite, there is no mistake, the covariates
            cannot be told apart, or a hazard ratio has no finite estimate.
    """
    time_s, mistake, x = _checked(time_s, mistake, x)
    x = x - x.mean(axis=0)  # the partial likelihood does not change
    beta = np.zeros(x.shape[1])
    flat = at = _point(time_s, mistake, x, beta, ties)
    previous = math.inf
    for _ in range(MOST_ITERATIONS):
        step = _solved(at)
        change = float(np.ptp(x @ step))
        scale = 1.0
        while True:
            proposal = _point(time_s, mistake, x, beta + scale * step, ties)
            if proposal.log_likelihood >= at.log_likelihood - 1e-12 * abs(at.log_likelihood) or scale < 1e-8:
                break
            scale /= 2.0
        beta, at = beta + scale * step, proposal
        if np.ptp(x @ beta) > WIDEST:
            break
        if change < TOLERANCE or (change < 1e-6 and change >= previous):  # or only rounding is left
            return CoxFit(
                ties=ties,
                beta=beta,
                covariance=np.asarray(np.linalg.inv(at.information)),
                log_likelihood=at.log_likelihood,
                flat_log_likelihood=flat.log_likelihood,
                score_chi2=float(flat.score @ _solved(flat)),
            )
        previous = change
    raise UsageError(
        "a hazard ratio has no finite estimate: some covariate tells those with a mistake from the others"
    )


def _checked(
    time_s: FloatArray, mistake: BoolArray, x: FloatArray
) -> tuple[FloatArray, BoolArray, FloatArray]:
    time_s, mistake, x = np.asarray(time_s, np.float64), np.asarray(mistake, bool), np.asarray(x, np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or not len(time_s) == len(mistake) == len(x):
        raise UsageError("time_s, mistake and x must have one value, or one row, per trial")
    wrong = []
    if not np.all((time_s >= 0) & np.isfinite(time_s)):
        wrong.append("every time must be finite and not negative")
    if not np.all(np.isfinite(x)):
        wrong.append("every covariate must be finite")
    if not mistake.any():
        wrong.append("without any mistake there is no hazard to compare")
    if not wrong and np.linalg.matrix_rank(np.column_stack([np.ones(len(x)), x])) <= x.shape[1]:
        wrong.append("a covariate is constant, or two of them cannot be told apart")
    if wrong:
        raise UsageError("; ".join(wrong))
    return time_s, mistake, x


def _solved(at: _Point) -> FloatArray:
    """Return Newton's step from ``at``."""
    try:
        np.linalg.cholesky(at.information)
        return np.asarray(np.linalg.solve(at.information, at.score))
    except np.linalg.LinAlgError:
        raise UsageError("while mistakes happened, all under way had the same covariates") from None


def _point(time_s: FloatArray, mistake: BoolArray, x: FloatArray, beta: FloatArray, ties: Ties) -> _Point:
    """Return the partial log likelihood with its slope and curvature."""
    eta = x @ beta
    top = float(eta.max())
    r = np.exp(eta - top)  # cancels between the two sides of the likelihood
    value, score = 0.0, np.zeros(len(beta))
    information = np.zeros((len(beta), len(beta)))
    for time in np.unique(time_s[mistake]):
        risk, here = time_s >= time, (time_s == time) & mistake
        exact = ties is Ties.EXACT
        below = _subsets(r[risk], x[risk], int(here.sum())) if exact else _thinned(r, x, risk, here, ties)
        mean = below.first / below.value[:, None]
        value += float((eta[here] - top).sum() - np.log(below.value).sum())
        score += x[here].sum(axis=0) - mean.sum(axis=0)
        information += (below.second / below.value[:, None, None]).sum(axis=0) - mean.T @ mean
    return _Point(value, score, information)


def _thinned(r: FloatArray, x: FloatArray, risk: BoolArray, here: BoolArray, ties: Ties) -> _Sum:
    """Return the sums over those at risk, one for each mistake at this time.

    Efron counts those who make a mistake now less with each of them, as if they came one by one.
    """
    count = int(here.sum())
    gone = np.arange(count) / count if ties is Ties.EFRON else np.zeros(count)
    weight = r * risk - gone[:, None] * (r * here)  # (mistakes, n)
    second = np.einsum("di,ij,ik->djk", weight, x, x)
    return _Sum(weight.sum(axis=1), weight @ x, np.asarray(second))


def _subsets(r: FloatArray, x: FloatArray, count: int) -> _Sum:
    """Return the sum over all choices of ``count`` trials of the product of their relative hazards.

    Trials are let in one by one: a choice of m holds the newcomer beside a choice of m - 1, or does not.
    """
    k = x.shape[1]
    value, first, second = np.zeros(count + 1), np.zeros((count + 1, k)), np.zeros((count + 1, k, k))
    value[0] = 1.0
    for hazard, at in zip(r, x, strict=True):
        cross = first[:-1, :, None] * at
        joined = value[:-1, None, None] * np.outer(at, at) + cross + cross.transpose(0, 2, 1) + second[:-1]
        second[1:] += hazard * joined
        first[1:] += hazard * (value[:-1, None] * at + first[:-1])
        value[1:] += hazard * value[:-1]
    if not (value[-1] > 0.0 and math.isfinite(value[-1])):
        raise UsageError(f"{count} mistakes at one time are too many for the exact treatment; use Efron's")
    return _Sum(value[-1:], first[-1:], second[-1:])
