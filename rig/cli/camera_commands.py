"""The commands of `runrig camera`."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(
    no_args_is_help=True, help="Cameras: the calibration board, calibration, what is seen."
)
Pictures = Annotated[Path, typer.Argument(help="Folder of pictures.", show_default=False)]


@commands.command("board")
def camera_board(
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("board.png"),
    dpi: Annotated[int, typer.Option(help="Resolution it will be printed at.", min=50, max=1200)] = 150,
) -> int:
    """Write the board to be printed for calibration."""
    from rig.cli.camera import print_board

    return print_board(out, dpi)


@commands.command("calibrate")
def camera_calibrate(
    folder: Pictures,
    out: Annotated[Path, typer.Option(help="The calibration to write.")] = Path("camera.json"),
) -> int:
    """Calibrate a camera from pictures of the board; a bad set is refused with what to do."""
    from rig.cli.camera import calibrate_camera

    return calibrate_camera(folder, out)


@commands.command("look")
def camera_look(
    folder: Pictures,
    calibration: Annotated[Path, typer.Option(help="Calibration of the camera's lens.", show_default=False)],
    place: Annotated[
        Path | None, typer.Option(help="Where the camera is; without it the head's turn is not read.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pictures with what was read drawn in.")
    ] = None,
) -> int:
    """Say what is read off each picture; exit 1 if one is not to be believed."""
    from rig.cli.camera import look_at

    return look_at(folder, calibration, place, out)


@commands.command("fit")
def camera_fit(
    bench: Annotated[str, typer.Option(help="The bench.")] = "sim",
    camera: Annotated[str, typer.Option(help="Its camera, one of the scene.")] = "face",
    frames: Annotated[
        int, typer.Option(help="Frames to draw; each takes up to a second.", min=8, max=100_000)
    ] = 200,
    seed: Annotated[int, typer.Option(help="Of the poses.", min=0)] = 7,
    out: Annotated[Path, typer.Option(help="The sensor model to write.")] = Path("camera-model.toml"),
) -> int:
    """Fit the sensor model that trials use in place of drawing every frame, from drawn frames."""
    from rig.cli.camera import fit_model

    return fit_model(bench, camera, frames, seed, out)
