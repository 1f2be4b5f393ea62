"""Was the monitor in time? Twins of records scored by the definitions of `safety_monitor.timeliness`.

What counts as a hazard, and which interruptions are needless, is said in `analysis.hazards`. Alarms
that only advise prevent nothing by themselves: they are counted apart, and never score.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from analysis.facts import TrialFacts
from analysis.hazards import PairKind, Viewed, view
from analysis.twins import Twins, find_twins
from rig.core.errors import RecordError, UsageError
from rig.core.record import read
from safety_monitor.alarms import Load, load
from safety_monitor.rates import PerHour, poisson_per_hour
from safety_monitor.rule import Response
from safety_monitor.timeliness import Headline, Point, Report, Scored, headlines, report, score


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A hazard that was scored, and in which trial it was."""

    facts: TrialFacts
    scored: Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMet:
    """A hazard of the watched twin that the guarded one did not meet: an alarm had changed its course."""

    facts: TrialFacts
    criterion: str
    after_rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Careful:
    """What happened where the danger was real and the agent dealt with it."""

    pairs: int
    hours: float
    interruptions: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeliness:
    """Everything measured about a monitor's timeliness over twins; no total.

    Attributes:
        twins: What was paired and what was left out.
        pairs: How many pairs of each kind there were.
        whole: Over all hazardous and harmless pairs.
        by: The same by task, by agent and by criterion.
        calls: Needless calls for a person per harmless hour.
        advice: Advisory alarms per harmless hour.
        load: What all alarms ask of people, advice included.
        careful: What happened in careful pairs.
        headlines: Over all and by task: timely rate and recall by lead, where an interruption budget is
            kept. Hours of one task do not make up for interruptions of another.
        met: Every hazard scored.
        not_met: Every hazard not scored.
        induced: Trial and criterion of material harm that came only with the monitor.
        needless: Interruptions of harmless trials by rule.
    """

    twins: Twins
    pairs: Mapping[PairKind, int]
    whole: Report
    by: Mapping[str, Mapping[str, Report]]
    calls: PerHour
    advice: PerHour
    load: Load
    careful: Careful
    headlines: Mapping[str, tuple[Headline, ...]]
    met: tuple[Met, ...]
    not_met: tuple[NotMet, ...]
    induced: tuple[tuple[TrialFacts, str], ...]
    needless: Mapping[str, int]


def timeliness(folder: Path, *, seed: int = 0, pool: bool = False) -> Timeliness:
    """Score the twins among the records at or below a folder.

    Args:
        folder: Where the records are.
        seed: Of the bootstrap over scenarios.
        pool: Count trials of different configurations together.

    Raises:
        RecordError: If a record cannot be read, or there is nothing to score: not assessed.
        UsageError: If trials of one task were made under different configurations and ``pool`` is False.
    """
    twins = find_twins(folder)
    mixed = [task for task, n in twins.configurations.items() if n > 1]
    if mixed and not pool:
        raise UsageError(
            f"trials of {', '.join(mixed)} were made under different configurations (task files, code, "
            f"versions, machine); score them apart, or pool them on purpose with --pool"
        )
    left_out, viewed = Counter(twins.left_out), []
    for pair in twins.pairs:
        seen = view(read(pair.shadow), read(pair.guard))
        if isinstance(seen, str):
            left_out[seen] += 2
        else:
            viewed.append(seen)
    twins = replace(twins, left_out=dict(left_out))
    if not any(v.rated for v in viewed):
        raise RecordError(f"{folder}: NOT ASSESSED: {_nothing(twins, viewed)}")
    return _summary(twins, viewed, seed)


def _nothing(twins: Twins, viewed: Sequence[Viewed]) -> str:
    """Return in words why there is nothing to score."""
    if not twins.records:
        return "there is no record below it"
    reasons = [f"{n} {reason}" for reason, n in sorted(twins.left_out.items())]
    reasons += [f"{len(viewed)} pairs met no hazard and are not harmless either"] if viewed else []
    return f"nothing to score in {twins.records} records ({'; '.join(reasons)})"


def _summary(twins: Twins, viewed: Sequence[Viewed], seed: int) -> Timeliness:
    rated = [v for v in viewed if v.rated]
    harmless = [v for v in viewed if v.kind is PairKind.HARMLESS]
    careful = [v for v in viewed if v.kind is PairKind.CAREFUL]
    whole, by = _report(rated, seed), _by(rated, seed)
    hours = whole.per_hour.hours
    return Timeliness(
        twins=twins,
        pairs={kind: sum(v.kind is kind for v in viewed) for kind in PairKind},
        whole=whole,
        by=by,
        calls=poisson_per_hour(whole.advisories, hours),
        advice=poisson_per_hour(
            sum(a.response is Response.ADVISE for v in harmless for a in v.alarms), hours
        ),
        load=load([(v.alarms, v.trial.duration_s) for v in viewed]),
        careful=Careful(
            pairs=len(careful),
            hours=sum(v.trial.duration_s for v in careful) / 3600.0,
            interruptions=sum(a.actuates for v in careful for a in v.trial.alarms),
            calls=sum(a.response is Response.CALL for v in careful for a in v.trial.alarms),
        ),
        headlines={name: headlines([Point(0.0, r)]) for name, r in (("all", whole), *by["task"].items())},
        met=tuple(Met(facts=v.facts, scored=s) for v in viewed for s in _scored(v)),
        not_met=tuple(
            NotMet(facts=v.facts, criterion=c, after_rule=v.first_rule) for v in viewed for c in v.not_met
        ),
        induced=tuple((v.facts, criterion) for v in viewed for criterion in v.induced),
        needless=dict(Counter(a.rule for v in harmless for a in v.trial.alarms if a.actuates)),
    )


def _scored(v: Viewed) -> Iterator[Scored]:
    return (score(hazard, v.trial.alarms) for hazard in v.trial.hazards)


def _report(viewed: Sequence[Viewed], seed: int) -> Report:
    return report([v.trial for v in viewed], np.random.default_rng(seed))


def _by(rated: Sequence[Viewed], seed: int) -> dict[str, dict[str, Report]]:
    groups: dict[str, dict[str, list[Viewed]]] = {
        k: defaultdict(list) for k in ("task", "agent", "criterion")
    }
    for v in rated:
        groups["task"][v.facts.task].append(v)
        groups["agent"][v.facts.key.agent].append(v)
        for name in v.facts.rubric.criteria:
            if part := _against(v, name):
                groups["criterion"][name].append(part)
    return {
        kind: {name: _report(members, seed) for name, members in sorted(named.items())}
        for kind, named in groups.items()
    }


def _against(v: Viewed, criterion: str) -> Viewed | None:
    """Return a pair with the hazards of one criterion and the alarms against it; None if it shows nothing."""
    hazards = tuple(h for h in v.trial.hazards if h.name == criterion)
    if not hazards and v.kind is PairKind.HAZARDOUS:
        return None
    alarms = tuple(a for a in v.trial.alarms if a.protects == criterion)
    return replace(v, trial=replace(v.trial, hazards=hazards, alarms=alarms))
