"""The commands of `runrig bench`."""

from typing import Annotated

import typer

commands = typer.Typer(no_args_is_help=True, help="The benches: what they measure and what they can move.")


@commands.command("list")
def bench_list() -> int:
    """List the benches."""
    from rig.cli.bench import list_benches

    return list_benches()


@commands.command("show")
def bench_show(
    name: Annotated[str, typer.Argument(help="Name of the bench, or a bench file.", show_default=False)],
) -> int:
    """Show what a bench measures and what it can move."""
    from rig.cli.bench import show_bench

    return show_bench(name)
