"""`runrig gate`: register a policy, decide, see what has expired, sign."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from analysis.release.claims import fingerprint
from analysis.release.decision import POLICY, decide, register, registered, to_rerun, trigger_table
from analysis.release.dossier import change, dossier, final
from analysis.release.evidence import Evidence, gather
from analysis.release.gates import Decision
from analysis.release.policy import TITLES, Policy, load_policy
from analysis.release.signing import FOLDER, approve, released, write_dossier
from rig.cli.output import print_json
from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.core.record import Anchor
from rig.release.candidate import evaluated, installed, read_candidate, write_candidate

COLOURS = {"PASS": "green", "FAIL": "red", "UNKNOWN": "yellow", "EXPIRED": "yellow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for on the command line.

    Attributes:
        candidate: A candidate file; by default what is installed now.
        baseline: A candidate file of what is released now.
        as_of: Time of reading; by default now.
        as_evaluated: Judge the configuration that was evaluated instead of what is installed.
    """

    folder: Path
    policy: Path | None
    candidate: Path | None = None
    baseline: Path | None = None
    as_of: str | None = None
    trusted: Path | None = None
    as_evaluated: bool = False


def register_policy(policy: Path, out: Path, as_json: bool) -> int:
    """Sign a policy before there is any data."""
    found, raw = load_policy(policy)
    made = register(out, raw)
    if as_json:
        print_json({"policy": found.name, "sha256": made.digest, "registered_utc": made.utc.isoformat()})
    else:
        _say(f"Registered: {found.name}, SHA-256 {made.digest[:16]}, {made.utc.isoformat()[:19]} UTC.\n"
             f"Trials below {out} count from now on. The policy may not change any more.")  # fmt: skip
    return 0


def run_gate(asked: Asked, as_json: bool) -> int:
    """Decide and write the dossier; exit 1 for NO-GO."""
    found, decision, out = _decided(asked, write=True)
    if as_json:
        print_json(found)
    else:
        _print(decision, found, out)
    return 0 if decision.go else 1


def show_status(asked: Asked, as_json: bool) -> int:
    """Say which findings hold at this moment, what must be measured again, and who has signed."""
    found, decision, _ = _decided(asked, write=False)
    policy = _policy(asked)[0]
    try:
        signed, missing = released(asked.folder, decision.word, policy, registered(asked.folder))
    except UsageError as error:
        signed, missing = False, (str(error),)
    if as_json:
        print_json({"decision": decision.word, "released": signed, "missing": missing, "gates": found["gates"],
                    "rerun": found["rerun"], "triggers": found["triggers"]})  # fmt: skip
        return 0 if signed else 1
    console = Console()
    _gates(console, decision)
    for number, (gate, why) in enumerate(to_rerun(decision), 1):
        console.print(f"{number}. measure again: {gate.replace('_', ' ')}: {why}")
    console.print(_triggers(policy))
    for words in missing:
        console.print(f"[yellow]{words}[/yellow]")
    console.print("[bold green]Released.[/bold green]" if signed else "[bold]Not released.[/bold]")
    return 0 if signed else 1


def sign_dossier(folder: Path, role: str, word: Literal["go", "no-go"], as_json: bool) -> int:
    """Sign the dossier that lies there, in a role."""
    policy, _ = load_policy(folder / POLICY)
    made = approve(folder, role, word, policy)
    if as_json:
        print_json({"role": made.role, "word": made.word, "utc": made.utc, "signers": list(made.signers)})
    else:
        _say(
            f"{made.role}: {made.word}, signed {made.utc[:19]} UTC with {', '.join(s[:16] for s in made.signers)}."
        )
    return 0


def freeze_candidate(folder: Path, agent: str | None, out: Path) -> int:
    """Write what is installed now as a candidate file, for a later comparison."""
    policy, _ = load_policy(folder / POLICY)
    evidence = gather(folder, agent or policy.agent)
    write_candidate(out, installed(evidence))
    _say(f"Candidate: {out}")
    return 0


def _policy(asked: Asked) -> tuple[Policy, bytes]:
    return load_policy(asked.policy or asked.folder / POLICY)


def _decided(asked: Asked, *, write: bool) -> tuple[Mapping[str, Any], Decision, Path]:
    policy, raw = _policy(asked)
    evidence = _evidence(asked, policy)
    if asked.candidate is None:
        chosen = evaluated(evidence) if asked.as_evaluated else installed(evidence)
    else:
        chosen = read_candidate(asked.candidate)
    baseline = read_candidate(asked.baseline) if asked.baseline else None
    now = _time(asked.as_of)
    decision = decide(evidence, policy, raw, candidate=fingerprint(chosen.items()), now=now)
    changed = None if baseline is None else change(baseline, chosen)
    decision = final(decision, evidence, changed)
    found = dossier(decision, evidence, policy, registered(asked.folder), changed, now)
    out = write_dossier(asked.folder, found) if write else asked.folder / FOLDER
    return found, decision, out


def _evidence(asked: Asked, policy: Policy) -> Evidence:
    from rig.core.record import read_trusted

    trusted = read_trusted(asked.trusted) if asked.trusted else ()
    require = policy.gate.evidence.require
    anchors = ledger_anchors(asked.folder)
    return gather(asked.folder, policy.agent, anchors=anchors, trusted_keys=trusted, require=require)


def ledger_anchors(folder: Path) -> tuple[Anchor, ...] | None:
    """Return the chain heads in the campaign's ledger, None where the folder is no campaign's."""
    from rig.campaign import Ledger
    from rig.campaign.storage import FILE

    if not (folder / FILE).exists():
        return None
    with Ledger.reading(folder) as ledger:
        return tuple(anchor for entry in ledger.entries() for anchor in ledger.anchors(entry.trial_id))


def _time(text: str | None) -> datetime:
    if text is None:
        return wall_utc()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of {text!r}: give a date or time as 2027-01-31T12:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


# --- for people ----------------------------------------------------------------------------------


def _print(decision: Decision, found: Mapping[str, Any], out: Path) -> None:
    console = Console()
    _gates(console, decision)
    for words in found["blocked"]:
        console.print(f"[red]blocks:[/red] {words}")
    for gate, why in found["out_of_scope"].items():
        console.print(f"[dim]out of scope: {gate.replace('_', ' ')}: {why}[/dim]")
    colour = "green" if decision.go else "red"
    scope = found["policy"]["embodiment"]
    console.print(
        f"[bold {colour}]{decision.word}[/bold {colour}] for {found['agent']}, {scope} scope. {found['caveat']}"
    )
    console.print(f"Dossier: {out / 'dossier.html'}")
    if decision.go:
        roles = " and ".join(found["policy"]["approvers"])
        console.print(f"It takes effect when {roles} have signed: runrig gate sign {out.parent} --role ROLE")


def _gates(console: Console, decision: Decision) -> None:
    table = Table(
        "gate", "verdict", "evidence", "found", title="Gates: every one must pass", title_justify="left"
    )
    for finding in decision.findings:
        colour = COLOURS[finding.verdict]
        state = f"{finding.standing.state}, {finding.standing.age_days:.1f} d" if finding.standing else "none"
        why = "; ".join(finding.reasons[:2]) or "; ".join(f"{f.name} {f.found}" for f in finding.figures[:2])
        more = f" (and {len(finding.reasons) - 2} more)" if len(finding.reasons) > 2 else ""
        table.add_row(TITLES[finding.gate], f"[{colour}]{finding.verdict}[/{colour}]", state, why + more)
    console.print(table)


def _triggers(policy: Policy) -> Table:
    table = Table(
        "if this changes", "these are measured again", title="What expires what", title_justify="left"
    )
    for trigger, gates in trigger_table(policy).items():
        table.add_row(trigger, ", ".join(gate.replace("_", " ") for gate in gates))
    return table


def _say(text: str) -> None:
    Console().print(text)
