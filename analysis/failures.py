"""Upper bounds on how often something bad happens, above all when it was never seen to happen.

Trials of one task are not independent, and neither are trials at one site; with no failure at all nothing
in the data says how dependent they are. So a bound is always given three times: with trials, with task
items and with sites as the independent units, and the reader sees what independence would be worth.
"""

import math
from dataclasses import dataclass

import numpy as np

from analysis.bounds import exact_upper
from analysis.columns import BoolArray, Factor
from rig.core.errors import UsageError

CAVEAT = (
    "Holds for trials drawn like these from this finite suite. It is no posterior probability, and it says "
    "nothing about a hazard that no scenario contains."
)
CORRELATIONS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class UnitBound:
    """A bound with one kind of independent unit.

    Attributes:
        unit: "trial", "task item" or "site".
        units: How many there are.
        failed: In how many of them anything failed.
        upper: One-sided exact upper bound on the probability that a unit fails.
    """

    unit: str
    units: int
    failed: int
    upper: float


@dataclass(frozen=True, slots=True)
class FailureBounds:
    """What trials show about the probability of a failure.

    Attributes:
        by_unit: With trials, task items and sites as independent units.
        by_correlation: Upper bound per trial at each assumed correlation within task items
            (`CORRELATIONS`), from the effective number of trials.
        correlation: Correlation within task items estimated by analysis of variance; None without
            failures or with one trial per item, when it cannot be known.
        anytime: Upper bound per trial that holds however often one looks while trials come in.
    """

    confidence: float
    by_unit: tuple[UnitBound, ...]
    by_correlation: tuple[tuple[float, float], ...]
    correlation: float | None
    anytime: float
    caveat: str = CAVEAT


def failure_bounds(
    failed: BoolArray, *, item: Factor, site: Factor, confidence: float = 0.95
) -> FailureBounds:
    """Bound the probability of a failure at trial, task and site level.

    Args:
        failed: Whether each trial failed, shape (n,), at least one trial.
        item: Task item of each trial. Cluster keys are not optional.
        site: Site of each trial.
        confidence: One-sided.

    Raises:
        UsageError: If there is no trial, or the columns differ in length.
    """
    if not len(failed) == len(item) == len(site) or not len(failed):
        raise UsageError("failed, item and site must have one value for each of at least one trial")
    failures, trials = int(failed.sum()), len(failed)
    by_unit = [UnitBound("trial", trials, failures, exact_upper(failures, trials, confidence))]
    for unit, factor in (("task item", item), ("site", site)):
        hit = int(np.count_nonzero(np.bincount(factor.codes[failed])))
        units = int(np.count_nonzero(np.bincount(factor.codes)))
        by_unit.append(UnitBound(unit, units, hit, exact_upper(hit, units, confidence)))
    size = trials / by_unit[1].units
    grid = tuple(
        (rho, effective_upper(failures, trials, design_effect(size, rho), confidence)) for rho in CORRELATIONS
    )
    return FailureBounds(
        confidence=confidence,
        by_unit=tuple(by_unit),
        by_correlation=grid,
        correlation=correlation_within(failed, item),
        anytime=anytime_upper(failures, trials, confidence),
    )


def design_effect(cluster_size: float, correlation: float) -> float:
    """Return by how much clustering inflates the variance of a rate.

    >>> design_effect(5, 0.5)
    3.0
    """
    if not 0.0 <= correlation <= 1.0:
        raise UsageError(f"correlation must be between 0 and 1, not {correlation}")
    return 1.0 + (cluster_size - 1.0) * correlation


def effective_upper(failures: int, trials: int, effect: float, confidence: float = 0.95) -> float:
    """Return the exact upper bound with failures and trials both divided by the design effect.

    >>> round(effective_upper(0, 600, design_effect(5, 0.5)), 6)
    0.014867
    """
    from scipy.special import betaincinv

    passes, count = (trials - failures) / effect, failures / effect
    if passes == 0.0:
        return 1.0
    return 1.0 - float(betaincinv(passes, count + 1.0, 1.0 - confidence))


def correlation_within(failed: BoolArray, item: Factor) -> float | None:
    """Return the intraclass correlation of failures within items, by one-way analysis of variance.

    Clipped to [0, 1]; None where it is not defined.
    """
    sizes = np.bincount(item.codes)
    sizes, hits = sizes[sizes > 0], np.bincount(item.codes, failed)[sizes > 0]
    trials, groups = int(sizes.sum()), len(sizes)
    rate = hits.sum() / trials
    if not 0.0 < rate < 1.0 or groups < 2 or trials == groups:
        return None
    between = float((sizes * (hits / sizes - rate) ** 2).sum()) / (groups - 1)
    within = float((hits * (1.0 - hits / sizes)).sum()) / (trials - groups)
    size = (trials - float((sizes**2).sum()) / trials) / (groups - 1)
    return min(1.0, max(0.0, (between - within) / (between + (size - 1.0) * within)))


def anytime_upper(failures: int, trials: int, confidence: float = 0.95) -> float:
    """Return an upper bound that may be looked at after every trial without losing its level.

    By Ville's inequality for a mixture likelihood ratio: half its weight bets on a rate of zero, half on a
    Jeffreys-distributed one. Looking as often as one likes costs about a quarter while nothing fails.

    >>> round(anytime_upper(0, 300), 5), round(exact_upper(0, 300), 5)
    (0.01212, 0.00994)
    """
    from scipy.optimize import brentq
    from scipy.special import betaln

    if not 0 <= failures <= trials or trials < 1:
        raise UsageError(f"need 0 <= failures <= trials and at least one trial, not {failures} of {trials}")
    log_jeffreys = float(betaln(failures + 0.5, trials - failures + 0.5) - betaln(0.5, 0.5))
    log_wealth = math.log(0.5) + (np.logaddexp(0.0, log_jeffreys) if failures == 0 else log_jeffreys)

    def excess(p: float) -> float:
        log_likelihood = failures * math.log(p) + (trials - failures) * math.log1p(-p)
        return float(log_wealth - log_likelihood + math.log1p(-confidence))

    if failures == trials:
        return 1.0
    low = max(failures / trials, 1e-300)
    high = 1.0 - 1e-12
    return float(brentq(excess, low, high, xtol=1e-14)) if excess(low) < 0.0 < excess(high) else 1.0
