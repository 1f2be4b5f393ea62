"""The dossier: everything a board needs to say go or no-go, as one page and as data, from a frozen folder.

The same folder read for the same time gives the same bytes. It says what was asked before the data, what was
found, what would make each finding worthless, and what is missing. Two people in two roles sign it; whoever
wrote the policy is neither of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, Final

from analysis.failures import CAVEAT, failure_bounds
from analysis.release.decision import Registered, to_rerun, trigger_table
from analysis.release.evidence import Evidence
from analysis.release.gates import Decision, Finding
from analysis.release.policy import TITLES, Policy
from analysis.trials import TrialTable
from rig.core.configuration import differences
from rig.core.event import Json

FORMAT: Final = "runrig.dossier/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From what was released before to what would be released now.

    Attributes:
        words: Every difference, in a sentence.
        fields: Fields of the configuration that differ.
        pairs: Pairs of changed fields that may act together.
        covered: Those of them that were tried together.
    """

    words: tuple[str, ...]
    fields: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    covered: tuple[tuple[str, str], ...]

    @property
    def gap(self) -> tuple[tuple[str, str], ...]:
        """Pairs that nobody tried together."""
        return tuple(pair for pair in self.pairs if pair not in self.covered)


def change(
    baseline: Mapping[str, Mapping[str, Json]],
    candidate: Mapping[str, Mapping[str, Json]],
    tried: Sequence[tuple[str, str]] = (),
) -> Change:
    """Compare two configurations, given per task.

    Args:
        baseline: What is released now.
        candidate: What would be.
        tried: Pairs of fields that a composition campaign changed together.
    """
    words: dict[str, None] = {}
    fields: dict[str, None] = {}
    for task in sorted({*baseline, *candidate}):
        if task not in baseline or task not in candidate:
            words[f"task {task}: {'new' if task in candidate else 'gone'}"] = None
            continue
        for difference in differences(baseline[task], candidate[task]):
            words[difference.words()] = None
            fields[difference.field] = None
    pairs = tuple(combinations(sorted(fields), 2))
    known = {tuple(sorted(pair)) for pair in tried}
    return Change(
        words=tuple(words),
        fields=tuple(fields),
        pairs=pairs,
        covered=tuple(pair for pair in pairs if pair in known),
    )


def dossier(
    decision: Decision,
    evidence: Evidence,
    policy: Policy,
    registered: Registered | None,
    changed: Change | None,
    now: datetime,
) -> dict[str, Any]:
    """Return the dossier of a `final` decision as strict JSON values; nothing depends on where the folder is."""
    return {
        "format": FORMAT,
        "decision": decision.word,
        "as_of": now.isoformat(),
        "agent": evidence.agent,
        "policy": _policy(policy, registered),
        "blocked": list(decision.blocked),
        "gates": [_gate(f) for f in decision.findings],
        "out_of_scope": {str(gate): why for gate, why in policy.out_of_scope.items()},
        "rerun": [{"gate": str(gate), "why": why} for gate, why in to_rerun(decision)],
        "change": None
        if changed is None
        else {
            "words": list(changed.words),
            "pairs": len(changed.pairs),
            "gap": [list(pair) for pair in changed.gap],
        },
        "outcomes": _outcomes(evidence),
        "failures": _failures(evidence),
        "bounds": _bounds(evidence, policy.confidence),
        "deviations": [
            {
                "number": d.number,
                "what": d.what,
                "why": d.why,
                "bias": str(d.bias),
                "material": d.material,
                "owner": d.owner_role,
                "expires": d.expires,
            }
            for d in evidence.deviations
        ],
        "plan": None
        if evidence.registration is None
        else {
            "campaign": evidence.registration.campaign,
            "id": evidence.registration.id,
            "trials": evidence.registration.trials,
            "registered_utc": evidence.registration.registered_utc,
        },
        "triggers": {trigger: [str(g) for g in gates] for trigger, gates in trigger_table(policy).items()},
        "records": [
            {
                "trial_id": s.row.trial_id,
                "item": s.row.item,
                "monitor": s.facts.key.monitor,
                "seed": s.facts.key.seed,
                "outcome": str(s.graded.outcome),
                "head": s.head,
            }
            for s in sorted(evidence.seen, key=lambda s: s.row.trial_id)
        ],
        "caveat": CAVEAT,
    }


def final(decision: Decision, evidence: Evidence, changed: Change | None) -> Decision:
    """Return the decision with what blocks in the dossier itself."""
    return Decision(decision.findings, (*decision.blocked, *_missing(evidence, changed)))


def _missing(evidence: Evidence, changed: Change | None) -> list[str]:
    missing = []
    if not evidence.seen:
        missing.append("there is no record")
    if changed is not None and len(changed.fields) >= 2 and changed.gap:
        missing.append(
            f"{len(changed.fields)} parts changed at once and {len(changed.gap)} of {len(changed.pairs)} pairs of "
            "them were never tried together"
        )
    return missing


def _policy(policy: Policy, registered: Registered | None) -> dict[str, Any]:
    return {
        "name": policy.name,
        "status": policy.status,
        "decision": policy.decision,
        "consequence": policy.consequence,
        "autonomy": policy.autonomy,
        "prohibited": list(policy.prohibited),
        "environment": policy.environment,
        "embodiment": policy.embodiment,
        "author_role": policy.author_role,
        "approvers": list(policy.approvers),
        "review_date": policy.review_date.isoformat(),
        "confidence": policy.confidence,
        "sha256": None if registered is None else registered.digest,
        "registered_utc": None if registered is None else registered.utc.isoformat(),
    }


def _gate(finding: Finding) -> dict[str, Any]:
    standing, claim = finding.standing, finding.claim
    return {
        "gate": str(finding.gate),
        "title": TITLES[finding.gate],
        "verdict": str(finding.verdict),
        "reasons": list(finding.reasons),
        "figures": [{"name": f.name, "found": f.found, "asked": f.asked} for f in finding.figures],
        "caveats": list(finding.caveats),
        "claim": None
        if claim is None
        else {
            "measured_utc": claim.measured_utc.isoformat(),
            "embodiment": claim.embodiment,
            "rests_on": len(claim.records),
            "state": None if standing is None else str(standing.state),
            "age_days": None if standing is None else round(standing.age_days, 3),
            "state_reasons": [] if standing is None else list(standing.reasons),
        },
    }


def _outcomes(evidence: Evidence) -> list[dict[str, Any]]:
    cells: dict[tuple[str, str], list[Any]] = {}
    for one in evidence.seen:
        cells.setdefault((one.row.item, one.facts.key.monitor), []).append(one)
    return [
        {
            "item": item,
            "monitor": monitor,
            "trials": len(seen),
            "passed": sum(str(s.graded.outcome) == "PASS" for s in seen),
            "mistakes": sum(s.graded.mistake for s in seen),
            "harm": sum(s.graded.harm for s in seen),
        }
        for (item, monitor), seen in sorted(cells.items())
    ]


def _failures(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            "trial_id": s.row.trial_id,
            "item": s.row.item,
            "monitor": s.facts.key.monitor,
            "seed": s.facts.key.seed,
            "criteria": list(s.graded.violated),
            "harm": s.graded.harm,
            "regression": any(evidence.folder.rglob(f"incidents/{s.row.trial_id[:12]}/case.json")),
        }
        for s in sorted(evidence.seen, key=lambda s: (not s.graded.harm, s.row.item, s.row.trial_id))
        if s.graded.mistake
    ]


def _bounds(evidence: Evidence, confidence: float) -> list[dict[str, Any]]:
    found = []
    for monitor in ("shadow", "guard"):
        rows = [s.row for s in evidence.of_mode(monitor)]
        if not rows:
            continue
        table = TrialTable.from_rows(rows, source="evidence")
        for event, failed in (("critical mistake", table.mistake), ("harm", table.harm)):
            bounds = failure_bounds(failed, item=table.item, site=table.site, confidence=confidence)
            found.append(
                {
                    "monitor": monitor,
                    "event": event,
                    "units": [
                        {"unit": u.unit, "units": u.units, "failed": u.failed, "upper": u.upper}
                        for u in bounds.by_unit
                    ],
                    "correlation": [
                        {"within_items": rho, "upper": upper} for rho, upper in bounds.by_correlation
                    ],
                    "anytime": bounds.anytime,
                }
            )
    return found
