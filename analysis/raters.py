"""How far people, and judges that are models, agree on what they rate.

Ratings are small integers, one row per unit (a trial, or a criterion of a trial), one column per rater,
`MISSING` where a rater did not look. Units of one task item are not independent: intervals come from drawing
whole clusters, and the cluster of every unit has to be given.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analysis.bounds import Interval
from analysis.columns import BoolArray, FloatArray, IntArray
from analysis.counter import stream_key, uniforms
from rig.core.errors import UsageError

MISSING = -1
REPLICATES = 2000


class Scale(StrEnum):
    """What a difference between two ratings means."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class Agreement:
    """One coefficient of agreement.

    Attributes:
        value: NaN where it is not defined, e.g. when only one category was ever used.
        interval: From drawing clusters; a replicate in which the coefficient is not defined counts as the
            worst case for either end.
        undefined: How many replicates that were.
    """

    name: str
    value: float
    interval: Interval
    undefined: int


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """All coefficients side by side, since each misleads somewhere.

    Attributes:
        cohen: Mean of Cohen's kappa over pairs of raters; low when nearly all units are alike.
        weighted: The same with squared distances as weights.
        alpha: Krippendorff's alpha.
        ac1: Gwet's AC1, which stays high when nearly all units are alike.
        prevalence: Share of each category among all ratings.
    """

    units: int
    clusters: int
    raters: int
    cohen: Agreement
    weighted: Agreement
    alpha: Agreement
    ac1: Agreement
    prevalence: tuple[float, ...]


Statistic = Callable[[FloatArray], FloatArray]


def agreement(
    ratings: IntArray,
    *,
    cluster: IntArray,
    scale: Scale = Scale.NOMINAL,
    seed: int = 0,
    confidence: float = 0.95,
) -> AgreementReport:
    """Measure how far raters agree.

    Args:
        ratings: Category of each unit by each rater, `MISSING` or from 0, shape (units, raters).
        cluster: Cluster of each unit, from 0, shape (units,).
        scale: Of the categories, for alpha.
        seed: Of the resampling.
        confidence: Two-sided.

    Raises:
        UsageError: If there are fewer than two raters, no unit rated twice, or shapes differ.
    """
    if ratings.ndim != 2 or ratings.shape[1] < 2 or len(cluster) != len(ratings):
        raise UsageError("ratings must have a row for each unit, with a cluster, and at least two raters")
    used = (ratings != MISSING).sum(axis=1) > 1
    if not used.any():
        raise UsageError("no unit was rated by two raters")
    ratings, cluster = ratings[used], cluster[used]
    categories = int(ratings.max()) + 1
    clusters, code = np.unique(cluster, return_inverse=True)
    drawn = _draws(len(clusters), stream_key(seed, "raters"))

    def measure(name: str, per_unit: FloatArray, statistic: Statistic) -> Agreement:
        sums = np.zeros((len(clusters), per_unit.shape[1]))
        np.add.at(sums, code, per_unit)
        value = float(statistic(sums.sum(axis=0, keepdims=True))[0])
        return Agreement(name, value, *_interval(statistic(drawn @ sums), confidence))

    squared = np.asarray((np.arange(categories)[:, None] - np.arange(categories)) ** 2, np.float64)
    unlike = np.asarray(1.0 - np.eye(categories), np.float64)
    tables = _pair_tables(ratings, categories)
    coincidences = _coincidences(ratings, categories)
    shares = coincidences.sum(axis=0).reshape(categories, categories).sum(axis=1)
    return AgreementReport(
        units=len(ratings),
        clusters=len(clusters),
        raters=ratings.shape[1],
        cohen=measure("Cohen's kappa", tables, lambda t: _kappa(t, categories, unlike)),
        weighted=measure("weighted kappa", tables, lambda t: _kappa(t, categories, squared)),
        alpha=measure("Krippendorff's alpha", coincidences, lambda t: _alpha(t, categories, scale)),
        ac1=measure("Gwet's AC1", _gwet_parts(ratings, categories), _ac1),
        prevalence=tuple((shares / shares.sum()).tolist()),
    )


def _draws(clusters: int, key: int) -> FloatArray:
    """Return how often each cluster is drawn in each replicate, shape (replicates, clusters)."""
    picks = (uniforms(key, 0, REPLICATES * clusters) * clusters).astype(np.int64)
    replicate = np.repeat(np.arange(REPLICATES), clusters)
    counts = np.bincount(replicate * clusters + picks, minlength=REPLICATES * clusters)
    return counts.reshape(REPLICATES, clusters).astype(np.float64)


def _interval(values: FloatArray, confidence: float) -> tuple[Interval, int]:
    undefined = int(np.count_nonzero(~np.isfinite(values)))
    tail = (1.0 - confidence) / 2.0
    low = np.quantile(np.where(np.isfinite(values), values, -1.0), tail)
    high = np.quantile(np.where(np.isfinite(values), values, 1.0), 1.0 - tail)
    return Interval(float(low), float(high), confidence, "bootstrap over clusters"), undefined


def _pair_tables(ratings: IntArray, categories: int) -> FloatArray:
    """Return for each unit the tables of all pairs of raters, flattened, shape (units, pairs * k * k)."""
    raters = ratings.shape[1]
    tables = []
    for one in range(raters):
        for other in range(one + 1, raters):
            both = (ratings[:, one] != MISSING) & (ratings[:, other] != MISSING)
            cell = np.where(both, ratings[:, one] * categories + ratings[:, other], 0)
            tables.append(np.eye(categories**2)[cell] * both[:, None])
    return np.concatenate(tables, axis=1)


def _kappa(tables: FloatArray, categories: int, distance: FloatArray) -> FloatArray:
    """Return mean kappa over pairs of raters, for each replicate."""
    table = tables.reshape(len(tables), -1, categories, categories)
    size = table.sum(axis=(2, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = table / size[..., None, None]
        chance = share.sum(axis=3)[..., :, None] * share.sum(axis=2)[..., None, :]
        kappa = 1.0 - (share * distance).sum(axis=(2, 3)) / (chance * distance).sum(axis=(2, 3))
    seen = size > 0  # a pair of raters that shares no unit says nothing
    total = np.where(seen, kappa, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(seen.sum(axis=1), 1))


def _coincidences(ratings: IntArray, categories: int) -> FloatArray:
    """Return for each unit its pairs of unlike raters by category, flattened, shape (units, k * k)."""
    counts = np.stack([(ratings == k).sum(axis=1) for k in range(categories)], axis=1).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= np.eye(categories) * counts[:, :, None]
    pairs /= (counts.sum(axis=1) - 1.0)[:, None, None]
    return pairs.reshape(len(ratings), -1)


def _alpha(coincidences: FloatArray, categories: int, scale: Scale) -> FloatArray:
    observed = coincidences.reshape(len(coincidences), categories, categories)
    totals = observed.sum(axis=2)
    size = totals.sum(axis=1)
    distance = _distance(totals, scale)
    expected = totals[:, :, None] * totals[:, None, :] / (size - 1.0)[:, None, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (observed * distance).sum(axis=(1, 2)) / (expected * distance).sum(axis=(1, 2))
    return np.asarray(1.0 - ratio)


def _distance(totals: FloatArray, scale: Scale) -> FloatArray:
    """Return the squared distance between categories, shape (replicates, k, k)."""
    categories = totals.shape[1]
    index = np.arange(categories)
    match scale:
        case Scale.NOMINAL:
            return np.broadcast_to(1.0 - np.eye(categories), (len(totals), categories, categories))
        case Scale.INTERVAL:
            squares = (index[:, None] - index) ** 2.0
            return np.broadcast_to(squares, (len(totals), categories, categories))
        case Scale.ORDINAL:
            # Ratings between two categories, counting half of those in each of them.
            middle = np.cumsum(totals, axis=1) - totals / 2.0
            return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)


def _gwet_parts(ratings: IntArray, categories: int) -> FloatArray:
    """Return for each unit agreement of its pairs, one, and its shares, shape (units, 2 + k)."""
    counts = np.stack([(ratings == k).sum(axis=1) for k in range(categories)], axis=1).astype(np.float64)
    size = counts.sum(axis=1)
    agreed = (counts * (counts - 1.0)).sum(axis=1) / (size * (size - 1.0))
    return np.column_stack((agreed, np.ones(len(ratings)), counts / size[:, None]))


def _ac1(parts: FloatArray) -> FloatArray:
    units = parts[:, 1]
    share = parts[:, 2:] / units[:, None]
    categories = share.shape[1]
    if categories < 2:
        return np.full(len(parts), math.nan)
    chance = (share * (1.0 - share)).sum(axis=1) / (categories - 1.0)
    return np.asarray((parts[:, 0] / units - chance) / (1.0 - chance))


@dataclass(frozen=True, slots=True)
class JudgeValidation:
    """Whether a judge may stand in for people.

    Attributes:
        confusion: Trials by (people say pass, judge says pass): fail/fail, fail/pass, pass/fail, pass/pass.
        sensitivity: Share of people's passes that the judge passes.
        specificity: Share of people's failures that the judge fails.
        conflict: Share of trials in which they differ.
        kappa: Chance-corrected agreement.
        corrected_pass_rate: Pass rate of all judged trials, corrected for the judge's errors; None where the
            judge is no better than chance.
        reasons: Why it is not validated; empty if it is.
    """

    confusion: tuple[int, int, int, int]
    sensitivity: Interval
    specificity: Interval
    conflict: Interval
    kappa: Agreement
    corrected_pass_rate: Interval | None
    reasons: tuple[str, ...]

    @property
    def validated(self) -> bool:
        """Whether nothing speaks against the judge."""
        return not self.reasons


def validate_judge(
    people: BoolArray,
    judge: BoolArray,
    *,
    cluster: IntArray,
    judged_rate: float | None = None,
    least_kappa: float = 0.6,
    seed: int = 0,
    confidence: float = 0.95,
) -> JudgeValidation:
    """Compare a judge with people on trials that both rated.

    Args:
        people: Whether people passed each trial, shape (n,).
        judge: Whether the judge did, shape (n,).
        cluster: Cluster of each trial, from 0, shape (n,).
        judged_rate: The judge's pass rate over all trials it judged; by default over these.
        least_kappa: The lower bound of kappa has to reach this.
        seed: Of the resampling.
        confidence: Two-sided.

    Raises:
        UsageError: If there is no trial, or shapes differ.
    """
    if not len(people) == len(judge) == len(cluster) or not len(people):
        raise UsageError("people, judge and cluster must have one value for each of at least one trial")
    ratings = np.stack((people, judge), axis=1).astype(np.int64)
    kappa = agreement(ratings, cluster=cluster, seed=seed, confidence=confidence).cohen
    clusters, code = np.unique(cluster, return_inverse=True)
    cells = np.eye(4)[2 * people.astype(np.int64) + judge.astype(np.int64)]
    sums = np.zeros((len(clusters), 4))
    np.add.at(sums, code, cells)
    drawn = np.vstack((np.ones(len(clusters)), _draws(len(clusters), stream_key(seed, "judge")))) @ sums
    sensitivity, specificity, conflict, corrected = _judge_rates(drawn, judged_rate)
    rates = [_share(values, confidence) for values in (sensitivity, specificity, conflict)]
    informative = np.isfinite(corrected[0])
    reasons = _against(kappa, least_kappa, rates[0], rates[1], len(clusters))
    return JudgeValidation(
        confusion=tuple(int(count) for count in drawn[0]),  # type: ignore[arg-type]  # four of them
        sensitivity=rates[0],
        specificity=rates[1],
        conflict=rates[2],
        kappa=kappa,
        corrected_pass_rate=_share(corrected, confidence) if informative else None,
        reasons=reasons,
    )


def _judge_rates(
    table: FloatArray, judged_rate: float | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return sensitivity, specificity, conflict and corrected pass rate of each replicate."""
    true_fail, false_pass, false_fail, true_pass = table.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sensitivity = true_pass / (true_pass + false_fail)
        specificity = true_fail / (true_fail + false_pass)
        size = table.sum(axis=1)
        rate = (true_pass + false_pass) / size if judged_rate is None else np.full(len(table), judged_rate)
        better = sensitivity + specificity - 1.0
        # Rogan & Gladen (1978); without better-than-chance ratings there is nothing to correct with.
        corrected = np.clip((rate + specificity - 1.0) / better, 0.0, 1.0)
    corrected = np.where(better > 0.0, corrected, np.nan)
    return sensitivity, specificity, (false_pass + false_fail) / size, corrected


def _share(values: FloatArray, confidence: float) -> Interval:
    """Return the interval of a share; a replicate in which it is not defined is the worst for either end."""
    tail = (1.0 - confidence) / 2.0
    replicates: NDArray[np.float64] = values[1:]
    low = np.quantile(np.where(np.isfinite(replicates), replicates, 0.0), tail)
    high = np.quantile(np.where(np.isfinite(replicates), replicates, 1.0), 1.0 - tail)
    return Interval(float(low), float(high), confidence, "bootstrap over clusters")


def _against(
    kappa: Agreement, least_kappa: float, sensitivity: Interval, specificity: Interval, clusters: int
) -> tuple[str, ...]:
    reasons = []
    if clusters < 10:
        reasons.append(f"only {clusters} clusters: at least 10 are needed")
    if not kappa.interval.low >= least_kappa:
        reasons.append(f"kappa may be as low as {kappa.interval.low:.2f}; at least {least_kappa:g} is needed")
    for name, interval in (("passes", sensitivity), ("failures", specificity)):
        if not interval.low > 0.5:
            reasons.append(f"people's {name} may be recognised only {100 * interval.low:.0f} % of the time")
    return tuple(reasons)
