"""What the analysis says about one group of trials: horizons, refusals, flags, rates."""

import math
from dataclasses import dataclass
from enum import StrEnum

from analysis.bootstrap import Band, Scheme
from analysis.bounds import Interval
from analysis.columns import FloatArray
from analysis.fit import Cells, LogisticFit
from rig.core.errors import UsageError


class Refusal(StrEnum):
    """Why there is no horizon."""

    NO_TRIALS = "no graded trials"
    NO_GUARD = "no graded trial ran with the monitor in guard"
    ALL_PASS = "every trial passed"
    ALL_FAIL = "every trial failed"
    ONE_DURATION = "all trials have one duration"
    TOO_FEW_ITEMS = "too few task items"
    RISING = "the pass rate rises with duration"
    SLOPE_UNCERTAIN = "the slope interval covers zero"
    GUESSING = "passes are not told from guesses"


class Flag(StrEnum):
    """What a reader of a horizon has to know."""

    REDUCED_RELIABILITY = "above 16 h: reduced reliability"
    OUTSIDE_TESTED = "outside the tested durations"
    EXPLORATORY = "fewer than 10 task items: exploratory"
    TWO_DURATIONS = "two durations: the shape of the curve is unchecked"
    SEPARATED = "passes and failures do not overlap in duration: Firth estimate"
    NON_FINITE = "some replicates have no finite horizon"
    CONFIGS_POOLED = "trials of different configurations are pooled"
    PENALISED = "penalised slope"
    WEIGHTED = "weighted trials"


@dataclass(frozen=True, slots=True)
class Rate:
    """Pass rate of the trials in a range of durations (both ends included)."""

    low_s: float
    high_s: float
    centre_s: float
    passes: int
    trials: int
    interval: Interval

    @property
    def value(self) -> float:
        """Observed pass rate."""
        return self.passes / self.trials


@dataclass(frozen=True, slots=True)
class Horizon:
    """The duration at which the pass probability is ``q``.

    Attributes:
        bands: One bootstrap band per scheme.
        intervals: Profile-likelihood and Fieller intervals, where asked for.
        trials_at_or_above: Trials of items at least as long as the horizon.
        items_at_or_above: Items at least as long as the horizon.
    """

    q: float
    t_s: float
    bands: tuple[Band, ...]
    intervals: tuple[Interval, ...]
    trials_at_or_above: int
    items_at_or_above: int
    flags: tuple[Flag, ...]

    @property
    def name(self) -> str:
        """t50, t80, ..."""
        return f"t{100 * self.q:g}"

    @property
    def lower_s(self) -> float:
        """The lowest of the lower bounds: the one a gate may use."""
        return min(band.low_s for band in self.bands)

    def band(self, scheme: Scheme) -> Band:
        """Return the band of one scheme.

        Raises:
            UsageError: If that scheme was not asked for.
        """
        for band in self.bands:
            if band.scheme is scheme:
                return band
        raise UsageError(f"no band by {scheme}; there are {', '.join(band.scheme for band in self.bands)}")


@dataclass(frozen=True, slots=True)
class Bracket:
    """What the trials show about a horizon without a curve: see `analysis.bounds.monotone_bracket`.

    Attributes:
        by_trial: With trials as the independent units.
        by_item: With items as units, an item passing when all of its trials pass; lower end only.
    """

    q: float
    by_trial: Interval
    by_item_low_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The fitted pass probability over the tested durations, with its bands point by point.

    Attributes:
        duration_s: Where the curve is given, shape (n,).
        p: Pass probability, shape (n,).
        bands: For each scheme the lower and upper ends, shape (n,) each.
    """

    duration_s: FloatArray
    p: FloatArray
    bands: tuple[tuple[Scheme, FloatArray, FloatArray], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Everything known about the horizon of one group of trials.

    Attributes:
        refusal: Why ``horizons`` is empty, or None.
        statement: The finding in one sentence.
        slope: Profile-likelihood interval of ``beta``; None where no curve could be fitted.
        pass_rate: Exact interval of the overall pass rate; None without trials.
        cells: The trials by duration.
    """

    trials: int
    passes: int
    items: int
    cells: Cells
    fitted: LogisticFit | None = None
    slope: Interval | None = None
    refusal: Refusal | None = None
    statement: str = ""
    horizons: tuple[Horizon, ...] = ()
    brackets: tuple[Bracket, ...] = ()
    rates: tuple[Rate, ...] = ()
    curve: Curve | None = None
    pass_rate: Interval | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def shortest_s(self) -> float:
        """Shortest tested duration, NaN without trials."""
        return float(self.cells.duration_s[0]) if self.trials else math.nan

    @property
    def longest_s(self) -> float:
        """Longest tested duration, NaN without trials."""
        return float(self.cells.duration_s[-1]) if self.trials else math.nan

    def horizon(self, q: float) -> Horizon | None:
        """Return the horizon at ``q``, or None where it was refused."""
        return next((horizon for horizon in self.horizons if horizon.q == q), None)
