"""`runrig camera`: print the board, calibrate, look at what a camera sees, fit what the simulation should show."""

from pathlib import Path

from rich.console import Console

from rig.core.clock import wall_utc
from rig.vision.calibration import SQUARE_M, board_picture, calibrate, load_intrinsics, save_intrinsics
from rig.vision.frame import Frame, Inspector, Looks
from rig.vision.markers import find_tags
from rig.vision.perceive import STAGE, TagDetector, overlay
from rig.vision.source import encoded, pictures


def print_board(out: Path, dpi: int) -> int:
    """Write the calibration board as a picture."""
    out.write_bytes(encoded(board_picture(dpi), out.suffix))
    Console().print(
        f"Board: {out}. Print it at {dpi} dpi, unscaled, on something flat:\n"
        f"a square must measure {1000 * SQUARE_M:.0f} mm. "
        "Take 12 to 20 pictures: all over the picture, near and far, tilted by 20 to 45 degrees each way, held still."
    )
    return 0


def calibrate_camera(folder: Path, out: Path) -> int:
    """Calibrate from a folder of pictures of the board."""
    found = calibrate(pictures(folder), wall_utc())
    save_intrinsics(out, found)
    Console().print(
        f"{found.views} views, reprojection error {found.rms_px:.2f} px (worst {found.worst_px:.2f}); "
        f"focal lengths {found.fx:.0f} and {found.fy:.0f} px. Valid until {found.expires_utc[:10]}. Written: {out}"
    )
    return 0


def look_at(folder: Path, calibration: Path, out: Path | None) -> int:
    """Say what is read off each picture of a folder, and draw it; exit 1 if one is not to be believed."""
    camera = load_intrinsics(calibration, wall_utc())
    looks = Looks(width=camera.width, height=camera.height, period_s=1.0, stale_after_s=3600.0)
    inspector, detector, console, bad = (
        Inspector(looks),
        TagDetector(camera=camera, geometry=STAGE),
        Console(),
        0,
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    for number, (name, picture) in enumerate(pictures(folder)):
        frame = Frame(picture, number * 1_000_000_000, number)
        flaws = inspector.inspect(frame, frame.exposed_ns)
        if flaws:
            bad += 1
            console.print(f"{name}: {', '.join(sorted(flaws))}: nothing is read off it")
            continue
        lines = tuple(
            f"{key}: {reading.why}"
            if reading.value is None
            else f"{key}: {reading.value:.3f} +- {reading.sd:.3f}"
            for key, reading in detector.read(frame).items()
        )
        console.print(f"{name}: " + "; ".join(lines))
        if out is not None:
            drawn = overlay(picture, camera, find_tags(picture, camera, STAGE.sides_m), lines)
            (out / f"{Path(name).stem}.jpg").write_bytes(encoded(drawn))
    return 1 if bad else 0
