"""`runrig campaign`: what its commands print and return."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from rig.campaign.coordinator import Observer
from rig.campaign.entries import CampaignStatus, State
from rig.campaign.folder import configurations_of
from rig.campaign.grid import lay_out
from rig.campaign.ledger import Ledger
from rig.campaign.plan import load_plan
from rig.campaign.report import problems, write_report
from rig.campaign.running import Options, Ran, coverage_of, run_campaign
from rig.cli.campaign_board import LiveBoard, as_json, render
from rig.cli.output import print_json
from rig.core.clock import MonotonicClock, nanoseconds
from rig.core.configuration import MISSING, Difference, differences
from rig.core.errors import RigFault, UsageError
from rig.core.event import Json
from rig.core.record import read, strict
from rig.core.registration import PLAN, Bias, deviate, read_deviations, read_registration

WATCH_S = 1.0
OUTCOMES = ("PASS", "CRITICAL", "INCOMPLETE", "ABORTED", "INDETERMINATE")


def run_plan(plan: Path, out: Path, options: Options, fail_on: str, wants_json: bool) -> int:
    """Run a campaign and print what it came to."""
    failing = _failing(fail_on)
    console = Console(stderr=wants_json)
    with ExitStack() as stack:
        observer: Observer = Observer()
        if console.is_terminal:
            observer = stack.enter_context(LiveBoard(console))
        ran = run_campaign(plan, out, options, observer)
    code = _code(ran, failing)
    if wants_json:
        reported = ran.reported
        print_json(
            as_json(ran.status)
            | {"stopped": ran.stopped.why if ran.stopped else None, "exit_code": code}
            | {"report": None if reported is None else {"table": reported.table, "results": reported.results,
                                                        "junit": reported.junit}}
        )  # fmt: skip
        return code
    console.print(render(ran.status, bar=False))
    _conclude(console, ran, plan, out)
    return code


def _failing(text: str) -> tuple[str, ...]:
    names = tuple(word.strip().upper() for word in text.split(",") if word.strip())
    if odd := [name for name in names if name not in OUTCOMES]:
        raise UsageError(f"--fail-on {', '.join(odd)}: choose from {', '.join(OUTCOMES)}")
    return names


def _code(ran: Ran, failing: tuple[str, ...]) -> int:
    if ran.stopped is not None:
        return ran.stopped.exit_code
    if any(ran.status.outcomes.get(name) for name in failing):
        return 1
    faults = ran.status.states.get(State.ABORTED, 0) + ran.status.states.get(State.INDETERMINATE, 0)
    return RigFault.exit_code if faults else 0


def _conclude(console: Console, ran: Ran, plan: Path, out: Path) -> None:
    for line in ran.coverage.lines() if ran.coverage else ():
        console.print(line, highlight=False)
    if ran.stopped is not None:
        console.print(f"\nStopped: {ran.stopped.why}", highlight=False, markup=False)
        console.print(f"Go on with: runrig campaign run {plan} --out {out}", soft_wrap=True, highlight=False)
    elif ran.reported is not None:
        console.print(
            f"\n  the trials        {ran.reported.table}\n  the summary       {ran.reported.results}\n"
            f"  the horizons      runrig horizon {ran.reported.table}\n"
            f"  the evidence      runrig campaign verify {out}",
            soft_wrap=True, highlight=False,
        )  # fmt: skip
    sys.stdout.flush()


def check_plan(path: Path, wants_json: bool) -> int:
    """Print what a plan would run."""
    plan, _ = load_plan(path)
    trials = lay_out(plan, str(path))
    cover = coverage_of(plan)
    job_s = sum(trials.cells[cell].nominal_s for cell in trials.cell.tolist())
    said: dict[str, Any] = {
        "plan": plan.name, "trials": len(trials), "cells": len(trials.cells),
        "configurations": len(trials.manifests), "job_hours": job_s / 3600, "missing": list(plan.missing()),
        "coverage": list(cover.lines()) if cover else None,
    }  # fmt: skip
    if wants_json:
        print_json(said)
        return 0
    console = Console(highlight=False)
    console.print(
        f"{plan.name}: {len(trials)} trials in {len(trials.cells)} cells, {job_s / 3600:.1f} hours of job time"
    )
    for line in cover.lines() if cover else ():
        console.print(line)
    if plan.missing():
        console.print(
            f"Can only be run with --exploratory: {', '.join(plan.missing())} missing", markup=False
        )
    return 0


def show_status(folder: Path, watch: bool, wants_json: bool) -> int:
    """Print how a campaign stands."""
    if not watch:
        with Ledger.reading(folder) as ledger:
            status = ledger.status()
            notes = ledger.notes()
        if wants_json:
            print_json(as_json(status) | {"notes": [{"utc": utc, "text": text} for utc, text in notes]})
        else:
            console = Console()
            console.print(render(status, bar=False))
            for utc, text in notes:
                console.print(f"note {utc}: {text}", markup=False, highlight=False)
            _print_deviations(console, folder)
        return 0
    return _watch(folder)


def _watch(folder: Path) -> int:
    from rich.live import Live

    clock = MonotonicClock()
    with Live(refresh_per_second=4) as live:
        while True:
            with Ledger.reading(folder) as ledger:
                status: CampaignStatus = ledger.status()
            live.update(render(status))
            if status.complete or not status.running:
                return 0
            clock.sleep_until(clock.now_ns() + nanoseconds(WATCH_S))


def _print_deviations(console: Console, folder: Path) -> None:
    for d in read_deviations(folder):
        weight = "material" if d.material else "immaterial"
        console.print(
            f"deviation {d.number} ({weight}, bias {d.bias}): {d.what}", markup=False, highlight=False
        )


def show_diff(before: Path, after: Path, wants_json: bool) -> int:
    """Print what differs between two configurations, or two sets of them."""
    ours, theirs = _configurations(before), _configurations(after)
    found = _compared(ours, theirs)
    if wants_json:
        print_json(
            {
                "same": not found,
                "differences": [
                    {"where": where, "path": list(d.path), "words": d.words()} for where, d in found
                ],
            }
        )
    else:
        for where, d in found:
            print(f"{where}: {d.words()}" if where else d.words())  # noqa: T201
        if not found:
            print("the same configuration" if len(ours) == 1 else "the same configurations")  # noqa: T201
    return 1 if found else 0


def _configurations(source: Path) -> dict[str, Mapping[str, Json]]:
    """Return configurations by what they are of: a campaign's, a record's, or a file's."""
    if (source / "manifest.json").is_file():
        facts = read(source).manifest.get("configuration")
        if not isinstance(facts, dict):
            raise UsageError(f"{source}: this record states no configuration")
        return {"": facts}
    if source.is_file():
        try:
            loaded = strict.loads(source.read_bytes())
        except ValueError as error:
            raise UsageError(f"{source}: not a configuration: {error}") from None
        if not isinstance(loaded, dict):
            raise UsageError(f"{source}: not a configuration: a {type(loaded).__name__}")
        return {"": loaded}
    with Ledger.reading(source) as ledger:
        cells = ledger.cells()
    known = configurations_of(source)
    return {
        f"{c.spec.agent} on {c.spec.item}, {c.spec.monitor}, {c.spec.bench}": known[c.configuration]
        for c in cells
    }


def _compared(
    ours: Mapping[str, Mapping[str, Json]], theirs: Mapping[str, Mapping[str, Json]]
) -> list[tuple[str, Difference]]:
    """Return the differences; one that is the same everywhere is said once, under no name."""
    if len(ours) == len(theirs) == 1:
        (a,), (b,) = ours.values(), theirs.values()
        return [("", d) for d in differences(a, b)]
    shared = [name for name in ours if name in theirs]
    if not shared:
        raise UsageError("nothing to compare: no agent, item, mode and bench is in both")
    cells: dict[str, list[str]] = {}
    first: dict[str, Difference] = {}
    for name in shared:
        for d in differences(ours[name], theirs[name]):
            first.setdefault(d.words(), d)
            cells.setdefault(d.words(), []).append(name)
    found = [
        (
            "" if len(names) == len(shared) else f"{len(names)} of {len(shared)} cells, as {names[0]}",
            first[words],
        )
        for words, names in cells.items()
    ]
    gone = [(name, Difference(("agent",), name, MISSING)) for name in ours if name not in theirs]
    new = [(name, Difference(("agent",), MISSING, name)) for name in theirs if name not in ours]
    return found + gone + new


def note_deviation(
    folder: Path, *, what: str, why: str, bias: str, owner: str, material: bool, expires: str | None
) -> int:
    """Write a deviation down and print its number."""
    if bias not in tuple(Bias):
        raise UsageError(f"--bias {bias!r}: choose from {', '.join(Bias)}")
    made = deviate(
        folder, what=what, why=why, bias=Bias(bias), material=material, owner_role=owner, expires=expires
    )
    print(f"deviation {made.number} from registration {made.registration[:12]} is written down and signed")  # noqa: T201
    return 0


def report_again(folder: Path, wants_json: bool) -> int:
    """Write the report again and say where it is."""
    plan, _ = load_plan(folder / PLAN)
    read_registration(folder)
    with Ledger.reading(folder) as ledger:
        reported = write_report(folder, ledger, coverage_of(plan))
    if wants_json:
        print_json({"table": reported.table, "results": reported.results, "junit": reported.junit})
    else:
        print(f"{reported.table}\n{reported.results}")  # noqa: T201
    return 0


def verify_all(folder: Path, wants_json: bool) -> int:
    """Check every record of a campaign, and its registration and deviations."""
    registration = read_registration(folder)
    read_deviations(folder)
    with Ledger.reading(folder) as ledger:
        wrong = list(problems(folder, ledger))
        status = ledger.status()
    if wants_json:
        print_json(
            {"ok": not wrong, "trials": status.ended, "registered": registration is not None, "wrong": wrong}
        )
    else:
        for text in wrong:
            print(text)  # noqa: T201
        kind = "registered" if registration else "exploratory"
        word = "hold" if not wrong else f"do not all hold: {len(wrong)} are wrong"
        print(f"{folder}: {kind}; {status.ended} of {status.trials} trials have ended; their records {word}")  # noqa: T201
    return 1 if wrong else 0
