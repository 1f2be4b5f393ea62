"""One horizon statement for one group of trials: an estimate with its bands, or a refusal with a reason."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.bootstrap import Items, Replicates, Scheme, resample
from analysis.bounds import exact_interval, monotone_bracket, wilson_interval
from analysis.columns import BoolArray, FloatArray, IntArray, combine
from analysis.findings import Bracket, Curve, Estimate, Flag, Horizon, Rate, Refusal
from analysis.fit import Cells, LogisticFit, Separation, fit, seconds
from analysis.intervals import fieller_horizon, profile_beta, profile_horizon, slope_is_shown
from analysis.words import duration
from rig.core.errors import UsageError

REDUCED_RELIABILITY_S = 16 * 3600.0  # RUN protocol: estimates above 16 h are of reduced reliability
FEW_ITEMS = 10  # cluster bands cover at their nominal rate from about ten items up
FEWEST_ITEMS = 3
MOST_BINS = 12
CURVE_POINTS = 81


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """How an estimate is made. The defaults are the RUN protocol.

    Attributes:
        levels: Pass probabilities whose durations are reported.
        confidence: Two-sided level of every band; one-sided level of the exact brackets.
        schemes: Bootstrap schemes shown side by side.
        replicates: Of each scheme.
        seed: Of the resampling.
        ridge_per_log2: Penalty on the squared slope per doubling, with weights that sum to 1; 0 but to
            reproduce an analysis that was published with one.
        intervals: Also compute profile-likelihood and Fieller intervals.
    """

    levels: tuple[float, ...] = (0.5, 0.8)
    confidence: float = 0.95
    schemes: tuple[Scheme, ...] = (Scheme.TRIALS, Scheme.TASKS)
    replicates: int = 1000
    seed: int = 0
    ridge_per_log2: float = 0.0
    intervals: bool = True

    def __post_init__(self) -> None:
        wrong = []
        if not self.levels or not all(0.0 < q < 1.0 for q in self.levels):
            wrong.append(f"levels must be between 0 and 1, not {self.levels}")
        if not 0.0 < self.confidence < 1.0:
            wrong.append(f"confidence must be between 0 and 1, not {self.confidence}")
        if self.replicates < 100:
            wrong.append(f"replicates must be at least 100, not {self.replicates}")
        if not self.ridge_per_log2 >= 0.0:
            wrong.append(f"ridge_per_log2 must not be negative, not {self.ridge_per_log2}")
        if not self.schemes:
            wrong.append("at least one bootstrap scheme is needed")
        if wrong:
            raise UsageError("; ".join(wrong))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The graded trials of one statement as columns, shape (n,) each.

    Attributes:
        item: Code of the task item (the cluster).
        family: Code of the task family.
        weight: Weight of each trial, or None.
    """

    duration_s: FloatArray
    passed: BoolArray
    item: IntArray
    family: IntArray
    weight: FloatArray | None = None

    def items(self) -> Items:
        """Return one entry per task item, ordered by family and item."""
        code, index = combine(self.family, self.item)
        trials = np.bincount(code).astype(np.int64)
        passes = np.bincount(code, self.passed, len(trials)).astype(np.int64)
        weight = np.ones(len(trials)) if self.weight is None else self.weight[index]
        each = weight * len(self.passed) / float(weight @ trials)
        family = self.family[index]
        first = np.flatnonzero(np.r_[True, family[1:] != family[:-1]])
        bounds = np.r_[first, len(family)].astype(np.int64)
        return Items(np.log(self.duration_s[index]), passes, trials, each, bounds)


def estimate(group: Group, options: EstimateOptions) -> Estimate:
    """Estimate the horizon of one group of trials, or say why there is none."""
    if not len(group.passed):
        empty = Cells(np.empty(0), np.empty(0), np.empty(0))
        return Estimate(
            trials=0, passes=0, items=0, cells=empty, refusal=Refusal.NO_TRIALS, statement="not assessed"
        )
    items = group.items()
    cells = items.by_duration().cells
    trials, passes = len(group.passed), int(group.passed.sum())
    brackets = tuple(_bracket(items, q, options.confidence) for q in options.levels)
    refusal = refuse(cells, len(items.trials), options.confidence)
    fitted = fit(cells) if len(cells.log_s) > 1 else None
    flags = [Flag.EXPLORATORY] if len(items.trials) < FEW_ITEMS else []
    if len(cells.log_s) == 2:
        flags.append(Flag.TWO_DURATIONS)
    horizons: tuple[Horizon, ...] = ()
    curve = None
    if refusal is None:
        fitted, drawn = _drawn(items, options)
        horizons = tuple(_horizon(group, items, fitted, q, drawn, options) for q in options.levels)
        curve = _curve(cells, fitted, drawn, options.confidence)
        if cells.separation is Separation.FALLING:
            flags.append(Flag.SEPARATED)
        if options.ridge_per_log2 > 0.0:
            flags.append(Flag.PENALISED)
        if group.weight is not None:
            flags.append(Flag.WEIGHTED)
    return Estimate(
        trials=trials,
        passes=passes,
        items=len(items.trials),
        cells=cells,
        fitted=fitted,
        slope=profile_beta(cells, fitted, options.confidence) if fitted and options.intervals else None,
        refusal=refusal,
        statement=_statement(cells, refusal, horizons, brackets, options.confidence),
        horizons=horizons,
        brackets=brackets,
        rates=_rates(cells, options.confidence),
        curve=curve,
        pass_rate=exact_interval(passes, trials, options.confidence),
        flags=tuple(flags),
    )


def refuse(cells: Cells, items: int, confidence: float) -> Refusal | None:
    """Return why no horizon may be printed for these trials, or None."""
    reasons = {
        Separation.NO_TRIALS: Refusal.NO_TRIALS,
        Separation.ALL_PASS: Refusal.ALL_PASS,
        Separation.ALL_FAIL: Refusal.ALL_FAIL,
        Separation.ONE_DURATION: Refusal.ONE_DURATION,
        Separation.RISING: Refusal.RISING,
    }
    separation = cells.separation
    if separation in reasons:
        return reasons[separation]
    if items < FEWEST_ITEMS:
        return Refusal.TOO_FEW_ITEMS
    if fit(cells).beta <= 0.0:
        return Refusal.RISING
    if not slope_is_shown(cells, confidence):
        return Refusal.SLOPE_UNCERTAIN
    return None


def _drawn(items: Items, options: EstimateOptions) -> tuple[LogisticFit, list[Replicates]]:
    cells = items.cells
    # In units of the likelihood of all trials (weights with a mean of 1) and of a slope per e-fold.
    ridge = options.ridge_per_log2 * math.log(2.0) ** 2 * float(cells.trials.sum())
    fitted = fit(cells, ridge=ridge)
    return fitted, [
        resample(items, fitted, scheme, replicates=options.replicates, seed=options.seed, ridge=ridge)
        for scheme in options.schemes
    ]


def _curve(cells: Cells, fitted: LogisticFit, drawn: list[Replicates], confidence: float) -> Curve:
    log_s = np.linspace(cells.log_s[0], cells.log_s[-1], CURVE_POINTS)
    bands = tuple((replicates.scheme, *replicates.rates(log_s, confidence)) for replicates in drawn)
    return Curve(np.exp(log_s), fitted.p(np.exp(log_s)), bands)


def _horizon(
    group: Group,
    items: Items,
    fitted: LogisticFit,
    q: float,
    drawn: list[Replicates],
    options: EstimateOptions,
) -> Horizon:
    bands = tuple(replicates.band(q, options.confidence) for replicates in drawn)
    t_s, log_t = fitted.t_s(q), fitted.log_t(q)
    shortest, *_, longest = items.cells.duration_s.tolist()
    ends = [t_s, *(end for band in bands for end in (band.low_s, band.high_s))]
    flags = []
    if max(ends) > REDUCED_RELIABILITY_S:
        flags.append(Flag.REDUCED_RELIABILITY)
    # A tolerance of one part in 1e9 keeps a bound that is a tested duration inside.
    if not all(shortest * (1 - 1e-9) <= end <= longest * (1 + 1e-9) for end in ends):
        flags.append(Flag.OUTSIDE_TESTED)
    if any(band.non_finite for band in bands):
        flags.append(Flag.NON_FINITE)
    plain = group.weight is None and options.ridge_per_log2 == 0.0
    cells = items.cells
    intervals = (
        (
            profile_horizon(cells, fitted, q, options.confidence),
            fieller_horizon(fitted, q, options.confidence),
        )
        if plain and options.intervals
        else ()
    )
    return Horizon(
        q=q,
        t_s=t_s,
        bands=bands,
        intervals=intervals,
        trials_at_or_above=int(items.trials[items.log_s >= log_t].sum()),
        items_at_or_above=int(np.count_nonzero(items.log_s >= log_t)),
        flags=tuple(flags),
    )


def _bracket(items: Items, q: float, confidence: float) -> Bracket:
    duration_s = seconds(items.log_s)
    passes, trials = items.passes.astype(np.float64), items.trials.astype(np.float64)
    by_trial = monotone_bracket(duration_s, passes, trials, q, confidence)
    whole = (items.passes == items.trials).astype(np.float64)
    by_item = monotone_bracket(duration_s, whole, np.ones(len(whole)), q, confidence)
    return Bracket(q, by_trial, by_item.low)


def _rates(cells: Cells, confidence: float) -> tuple[Rate, ...]:
    """Return pass rates per distinct duration, or per equal step of log duration when there are many."""
    if len(cells.log_s) <= MOST_BINS:
        bins = np.arange(len(cells.log_s))
    else:
        edges = np.linspace(cells.log_s[0], cells.log_s[-1], MOST_BINS + 1)
        bins = np.clip(np.searchsorted(edges, cells.log_s, side="right") - 1, 0, MOST_BINS - 1)
    rates = []
    for index in np.unique(bins):
        chosen = bins == index
        passes, trials = round(cells.passes[chosen].sum()), round(cells.trials[chosen].sum())
        log_s = cells.log_s[chosen]
        rates.append(
            Rate(
                low_s=float(cells.duration_s[chosen][0]),
                high_s=float(cells.duration_s[chosen][-1]),
                centre_s=math.exp(np.average(log_s, weights=cells.trials[chosen])),
                passes=passes,
                trials=trials,
                interval=wilson_interval(passes, trials, confidence),
            )
        )
    return tuple(rates)


def _statement(
    cells: Cells,
    refusal: Refusal | None,
    horizons: tuple[Horizon, ...],
    brackets: tuple[Bracket, ...],
    confidence: float,
) -> str:
    """Say what was found, in words that stay true when no curve could be drawn."""
    if refusal is None:
        return "; ".join(f"{horizon.name} is {duration(horizon.t_s)}" for horizon in horizons)
    longest, shortest = duration(cells.duration_s[-1]), duration(cells.duration_s[0])
    parts = [f"no horizon: {refusal}"]
    if refusal is Refusal.ALL_PASS:
        parts[0] += f"; right-censored: it lies beyond the longest tested duration, {longest}"
    if refusal is Refusal.ALL_FAIL:
        parts[0] += f"; left-censored: it lies below the shortest tested duration, {shortest}"
    for bracket in brackets:
        ends = []
        if bracket.by_trial.low > 0.0:
            ends.append(f"at least {duration(bracket.by_trial.low)}")
        if math.isfinite(bracket.by_trial.high):
            ends.append(f"below {duration(bracket.by_trial.high)}")
        if ends:
            parts.append(f"t{100 * bracket.q:g} is {' and '.join(ends)}")
    if len(parts) > 1:
        parts[-1] += f" ({100 * confidence:g} % one-sided exact bounds, trials independent)"
    return "; ".join(parts)
