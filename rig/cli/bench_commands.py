"""The commands of `runrig bench`."""

from pathlib import Path
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


@commands.command("calibrate-camera")
def bench_calibrate_camera(
    bench: Annotated[str, typer.Argument(help="Name of the bench, or a bench file.", show_default=False)],
    camera: Annotated[str, typer.Argument(help="Its camera.", show_default=False)],
    board: Annotated[
        Path | None, typer.Option(help="Folder of pictures of the board; without it they are taken now.")
    ] = None,
    place: Annotated[
        Path | None, typer.Option(help="Picture of the bench's tags; without it it is taken now.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the calibration and the drawn pictures.")] = Path(
        "camera"
    ),
) -> int:
    """Calibrate a camera's lens and place, step by step; bad pictures are refused with what to do."""
    from rig.cli.calibrate import calibrate_camera

    return calibrate_camera(bench, camera, board, place, out)
