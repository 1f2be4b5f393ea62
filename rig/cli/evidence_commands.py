"""The commands that take records as evidence: replay, what-if, timeliness, export, trials."""

from pathlib import Path
from typing import Annotated

import typer

from rig.cli.speech_options import SpeechAsked, SpeechDay, SpeechLabels, SpeechTaken, SpeechValidation

commands = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]
Record = Annotated[Path, typer.Argument(help="A trial's folder.", show_default=False)]
Records = Annotated[Path, typer.Argument(help="A folder of records.", show_default=False)]


@commands.command()
def replay(records: Records, as_json: Json = False) -> int:
    """Feed recorded readings to the same rules again: every decision must be the same."""
    from rig.cli.evidence import show_replays

    return show_replays(records, as_json)


@commands.command()
def whatif(
    record: Record,
    rules: Annotated[
        list[Path],
        typer.Option("--rules", help="Rule file; may be given more than once.", show_default=False),
    ],
    task_rules: Annotated[
        bool,
        typer.Option("--task-rules", help="Keep the task's rules; one in FILE replaces its namesake."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; by default the record's exports folder.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Feed recorded readings to other rules: which alarms would be gained, lost or moved."""
    from rig.cli.evidence import show_what_if

    return show_what_if(record, rules, with_task=task_rules, out=out, as_json=as_json)


@commands.command()
def timeliness(
    records: Records,
    list_all: Annotated[bool, typer.Option("--list", help="Also list every hazard.")] = False,
    pool: Annotated[bool, typer.Option("--pool", help="Pool trials of different configurations.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.", min=0)] = 0,
    curve: Annotated[
        str | None,
        typer.Option(
            help="Operating curve of one predicting rule, as TASK/RULE, instead.", show_default=False
        ),
    ] = None,
    rules: Annotated[
        list[Path] | None,
        typer.Option(help="With --curve: a file of rules that do not ship yet.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> int:
    """Score the monitor on twins: was it in time, and how often did it step in for nothing?"""
    if curve is not None:
        from rig.cli.operating import show_curve

        task, _, rule = curve.partition("/")
        return show_curve(records, task, rule, proposed=rules or (), seed=seed, as_json=as_json)
    from rig.cli.timeliness import show_timeliness

    return show_timeliness(records, seed=seed, pool=pool, list_all=list_all, as_json=as_json)


@commands.command()
def export(
    record: Record,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="As Parquet.")] = False,
    html: Annotated[bool, typer.Option("--html", help="As one page that needs no network.")] = False,
    channels: Annotated[str, typer.Option(help="Channels, comma separated; by default all.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Where to write; by default the record's exports folder.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Write a record in forms that other programs read; a copy, never evidence."""
    if html:
        from rig.cli.serve import export_page

        return export_page(record, out, as_json, alone=not (csv or parquet or channels))
    from rig.cli.evidence import export as write

    return write(record, csv=csv, parquet=parquet, channels=channels, out=out, as_json=as_json)


@commands.command()
def trials(
    source: Annotated[
        Path, typer.Argument(help="A folder of records, or a trial table (csv, jsonl).", show_default=False)
    ],
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    task: Annotated[str | None, typer.Option(help="Only this task.")] = None,
    item: Annotated[str | None, typer.Option(help="Only this item.")] = None,
    monitor: Annotated[str | None, typer.Option(help="Only shadow, or only guard.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Only this outcome, as PASS or CRITICAL.")] = None,
    sort: Annotated[
        str, typer.Option(help="Columns, comma separated; -NAME sorts downwards.")
    ] = "item,agent,seed,monitor",
    speech: SpeechTaken = "found",
    labels: SpeechLabels = None,
    validation: SpeechValidation = None,
    day: SpeechDay = None,
    as_json: Json = False,
) -> int:
    """List the graded trials of a folder, filtered and sorted."""
    from rig.cli.trials import show_trials

    wanted = {"agent": agent, "task": task, "item": item, "monitor": monitor, "outcome": outcome}
    said = SpeechAsked(speech, labels or (), validation or (), day)
    return show_trials(source, wanted, sort, said, as_json)
