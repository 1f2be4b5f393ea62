"""From a story to what one person may see of it.

A reviewer who has not locked a label sees neither which agent it was, nor what the monitor or the rubric's
conditions said, nor anybody else's label: the server leaves it out, the page has nothing to hide.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from analysis.speech import load_criteria
from rig.console.shapes import (
    AlarmBar,
    ChannelShape,
    CriterionShape,
    EventShape,
    FindingShape,
    Gap,
    GradeShape,
    Lanes,
    LimitShape,
    Panel,
    RubricShape,
    RuleLine,
    SpeechCriterionShape,
    Story,
    TrialLine,
)
from rig.console.shelf import Item
from rig.core.clock import seconds
from rig.core.event import Kind
from rig.core.record.chain import FILE as EVENTS_FILE
from rig.core.record.disk import being_written

BLIND_KINDS = frozenset(
    {
        Kind.OBSERVED, Kind.PROPOSED, Kind.COMMANDED, Kind.EFFECTED, Kind.SAID, Kind.PERSON, Kind.NOTED,
        Kind.REPORTED, Kind.FAULT, Kind.TELEMETRY_CLOSED, Kind.TRIAL_ENDED,
    }
)  # fmt: skip
"""Events a reviewer sees before the label is locked."""

State = Literal["reading", "unreadable", "running", "torn", "complete"]


def line_of(item: Item, told: Mapping[str, Any] | None, blind: bool) -> TrialLine:
    """Return a record's line in the table."""
    if told is None:
        return TrialLine(key=item.key, state="reading", blind=blind)
    if "unreadable" in told:
        return TrialLine(key=item.key, state="unreadable", problem=told["unreadable"])
    facts, graded = told["facts"], told["grade"] or {}
    task, length, scenario = (*facts["item"].split("/"), "", "")[:3]
    open_facts: dict[str, Any] = {
        "task": task, "length": length, "site": facts["site"], "embodiment": facts["embodiment"],
        "nominal_s": facts["nominal_s"], "end_s": told["end_s"], "ending": graded.get("ending"),
    }  # fmt: skip
    if not blind:
        open_facts |= {
            "scenario": scenario, "kind": facts["kind"], "agent": facts["key"]["agent"],
            "monitor": facts["key"]["monitor"], "seed": facts["key"]["seed"], "trial_id": told["trial_id"],
            "events": told["events"],
            **{k: graded.get(k) for k in ("outcome", "done", "harm", "mistake", "mistake_at_s", "reason")},
            "criteria": graded.get("criteria", []),
        }  # fmt: skip
    return TrialLine(
        key=item.key, state=state_of(item, told), problem=told["problem"], blind=blind, **open_facts
    )


def state_of(item: Item, told: Mapping[str, Any]) -> State:
    """Return what state a record is in."""
    if told["complete"]:
        return "complete"
    return "running" if being_written(item.folder / EVENTS_FILE) else "torn"


def story_for(line: TrialLine, told: Mapping[str, Any], images: Sequence[str], scene: bool) -> Story:
    """Return what a record's page shows; ``line`` says whether it is blind."""
    blind, lanes = line.blind, dict(told["lanes"])
    if blind:
        lanes["interventions"] = []
        lanes["operators"] = []
        lanes["people"] = [mark for mark in lanes["people"] if not mark["text"].endswith("call by monitor")]
        lanes["actions"] = [{**bar, "status": ""} for bar in lanes["actions"]]
    graded = told["grade"]
    return Story(
        line=line,
        channels=[ChannelShape(**c) for c in told["channels"]],
        panels=[Panel(**p) for p in told["panels"]],
        limits=[] if blind else [LimitShape(**x) for x in told["limits"]],
        rules=[] if blind else [RuleLine(**r) for r in told["rules"]],
        same_rules=told["same_rules"],
        lanes=Lanes(**lanes),
        alarms=[] if blind else [AlarmBar(**a) for a in told["alarms"]],
        gaps=[Gap(**g) for g in told["gaps"]],
        grade=None if blind or graded is None else _grade(graded),
        rubric=rubric_of(told["facts"]["rubric"]),
        ticks=told["ticks"],
        images=list(images),
        scene=scene,
    )


def _grade(graded: Mapping[str, Any]) -> GradeShape:
    findings = [FindingShape(**f) for f in graded["findings"]]
    return GradeShape(**{**graded, "findings": findings})


def rubric_of(rubric: Mapping[str, Any]) -> RubricShape:
    """Return the rubric a trial was run under, with its digest."""
    return RubricShape(
        status=rubric["status"],
        author_role=rubric["author_role"],
        done=rubric["done"]["text"],
        criteria=[
            CriterionShape(
                id=name, **{k: c[k] for k in ("text", "harm", "severity", "signal", "irreversible")}
            )
            for name, c in rubric["criteria"].items()
        ],
        speech=[
            SpeechCriterionShape(id=name, text=c.text, question=c.question, severity=c.severity.value)
            for name, c in load_criteria().criteria.items()
        ],
        digest=rubric_digest(rubric),
    )


def rubric_digest(rubric: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a rubric as the manifest holds it, keys sorted."""
    return hashlib.sha256(json.dumps(rubric, sort_keys=True).encode()).hexdigest()


def event_for(entry: Mapping[str, Any], blind: bool) -> EventShape:
    """Return one event for the page, with its gist in words."""
    body = dict(entry["body"])
    if blind:
        for name in ("message", "reason", "status"):
            body.pop(name, None)
    return EventShape(
        seq=entry["seq"], t_s=seconds(entry["t_ns"]), t_ns=str(entry["t_ns"]), kind=entry["kind"],
        source=entry["source"], severity=entry["severity"], body=body, text=gist(entry["kind"], body),
    )  # fmt: skip


def gist(kind: str, body: Mapping[str, Any]) -> str:
    """Return an event in a few words."""
    get = body.get
    match kind:
        case "said":
            return f"{get('who', '')}: {get('text', '')}"
        case "proposed":
            arguments = get("arguments") if isinstance(get("arguments"), dict) else {}
            listed = ", ".join(f"{k} {v}" for k, v in (arguments or {}).items() if v is not None)
            return f"{get('tool', '')} {listed}".strip()
        case "authorised":
            reasons = "; ".join(map(str, get("reasons") or ()))
            return "allowed" if get("allowed") else f"refused: {reasons}"
        case "verdict":
            word = {True: "holds again", False: "is broken", None: "cannot be shown to hold"}.get(
                get("holds")
            )
            seen = ", ".join(f"{k} {_short(v)}" for k, v in (get("values") or {}).items())
            return f"{get('rule')} {word} ({seen})" if seen else f"{get('rule')} {word}"
        case "intervened":
            return f"{get('response')}: {get('reason')}"
        case "called":
            return f"{get('level')} call by {get('by')}: {get('reason')}"
        case "operator":
            return f"{get('who')} ({get('role')}) {get('did')}" + (f": {get('text')}" if get("text") else "")
        case "trial_ended":
            return f"{get('ending', '')}: {get('reason', '')}".strip(": ")
        case _:
            told = [
                str(get(name))
                for name in ("status", "what", "text", "message", "detail", "file")
                if get(name)
            ]
            return ", ".join(told)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "unknown" if value is None else str(value)
