"""Do the reported bands cover the truth, and how far does the protocol's model miss where it does not hold?"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from analysis import Definition, EstimateOptions, HorizonOptions, Scheme, horizons
from analysis.bounds import Interval, wilson_interval
from rig.agents.planted import Planted
from rig.study.design import Design, drawn_table

SHARES = (0.5, 0.8)
AGENTS = (
    Planted(logistic=2.0, slope=1.0),
    Planted(logistic=2.0, slope=1.0, item_sd=1.0),
    Planted(logistic=2.0, slope=1.0, item_sd=2.0),
    Planted(logistic=2.0, slope=1.0, day_sd=1.0),
    Planted(hour=0.35),
    Planted(hour=0.35, item_sd=1.0),
    Planted(hour=0.35, fatigue=2.0),
)
"""True t50 of about two hours each, with and without items of unequal difficulty, bad days and fatigue."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What many campaigns of one planted agent show of one horizon.

    Attributes:
        share: Which horizon: 0.5 for t50, 0.8 for t80.
        true_h: The truth, by formula.
        model_h: What the protocol's model tends to with ever more trials of this design: the misfit.
        median_h: Median of the estimates.
        campaigns: Campaigns drawn.
        none: Campaigns that report no such horizon.
        inside: How many bands covered the truth, by scheme, of those that report one.
        inside_model: How many covered what the model tends to.
    """

    planted: Planted
    share: float
    true_h: float
    model_h: float
    median_h: float
    campaigns: int
    none: int
    inside: dict[Scheme, int]
    inside_model: dict[Scheme, int]

    @property
    def bias(self) -> float:
        """Median estimate over truth, less one."""
        return self.median_h / self.true_h - 1.0

    @property
    def misfit(self) -> float:
        """What the model tends to over the truth, less one."""
        return self.model_h / self.true_h - 1.0

    def coverage(self, scheme: Scheme, *, of_model: bool = False) -> Interval:
        """Return the share of bands that cover, as a 95 % interval."""
        inside = self.inside_model if of_model else self.inside
        return wilson_interval(inside[scheme], self.campaigns - self.none)


def study(
    planted: Planted, design: Design, campaigns: int, *, replicates: int = 1000,
    progress: Callable[[int], None] | None = None,
) -> list[Covered]:  # fmt: skip
    """Return what ``campaigns`` campaigns report of an agent whose horizons are known.

    Raises:
        UsageError: If the agent has no horizon to know.
    """
    truths = {share: planted.horizon_h(share) for share in SHARES}
    model = limit_of_model(planted, design)
    estimates: dict[float, list[float]] = {share: [] for share in SHARES}
    inside = {share: dict.fromkeys((Scheme.TRIALS, Scheme.TASKS), 0) for share in SHARES}
    inside_model = {share: dict.fromkeys((Scheme.TRIALS, Scheme.TASKS), 0) for share in SHARES}
    for campaign in range(campaigns):
        table = drawn_table(planted, design, campaign)
        options = EstimateOptions(seed=campaign, replicates=replicates)
        report = horizons(table, HorizonOptions(by_family=False, estimate=options))
        (entry,) = report.of(planted.name, Definition.AGENT_ALONE)
        for share in SHARES:
            horizon = entry.estimate.horizon(share)
            if horizon is None:
                continue
            estimates[share].append(horizon.t_s / 3600.0)
            for band in horizon.bands:
                low, high = band.low_s / 3600.0, band.high_s / 3600.0
                inside[share][band.scheme] += low <= (truths[share] or math.nan) <= high
                inside_model[share][band.scheme] += low <= model[share] <= high
        if progress is not None:
            progress(campaign + 1)
    return [
        Covered(
            planted=replace(planted),
            share=share,
            true_h=truths[share] or math.nan,
            model_h=model[share],
            median_h=float(np.median(estimates[share])) if estimates[share] else math.nan,
            campaigns=campaigns,
            none=campaigns - len(estimates[share]),
            inside=inside[share],
            inside_model=inside_model[share],
        )
        for share in SHARES
    ]


def limit_of_model(planted: Planted, design: Design) -> dict[float, float]:
    """Return the horizons that the logistic fit tends to with ever more trials of this design.

    The fit of expected pass rates by maximum likelihood (White 1982: the quasi-maximum-likelihood limit).
    """
    x = np.log(design.hours)
    p = np.array([planted.mean_passes(h) for h in design.hours])

    def loss(ab: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
        z = ab[0] + ab[1] * x
        return float(np.sum(np.logaddexp(0.0, z) - p * z))

    a, b = minimize(loss, np.array([0.0, -1.0]), method="BFGS", options={"gtol": 1e-9}).x
    return {share: float(np.exp((math.log(share / (1.0 - share)) - a) / b)) for share in SHARES}
