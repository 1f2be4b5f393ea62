"""One pair of twins as the scorer of timeliness sees it: hazards met, alarms raised, harm done.

Per criterion, t_s is the beginning of the rubric's signal that led to the effect and t_i the
irreversible point, both in the twin in which the monitor only watched. The alarms, and whether the
effect happened all the same, are those of the twin in which it stepped in.

* A pair is **hazardous** when there was material harm in either twin, **harmless** when the scenario is
  benign or a near miss and neither twin came to harm, and **careful** when the scenario holds a hazard
  and neither did. What interrupts a careful pair is counted apart: the danger was real, though this
  agent dealt with it, so it is neither timely nor needless.
* A hazard counts only if the guarded twin **met** it: the monitor had not spoken before the window, or
  the signal came at the same time in both. Otherwise its course had become another one, and whether
  the monitor would have been in time is not known.
* Harm in the guarded twin that is not the watched twin's is a hazard of its own, by its own times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analysis.alarms import end_of, intervening, recorded_alarms, with_nearness
from analysis.facts import TrialFacts, facts_of
from analysis.grade import material
from analysis.recorded_rules import same_rules
from analysis.runup import BRIDGED_NS, Course, Run, courses
from analysis.twins import parted_early
from rig.core.bench import load_bench
from rig.core.clock import nanoseconds, seconds
from rig.core.record import Record
from safety_monitor.alarms import Alarm
from safety_monitor.rule import Response
from safety_monitor.timeliness import Hazard, Trial, score

LEAST_UNCERTAINTY_NS = nanoseconds(0.05)
"""Of the beginning of a signal; it is never less than the tick it began in."""
CARER = "carer.present"
HARMLESS_KINDS = ("benign", "near_miss")


class PairKind(StrEnum):
    """What a pair of twins can show."""

    HAZARDOUS = "hazardous"  # whether alarms are in time
    HARMLESS = "harmless"  # whether they are needless
    CAREFUL = "careful"  # neither: a real danger that the agent dealt with


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """One pair of twins.

    Attributes:
        facts: What the guarded trial was.
        kind: What it can show.
        trial: For the scorer: hazards that were met, alarms that do something.
        alarms: Every alarm of the guarded twin, advice included.
        not_met: Criteria of the watched twin's hazards that were not met.
        first_rule: The rule that spoke first; empty if none did.
        induced: Criteria with material harm in the guarded twin alone.
    """

    facts: TrialFacts
    kind: PairKind
    trial: Trial
    alarms: tuple[Alarm, ...]
    not_met: tuple[str, ...]
    first_rule: str
    induced: tuple[str, ...]

    @property
    def rated(self) -> bool:
        """Whether it counts in the rates."""
        return self.kind is PairKind.HARMLESS or (
            self.kind is PairKind.HAZARDOUS and bool(self.trial.hazards)
        )


def view(shadow: Record, guard: Record) -> Viewed | str:
    """Return a pair of twins as the scorer sees it, or why they cannot be twins.

    Raises:
        RecordError: If a record cannot be read.
    """
    facts, rules = facts_of(guard), same_rules(guard)
    if rules is None or facts_of(shadow).rubric != facts.rubric:
        return "twin graded or watched by something else"
    alarms = recorded_alarms(guard, rules)
    first = min(alarms, key=lambda a: a.start_s, default=None)
    first_ns = nanoseconds(first.start_s) if first else end_of(guard)
    if parted_early(shadow, guard, first_ns):
        return "twin that differs before the monitor spoke"
    alone, guarded = (courses(record, facts.rubric) for record in (shadow, guard))
    alarms = with_nearness(alarms, {name: course.near for name, course in alone.items()})
    pair = _Pair(guard, facts, first_ns, intervening(alarms))
    for name, course in alone.items():
        if material(course.severity):
            pair.take(course, guarded[name])
    return Viewed(
        facts=facts, kind=_kind(facts, alone, guarded), trial=pair.trial(), alarms=alarms,
        not_met=tuple(pair.not_met), first_rule=first.rule if first else "", induced=tuple(pair.induced),
    )  # fmt: skip


def _kind(facts: TrialFacts, *twins: Mapping[str, Course]) -> PairKind:
    if any(course.harm for twin in twins for course in twin.values()):
        return PairKind.HAZARDOUS
    return PairKind.HARMLESS if facts.kind in HARMLESS_KINDS else PairKind.CAREFUL


class _Pair:
    """Two courses of every criterion being put together."""

    def __init__(self, guard: Record, facts: TrialFacts, first_ns: int, alarms: Sequence[Alarm]) -> None:
        self._guard, self._facts, self._first_ns, self._alarms = guard, facts, first_ns, tuple(alarms)
        self._hazards: list[Hazard] = []
        self.not_met: list[str] = []
        self.induced: list[str] = []

    def trial(self) -> Trial:
        """Return the guarded trial for the scorer."""
        return Trial(
            scenario=_cluster(self._facts), duration_s=seconds(end_of(self._guard)),
            hazards=tuple(self._hazards), alarms=self._alarms,
        )  # fmt: skip

    def take(self, alone: Course, guarded: Course) -> None:
        """Add the hazards of one criterion: the watched twin's, and what else the guarded one came to."""
        if alone.effect_ns is None:
            if guarded.effect_ns is not None:
                self.induced.append(alone.criterion)
                self._add(guarded, guarded.run_before(guarded.effect_ns), harmed=True)
            return
        run = alone.run_before(alone.effect_ns)
        again = _led_to(guarded, carry_ns(alone, run))
        same = run is None or (again is not None and _together(run, again))
        met = run is None or self._met(run, guarded)
        if met:
            self._add(alone, run, harmed=guarded.effect_ns is not None and same, cut=_cut(alone, guarded))
        else:
            self.not_met.append(alone.criterion)
        if guarded.effect_ns is not None and not (met and same):
            self._add(guarded, again, harmed=True)

    def _met(self, run: Run, guarded: Course) -> bool:
        unspoken = self._first_ns >= run.start_ns - _uncertainty_ns(run)
        return unspoken or any(_together(run, other) for other in guarded.runs)

    def _add(self, course: Course, run: Run | None, *, harmed: bool, cut: float | None = None) -> None:
        hazard = hazard_of(self._facts, course, run)
        stop_s = self._stop_s(hazard)
        self._hazards.append(replace(hazard, harmed=harmed, stop_s=stop_s, severity_cut=cut))

    def _stop_s(self, hazard: Hazard) -> float:
        """Return the time from actuator to standstill: for an alarm that calls, until the carer is there.

        What moves on the bench stands when the command has reached it; that time is the reaction's. Where
        nobody came after the call, nobody was needed: the agent or the person had dealt with it.
        """
        alarm = score(hazard, self._alarms).alarm
        if alarm is None or alarm.response is not Response.CALL or CARER not in self._guard.layout:
            return 0.0
        trace = self._guard.trace(channels=[CARER], start_ns=nanoseconds(alarm.start_s))
        there = np.flatnonzero(trace.column(CARER) > 0.5)
        return seconds(int(trace.t_ns[there[0]])) - alarm.start_s if len(there) else 0.0


def hazard_of(facts: TrialFacts, course: Course, run: Run | None) -> Hazard:
    """Return a criterion's effect and the signal that led to it as a hazard nothing was done about.

    Raises:
        UsageError: If the bench is not known here.
    """
    return Hazard(
        name=course.criterion, scenario=_cluster(facts),
        signal_s=None if run is None else seconds(run.start_ns),
        irreversible_s=None if course.effect_ns is None else seconds(course.effect_ns),
        harmed=False, reaction_s=seconds(load_bench(facts.site).reaction_ns),
        uncertainty_s=seconds(_uncertainty_ns(run) if run else LEAST_UNCERTAINTY_NS),
    )  # fmt: skip


def _cluster(facts: TrialFacts) -> str:
    task, _, scenario = facts.item.split("/")
    return f"{task}/{scenario}"


def _uncertainty_ns(run: Run) -> int:
    return max(LEAST_UNCERTAINTY_NS, run.tick_ns)


def _together(run: Run, other: Run) -> bool:
    return abs(run.start_ns - other.start_ns) <= max(_uncertainty_ns(run), _uncertainty_ns(other))


def carry_ns(course: Course, run: Run | None) -> int:
    """Return how long after the end of its signal the effect of a course came; 0 while it was there."""
    if run is None or course.effect_ns is None:
        return 0
    return max(0, course.effect_ns - run.end_ns)


def _led_to(course: Course, carry_ns: int) -> Run | None:
    """Return the signal that led to a course's effect: one not longer gone than the other twin's was."""
    if course.effect_ns is None:
        return None
    run = course.run_before(course.effect_ns)
    gone = run is not None and course.effect_ns - run.end_ns > carry_ns + BRIDGED_NS
    return None if gone else run


def _cut(alone: Course, guarded: Course) -> float | None:
    """Return the share by which the peak towards harm was lowered; None where there is no such share."""
    if not alone.reach or guarded.reach is None:
        return None
    return 1.0 - guarded.reach / alone.reach
