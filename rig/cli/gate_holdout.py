"""`runrig gate holdout`: the sealed set, asked seldom and answered coarsely."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.release.claims import fingerprint
from analysis.release.decision import POLICY, decide
from analysis.release.evidence import gather
from analysis.release.holdout import answer, open_holdout
from analysis.release.holdout import ask as ask_once
from analysis.release.holdout import scan as scan_for
from analysis.release.policy import load_policy
from rig.cli.gate import ledger_anchors
from rig.cli.output import print_json
from rig.core.clock import wall_utc
from rig.core.configuration import identity
from rig.core.event import Json
from rig.release.candidate import installed


def status(folder: Path, as_json: bool) -> int:
    """Print the life of a sealed set."""
    found = open_holdout(folder, wall_utc())
    if as_json:
        print_json({"sha256": found.commitment.sha256, "budget": found.commitment.budget, "left": found.left,
                    "burnt": found.burnt or None,
                    "queries": [{"number": q.number, "candidate": q.candidate, "role": q.asker_role, "utc": q.utc,
                                 "answer": q.answer} for q in found.queries]})  # fmt: skip
        return 1 if found.burnt else 0
    table = Table("no.", "candidate", "asked by", "when", "answer", title="Questions to the sealed set")
    for q in found.queries:
        table.add_row(str(q.number), q.candidate[:12], q.asker_role, q.utc[:19], q.answer or "none")
    console = Console()
    console.print(table)
    left = f"{found.left} of {found.commitment.budget} questions left"
    state = f"[red]burnt: {found.burnt}[/red]" if found.burnt else left
    console.print(f"SHA-256 {found.commitment.sha256[:16]}: {state}")
    return 1 if found.burnt else 0


def ask(folder: Path, records: Path, role: str) -> int:
    """Ask once; exit 0 for pass, 1 for fail."""
    policy, raw = load_policy(records / POLICY)
    evidence = gather(records, policy.agent, anchors=ledger_anchors(records))
    candidate = installed(evidence)
    whole: dict[str, Json] = {task: dict(manifest) for task, manifest in candidate.items()}
    query = ask_once(folder, identity(whole), role, wall_utc())
    decision = decide(evidence, policy, raw, candidate=fingerprint(candidate.items()), now=wall_utc())
    answer(folder, query.number, decision.go)
    left = open_holdout(folder, wall_utc()).left
    Console().print(
        f"Question {query.number}: {'pass' if decision.go else 'fail'}. {left} left. Nothing more is said."
    )
    return 0 if decision.go else 1


def scan(folder: Path, paths: list[Path], sealed: Path | None) -> int:
    """Look for the canary; exit 1 where it was found."""
    found = scan_for(folder, paths, sealed, wall_utc())
    for path in found:
        Console().print(f"[red]canary found: {path}[/red]")
    if not found:
        Console().print("The canary is nowhere there.")
    return 1 if found else 0
