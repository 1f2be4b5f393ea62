"""Logistic regression with normal random intercepts, crossed or single, by maximum likelihood.

``logit p = X beta + sum_k sd_k * u_k[level]`` with every ``u`` standard normal. With one grouping factor
the likelihood is integrated by adaptive Gauss-Hermite quadrature; with several by Laplace's method, whose
exact gradient is used. Dense algebra is enough: RUN has a few hundred levels.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.columns import FloatArray, IntArray
from analysis.fit import expit
from rig.core.errors import UsageError

NODES = 25
ZERO_SD = 1e-3  # an estimate below this is the boundary, sd = 0


class Method(StrEnum):
    """How the random effects were integrated out."""

    QUADRATURE = "adaptive quadrature"
    LAPLACE = "Laplace"
    NONE = "no random effects"


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Trials collapsed to cells that share everything the model knows.

    Attributes:
        passes: Passed trials of each cell, shape (n,).
        trials: Trials of each cell, shape (n,).
        x: Fixed-effects design, shape (n, p).
        factors: For each grouping factor the level of each cell, from 0, shape (n,).
    """

    passes: FloatArray
    trials: FloatArray
    x: FloatArray
    factors: tuple[IntArray, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MixedFit:
    """A fitted model.

    Attributes:
        beta: Fixed effects, shape (p,).
        sd: Standard deviation of each random factor; exactly 0 on the boundary.
        covariance: Of fixed effects and standard deviations, shape (p + k, p + k); rows of a standard
            deviation on the boundary are zero.
        log_likelihood: Of the trials one by one, without the number of orders they could have come in.
        gradient: Largest slope of the log likelihood that was left.
    """

    method: Method
    beta: FloatArray
    sd: tuple[float, ...]
    covariance: FloatArray
    log_likelihood: float
    gradient: float

    @property
    def se(self) -> FloatArray:
        """Standard errors of the fixed effects."""
        return np.sqrt(np.diag(self.covariance)[: len(self.beta)])


Objective = Callable[[FloatArray], tuple[float, FloatArray]]


def fit_mixed(cells: Cells, *, nodes: int = NODES, method: Method | None = None) -> MixedFit:
    """Fit the model.

    Args:
        cells: The trials.
        nodes: Quadrature points per level, for one factor.
        method: How to integrate; by default quadrature for one factor and Laplace for more.

    Raises:
        UsageError: If the fixed effects are not of full rank, quadrature is asked for with several
            factors, or the fit does not converge.
    """
    if np.linalg.matrix_rank(cells.x) < cells.x.shape[1]:
        raise UsageError("the fixed effects are not of full rank: two of them cannot be told apart")
    if method is None:
        method = Method.QUADRATURE if len(cells.factors) == 1 else Method.LAPLACE
    if not cells.factors:
        method = Method.NONE
    if method is Method.QUADRATURE and len(cells.factors) != 1:
        raise UsageError("quadrature needs exactly one random factor; use Laplace for several")
    objective = quadrature(cells, nodes) if method is Method.QUADRATURE else laplace(cells)
    start = np.r_[_plain(cells), np.full(len(cells.factors), 0.7)]
    best, slope = _maximise(objective, start, len(cells.factors))
    fixed = cells.x.shape[1]
    sd = np.abs(best[fixed:])
    best[fixed:] = np.where(sd < ZERO_SD, 0.0, sd)
    value, _ = objective(best)
    return MixedFit(
        method=method,
        beta=best[:fixed],
        sd=tuple(best[fixed:].tolist()),
        covariance=_covariance(objective, best, fixed),
        log_likelihood=value,
        gradient=slope,
    )


def laplace(cells: Cells) -> Objective:
    """Return the Laplace log likelihood and its gradient as a function of (beta, sds)."""
    fixed = cells.x.shape[1]
    sizes = [int(codes.max()) + 1 for codes in cells.factors]
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    columns = [codes + offset for codes, offset in zip(cells.factors, offsets, strict=False)]
    mode = np.zeros(int(offsets[-1]))
    block = np.repeat(np.arange(len(sizes)), sizes)

    def value(parameters: FloatArray) -> tuple[float, FloatArray]:
        nonlocal mode
        beta, sd = parameters[:fixed], parameters[fixed:]
        base = cells.x @ beta
        mode, eta, w, h = _mode(cells, base, sd, columns, mode)
        if not len(mode):
            residual = cells.trials * expit(eta)
            return _bernoulli(cells, eta), cells.x.T @ (cells.passes - residual)
        inverse = np.linalg.inv(h)
        total = _bernoulli(cells, eta) - 0.5 * float(mode @ mode) - 0.5 * float(np.linalg.slogdet(h)[1])
        p = expit(eta)
        residual = cells.passes - cells.trials * p
        spread = np.zeros(len(eta))
        for k, at in enumerate(columns):
            for m, to in enumerate(columns):
                spread += sd[k] * sd[m] * inverse[at, to]
        pull = -0.5 * w * (1.0 - 2.0 * p) * spread  # of log det on eta
        back = inverse @ _collect(pull, sd, columns, len(mode))
        moved = pull - w * _spread(back, sd, columns)  # the mode moves with the parameters
        gradient = np.empty(len(parameters))
        gradient[:fixed] = cells.x.T @ (residual + moved)
        for k, at in enumerate(columns):
            own = mode[at]
            across = np.zeros(len(eta))
            for m, to in enumerate(columns):
                across += sd[m] * inverse[to, at]
            gradient[fixed + k] = own @ (residual + moved) - w @ across
            gradient[fixed + k] += back[block == k] @ np.bincount(cells.factors[k], residual, sizes[k])
        return total, gradient

    return value


def quadrature(cells: Cells, nodes: int) -> Objective:
    """Return the adaptive-quadrature log likelihood and its gradient as a function of (beta, sd)."""
    fixed = cells.x.shape[1]
    (codes,) = cells.factors
    size = int(codes.max()) + 1
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    log_weights = np.log(weights) + 0.5 * points**2 - 0.5 * math.log(2.0 * math.pi)
    mode = np.zeros(size)

    def value(parameters: FloatArray) -> tuple[float, FloatArray]:
        nonlocal mode
        beta, sd = parameters[:fixed], float(parameters[fixed])
        base = cells.x @ beta
        mode, curvature = _cluster_modes(cells, base, sd, codes, mode)
        scale = 1.0 / np.sqrt(curvature)
        u = mode[:, None] + scale[:, None] * points  # (levels, nodes)
        eta = base[:, None] + sd * u[codes]
        each = cells.passes[:, None] * eta - cells.trials[:, None] * np.logaddexp(0.0, eta)
        log_joint = _by_level(each, codes, size) - 0.5 * u**2 + log_weights + np.log(scale)[:, None]
        top = log_joint.max(axis=1, keepdims=True)
        posterior = np.exp(log_joint - top)
        mass = posterior.sum(axis=1, keepdims=True)
        posterior /= mass
        residual = cells.passes[:, None] - cells.trials[:, None] * expit(eta)
        of_eta = (residual * posterior[codes]).sum(axis=1)
        of_sd = float((residual * u[codes] * posterior[codes]).sum())
        return float((top + np.log(mass)).sum()), np.r_[cells.x.T @ of_eta, of_sd]

    return value


def _mode(
    cells: Cells, base: FloatArray, sd: FloatArray, columns: Sequence[IntArray], start: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the most probable random effects, and eta, weights and curvature there."""
    u = start
    eta = base + _spread(u, sd, columns)
    height = _bernoulli(cells, eta) - 0.5 * u @ u
    for _ in range(100):
        p = expit(eta)
        w = cells.trials * p * (1.0 - p)
        h = _curvature(w, sd, columns, len(u))
        gradient = _collect(cells.passes - cells.trials * p, sd, columns, len(u)) - u
        if not len(u) or np.abs(gradient).max() < 1e-10:
            break
        step, scale = np.asarray(np.linalg.solve(h, gradient), np.float64), 1.0
        while scale > 1e-8:
            proposal = u + scale * step
            new_eta = base + _spread(proposal, sd, columns)
            new_height = _bernoulli(cells, new_eta) - 0.5 * proposal @ proposal
            if new_height >= height - 1e-13 * abs(height):
                break
            scale /= 2
        if np.abs(proposal - u).max() < 1e-13:
            break
        u, eta, height = proposal, new_eta, new_height
    p = expit(eta)
    w = cells.trials * p * (1.0 - p)
    return u, eta, w, _curvature(w, sd, columns, len(u))


def _cluster_modes(
    cells: Cells, base: FloatArray, sd: float, codes: IntArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mode and curvature of each level, all levels at once, by capped Newton steps."""
    u = start.copy()
    for _ in range(200):
        p = expit(base + sd * u[codes])
        gradient = sd * np.bincount(codes, cells.passes - cells.trials * p, len(u)) - u
        curvature = 1.0 + sd**2 * np.bincount(codes, cells.trials * p * (1.0 - p), len(u))
        step = gradient / curvature
        cap = 2.0 / max(abs(sd), 1.0)
        u += np.clip(step, -cap, cap)
        if np.abs(step).max() < 1e-11:
            break
    p = expit(base + sd * u[codes])
    information = np.bincount(codes, cells.trials * p * (1.0 - p), len(u))
    return np.asarray(u, np.float64), np.asarray(1.0 + sd**2 * information, np.float64)


def _bernoulli(cells: Cells, eta: FloatArray) -> float:
    return float(cells.passes @ eta - cells.trials @ np.logaddexp(0.0, eta))


def _spread(u: FloatArray, sd: FloatArray, columns: Sequence[IntArray]) -> FloatArray:
    """Return what random effects add to each cell."""
    total: Any = 0.0
    for k, at in enumerate(columns):
        total = total + sd[k] * u[at]
    return np.asarray(total)


def _collect(values: FloatArray, sd: FloatArray, columns: Sequence[IntArray], size: int) -> FloatArray:
    """Add up ``values`` of the cells by level, the transpose of `_spread`."""
    total = np.zeros(size)
    for k, at in enumerate(columns):
        total += sd[k] * np.bincount(at, values, size)
    return total


def _curvature(w: FloatArray, sd: FloatArray, columns: Sequence[IntArray], size: int) -> FloatArray:
    h = np.eye(size)
    for k, at in enumerate(columns):
        for m, to in enumerate(columns):
            pairs = np.bincount(at * size + to, w, size * size).reshape(size, size)
            h += sd[k] * sd[m] * pairs
    return h


def _by_level(values: FloatArray, codes: IntArray, size: int) -> FloatArray:
    """Add up the rows of ``values`` by level."""
    total = np.zeros((size, values.shape[1]))
    np.add.at(total, codes, values)
    return total


def _plain(cells: Cells) -> FloatArray:
    """Return fixed effects without random ones, shrunk a little so that they are finite."""
    beta = np.zeros(cells.x.shape[1])
    for _ in range(50):
        p = expit(cells.x @ beta)
        w = cells.trials * p * (1.0 - p)
        information = (cells.x.T * w) @ cells.x + 1e-3 * np.eye(len(beta))
        step = np.linalg.solve(information, cells.x.T @ (cells.passes - cells.trials * p) - 1e-3 * beta)
        beta = beta + step * min(1.0, 3.0 / max(1e-12, float(np.abs(cells.x @ step).max())))
        if np.abs(step).max() < 1e-8:
            break
    return beta


def _maximise(objective: Objective, start: FloatArray, factors: int) -> tuple[FloatArray, float]:
    from scipy.optimize import minimize

    def negative(parameters: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(parameters)
        return -value, -gradient

    found = minimize(negative, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 500})
    best = np.asarray(found.x, np.float64)
    best, slope = _polish(objective, best)
    if slope > 1e-2:
        raise UsageError(
            "the mixed model did not converge; an agent, tier or family with nothing but passes or nothing "
            "but failures has no finite effect"
        )
    return best, slope


def _polish(objective: Objective, best: FloatArray) -> tuple[FloatArray, float]:
    """Take Newton steps from the end of the line searches, as long as they help."""
    value, gradient = objective(best)
    for _ in range(4):
        hessian = _hessian(objective, best)
        try:
            step = np.linalg.solve(hessian, -gradient)
        except np.linalg.LinAlgError:
            break
        proposal = best + step
        new_value, new_gradient = objective(proposal)
        if not (new_value >= value - 1e-9 and np.abs(new_gradient).max() < np.abs(gradient).max()):
            break
        best, value, gradient = proposal, new_value, new_gradient
    return best, float(np.abs(gradient).max())


def _hessian(objective: Objective, at: FloatArray) -> FloatArray:
    size = len(at)
    hessian = np.empty((size, size))
    for i in range(size):
        step = 1e-4 * max(1.0, abs(at[i]))
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        hessian[i] = (objective(up)[1] - objective(down)[1]) / (2.0 * step)
    return (hessian + hessian.T) / 2.0


def _covariance(objective: Objective, best: FloatArray, fixed: int) -> FloatArray:
    """Return the inverse of the observed information, without standard deviations on the boundary."""
    inside: NDArray[np.intp] = np.flatnonzero((np.arange(len(best)) < fixed) | (best > 0.0))
    hessian = _hessian(objective, best)[np.ix_(inside, inside)]
    covariance = np.zeros((len(best), len(best)))
    covariance[np.ix_(inside, inside)] = np.linalg.inv(-hessian)
    return covariance
