"""Parametric bootstrap of the ratios between stages: trials drawn anew from the fitted model.

The delta-method interval of a ratio trusts the curvature of the likelihood at its top; with few items or
sites, or with a slope that is hardly shown, it is too narrow. Here random effects and trials are drawn from
the fitted model and the model is fitted again to each draw. A draw without a finite ratio is not dropped: it
lies beyond every finite one on the side that its other end says.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.bootstrap import quantile
from analysis.bounds import Interval
from analysis.columns import FloatArray
from analysis.fit import expit
from analysis.mixed import Cells, MixedFit, fit_mixed
from analysis.tier_model import TierModel, log_horizon
from rig.core.errors import UsageError

METHOD = "parametric bootstrap"
FEWEST = 20  # replicates; fewer say nothing about a tail


@dataclass(frozen=True, slots=True)
class RatioBands:
    """Percentile intervals of the ratios, in the order of the ratios they belong to.

    Attributes:
        intervals: One for each ratio; 0 and infinity where too many draws have none.
        failed: Draws to which the model could not be fitted; they lie on both sides.
    """

    intervals: tuple[Interval, ...]
    replicates: int
    failed: int


def ratio_bands(
    model: TierModel,
    fitted: MixedFit,
    contrasts: tuple[tuple[int, int, int], ...],
    *,
    replicates: int,
    rng: np.random.Generator,
    confidence: float,
) -> RatioBands:
    """Return the band of each contrast (agent, stage, reference) of the log t50.

    Raises:
        UsageError: If there are fewer than `FEWEST` replicates.
    """
    if replicates < FEWEST:
        raise UsageError(f"a parametric bootstrap needs at least {FEWEST} replicates, not {replicates}")
    drawn = np.full((replicates, len(contrasts)), math.nan)
    failed = 0
    for row in drawn:
        try:
            again = fit_mixed(draw(model.cells, fitted, rng))
        except (UsageError, np.linalg.LinAlgError):
            failed += 1
            continue
        for k, (agent, stage, reference) in enumerate(contrasts):
            one, other = (log_horizon(model, again, agent, at, 0.5)[0] for at in (stage, reference))
            row[k] = one - other
    tail = (1.0 - confidence) / 2.0
    intervals = []
    for column in drawn.T:
        # A curve that does not fall has no t50; nobody knows on which side the ratio would lie.
        low, high = (np.sort(np.where(np.isnan(column), side, column)) for side in (-math.inf, math.inf))
        ends = float(np.exp(quantile(low, tail))), float(np.exp(quantile(high, 1.0 - tail)))
        intervals.append(Interval(*ends, confidence, METHOD))
    return RatioBands(tuple(intervals), replicates, failed)


def draw(cells: Cells, fitted: MixedFit, rng: np.random.Generator) -> Cells:
    """Return trials drawn from the fitted model, with new random effects and the same design."""
    eta: FloatArray = cells.x @ fitted.beta
    for codes, sd in zip(cells.factors, fitted.sd, strict=True):
        eta = eta + sd * rng.standard_normal(int(codes.max()) + 1)[codes]
    return replace(cells, passes=rng.binomial(cells.trials.astype(np.int64), expit(eta)).astype(np.float64))
