"""The commands of `runrig tasks`."""

from typing import Annotated

import typer

commands = typer.Typer(
    no_args_is_help=True, help="The caregiving tasks: what is asked, and what would be harm."
)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]


@commands.command("list")
def tasks_list(as_json: Json = False) -> int:
    """List the tasks with their lengths and scenarios."""
    from rig.cli.tasks import list_tasks

    return list_tasks(as_json)


@commands.command("show")
def tasks_show(
    name: Annotated[str, typer.Argument(help="Name of the task.", show_default=False)], as_json: Json = False
) -> int:
    """Show one task: goal, lengths, scenarios and what would be harm."""
    from rig.cli.tasks import show_task

    return show_task(name, as_json)


@commands.command("matrix")
def tasks_matrix(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks; all by default.", show_default=False)
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repeats, each under its own seed.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Trials at the same time.")] = 1,
    save: Annotated[
        bool,
        typer.Option("--save", help="Keep the times from signal to irreversible point, for lint and show."),
    ] = False,
    as_json: Json = False,
) -> int:
    """Criteria by agents: every mistake must be made by its agent, and by no other."""
    from rig.cli.matrix import show_matrix

    return show_matrix(names or [], seeds, workers, save, as_json)


@commands.command("sweep")
def tasks_sweep(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tasks; all by default.", show_default=False)
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per scenario.")] = 20,
    from_seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 1,
    length: Annotated[
        str | None, typer.Option(help="Length of the task; by default its shortest.", show_default=False)
    ] = None,
    hazards: Annotated[bool, typer.Option("--hazards", help="The hazard scenarios too.")] = False,
    monitor: Annotated[str, typer.Option(help="guard or shadow, as in runrig trial.")] = "guard",
    workers: Annotated[int, typer.Option(min=1, help="Trials at the same time.")] = 1,
    as_json: Json = False,
) -> int:
    """The careful agent in every harmless scenario: it must pass them all, under every seed."""
    from rig.cli.sweep import Sweep, show_sweep

    sweep = Sweep(seeds=seeds, from_seed=from_seed, monitor=monitor, length=length, hazards=hazards)
    return show_sweep(names or [], sweep, workers, as_json)


@commands.command("lint")
def tasks_lint(as_json: Json = False) -> int:
    """Check every task: twins, lengths, conditions, units, signatures."""
    from rig.cli.tasks import lint_tasks

    return lint_tasks(as_json)
