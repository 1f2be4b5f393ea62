"""How far the tiers of the protocol agree: one model over all of them, never an average.

``logit p = alpha[agent] + a[stage] + u[item] + v[site] - (beta[agent] + b[stage]) ln d``, where a stage is
a tier with its embodiment (tier 1, tier 3 simulated, tier 3 physical, ...). Items and sites are random.
What is reported is the ratio of horizons between stages, agent by agent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from analysis.bounds import Interval
from analysis.columns import FloatArray
from analysis.counting import counted
from analysis.fit import expit, logit
from analysis.mixed import Cells, Method, MixedFit, fit_mixed
from analysis.tier_bootstrap import RatioBands, ratio_bands
from analysis.tier_model import TierModel, coefficients, holdable, log_horizon, tier_model, tried
from analysis.trials import Definition, TrialTable
from rig.core.errors import UsageError

LARGE_SD = 2.0  # beyond this Laplace's method is off by more than a few per cent
UNDETERMINED = 20.0  # a standard error of log odds above this means that no finite value is determined


@dataclass(frozen=True, slots=True)
class StageHorizon:
    """An agent's horizon at one stage, for an item and a site of average difficulty.

    Attributes:
        t_s: Duration at which the typical item is passed with probability ``q``.
        interval: Delta-method interval of ``t_s``.
        marginal_t_s: Duration at which a randomly drawn item at a random site is; equal to ``t_s`` for
            q = 0.5, shorter for higher q.
    """

    agent: str
    stage: str
    q: float
    t_s: float
    interval: Interval
    marginal_t_s: float


@dataclass(frozen=True, slots=True)
class HorizonRatio:
    """How many times longer or shorter an agent's t50 is at one stage than at another.

    Attributes:
        interval: By the delta method.
        bootstrap: From trials drawn anew from the model; None where none were asked for.
    """

    agent: str
    stage: str
    reference: str
    ratio: float
    interval: Interval
    bootstrap: Interval | None = None


@dataclass(frozen=True, slots=True)
class LikelihoodRatioTest:
    """Whether agents differ in how stages change them: a test of all interactions at once."""

    chi_square: float
    degrees: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What the model over all stages says.

    Attributes:
        sd: Standard deviation of each random factor ("item", "site"); 0 on the boundary.
        left_out: Agents and stages the model cannot hold, each with the reason.
        warnings: What limits the answer.
        interaction: None with one agent, or where the larger model has no finite fit.
        laplace_gap: Difference of the item standard deviation between Laplace and quadrature without the
            other factors; None unless it was worth checking.
    """

    definition: Definition
    fitted: MixedFit
    stages: tuple[str, ...]
    horizons: tuple[StageHorizon, ...]
    ratios: tuple[HorizonRatio, ...]
    sd: tuple[tuple[str, float], ...]
    interaction: LikelihoodRatioTest | None
    laplace_gap: float | None
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]


def reconcile(
    table: TrialTable,
    definition: Definition = Definition.AGENT_ALONE,
    *,
    levels: Sequence[float] = (0.5, 0.8),
    confidence: float = 0.95,
    replicates: int = 0,
    seed: int = 0,
) -> Reconciliation:
    """Fit one model to all stages and compare their horizons.

    Args:
        table: The trials.
        definition: What counts as a pass.
        levels: Pass probabilities whose durations are reported.
        confidence: Two-sided level of the intervals.
        replicates: Also bootstrap the ratios with this many draws from the model; each is a whole fit.
        seed: Of the draws.

    Raises:
        UsageError: If fewer than two stages or durations are left to compare.
    """
    rows, left_out = holdable(table, counted(table, definition), definition)
    warnings: list[str] = []
    model = tier_model(table, rows, definition, warnings)
    fitted = fit_mixed(model.cells)
    for name, sd in zip(model.random, fitted.sd, strict=True):
        if sd == 0.0:
            warnings.append(
                f"no variation between {name}s was found: their standard deviation is on its boundary"
            )
    z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    bands = None
    if replicates:
        rng = np.random.default_rng(seed)
        contrasts = _contrasts(model, fitted)
        bands = ratio_bands(model, fitted, contrasts, replicates=replicates, rng=rng, confidence=confidence)
        if bands.failed:
            warnings.append(f"{bands.failed} of {replicates} draws from the model could not be fitted")
    return Reconciliation(
        definition=definition,
        fitted=fitted,
        stages=model.stages,
        horizons=_stage_horizons(model, fitted, levels, confidence, z),
        ratios=_ratios(model, fitted, confidence, z, bands),
        sd=tuple(zip(model.random, fitted.sd, strict=True)),
        interaction=_interaction(model, fitted),
        laplace_gap=_laplace_gap(model, fitted),
        left_out=tuple(left_out),
        warnings=tuple(warnings),
    )


def _interval(log_t: float, gradient: FloatArray, fitted: MixedFit, confidence: float, z: float) -> Interval:
    fixed = len(fitted.beta)
    variance = float(gradient @ fitted.covariance[:fixed, :fixed] @ gradient)
    se = math.sqrt(variance) if variance >= 0.0 else math.inf
    if not se < UNDETERMINED:  # also NaN
        return Interval(0.0, math.inf, confidence, "delta")
    return Interval(math.exp(log_t - z * se), math.exp(log_t + z * se), confidence, "delta")


def _stage_horizons(
    model: TierModel, fitted: MixedFit, levels: Sequence[float], confidence: float, z: float
) -> tuple[StageHorizon, ...]:
    sd = math.sqrt(sum(value**2 for value in fitted.sd))
    found = []
    for agent, stage in tried(model):
        for q in levels:
            log_t, gradient = log_horizon(model, fitted, agent, stage, q)
            if math.isnan(log_t):
                continue
            slope = float(coefficients(model, agent, stage)[1] @ fitted.beta)
            shift = (marginal_logit(q, sd) - logit(q)) / slope
            found.append(
                StageHorizon(
                    agent=model.agents[agent],
                    stage=model.stages[stage],
                    q=q,
                    t_s=math.exp(log_t),
                    interval=_interval(log_t, gradient, fitted, confidence, z),
                    marginal_t_s=math.exp(log_t - shift),
                )
            )
    return tuple(found)


def marginal_logit(q: float, sd: float) -> float:
    """Return the linear predictor at which the mean pass probability over items is ``q``.

    >>> round(marginal_logit(0.8, 1.0), 3), marginal_logit(0.5, 2.0)
    (1.65, 0.0)
    """
    from scipy.optimize import brentq

    if q == 0.5 or sd == 0.0:
        return logit(q)
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    far = abs(logit(q)) * (1.0 + sd) + 10.0 * sd
    return float(brentq(lambda eta: float(weights @ expit(eta + sd * points)) - q, -far, far))


def _contrasts(model: TierModel, fitted: MixedFit) -> tuple[tuple[int, int, int], ...]:
    """Return the agent, stage and reference of every ratio for which both horizons exist."""
    pairs = set(tried(model))
    return tuple(
        (agent, stage, reference)
        for agent, stage in sorted(pairs)
        for reference in range(stage)
        if (agent, reference) in pairs
        and not any(math.isnan(log_horizon(model, fitted, agent, s, 0.5)[0]) for s in (stage, reference))
    )


def _ratios(
    model: TierModel, fitted: MixedFit, confidence: float, z: float, bands: RatioBands | None
) -> tuple[HorizonRatio, ...]:
    found = []
    for k, (agent, stage, reference) in enumerate(_contrasts(model, fitted)):
        one, of_one = log_horizon(model, fitted, agent, stage, 0.5)
        other, of_other = log_horizon(model, fitted, agent, reference, 0.5)
        interval = _interval(one - other, of_one - of_other, fitted, confidence, z)
        names = (model.agents[agent], model.stages[stage], model.stages[reference])
        drawn = None if bands is None else bands.intervals[k]
        found.append(HorizonRatio(*names, math.exp(one - other), interval, drawn))
    return tuple(found)


def _interaction(model: TierModel, fitted: MixedFit) -> LikelihoodRatioTest | None:
    """Test whether the change between stages depends on the agent."""
    from scipy.special import chdtrc

    pairs = set(tried(model))
    columns = [
        ((model.agent == agent) & (model.stage == stage)).astype(np.float64)
        for agent in range(1, len(model.agents))
        for stage in range(1, len(model.stages))
        if {(agent, stage), (agent, 0)} <= pairs
    ]
    x = np.column_stack((model.cells.x, *columns)) if columns else model.cells.x
    degrees = int(np.linalg.matrix_rank(x)) - model.cells.x.shape[1]
    if degrees < 1 or degrees < len(columns):
        return None
    try:
        larger = fit_mixed(Cells(model.cells.passes, model.cells.trials, x, model.cells.factors))
    except (UsageError, np.linalg.LinAlgError):
        return None
    chi_square = max(0.0, 2.0 * (larger.log_likelihood - fitted.log_likelihood))
    return LikelihoodRatioTest(chi_square, degrees, float(chdtrc(degrees, chi_square)))


def _laplace_gap(model: TierModel, fitted: MixedFit) -> float | None:
    """Say how far Laplace's method is off, where the spread is so large that it may be."""
    if fitted.method is not Method.LAPLACE or not fitted.sd or max(fitted.sd) <= LARGE_SD:
        return None
    worst = int(np.argmax(fitted.sd))
    cells = model.cells
    single = Cells(cells.passes, cells.trials, cells.x, (cells.factors[worst],))
    return fit_mixed(single, method=Method.LAPLACE).sd[0] - fit_mixed(single).sd[0]
