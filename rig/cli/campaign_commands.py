"""`runrig campaign ...`: many trials, decided before they are run, each exactly once."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(
    no_args_is_help=True, help="Campaigns: many trials, decided before they are run, each exactly once."
)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]
PlanFile = Annotated[Path, typer.Argument(help="The plan (TOML).", show_default=False)]
Folder = Annotated[Path, typer.Argument(help="A campaign's folder.", show_default=False)]


@commands.command("run")
def run(
    plan: PlanFile,
    out: Annotated[Path, typer.Option(help="The campaign's folder; the same command goes on with it.")],
    workers: Annotated[
        int | None, typer.Option(help="Processes; by default one per core, 0 for this one.", min=0)
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(help="Address of a Ray cluster, or local to start one here.", show_default=False),
    ] = None,
    exploratory: Annotated[
        bool,
        typer.Option("--exploratory", help="Do not register: good for finding out, accepted by no gate."),
    ] = False,
    supersedes: Annotated[
        Path | None, typer.Option(help="Folder of the campaign whose plan this one replaces.")
    ] = None,
    holdout: Annotated[Path | None, typer.Option(help="The sealed file, to open it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Hardware may be moved.")] = False,
    fail_on: Annotated[str, typer.Option(help="Exit 1 if any trial ended so, as CRITICAL,INCOMPLETE.")] = "",
    as_json: Json = False,
) -> int:
    """Register a plan and run its trials; interrupted or killed, the same command goes on."""
    from rig.campaign.running import Options
    from rig.cli.campaign import run_plan

    options = Options(
        workers=workers,
        ray=ray,
        exploratory=exploratory,
        supersedes=supersedes,
        holdout=holdout,
        may_move=yes,
    )
    return run_plan(plan, out, options, fail_on, as_json)


@commands.command("check")
def check(plan: PlanFile, as_json: Json = False) -> int:
    """Say what a plan would run, without running it."""
    from rig.cli.campaign import check_plan

    return check_plan(plan, as_json)


@commands.command("status")
def status(
    folder: Folder,
    watch: Annotated[bool, typer.Option("--watch", help="Go on showing it until it is done.")] = False,
    as_json: Json = False,
) -> int:
    """Say how a campaign stands, also while it runs."""
    from rig.cli.campaign import show_status

    return show_status(folder, watch, as_json)


@commands.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(help="A campaign, a record, or a configuration file.")],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Json = False,
) -> int:
    """Say in words what differs between what two sets of trials depended on; exit 1 if anything does."""
    from rig.cli.campaign import show_diff

    return show_diff(before, after, as_json)


@commands.command("deviate")
def deviate(
    folder: Folder,
    what: Annotated[str, typer.Option(help="What was not as registered.")],
    why: Annotated[str, typer.Option(help="Why.")],
    bias: Annotated[str, typer.Option(help="towards-pass, towards-fail, none, or unknown.")],
    owner: Annotated[str, typer.Option(help="Role that answers for it.")],
    immaterial: Annotated[
        bool, typer.Option("--immaterial", help="It cannot matter to the decision.")
    ] = False,
    expires: Annotated[str | None, typer.Option(help="Date after which it excuses nothing.")] = None,
) -> int:
    """Write down, signed, what was not as registered, and which way it may have moved the result."""
    from rig.cli.campaign import note_deviation

    return note_deviation(
        folder, what=what, why=why, bias=bias, owner=owner, material=not immaterial, expires=expires
    )


@commands.command("report")
def report(folder: Folder, as_json: Json = False) -> int:
    """Write the report of a campaign again, as far as it has come."""
    from rig.cli.campaign import report_again

    return report_again(folder, as_json)


@commands.command("verify")
def verify(folder: Folder, as_json: Json = False) -> int:
    """Check every record of a campaign against its anchor in the ledger; exit 1 if one does not hold."""
    from rig.cli.campaign import verify_all

    return verify_all(folder, as_json)
