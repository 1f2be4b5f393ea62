"""From policy and evidence to GO or NO-GO, at the time of reading."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from analysis.release.claims import DEPENDS, TRIGGERS, Fingerprint, standing
from analysis.release.evidence import Evidence
from analysis.release.gates import Decision, Finding, Verdict, expire
from analysis.release.judge import JUDGES
from analysis.release.policy import Gate, Policy
from rig.core import registration
from rig.core.clock import wall_utc
from rig.core.errors import RecordError, UsageError

FILE: Final = "policy.dsse.json"
POLICY: Final = "policy.toml"
_KIND: Final = "urn:runrig:gate-policy:1"
EMBODIMENTS: Final = ("simulated", "emulated", "physical")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A policy as registered beside the records it will judge.

    Attributes:
        digest: SHA-256 of its bytes.
        utc: When.
        signers: Who signed it.
    """

    digest: str
    utc: datetime
    signers: tuple[str, ...]


def register(folder: Path, raw: bytes) -> Registered:
    """Sign a policy and put it beside where the records will be; before there are any.

    Raises:
        UsageError: If a policy is registered there already, or records are there.
    """
    import hashlib

    from rig.core.record import records_under

    path = folder / FILE
    if path.exists():
        raise UsageError(f"{folder}: a policy is registered there already; registrations never change")
    if folder.exists() and any(True for _ in records_under(folder)):
        raise UsageError(
            f"{folder}: there are records already; a policy decided after the data decides nothing"
        )
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(raw).hexdigest()
    (folder / POLICY).write_bytes(raw)
    said = {"policy_sha256": digest, "registered_utc": wall_utc().isoformat()}
    registration.seal_statement(path, {POLICY: digest}, _KIND, said)
    found = registered(folder)
    if found is None:
        raise UsageError(f"{path}: was removed while it was being written")
    return found


def registered(folder: Path) -> Registered | None:
    """Return the policy registered in a folder, None where there is none.

    Raises:
        RecordError: If the registration was altered.
    """
    path = folder / FILE
    if not path.exists():
        return None
    said, _, signers = registration.read_statement(path, _KIND)
    try:
        return Registered(
            digest=str(said["policy_sha256"]),
            utc=datetime.fromisoformat(str(said["registered_utc"])),
            signers=tuple(signers),
        )
    except (KeyError, ValueError) as error:
        raise RecordError(f"{path}: not a whole registration: {error!r}") from None


def decide(
    evidence: Evidence, policy: Policy, raw: bytes, *, candidate: Fingerprint, now: datetime
) -> Decision:
    """Judge every gate by itself and join them.

    Args:
        evidence: What the records show.
        policy: What is asked.
        raw: Its bytes, to be found as registered.
        candidate: The configuration that would be released.
        now: The time of reading.
    """
    findings = tuple(
        _judged(gate, evidence, policy, candidate, now) for gate in Gate if gate not in policy.out_of_scope
    )
    return Decision(findings, tuple(_blocked(evidence, raw)))


def _judged(gate: Gate, evidence: Evidence, policy: Policy, candidate: Fingerprint, now: datetime) -> Finding:
    finding = JUDGES[gate](evidence, policy)
    claim = finding.claim
    if claim is None:
        return finding
    if EMBODIMENTS.index(claim.embodiment) < EMBODIMENTS.index(policy.embodiment):
        why = f"{claim.embodiment} evidence; the policy asks for {policy.embodiment}"
        verdict = finding.verdict if finding.verdict is Verdict.FAIL else Verdict.UNKNOWN
        return replace(finding, verdict=verdict, reasons=(*finding.reasons, why))
    return expire(finding, standing(claim, candidate, now, policy.expires))


def _blocked(evidence: Evidence, raw: bytes) -> list[str]:
    import hashlib

    found = registered(evidence.folder)
    if found is None:
        return ["no policy was registered beside these records: NOT ASSESSED"]
    if found.digest != hashlib.sha256(raw).hexdigest():
        return ["the policy is not the one that was registered: it was edited afterwards, or is another one"]
    early = [one for one in evidence.seen if one.opened_utc < found.utc]
    return [f"{len(early)} trials were begun before the policy was registered"] if early else []


def trigger_table(policy: Policy) -> Mapping[str, tuple[Gate, ...]]:
    """Return which claims each kind of change makes stale, time included."""
    gates = [gate for gate in Gate if gate not in policy.out_of_scope]
    table = {
        trigger: tuple(gate for gate in gates if set(fields) & set(DEPENDS[gate]))
        for trigger, fields in TRIGGERS.items()
    }
    return {**table, f"{policy.expires:g} days": tuple(gates), "anything nobody has listed": tuple(gates)}


COST: Final[Mapping[Gate, int]] = {
    Gate.EVIDENCE: 0, Gate.LATENCY: 1, Gate.RECOVERY: 2, Gate.BURDEN: 3, Gate.UTILITY: 4, Gate.AUTHORISATION: 5,
    Gate.OUTCOMES: 6, Gate.TIMELINESS: 7, Gate.HORIZON: 8, Gate.RESISTANCE: 9,
}  # fmt: skip
"""Order in which gates are to be measured again: first what takes seconds, last what takes an attacker."""


def to_rerun(decision: Decision) -> tuple[tuple[Gate, str], ...]:
    """Return what has to be measured again, the cheapest first, with the reason."""
    open_ = [f for f in decision.findings if f.verdict is not Verdict.PASS]
    return tuple((f.gate, "; ".join(f.reasons)) for f in sorted(open_, key=lambda f: COST[f.gate]))
