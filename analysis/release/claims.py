"""What a finding depends on, and whether it still holds under the configuration that would be released.

A claim names the configuration under which it was measured, field by field and task by task. It is *stale*
where the candidate differs in a field it depends on, *unprovable* where one of the two does not say, and
*expired* by age. A field nobody has listed may matter to everything: if it changed, every claim is stale.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from analysis.release.policy import Gate
from rig.core.configuration import FIELDS, section
from rig.core.event import Json

Fingerprint = Mapping[str, Mapping[str, str]]
"""For every field of the configuration its digest in every task: ``{field: {task: sha256}}``."""

_AGENT: Final = ("agent", "model", "sampling", "prompts", "memory", "retrieval", "topology", "instructions")
_MEANS: Final = ("tool_schema", "permissions", "policy", "fallback")
_GUARD: Final = ("monitor", "rules", "limits")
_JOB: Final = ("task", "rubric", "persona", "staffing")
_BODY: Final = ("bench", "layout", "scene", "firmware", "calibration", "wear")
_PROGRAM: Final = ("code", "lock", "engines", "python", "machine")

DEPENDS: Final[Mapping[Gate, tuple[str, ...]]] = {
    Gate.AUTHORISATION: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    Gate.UTILITY: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    Gate.HORIZON: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    Gate.OUTCOMES: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    Gate.RESISTANCE: (*_AGENT, *_MEANS, *_GUARD, "task", "persona", "code", "lock"),
    # The monitor does not know the agent; but what it has to catch, and how often, comes from it.
    Gate.TIMELINESS: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    Gate.BURDEN: (*_AGENT, *_MEANS, *_GUARD, *_JOB, *_BODY, *_PROGRAM),
    # From verdict to standstill there is no agent, no task and no person in the way.
    Gate.LATENCY: ("fallback", *_GUARD, *_BODY, *_PROGRAM),
    Gate.RECOVERY: ("policy", "fallback", "staffing", *_GUARD, *_BODY, *_PROGRAM),
    # That a record is whole depends on nothing but itself and the program that checks it.
    Gate.EVIDENCE: ("code", "lock"),
}
"""Which fields of the configuration each gate's claim depends on."""

TRIGGERS: Final[Mapping[str, tuple[str, ...]]] = {
    "model": ("model", "sampling"),
    "monitor": ("monitor", "rules", "limits"),
    "tool schema": ("tool_schema",),
    "permission": ("permissions",),
    "memory transformation": ("memory",),
    "instruction": ("instructions", "prompts"),
    "retrieval data": ("retrieval",),
    "topology": ("topology",),
    "policy": ("policy",),
    "fallback": ("fallback",),
    "firmware": ("firmware",),
    "calibration": ("calibration",),
    "gripper and wear hours": ("wear",),
    "sensor swap": ("layout", "bench"),
    "payload, floor, lighting, layout of the room": ("scene", "bench"),
    "staffing": ("staffing",),
    "task, rubric or persona": ("task", "rubric", "persona"),
    "code or its libraries": ("code", "lock", "engines", "python"),
}
"""What may change, in words, and the fields in which that shows."""


class State(StrEnum):
    """Whether a claim still holds."""

    VALID = "valid"
    STALE = "stale"
    EXPIRED = "expired"
    UNPROVABLE = "unprovable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something measured, and under what.

    Attributes:
        gate: Which gate it is for.
        measured_utc: When the oldest part of it was measured.
        embodiment: On what kind of bench.
        under: The configuration it was measured under.
        records: Trial ids or files it rests on.
    """

    gate: Gate
    measured_utc: datetime
    embodiment: str
    under: Fingerprint
    records: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The state of a claim now, with every reason why it is not valid."""

    state: State
    reasons: tuple[str, ...] = ()
    age_days: float = 0.0


def fingerprint(configurations: Iterable[tuple[str, Mapping[str, Json]]]) -> Fingerprint:
    """Return the digests of configurations, given with the task each is of.

    A field in which trials of one task differ has no digest to compare: it is stated as ``several``.
    """
    found: dict[str, dict[str, str]] = {}
    for task, manifest in configurations:
        for field in manifest:
            digest = section(manifest, field)
            known = found.setdefault(field, {}).setdefault(task, digest)
            if known != digest:
                found[field][task] = "several"
    return found


def standing(claim: Claim, candidate: Fingerprint, now: datetime, expires_days: float) -> Standing:
    """Return whether a claim holds for the candidate at this time."""
    age = (now.astimezone(UTC) - claim.measured_utc.astimezone(UTC)).total_seconds() / 86400.0
    stale: list[str] = []
    unprovable: list[str] = []
    for field in sorted({*claim.under, *candidate}):
        listed = field in FIELDS
        if listed and field not in DEPENDS[claim.gate]:
            continue
        then, there = claim.under.get(field), candidate.get(field)
        about = FIELDS.get(field, "a field nobody has listed, so it may matter to everything")
        if then is None or there is None:
            side = "the evidence" if then is None else "the candidate"
            (unprovable if listed else stale).append(f"{field}: {side} does not say ({about})")
            continue
        for task in sorted(then):
            if task not in there or "several" in (then[task], there[task]):
                unprovable.append(f"{field}: not the same for every trial of {task}" if task in there
                                  else f"{field}: the candidate does not say it for {task}")  # fmt: skip
            elif then[task] != there[task]:
                stale.append(f"{field} changed ({about})")
                break
    missing = [f for f in DEPENDS[claim.gate] if f not in claim.under and f not in candidate]
    unprovable += [f"{field}: neither the evidence nor the candidate says" for field in missing]
    if age < 0:
        unprovable.append("measured in the future: the clock of one of the two machines is wrong")
    if stale:
        return Standing(state=State.STALE, reasons=tuple(dict.fromkeys(stale)), age_days=age)
    if unprovable:
        return Standing(state=State.UNPROVABLE, reasons=tuple(dict.fromkeys(unprovable)), age_days=age)
    if age > expires_days:
        old = f"measured {age:.0f} days ago; the policy allows {expires_days:g}"
        return Standing(state=State.EXPIRED, reasons=(old,), age_days=age)
    return Standing(state=State.VALID, age_days=age)
