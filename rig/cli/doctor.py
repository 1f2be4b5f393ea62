"""`runrig doctor`: the checklist before a bench is used, and permits for physical ones."""

import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from rig.cli.output import print_json
from rig.core.bench import load_bench
from rig.core.errors import UsageError
from rig.doctor.examine import examine
from rig.doctor.permit import LONGEST_MIN, Permit, issue
from rig.doctor.report import Light, Report

SIGNS = {
    Light.GREEN: "[green]ok[/green]",
    Light.RED: "[bold red]RED[/bold red]",
    Light.NOT_NEEDED: "[dim]--[/dim]",
}


def run_doctor(bench: str, *, permit: bool, operator: str, approver: str, minutes: int, as_json: bool) -> int:
    """Examine a bench, print the checklist; return 1 when anything is red.

    Raises:
        UsageError: If a permit was asked for and may not be issued.
    """
    if not permit and (operator or approver):
        raise UsageError("--operator and --approver are for --permit")
    if permit and load_bench(bench).embodiment != "physical":
        raise UsageError(f"bench {bench} is not physical: only physical benches need a permit")
    report = examine(bench)
    issued = issue(report, operator, approver, minutes) if permit and report.ok else None
    if as_json:
        print_json({**report.as_json(), "permit": None if issued is None else asdict(issued)})
    else:
        _print(report, issued)
    if permit and issued is None:
        print(f"No permit: {len(report.reds)} red.", file=sys.stderr)  # noqa: T201
    return 0 if report.ok else 1


def _print(report: Report, issued: Permit | None) -> None:
    console = Console()
    table = Table(
        "",
        "Check",
        "Measured",
        "Allowed",
        title=f"{report.bench} ({report.embodiment}), {report.examined_utc}",
    )
    for check in report.checks:
        table.add_row(SIGNS[check.light], check.title, check.measured, check.allowed)
    console.print(table)
    for name in report.devices:
        console.print(f"Device: {name}")
    if report.ok:
        console.print("[green]Ready.[/green] Nothing is red.")
    else:
        console.print(f"[bold red]Not ready: {len(report.reds)} red.[/bold red] What to do:")
        for k, check in enumerate(report.reds, 1):
            console.print(f"  {k}. {check.title}: {check.todo}")
    if issued is not None:
        console.print(
            f"Permit until {issued.expires_utc} (at most {LONGEST_MIN} minutes): operated by {issued.operator}, "
            f"approved by {issued.approver}"
        )
