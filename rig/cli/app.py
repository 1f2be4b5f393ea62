"""Every command by name. Commands import what they need when they run, so that help is instant."""

from pathlib import Path
from typing import Annotated

import typer

from rig.cli.agents_commands import commands as agents_commands
from rig.cli.bench_commands import commands as bench_commands
from rig.cli.camera_commands import commands as camera_commands
from rig.cli.campaign_commands import commands as campaign_commands
from rig.cli.evidence_commands import commands as evidence_commands
from rig.cli.gate_commands import commands as gate_commands
from rig.cli.rules_commands import commands as rules_commands
from rig.cli.speech_commands import commands as speech_commands
from rig.cli.speech_options import SpeechAsked, SpeechDay, SpeechLabels, SpeechTaken, SpeechValidation
from rig.cli.tasks_commands import commands as tasks_commands

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="How long can an AI agent run an embodied caregiving job before it makes a critical mistake?",
    epilog="Exit codes: 0 done, 1 a finding, 2 bad input, 3 a fault of the rig, 130 stopped from the keyboard.",
)
app.add_typer(evidence_commands)
app.add_typer(gate_commands, name="gate")
app.add_typer(camera_commands, name="camera")
app.add_typer(campaign_commands, name="campaign")
app.add_typer(agents_commands, name="agents")
app.add_typer(speech_commands, name="speech")
app.add_typer(tasks_commands, name="tasks")
app.add_typer(rules_commands, name="rules")
app.add_typer(bench_commands, name="bench")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]
Record = Annotated[Path, typer.Argument(help="A trial's folder.", show_default=False)]


def version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from importlib.metadata import version as installed

        typer.echo(f"runrig {installed('runrig')}")
        raise typer.Exit(0)


@app.callback()
def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="Where the records and the report go.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the whole campaign.", min=0)] = 1,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.", min=1)] = None,
) -> int:
    """Watch agents of different care at work, and read their horizons: the main job in about a minute."""
    from rig.cli.demo import run_demo

    return run_demo(out, seed, workers)


@app.command()
def trial(
    task: Annotated[
        str, typer.Option(help="Task (see runrig tasks list), or a whole item task/length/scenario.")
    ],
    agent: Annotated[
        str, typer.Option(help="careful, inspect:PROVIDER/MODEL, human, ... (runrig agents list).")
    ],
    out: Annotated[Path, typer.Option(help="Folder under which the record is written.")],
    bench: Annotated[str, typer.Option(help="Bench (see runrig bench list).")] = "sim",
    length: Annotated[str | None, typer.Option(help="Length of the task; by default its shortest.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Scenario; by default the task's first.")] = None,
    seed: Annotated[int, typer.Option(help="Seeds the person, the sensors and the agent.")] = 0,
    trials: Annotated[int, typer.Option(help="Number of trials, with consecutive seeds.")] = 1,
    monitor: Annotated[
        str, typer.Option(help="guard enforces the monitor's verdicts, shadow only records them.")
    ] = "guard",
    think: Annotated[
        str,
        typer.Option(
            help="charged: thinking costs job time; '2 s': every decision costs that; realtime: the bench does "
            "not wait; paused: thinking is free, and nothing is scored."
        ),
    ] = "charged",
    cameras: Annotated[
        str,
        typer.Option(
            help="fitted: a sensor model; rendered: every frame is drawn and read, half a second each."
        ),
    ] = "fitted",
    as_json: Json = False,
) -> int:
    """Run trials of one task by one agent, and grade them."""
    from rig.cli.trial import run_trials

    return run_trials(
        task,
        length,
        scenario,
        agent=agent,
        bench=bench,
        seed=seed,
        trials=trials,
        monitor=monitor,
        think=think,
        cameras=cameras,
        out=out,
        as_json=as_json,
    )


@app.command()
def doctor(
    bench: Annotated[str, typer.Argument(help="Name of the bench, or a bench file.", show_default=False)],
    permit: Annotated[
        bool, typer.Option("--permit", help="Also ask for a permit to use a physical bench.")
    ] = False,
    operator: Annotated[str, typer.Option(help="With --permit: who operates the bench.")] = "",
    approver: Annotated[str, typer.Option(help="With --permit: who else approves.")] = "",
    minutes: Annotated[int, typer.Option(help="With --permit: how long, at most 30.", min=1, max=30)] = 30,
    as_json: Json = False,
) -> int:
    """Examine a bench before it is used: a checklist with what to do; exit 1 when anything is red."""
    from rig.cli.doctor import run_doctor

    return run_doctor(
        bench, permit=permit, operator=operator, approver=approver, minutes=minutes, as_json=as_json
    )


@app.command()
def mcp(
    task: Annotated[
        str, typer.Option(help="Task (see runrig tasks list), or a whole item task/length/scenario.")
    ],
    out: Annotated[Path, typer.Option(help="Folder under which the record is written.")],
    bench: Annotated[str, typer.Option(help="Bench (see runrig bench list).")] = "sim",
    length: Annotated[str | None, typer.Option(help="Length of the task; by default its shortest.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Scenario; by default the task's first.")] = None,
    seed: Annotated[int, typer.Option(help="Seeds the person and the sensors.")] = 0,
    monitor: Annotated[str, typer.Option(help="guard or shadow.")] = "guard",
    think: Annotated[
        str, typer.Option(help="charged, realtime, paused, or a duration for every decision.")
    ] = "charged",
    agent: Annotated[str, typer.Option(help="What the client is called in records.")] = "client",
    prompt: Annotated[str, typer.Option(help="What the client is told.")] = "carer",
    port: Annotated[
        int | None,
        typer.Option(help="Serve over HTTP on this port of the loopback interface.", min=1, max=65535),
    ] = None,
) -> int:
    """Serve one trial to a client of the Model Context Protocol, on standard input and output or over HTTP."""
    from rig.cli.mcp import serve_trial, spec_of

    spec = spec_of(task, length, scenario, agent, bench=bench, monitor=monitor, seed=seed, think=think)
    return serve_trial(spec, out, prompt, port)


@app.command()
def grade(record: Record, as_json: Json = False) -> int:
    """Say what a record shows of outcome and harm."""
    from rig.cli.records import show_grade

    return show_grade(record, as_json)


@app.command()
def verify(
    record: Record,
    require: Annotated[str, typer.Option(help="Also require: trusted, anchored (comma separated).")] = "",
    campaign: Annotated[
        Path | None,
        typer.Option(
            help="Campaign whose ledger anchors it; by default the one it lies in.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check that a record is whole and unaltered, and say where it is not."""
    from rig.cli.records import show_verification

    return show_verification(record, require, as_json, campaign)


@app.command()
def recover(record: Record, as_json: Json = False) -> int:
    """Make a verified record out of one that was cut off; the original is kept."""
    from rig.cli.records import show_recovery

    return show_recovery(record, as_json)


@app.command()
def horizon(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of records, or a table (csv, jsonl, parquet, Inspect log).", show_default=False
        ),
    ],
    replicates: Annotated[int, typer.Option(help="Bootstrap replicates.", min=100)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.", min=0)] = 0,
    weighting: Annotated[str, typer.Option(help="none, task, or invsqrt_family.")] = "none",
    by_family: Annotated[bool, typer.Option(help="Also fit each task family of an agent alone.")] = True,
    metr: Annotated[
        bool, typer.Option("--metr", help="METR's settings: its weights, penalty and resampling.")
    ] = False,
    penalty: Annotated[
        float | None,
        typer.Option(help="With --metr: penalty per doubling; 1e-5 today, 0.1 before March 2026.", min=0),
    ] = None,
    schemes: Annotated[
        str, typer.Option(help="What is drawn: trials, within, tasks, nested, families (comma separated).")
    ] = "trials,tasks",
    pool: Annotated[bool, typer.Option("--pool", help="Pool trials of different configurations.")] = False,
    split: Annotated[
        bool, typer.Option("--split", help="Give each configuration of an agent horizons of its own.")
    ] = False,
    guess: Annotated[
        float, typer.Option(help="Also fit above this probability of a lucky guess.", min=0, max=0.99)
    ] = 0.0,
    tier_replicates: Annotated[
        int, typer.Option(help="Bootstrap the ratios between tiers with this many draws.", min=0)
    ] = 0,
    compare: Annotated[Path | None, typer.Option(help="A table (csv) of published horizons.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Also print tiers and other choices.")] = False,
    speech: SpeechTaken = "found",
    labels: SpeechLabels = None,
    validation: SpeechValidation = None,
    day: SpeechDay = None,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained report here.")] = None,
    as_json: Json = False,
) -> int:
    """Fit the horizons: the duration at which an agent still passes half (80 %) of the jobs."""
    from rig.cli.horizon import Asked, Shown, show_horizons

    asked = Asked(
        replicates=replicates,
        seed=seed,
        weighting=weighting,
        by_family=by_family,
        metr=metr,
        penalty=penalty,
        pool=pool,
        split=split,
        schemes=schemes,
        guess_floor=guess,
        tier_replicates=tier_replicates,
    )
    said = SpeechAsked(speech, labels or (), validation or (), day)
    return show_horizons(source, asked, said, Shown(html=html, compare=compare, full=full, as_json=as_json))


@app.command()
def serve(
    runs: Annotated[
        Path | None, typer.Option(help="Folder of records; by default ./runs, made if need be.")
    ] = None,
    bench: Annotated[str | None, typer.Option(help="Bench that may be run from the page.")] = None,
    plans: Annotated[
        Path | None,
        typer.Option(help="Folder of campaign plans that may be started; by default that of the records."),
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need TLS.")
    ] = "127.0.0.1",
    expose: Annotated[
        bool, typer.Option("--expose-to-network", help="Needed for any --host but this machine's own.")
    ] = False,
    certificate: Annotated[Path | None, typer.Option(help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its key, PEM.")] = None,
) -> int:
    """Open the console in a browser: run the bench, review records, settle disagreements."""
    from rig.cli.serve import serve as run_console

    return run_console(
        runs, bench, plans, host=host, port=port, expose=expose, certificate=certificate, key=key
    )


@app.command()
def view(
    record: Record,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 0,
) -> int:
    """Open one record in a browser: signals, events, dialogue and decisions on one clock."""
    from rig.cli.serve import view as view_record

    return view_record(record, port)


@app.command()
def incident(
    record: Annotated[
        Path, typer.Argument(help="A trial's folder; with --again a case.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option(help="Where the bundle goes; by default beside it.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Run a case again; exit 1 while it fails.")] = False,
    as_json: Json = False,
) -> int:
    """Make a minimal regression case, with its harmless twin, of one recorded mistake."""
    from rig.cli.incident import make_case, run_again

    return run_again(record, as_json) if again else make_case(record, out, as_json)


@app.command()
def report(
    bundle: Annotated[
        Path, typer.Argument(help="Folder with bundle.toml and what it lists.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Empty folder the site is written to.")],
) -> int:
    """Build the scoreboard site from one bundle: every transcript, rubric and fit linked, errata listed."""
    from rig.cli.horizon import build_scoreboard

    return build_scoreboard(bundle, out)
