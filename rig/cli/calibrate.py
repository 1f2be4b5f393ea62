"""`runrig bench calibrate-camera`: lens and place of a camera, step by step, with pictures of what was found."""

import json
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import typer
from rich.console import Console

from rig.core.bench import load_bench
from rig.core.camera import CameraSpec
from rig.core.clock import MonotonicClock, wall_utc
from rig.core.errors import UsageError, unknown
from rig.vision.calibration import VALID_DAYS, Intrinsics, View, calibrate, look, save_intrinsics
from rig.vision.extrinsics import Located, bench_markers, locate, save_extrinsics, seen_of
from rig.vision.frame import Picture
from rig.vision.perceive import overlay
from rig.vision.source import DeviceCamera, encoded, pictures

SHOTS = (
    "in the middle, face on, filling half of the picture", "in the upper left", "in the upper right", "in the lower left",
    "in the lower right", "near, filling the picture", "far, a quarter of the picture", "tilted back by 30 degrees",
    "tilted forward by 30 degrees", "turned left by 30 degrees", "turned right by 30 degrees",
    "tilted and turned, lower middle",
)  # fmt: skip
"""Where to hold the board: everywhere, near and far, tilted each way."""


def calibrate_camera(bench_name: str, camera: str, board: Path | None, place: Path | None, out: Path) -> int:
    """Calibrate a bench's camera and say what to enter in the bench file.

    Args:
        bench_name: The bench, or its file.
        camera: Name of the camera.
        board: Folder with pictures of the board; None to take them now.
        place: Picture of the bench's tags; None to take it now.
        out: Folder for the calibration and the pictures of what was found.
    """
    bench = load_bench(bench_name)
    specs = {spec.name: spec for spec in bench.cameras}
    if camera not in specs:
        raise unknown("camera", camera, list(specs))
    spec, console = specs[camera], Console()
    out.mkdir(parents=True, exist_ok=True)
    console.print(f"[bold]1. The lens[/bold] of camera {camera}: {spec.text}")
    shots = list(_shots(spec, SHOTS, out / "board", console) if board is None else pictures(board))
    drawn = _draw_boards(shots, out / "seen")
    lens = calibrate(shots, wall_utc())
    if (lens.width, lens.height) != (spec.width, spec.height):
        raise UsageError(
            f"the pictures are {lens.width} x {lens.height}; the bench file says {spec.width} x {spec.height}"
        )
    save_intrinsics(out / "lens.json", lens)
    console.print(
        f"   {lens.views} of {len(shots)} pictures used, reprojection error {lens.rms_px:.2f} px, "
        f"worst {lens.worst_px:.2f}; "
        f"what was found is drawn in {drawn}"
    )
    console.print(
        "[bold]2. The place[/bold]: the bench's tags in view, the camera bolted down as it will be used"
    )
    if place is None:
        ((_, picture),) = _shots(
            spec, ("the bench's tags uncovered, nobody in the way",), out / "place", console
        )
    else:
        ((_, picture),) = ((n, p) for n, p in pictures(place.parent) if n == place.name)
    located = _locate(picture, lens, out)
    save_extrinsics(out / "place.json", located, wall_utc())
    x, y, z = 1000 * located.extrinsics.position_m
    console.print(
        f"   {len(located.tags)} tags, reprojection error {located.error_px:.2f} px; the camera is at "
        f"x {x:.0f}, y {y:.0f}, z {z:.0f} mm: check that with a tape; what was found is drawn in {out / 'place.jpg'}"
    )
    console.print("[bold]3. The bench file[/bold]: enter")
    entry = "\n".join(
        (
            f"[camera.{camera}]",
            f'calibration = "{out / "lens.json"}"',
            f'place = "{out / "place.json"}"',
            f"expires = {lens.expires_utc[:10]}",
        )
    )
    console.print(entry, markup=False, highlight=False, soft_wrap=True)  # to be copied as it stands
    console.print(f"It holds for {VALID_DAYS} days, or until the camera is moved, focused or dropped.")
    return 0


def _shots(
    spec: CameraSpec, wanted: tuple[str, ...], folder: Path, console: Console
) -> Iterator[tuple[str, Picture]]:
    """Take pictures one by one, when the technician is ready; each is kept.

    Raises:
        CameraFailure: If the camera is not there.
    """
    if spec.scene_camera is not None:
        raise UsageError(
            f"camera {spec.name} is drawn; its lens and place are known, there is nothing to calibrate"
        )
    folder.mkdir(parents=True, exist_ok=True)
    clock = MonotonicClock()
    with DeviceCamera(spec.source, spec.width, spec.height, clock) as device:
        for number, where in enumerate(wanted, start=1):
            while True:
                typer.prompt(
                    f"   {number}/{len(wanted)} {where}; hold still and press Enter",
                    default="",
                    show_default=False,
                )
                frame = None
                for _ in range(3):  # what the driver had kept is older than the wish
                    frame = device.frame(clock.now_ns())
                if frame is not None:
                    break
                console.print("   no picture came; once more")
            name = f"{number:02d}.png"
            (folder / name).write_bytes(encoded(frame.picture, ".png"))
            yield name, frame.picture


def _draw_boards(shots: list[tuple[str, Picture]], folder: Path) -> Path:
    """Draw what was found of the board in each picture, and why a picture is no use."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in shots:
        found, drawn = look(name, picture), cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
        if isinstance(found, View):
            for x, y in found.corners:
                cv2.circle(drawn, (round(float(x)), round(float(y))), 4, (0, 200, 0), 2)
        else:
            cv2.putText(drawn, found, (8, 24), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 255), 2, cv2.LINE_AA)
        rgb = np.asarray(cv2.cvtColor(drawn, cv2.COLOR_BGR2RGB), np.uint8)
        (folder / f"{Path(name).stem}.jpg").write_bytes(encoded(rgb))
    return folder


def _locate(picture: Picture, lens: Intrinsics, out: Path) -> Located:
    tags = bench_markers()
    found = seen_of(picture, lens, tags)
    (out / "place.jpg").write_bytes(
        encoded(overlay(picture, lens, found, (f"tags seen: {json.dumps(sorted(found))}",)))
    )
    return locate(found, lens, tags)
