"""Alarms as episodes, from what a record keeps of the monitor's decisions and of what it did."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.decisions import Decision, recorded_decisions
from rig.core.clock import seconds
from rig.core.event import Kind
from rig.core.record import Record, StoredEvent
from safety_monitor.alarms import Alarm
from safety_monitor.rule import Response, Rule, RuleSet


@dataclass(frozen=True, slots=True)
class _Open:
    """An episode that has begun."""

    start_ns: int
    unknown: bool


def episodes(decisions: Iterable[Decision], rules: RuleSet, end_ns: int) -> tuple[Alarm, ...]:
    """Return the alarms decisions amount to, by time of their beginning.

    An episode lasts from the tick at which a rule was broken or lost until it held again; one that
    goes from one to the other stays the same episode, of the kind it began as.

    Args:
        decisions: Changes of verdicts in order of time; those of rules not in ``rules`` are left out.
        rules: The rules that decided.
        end_ns: End of the trial, for alarms that never cleared.
    """
    known = {rule.id: rule for rule in rules.rules}
    standing: dict[str, _Open] = {}
    found: list[Alarm] = []
    for d in decisions:
        if d.rule not in known:
            continue
        if d.holds is not True:
            standing.setdefault(d.rule, _Open(d.t_ns, d.holds is None))
        elif begun := standing.pop(d.rule, None):
            found.append(_alarm(known[d.rule], begun, d.t_ns))
    found += [_alarm(known[rule], begun, max(begun.start_ns, end_ns)) for rule, begun in standing.items()]
    return tuple(sorted(found, key=lambda a: (a.start_s, a.rule)))


def _alarm(rule: Rule, begun: _Open, end_ns: int) -> Alarm:
    return Alarm(
        rule=rule.id, protects=rule.protects, response=rule.when_unknown if begun.unknown else rule.response,
        start_s=seconds(begun.start_ns), end_s=seconds(end_ns), unknown=begun.unknown,
    )  # fmt: skip


def recorded_alarms(record: Record, rules: RuleSet) -> tuple[Alarm, ...]:
    """Return the alarms of a trial: what verdicts amount to, and interventions before a motion began.

    A motion that is refused before it begins leaves an intervention and no verdict: nothing was ever
    broken. It is an alarm of no length.

    Raises:
        RecordError: If an event lacks a part.
    """
    found = episodes(recorded_decisions(record), rules, end_of(record))
    alone = [e for e in record.of_kind(Kind.INTERVENED) if not _within(e, found)]
    refused = (_refusal(e, {rule.id: rule for rule in rules.rules}) for e in alone)
    return tuple(sorted((*found, *(a for a in refused if a)), key=lambda a: (a.start_s, a.rule)))


def end_of(record: Record) -> int:
    """Return trial time at the end of the record."""
    return record.events[-1].t_ns if record.events else 0


def _within(event: StoredEvent, alarms: Sequence[Alarm]) -> bool:
    t_s = seconds(event.t_ns)
    return any(a.rule == event.body["rule"] and a.start_s <= t_s <= a.end_s for a in alarms)


def _refusal(event: StoredEvent, rules: Mapping[str, Rule]) -> Alarm | None:
    rule = rules.get(str(event.body["rule"]))
    if rule is None:
        return None
    t_s = seconds(event.t_ns)
    return Alarm(
        rule=rule.id, protects=rule.protects, response=Response(str(event.body["response"])), start_s=t_s,
        end_s=t_s,
    )  # fmt: skip


def intervening(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """Return the alarms that do something, if only call somebody; advice alone prevents nothing."""
    return tuple(a for a in alarms if a.response is not Response.ADVISE)


def with_nearness(alarms: Iterable[Alarm], near: Mapping[str, float]) -> tuple[Alarm, ...]:
    """Return alarms with how near the trial came to the harm they guard against, by criterion."""
    return tuple(replace(a, near=near.get(a.protects, float("inf"))) for a in alarms)
