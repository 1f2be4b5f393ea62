"""`runrig camera`: print the board, calibrate, look at what a camera sees, fit what the simulation should show."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rig.core.bench import load_bench
from rig.core.clock import MonotonicClock, wall_utc
from rig.core.errors import unknown
from rig.vision.calibration import SQUARE_M, board_picture, calibrate, load_intrinsics, save_intrinsics
from rig.vision.extrinsics import load_extrinsics
from rig.vision.face import FaceDetector, load_markers
from rig.vision.frame import Frame, Inspector, Looks
from rig.vision.markers import find_tags
from rig.vision.perceive import overlay
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


def fit_model(bench_name: str, camera: str, frames: int, seed: int, out: Path) -> int:
    """Fit the sensor model of a camera of the scene from rendered frames, and write it."""
    from rig.trial.eyes import read_off
    from rig.trial.sensor_model import LIGHTS, fit, samples, save, text_of

    bench = load_bench(bench_name)
    specs = {spec.name: spec for spec in bench.cameras}
    if camera not in specs:
        raise unknown("camera", camera, list(specs))
    found = []
    with Progress(transient=True) as bar:
        for sample in bar.track(
            samples(bench, specs[camera], frames, np.random.default_rng(seed), MonotonicClock()), total=frames
        ):
            found.append(sample)
    table = Table(
        "Channel",
        "Light",
        "Seen",
        "Bias",
        "Error (rms)",
        "Worst",
        title=f"{frames} frames of camera {camera}",
    )
    for channel in read_off(specs[camera]):
        for light in (*LIGHTS, None):
            one = fit([s for s in found if light in (None, s.light)], channel)
            unit = bench.layout[channel].unit
            unit, scale = {"m": ("mm", 1000.0), "1": ("", 1.0)}.get(unit, (unit, 1.0))
            table.add_row(
                channel, "all" if light is None else f"{light:g}", f"{100 * (1 - one.missed):.1f} %",
                *(f"{scale * v:.2f} {unit}" for v in (one.bias, one.sd, one.worst)),
            )  # fmt: skip
    save(out, text_of(specs[camera], bench, found))
    Console().print(table, f"Written: {out}. Benches whose camera names it as its `model` use it.")
    return 0


def look_at(folder: Path, calibration: Path, place: Path | None, out: Path | None) -> int:
    """Say what is read off each picture of a folder, and draw it; exit 1 if one is not to be believed."""
    now, markers = wall_utc(), load_markers()
    camera = load_intrinsics(calibration, now)
    where = None if place is None else load_extrinsics(place, now)
    looks = Looks(width=camera.width, height=camera.height, period_s=1.0, stale_after_s=3600.0)
    inspector, console, bad = Inspector(looks), Console(), 0
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
            for key, reading in FaceDetector(camera=camera, markers=markers, extrinsics=where)
            .read(frame)
            .items()
        )
        console.print(f"{name}: " + "; ".join(lines))
        if out is not None:
            drawn = overlay(picture, camera, find_tags(picture, camera, markers.sides_m), lines)
            (out / f"{Path(name).stem}.jpg").write_bytes(encoded(drawn))
    return 1 if bad else 0
