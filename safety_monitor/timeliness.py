"""Was the monitor in time? Alarms scored against the first sufficient signal and the irreversible point.

For a hazard that would have done harm (known from the twin trial with the same seed in which the
monitor only watched), let t_s be the first sufficient signal, t_i the irreversible point, tau the
time from alarm to actuator and T the time to stop. The last useful alarm is t_p = t_i - tau - T, and
a timely alarm lies in [t_s - delta, t_p], delta the uncertainty of t_s. Nothing here is ever added
up into one score: rates, interruptions, leads and loads stand side by side.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rig.core.errors import UsageError
from safety_monitor.alarms import Alarm, Load, load
from safety_monitor.rates import PerHour, Rate, poisson_per_hour, rate, zero_miss_bound

NEAR_MISS = 0.1
"""An alarm on a harmless trial that came within this share of the limit is a near miss."""
BUDGETS_PER_H = (1.0, 0.1)
"""Interruption budgets at which the rate of timely alarms is quoted."""
LEADS_S = (0.1, 0.25, 0.5, 1.0)
"""Leads at which recall is quoted, inside a budget only."""


class Timing(StrEnum):
    """What became of one hazard."""

    TIMELY = "timely"  # alarmed in the window, and the effect did not happen
    LATE_MITIGATED = "late_mitigated"  # after the last useful moment, before the effect
    POST_HOC = "post_hoc"  # after the effect
    MISSED = "missed"  # no alarm
    PREMATURE = "premature"  # before anything could be known: protected, but not by knowledge
    INEFFECTIVE = "ineffective"  # in the window, and the effect happened all the same
    UNPREVENTABLE = "unpreventable"  # no window on this rig: a design gap, not the monitor's
    NO_EFFECT = "no_effect"  # the twin shows no effect: nothing to be in time for


COUNTED = frozenset(Timing) - {Timing.UNPREVENTABLE, Timing.NO_EFFECT}
"""The classes that make up the denominator of the timely rate."""


class Interruption(StrEnum):
    """Why a harmless trial was interrupted."""

    FAIL_SAFE = "fail_safe"  # a reading was stale or invalid
    NEAR_MISS = "near_miss"  # it came within a tenth of the limit
    NUISANCE = "nuisance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One hazard in one trial, and in its twin.

    Attributes:
        name: Id of the criterion.
        scenario: Cluster for the bootstrap.
        signal_s: First sufficient signal, from the twin; None where there was none.
        irreversible_s: Onset of the irreversible effect in the twin; None where there was none.
        harmed: Whether the effect happened in the trial itself, with the monitor acting.
        reaction_s: From alarm to actuator, the bench's measured worst case.
        stop_s: From actuator to standstill in the state at the alarm.
        uncertainty_s: Of ``signal_s``.
        severity_cut: Share by which a late alarm lowered the peak against the twin; None if unknown.
    """

    name: str
    scenario: str
    signal_s: float | None
    irreversible_s: float | None
    harmed: bool
    reaction_s: float
    stop_s: float = 0.0
    uncertainty_s: float = 0.05
    severity_cut: float | None = None

    def __post_init__(self) -> None:
        if not (self.reaction_s >= 0 and self.stop_s >= 0 and self.uncertainty_s >= 0):
            raise UsageError(f"hazard {self.name}: reaction, stop and uncertainty must not be negative")

    @property
    def last_useful_s(self) -> float | None:
        """t_p, the last moment at which an alarm still prevents the effect."""
        return None if self.irreversible_s is None else self.irreversible_s - self.reaction_s - self.stop_s


@dataclass(frozen=True, slots=True)
class Scored:
    """One hazard's class, with the alarm that decided it.

    Attributes:
        hazard: The hazard.
        timing: Its class.
        alarm: The alarm, None where there was none.
        lead_s: t_p - t_a; negative when late.
        delay_s: t_a - t_s.
    """

    hazard: Hazard
    timing: Timing
    alarm: Alarm | None
    lead_s: float | None
    delay_s: float | None


def score(hazard: Hazard, alarms: Sequence[Alarm]) -> Scored:
    """Return what became of a hazard, given all alarms of the trial.

    The alarm that counts is the first of a rule that protects this criterion whose episode has not
    ended before the window opens.
    """
    signal_s, last_s, effect_s = hazard.signal_s, hazard.last_useful_s, hazard.irreversible_s
    if effect_s is None or last_s is None:
        return Scored(hazard, Timing.NO_EFFECT, None, None, None)
    if signal_s is None or last_s < signal_s:
        return Scored(hazard, Timing.UNPREVENTABLE, None, None, None)
    opens_s = signal_s - hazard.uncertainty_s
    candidates = [a for a in alarms if a.protects == hazard.name and a.end_s >= opens_s]
    alarm = min(candidates, key=lambda a: a.start_s, default=None)
    if alarm is None:
        return Scored(hazard, Timing.MISSED, None, None, None)
    t_s = alarm.start_s
    if t_s < opens_s:
        timing = Timing.PREMATURE
    elif t_s <= last_s:
        timing = Timing.INEFFECTIVE if hazard.harmed else Timing.TIMELY
    else:
        timing = Timing.LATE_MITIGATED if t_s < effect_s else Timing.POST_HOC
    return Scored(hazard, timing, alarm, last_s - t_s, t_s - signal_s)


def interruption(alarm: Alarm) -> Interruption:
    """Return why an actuating alarm interrupted a harmless trial."""
    if alarm.unknown:
        return Interruption.FAIL_SAFE
    return Interruption.NEAR_MISS if alarm.near < NEAR_MISS else Interruption.NUISANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A trial as the scorer sees it: its hazards, or none when it was harmless; its alarms; its length."""

    scenario: str
    duration_s: float
    hazards: tuple[Hazard, ...]
    alarms: tuple[Alarm, ...]

    @property
    def harmless(self) -> bool:
        """Whether the twin shows neither signal nor effect of any hazard."""
        return all(h.signal_s is None and h.irreversible_s is None for h in self.hazards)


def timely_rate(scored: Sequence[Scored], rng: np.random.Generator, level: float = 0.95) -> Rate:
    """Return the share of timely alarms among preventable hazards that would have done harm."""
    counted = [s for s in scored if s.timing in COUNTED]
    return rate(
        [s.timing is Timing.TIMELY for s in counted], [s.hazard.scenario for s in counted], rng, level
    )


@dataclass(frozen=True, slots=True)
class Chance:
    """What alarms at random would have reached with the same time in alarm."""

    timely: float | None
    improvement: float | None


def chance_baseline(trials: Sequence[Trial], scored: Sequence[Scored]) -> Chance:
    """Return the timely rate of a Poisson process of alarms of the same number and length.

    A window of length w holds the start of a random alarm with probability 1 - exp(-rate * w).
    """
    total_s = sum(t.duration_s for t in trials)
    starts = sum(len(t.alarms) for t in trials)
    counted = [s for s in scored if s.timing in COUNTED]
    if not counted or not total_s > 0:
        return Chance(None, None)
    rate = starts / total_s
    windows = [_window_s(s.hazard) for s in counted]
    by_chance = float(np.mean(-np.expm1(-rate * np.array(windows))))
    reached = sum(s.timing is Timing.TIMELY for s in counted) / len(counted)
    return Chance(by_chance, reached - by_chance)


def _window_s(hazard: Hazard) -> float:
    if hazard.signal_s is None or hazard.last_useful_s is None:
        return 0.0
    return max(0.0, hazard.last_useful_s - hazard.signal_s + hazard.uncertainty_s)


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, fifth percentile and minimum of some times, in seconds; None where there were none."""

    n: int
    median: float | None
    low: float | None
    least: float | None


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(0, None, None, None)
    v = np.array(values)
    return Spread(len(v), float(np.median(v)), float(np.quantile(v, 0.05)), float(v.min()))


@dataclass(frozen=True, slots=True)
class Report:
    """Everything measured about a monitor's timeliness; no total.

    Attributes:
        classes: How many hazards fell in each class.
        timely: Rate of timely alarms.
        miss_bound: Upper bound on the share of misses where there was none, else None.
        interruptions: How many of each kind on harmless trials.
        per_hour: Unnecessary interruptions per harmless hour.
        per_run: Unnecessary interruptions per harmless trial; None without such trials.
        advisories: Alarms on harmless trials that asked for nothing but attention.
        lead: t_p - t_a of the timely alarms.
        delay: t_a - t_s of the timely alarms.
        recall_at_lead: Share of counted hazards with a timely alarm at least so early, by lead.
        chance: The baseline at equal time in alarm.
        load: What the alarms ask of people.
    """

    classes: dict[Timing, int]
    timely: Rate
    miss_bound: float | None
    interruptions: dict[Interruption, int]
    per_hour: PerHour
    per_run: float | None
    advisories: int
    lead: Spread
    delay: Spread
    recall_at_lead: dict[float, float | None]
    chance: Chance
    load: Load


def report(trials: Sequence[Trial], rng: np.random.Generator) -> Report:
    """Return the timeliness of a monitor over trials.

    Raises:
        UsageError: If there are no trials: that is not assessed, not good.
    """
    if not trials:
        raise UsageError("there are no trials to score: not assessed")
    scored = [score(h, t.alarms) for t in trials for h in t.hazards]
    counted = [s for s in scored if s.timing in COUNTED]
    timely = [s for s in counted if s.timing is Timing.TIMELY]
    misses = sum(s.timing is Timing.MISSED for s in counted)
    harmless = [t for t in trials if t.harmless]
    needless = [a for t in harmless for a in t.alarms if a.actuates]
    leads = [s.lead_s for s in timely if s.lead_s is not None]
    return Report(
        classes=dict(Counter(s.timing for s in scored)),
        timely=timely_rate(scored, rng),
        miss_bound=zero_miss_bound(len(counted)) if counted and not misses else None,
        interruptions=dict(Counter(map(interruption, needless))),
        per_hour=poisson_per_hour(len(needless), sum(t.duration_s for t in harmless) / 3600.0),
        per_run=len(needless) / len(harmless) if harmless else None,
        advisories=sum(not a.actuates for t in harmless for a in t.alarms),
        lead=_spread(leads),
        delay=_spread([s.delay_s for s in timely if s.delay_s is not None]),
        recall_at_lead={
            lead: sum(v >= lead for v in leads) / len(counted) if counted else None for lead in LEADS_S
        },
        chance=chance_baseline(trials, scored),
        load=load([(t.alarms, t.duration_s) for t in trials]),
    )


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of a predictor and what came of it."""

    kappa: float
    report: Report


@dataclass(frozen=True, slots=True)
class Headline:
    """The best timely rate within a budget of interruptions per hour, and recall by lead there."""

    budget_per_h: float
    kappa: float | None
    timely: float | None
    recall_at_lead: dict[float, float | None]


def headlines(curve: Sequence[Point]) -> tuple[Headline, ...]:
    """Return the operating curve's best points at each of `BUDGETS_PER_H`; None where none fits."""
    found = []
    for budget in BUDGETS_PER_H:
        within = [
            p for p in curve
            if p.report.per_hour.value is not None and p.report.per_hour.value <= budget
            and p.report.timely.value is not None
        ]  # fmt: skip
        best = max(within, key=lambda p: (p.report.timely.value or 0.0, -p.kappa), default=None)
        if best is None:
            found.append(Headline(budget, None, None, dict.fromkeys(LEADS_S)))
        else:
            recall = dict(best.report.recall_at_lead)
            found.append(Headline(budget, best.kappa, best.report.timely.value, recall))
    return tuple(found)
