"""Intervals for the slope and the horizon that need no resampling.

Profile-likelihood intervals keep their meaning where passes and failures do not overlap; Fieller's
interval is exact for a ratio of normal estimates and shows, by being unbounded, when the slope is too
uncertain to place a horizon. Both take trials as independent, as the trial bootstrap does.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from analysis.bounds import Interval
from analysis.columns import FloatArray
from analysis.fit import (
    Cells,
    LogisticFit,
    best_log_likelihood,
    expit,
    flat_log_likelihood,
    log_likelihood,
    logit,
)

STEEPEST = 200.0  # per e-fold of duration: beyond this every likelihood has reached its limit
FARTHEST = 60.0  # in log duration: 26 orders of magnitude beyond the trials


def slope_deviance(cells: Cells) -> float:
    """Return twice the log likelihood that a slope gains over one pass rate for every duration."""
    return max(0.0, 2.0 * (best_log_likelihood(cells) - flat_log_likelihood(cells)))


def slope_is_shown(cells: Cells, confidence: float) -> bool:
    """Return whether the likelihood-ratio interval of the slope excludes zero."""
    return slope_deviance(cells) > _critical(confidence)


def profile_beta(cells: Cells, fitted: LogisticFit, confidence: float = 0.95) -> Interval:
    """Return the profile-likelihood interval of ``beta``; infinite where the trials are separated."""
    z, best = cells.log_s - fitted.centre, best_log_likelihood(cells)

    def deviance(beta: float) -> float:
        return _deviance(cells, best, offset=-beta * z, factor=np.ones_like(z))

    ends = [_crossing(deviance, fitted.beta, side * STEEPEST, _critical(confidence)) for side in (-1.0, 1.0)]
    return Interval(ends[0], ends[1], confidence, "profile likelihood")


def profile_horizon(cells: Cells, fitted: LogisticFit, q: float, confidence: float = 0.95) -> Interval:
    """Return the profile-likelihood interval of the horizon in seconds; 0 or infinite where it is open."""
    z, best = cells.log_s - fitted.centre, best_log_likelihood(cells)

    def deviance(log_t: float) -> float:
        return _deviance(cells, best, offset=np.full_like(z, logit(q)), factor=log_t - z)

    at = (fitted.level - logit(q)) / fitted.beta
    critical = _critical(confidence)
    if fitted.beta <= 0 or not math.isfinite(at) or abs(at) > FARTHEST or deviance(at) > critical:
        return Interval(0.0, math.inf, confidence, "profile likelihood")
    low, high = (_crossing(deviance, at, side * FARTHEST, critical) for side in (-1.0, 1.0))
    return Interval(
        math.exp(low + fitted.centre) if math.isfinite(low) else 0.0,
        math.exp(high + fitted.centre) if math.isfinite(high) else math.inf,
        confidence,
        "profile likelihood",
    )


def fieller_horizon(fitted: LogisticFit, q: float, confidence: float = 0.95) -> Interval:
    """Return Fieller's interval of the horizon in seconds; all durations where the slope may be zero."""
    z2 = _critical(confidence)
    v_level, cov, v_beta = fitted.covariance
    level = fitted.level - logit(q)
    # Durations t (log, about the centre) with (level - beta t)^2 <= z2 (v_level - 2 t cov + t^2 v_beta).
    a = fitted.beta**2 - z2 * v_beta
    b = fitted.beta * level - z2 * cov
    c = level**2 - z2 * v_level
    if a <= 0.0:
        return Interval(0.0, math.inf, confidence, "Fieller")
    half = math.sqrt(max(0.0, b * b - a * c)) / a
    return Interval(
        math.exp(fitted.centre + b / a - half),
        math.exp(fitted.centre + b / a + half),
        confidence,
        "Fieller",
    )


def _critical(confidence: float) -> float:
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2


def _deviance(cells: Cells, best: float, offset: FloatArray, factor: FloatArray) -> float:
    """Return the deviance from the best fit of ``eta = offset + theta * factor``, best ``theta``."""
    theta = 0.0
    reach = float(np.max(np.abs(factor)))
    for _ in range(500):
        p = expit(offset + theta * factor)
        score = float((cells.passes - cells.trials * p) @ factor)
        information = float((cells.trials * p * (1.0 - p)) @ factor**2)
        if information <= 1e-300:
            break  # the likelihood has reached its limit at infinity
        step = score / information
        step *= min(1.0, 1.0 / (abs(step) * reach)) if step else 1.0
        theta += step
        if abs(step) * reach < 1e-10:
            break
    return 2.0 * (best - log_likelihood(cells, offset + theta * factor))


def _crossing(deviance: Callable[[float], float], start: float, limit: float, critical: float) -> float:
    """Return where ``deviance`` rises through ``critical`` between ``start`` and ``limit``, or infinity."""
    from scipy.optimize import brentq

    inside, step = start, math.copysign(0.25, limit)
    while abs(inside) < abs(limit) or inside * limit < 0:
        outside = inside + step
        if deviance(outside) > critical:
            low, high = sorted((inside, outside))
            return float(brentq(lambda x: deviance(x) - critical, low, high, xtol=1e-10))
        inside, step = outside, step * 1.5
    return math.copysign(math.inf, limit)
