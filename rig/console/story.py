"""What is worth knowing of one record: what it was, whether it can be trusted, what happened when.

Derived in a worker process, once per record; the result is plain JSON and may be deleted at any time.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.alarms import episodes
from analysis.decisions import recorded_decisions
from analysis.facts import TrialFacts, facts_of
from analysis.grade import Finding, Grade, grade
from analysis.recorded_rules import rules_now, same_rules
from analysis.table import row_of
from analysis.timeline import PANELS
from rig.campaign.anchoring import anchors_for
from rig.core.channel import Layout
from rig.core.clock import seconds
from rig.core.errors import RunError, UsageError
from rig.core.event import Kind
from rig.core.record import Record, StoredEvent, verify
from safety_monitor.nodes import And, Compare, Constant, Measured, Truth, walk
from safety_monitor.rule import Rule, RuleSet

MOST_MARKS = 4000
"""Marks a lane may hold; beyond it the list of events is the place to look."""


def story_of(record: Record) -> dict[str, Any]:
    """Return everything the page shows of a record but its signals and events.

    Raises:
        RecordError: If it is not a trial's record or cannot be read.
    """
    facts = facts_of(record)
    rules = _rules(record, facts)
    return {
        "trial_id": record.trial_id,
        "facts": facts.model_dump(mode="json"),
        "complete": record.complete,
        "problem": record.problem,
        "end_s": seconds(record.events[-1].t_ns) if record.events else 0.0,
        "events": len(record.events),
        "channels": [
            {"name": c.name, "unit": c.unit, "text": c.text, "audience": c.audience.value}
            for c in record.layout
        ],
        "panels": panels_for(facts.task, record.layout),
        "limits": limits_of(rules) if rules else [],
        "rules": [{"id": r.id, "sentence": r.sentence, "protects": r.protects} for r in rules.rules]
        if rules
        else [],
        "same_rules": rules is not None and same_rules(record) is not None,
        "lanes": lanes_of(record.events),
        "alarms": _alarms(record, rules) if rules else [],
        "gaps": list(_gaps(record)),
        **_graded(record),
    }


def evidence_of(folder: Path) -> dict[str, Any]:
    """Return what `verify` says of a record, one answer per question; its campaign's ledger anchors it."""
    return dict(verify(folder, anchors=anchors_for(folder)).json())


def _rules(record: Record, facts: TrialFacts) -> RuleSet | None:
    """Return the task's rules, to draw limits and name alarms; None where they cannot be had."""
    try:
        return rules_now(facts.task, record.layout)
    except RunError:
        return None


def panels_for(task: str, layout: Layout) -> list[dict[str, Any]]:
    """Return which channels are drawn together at first."""
    panels = [
        {
            "label": p.label, "scale": p.scale, "harm": p.harm,
            "channels": [{"name": name, "label": text} for name, text in p.channels],
        }
        for p in PANELS.get(task, ()) if all(name in layout for name, _ in p.channels)
    ]  # fmt: skip
    if panels:
        return panels
    return [
        {
            "label": f"{c.name} ({c.unit})",
            "scale": 1.0,
            "harm": None,
            "channels": [{"name": c.name, "label": c.name}],
        }
        for c in layout.channels[:6]
    ]


def limits_of(rules: RuleSet) -> list[dict[str, Any]]:
    """Return the limits that can be drawn on a channel: comparisons of one channel with a number."""
    found: dict[tuple[str, float, str], dict[str, Any]] = {}
    for rule in rules.rules:
        for node in walk(watched(rule)):
            match node:
                case Compare(op=op, left=Measured(channel=name), right=Constant(value=value)) if op not in (
                    "==",
                    "!=",
                ):
                    key = (name, float(value), rule.id)
                    found[key] = {
                        "channel": name, "value": float(value), "op": op, "rule": rule.id,
                        "response": rule.response.value, "sentence": rule.sentence,
                    }  # fmt: skip
    flags = {c.name for c in rules.layout if c.unit == "1" and (c.low, c.high) == (0.0, 1.0)}
    return [limit for limit in found.values() if limit["channel"] not in flags]


def watched(rule: Rule) -> Truth:
    """Return what must not happen, without the scope it must not happen in."""
    match rule.violated:
        case And(args=args) if "scope" in rule.slots:
            return args[-1]
        case whole:
            return whole


def lanes_of(events: Sequence[StoredEvent]) -> dict[str, Any]:
    """Return what happened as bars and marks on a clock."""
    names = ("actions", "speech", "interventions", "people", "operators")
    lanes: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    proposed: StoredEvent | None = None
    for event in events:
        t_s = seconds(event.t_ns)
        match event.kind:
            case Kind.PROPOSED:
                proposed = event
            case Kind.REPLIED if proposed is not None:
                lanes["actions"].append(
                    {
                        "start_s": seconds(proposed.t_ns), "end_s": t_s, "seq": proposed.seq,
                        "text": action_text(proposed), "status": str(event.body.get("status", "")),
                    }
                )  # fmt: skip
                proposed = None
            case Kind.SAID:
                lanes["speech"].append(_mark(event, f"{event.body.get('who')}: {event.body.get('text')}"))
            case Kind.INTERVENED:
                text = f"{event.body.get('rule')}: {event.body.get('response')}"
                lanes["interventions"].append(_mark(event, text))
            case Kind.CALLED:
                lanes["people"].append(
                    _mark(event, f"{event.body.get('level')} call by {event.body.get('by')}")
                )
            case Kind.OPERATOR:
                said = f": {event.body.get('text')}" if event.body.get("text") else ""
                who = f"{event.body.get('who')} ({event.body.get('role')})"
                lanes["operators"].append(_mark(event, f"{who} {event.body.get('did')}{said}"))
            case Kind.PERSON:
                lanes["people"].append(_mark(event, str(event.body.get("what", ""))))
    clipped = [name for name, marks in lanes.items() if len(marks) > MOST_MARKS]
    return {**{name: marks[:MOST_MARKS] for name, marks in lanes.items()}, "clipped": clipped}


def _mark(event: StoredEvent, text: str) -> dict[str, Any]:
    return {"t_s": seconds(event.t_ns), "seq": event.seq, "text": text, "severity": event.severity.value}


def action_text(event: StoredEvent) -> str:
    """Return a proposed action in a few words."""
    arguments = event.body.get("arguments")
    details = (
        [str(v) for v in arguments.values() if isinstance(v, str)] if isinstance(arguments, dict) else []
    )
    return " ".join([str(event.body.get("tool", "")), *details[:1]]).replace("_", " ")[:120]


def _alarms(record: Record, rules: RuleSet) -> list[dict[str, Any]]:
    end_ns = record.events[-1].t_ns if record.events else 0
    return [
        {
            "rule": a.rule, "protects": a.protects, "response": a.response.value, "start_s": a.start_s,
            "end_s": a.end_s, "unknown": a.unknown,
        }
        for a in episodes(recorded_decisions(record), rules, end_ns)
    ]  # fmt: skip


def _gaps(record: Record) -> Iterator[dict[str, Any]]:
    """Give the stretches for which the record itself says that telemetry is missing."""
    for event in record.of_kind(Kind.FAULT):
        start, end = event.body.get("from_ns"), event.body.get("to_ns")
        if isinstance(start, int) and isinstance(end, int):
            yield {
                "start_s": seconds(start), "end_s": seconds(end), "text": str(event.body.get("what", "missing")),
            }  # fmt: skip


def _graded(record: Record) -> dict[str, Any]:
    if not record.complete:
        return {"grade": None}
    try:
        graded = grade(record)
    except UsageError as error:  # its rubric reads channels it does not have: still worth looking at
        return {"grade": None, "problem": f"cannot be graded: {error}"}
    row = row_of(record, graded)
    return {
        "grade": {
            "outcome": graded.outcome.value, "done": graded.done, "harm": graded.harm, "mistake": graded.mistake,
            "mistake_at_s": graded.mistake_at_s, "reason": graded.reason, "ending": graded.ending,
            "elapsed_s": graded.elapsed_s, "criteria": list(row.criteria),
            "findings": [_finding(graded, f) for f in graded.findings if f.signal_ns is not None or f.mistake],
        }
    }  # fmt: skip


def _finding(graded: Grade, f: Finding) -> dict[str, Any]:
    def at(t_ns: int | None) -> float | None:
        return None if t_ns is None else seconds(t_ns)

    return {
        "criterion": f.criterion, "severity": f.severity.value, "signal_s": at(f.signal_ns),
        "prevented_s": at(f.prevented_ns), "irreversible_s": at(f.irreversible_ns), "rule": f.rule,
        "harm": f.harm, "mistake": f.mistake,
    }  # fmt: skip
