"""Logistic regression above a guess floor, for tasks that blind guessing passes now and then.

``p(d) = g + (1 - g) / (1 + exp(-(alpha - beta ln d)))``. A multiple-choice task of four options has
``g = 0.25``: without the floor an agent that knows nothing seems to pass a quarter of the longest tasks,
and the slope is bent. ``t_q`` remains the duration at which the part above the floor is ``q``. No task of
the body has a floor; the tasks of other tiers may.

The likelihood is not concave, and where an agent never rises above guessing (or never falls to it) it has
no maximum inside: then there is no horizon, and none is made up.
"""

import math

import numpy as np

from analysis.columns import FloatArray
from analysis.fit import Cells, Estimator, LogisticFit, Separation, expit, fit
from rig.core.errors import UsageError

MOST_ITERATIONS = 500
TOLERANCE = 1e-11  # on the change of the linear predictor in one step
LONGEST_STEP = 2.0  # of the linear predictor
_NO_MAXIMUM = (
    "above a guess floor of {floor:g} the likelihood has no maximum inside: the trials do not tell skill "
    "from guessing at the durations tried"
)


def check_floor(floor: float) -> None:
    """Refuse a floor that is no probability below 1.

    Raises:
        UsageError: If ``floor`` is not in [0, 1).
    """
    if not 0.0 <= floor < 1.0:
        raise UsageError(f"a guess floor is a probability from 0 to below 1, not {floor}")


def fit_above_floor(cells: Cells, floor: float) -> LogisticFit:
    """Fit the curve above ``floor`` by maximum likelihood (Fisher scoring with halved steps).

    Args:
        cells: The trials; passes may be fractions of trials.
        floor: Probability with which a guess passes.

    Returns:
        The fit; its ``p`` is the part above the floor, its likelihood that of the trials.

    Raises:
        UsageError: If ``floor`` is not in [0, 1), if there are fewer than two durations, or if the
            likelihood has no maximum inside: passes are no more frequent than guesses, or durations
            separate passes from failures.
    """
    check_floor(floor)
    if floor == 0.0:
        return fit(cells)
    if len(cells.log_s) < 2:
        raise UsageError("a slope needs trials of at least two durations")
    if cells.separation is not Separation.NONE:
        raise UsageError(f"no maximum inside: {cells.separation}")
    z = cells.log_s - cells.centre
    started = fit(cells)
    theta = np.array([started.level, -started.beta])
    height, step, information = _scoring(cells, z, theta, floor)
    if not math.isfinite(height):
        raise UsageError(_NO_MAXIMUM.format(floor=floor))
    iterations = 0
    while True:
        iterations += 1
        change = float(np.max(np.abs(step[0] + step[1] * z)))
        if change < TOLERANCE:
            break
        scale = min(1.0, LONGEST_STEP / change)
        while True:
            proposal = theta + scale * step
            new_height, new_step, new_information = _scoring(cells, z, proposal, floor)
            if new_height >= height - 1e-13 * abs(height) or scale < 1e-10:
                break
            scale /= 2
        theta, height, step, information = proposal, new_height, new_step, new_information
        if iterations == MOST_ITERATIONS:
            raise UsageError(_NO_MAXIMUM.format(floor=floor))
    (v_level, cov), (_, v_slope) = np.linalg.inv(information)
    return LogisticFit(
        estimator=Estimator.MAXIMUM_LIKELIHOOD,
        centre=cells.centre,
        level=float(theta[0]),
        beta=float(-theta[1]),
        covariance=(float(v_level), float(-cov), float(v_slope)),
        log_likelihood=height,
        iterations=iterations,
    )


def beats_guessing(cells: Cells, fitted: LogisticFit, floor: float, confidence: float) -> bool:
    """Return whether the curve explains the trials better than guessing alone (likelihood ratio, 2 df)."""
    failures = cells.trials - cells.passes
    guessing = float(cells.passes.sum() * math.log(floor) + failures.sum() * math.log1p(-floor))
    return 2.0 * (fitted.log_likelihood - guessing) > -2.0 * math.log(1.0 - confidence)


def _scoring(
    cells: Cells, z: FloatArray, theta: FloatArray, floor: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log likelihood at ``theta`` (level, slope), the scoring step and the information."""
    skill = expit(theta[0] + theta[1] * z)
    p = floor + (1.0 - floor) * skill
    failing = (1.0 - floor) * expit(-(theta[0] + theta[1] * z))  # 1 - p without cancellation
    rise = (1.0 - floor) * skill * (failing / (1.0 - floor))
    failures = cells.trials - cells.passes
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(cells.passes > 0, cells.passes * np.log(p), 0.0)
        parts = parts + np.where(failures > 0, failures * np.log(failing), 0.0)
        pull = np.where(failing > 0, rise * (cells.passes - cells.trials * p) / (p * failing), 0.0)
        weight = np.where(failing > 0, cells.trials * rise**2 / (p * failing), 0.0)
    x = np.stack((np.ones(len(z)), z))
    information = (x * weight) @ x.T
    height = float(parts.sum())
    if not (math.isfinite(height) and np.linalg.cond(information) < 1e14):
        return -math.inf, np.zeros(2), np.eye(2)
    return height, np.asarray(np.linalg.solve(information, x @ pull), np.float64), information
