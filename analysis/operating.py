"""The operating curve of a predictor, and its calibration: what each kappa would have made of records.

Open loop and so cheap: the readings of trials in which the monitor only watched are taken as they are,
and for every tick the least kappa is found at which the rule would have been broken. An alarm by the
last useful moment counts as preventing the effect; whether it does is for the twins to show
(`analysis.timeliness`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from analysis.alarms import end_of
from analysis.facts import TrialFacts, facts_of
from analysis.hazards import HARMLESS_KINDS, hazard_of
from analysis.recorded_rules import rules_now
from analysis.runup import courses, runs_of
from analysis.twins import why_incomplete
from rig.core.channel import FloatArray, IntArray
from rig.core.clock import seconds
from rig.core.errors import RecordError, UsageError
from rig.core.record import Record, read, records_under
from safety_monitor.alarms import Alarm
from safety_monitor.nodes import Ahead, And, Compare, Constant
from safety_monitor.predict import Calibration, calibrate
from safety_monitor.rule import Rule
from safety_monitor.timeliness import Hazard, Point, Trial, report
from safety_monitor.vector import Evaluation

KAPPAS = (-2.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


@dataclass(frozen=True, slots=True)
class Watched:
    """One trial in which the monitor only watched, as a predictor sees it.

    Attributes:
        facts: What the trial was.
        t_ns: Shape (n,).
        needed: Shape (n,): least kappa at which the rule is broken; infinite where it cannot be,
            minus infinity where the reading itself is over the limit.
        trial: Its hazards of the rule's criterion, without alarms.
    """

    facts: TrialFacts
    t_ns: IntArray
    needed: FloatArray
    trial: Trial

    @property
    def harmless(self) -> bool:
        """Whether an alarm in it would be needless."""
        return not self.trial.hazards and self.facts.kind in HARMLESS_KINDS

    @property
    def least(self) -> float:
        """The least kappa that would have interrupted it."""
        return float(self.needed.min()) if len(self.needed) else np.inf

    @property
    def least_at_s(self) -> float:
        """Trial time at which that kappa would have; NaN in a trial without ticks."""
        return seconds(int(self.t_ns[self.needed.argmin()])) if len(self.needed) else np.nan


def predictor_of(rule: Rule) -> tuple[Ahead, float]:
    """Return what a rule predicts and the limit it looks out for.

    Raises:
        UsageError: If the rule is not ``ahead(...) > limit``, in a scope or not.
    """
    match rule.leading:
        case Compare(op=(">" | ">="), left=Ahead() as ahead, right=Constant(value=limit)) if (
            rule.violated is rule.leading or isinstance(rule.violated, And)
        ):
            return ahead, limit
        case _:
            raise UsageError(f"rule {rule.id} predicts nothing: it is not of the form ahead(...) > limit")


def needed_kappas(record: Record, rule: Rule) -> tuple[IntArray, FloatArray]:
    """Return the ticks of a record and the least kappa at which the rule is broken at each.

    Raises:
        UsageError: If the rule predicts nothing.
        RecordError: If the telemetry cannot be read.
    """
    ahead, limit = predictor_of(rule)
    trace = record.trace(channels=sorted(set(rule.channels)))
    on = Evaluation(trace)
    mean, deviation = on.forecast(ahead)
    with np.errstate(all="ignore"):
        needed = np.where(on.number(ahead.x) > limit, -np.inf, (limit - mean) / deviation)
    in_scope = np.ones(len(trace), bool)
    if isinstance(rule.violated, And):
        for part in rule.violated.args:
            if part is not rule.leading:
                in_scope &= on.truth(part).must
    return trace.t_ns, np.where(in_scope & ~np.isnan(needed), needed, np.inf)


def watched(
    folder: Path, task: str, rule_id: str, proposed: Sequence[Path] = ()
) -> tuple[tuple[Watched, ...], Rule]:
    """Return the complete shadow trials of a task below a folder as a rule's predictor sees them.

    Args:
        folder: Where the records are.
        task: The task.
        rule_id: One of the task's rules, or of those proposed.
        proposed: Files of rules that do not ship yet.

    Raises:
        RecordError: If there is none, or one cannot be read.
        UsageError: If the rule is neither the task's nor proposed, or predicts nothing.
        ConfigError: If a proposed rule is wrong.
    """
    found, rule = [], None
    for path in records_under(folder):
        record = read(path)
        facts = facts_of(record)
        if facts.task != task or facts.key.monitor != "shadow" or why_incomplete(record):
            continue
        rule = rules_now(task, record.layout, tuple(proposed))[rule_id]
        found.append(_watched(record, facts, rule))
    if rule is None:
        raise RecordError(f"{folder}: NOT ASSESSED: no complete trial of {task} in which the monitor watched")
    return tuple(found), rule


def _watched(record: Record, facts: TrialFacts, rule: Rule) -> Watched:
    course = courses(record, facts.rubric).get(rule.protects)
    hazards: tuple[Hazard, ...] = ()
    if course is not None and course.harm:
        hazards = (hazard_of(facts, course, course.run_before(cast(int, course.effect_ns))),)
    t_ns, needed = needed_kappas(record, rule)
    task, _, scenario = facts.item.split("/")
    trial = Trial(
        scenario=f"{task}/{scenario}", duration_s=seconds(end_of(record)), hazards=hazards, alarms=()
    )
    return Watched(facts, t_ns, needed, trial)


def alarms_at(kappa: float, trial: Watched, rule: Rule) -> tuple[Alarm, ...]:
    """Return the alarms the rule would have raised with this kappa."""
    runs = runs_of(trial.needed < kappa, trial.t_ns)
    return tuple(
        Alarm(
            rule=rule.id, protects=rule.protects, response=rule.response, start_s=seconds(run.start_ns),
            end_s=seconds(run.end_ns),
        )
        for run in runs
    )  # fmt: skip


def curve(trials: Sequence[Watched], rule: Rule, kappas: Sequence[float], seed: int = 0) -> tuple[Point, ...]:
    """Return what the rule alone would have made of the trials at each kappa.

    Raises:
        RecordError: If no trial is hazardous or harmless.
    """
    rated = [w for w in trials if w.harmless or w.trial.hazards]
    if not rated:
        raise RecordError(
            f"NOT ASSESSED: none of {len(trials)} trials is harmless or harmed by {rule.protects}"
        )
    return tuple(
        Point(kappa, report([_at(kappa, w, rule) for w in rated], np.random.default_rng(seed)))
        for kappa in kappas
    )


def _at(kappa: float, w: Watched, rule: Rule) -> Trial:
    return Trial(
        scenario=w.trial.scenario, duration_s=w.trial.duration_s, hazards=w.trial.hazards,
        alarms=alarms_at(kappa, w, rule),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binding:
    """The moment of a harmless trial that lets kappa be no larger: an alarm there is the first to come."""

    item: str
    agent: str
    seed: int
    t_s: float


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A kappa for a task, and what it rests on: trials by item, their hours, and the moment that decides it."""

    calibration: Calibration
    budget_per_h: float
    hours: float
    least: float
    binding: Binding
    items: tuple[str, ...]
    agents: tuple[str, ...]
    seeds: tuple[int, ...]


def calibrate_on(trials: Sequence[Watched], budget_per_h: float) -> Calibrated:
    """Return the largest kappa that keeps a budget of interruptions per harmless hour.

    The probability allowed per trial is the budget times the mean length of a trial.

    Raises:
        UsageError: If there are too few harmless trials to promise so little; says how many are needed.
    """
    calm = [w for w in trials if w.harmless]
    if not calm:
        raise UsageError("no harmless trial to calibrate on")
    hours = sum(w.trial.duration_s for w in calm) / 3600.0
    allowed = budget_per_h * hours / len(calm)
    least = [w.least for w in calm]
    found = calibrate(least, allowed)
    w = calm[least.index(found.kappa)]
    binding = Binding(w.facts.item, w.facts.key.agent, w.facts.key.seed, w.least_at_s)
    return Calibrated(
        calibration=found, budget_per_h=budget_per_h, hours=hours, least=min(least), binding=binding,
        items=_distinct(w.facts.item for w in calm), agents=_distinct(w.facts.key.agent for w in calm),
        seeds=tuple(sorted({w.facts.key.seed for w in calm})),
    )  # fmt: skip


def _distinct(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
