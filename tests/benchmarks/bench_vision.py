"""Pose error, detection rate and time of the readings over a grid of rendered conditions.

    python tests/benchmarks/bench_vision.py [--frames N]

Prints, for each condition, how often a reading was there, its bias and spread against the truth, the error of the
head's pose, and the milliseconds a frame took; then, for the face camera of the simulated bench, what a frame costs to
draw, to search and to follow. Needs the graphics libraries. Times are of the machine it runs on; compare ratios.
"""

import argparse
import time

import numpy as np

from rig.core.bench import load_bench
from rig.sim.backend import SimBackend
from rig.trial.sensor_model import rendered
from rig.vision.frame import Frame
from rig.vision.markers import find_tags
from rig.vision.perceive import HEAD, STAGE, TagDetector
from rig.vision.stage import SIDE_M, Stage, stage

LIPS = (0.094, 0.0, 1.155)
LIGHTS = (1.0, 0.4, 0.15, 0.05)


def _turn(yaw_deg: float) -> np.ndarray:
    c, s = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _one(
    scene: Stage, detector: TagDetector, gap_m: float, yaw_deg: float
) -> tuple[float | None, float, float, float, float]:
    scene.place("spoon", (LIPS[0] + gap_m + 0.044, 0.0, LIPS[2]))
    scene.place("head", (0.0, 0.0, 1.2), _turn(yaw_deg))
    picture = scene.draw("table")
    begun = time.perf_counter()
    found = detector.read(Frame(picture, 0, 0))["face.gap"]
    took = 1e3 * (time.perf_counter() - begun)
    poses = find_tags(picture, detector.camera, SIDE_M)
    off = turned_deg = np.nan
    if HEAD in poses:
        position, rotation = scene.seen_from("table", HEAD)
        off = 1e3 * float(np.linalg.norm(poses[HEAD].position_m - position))
        cosine = (np.trace(rotation.T @ poses[HEAD].rotation) - 1) / 2
        turned_deg = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    scene.place("head", (0.0, 0.0, 1.2), _turn(0.0))
    turned = np.array(LIPS) - np.array([0.0, 0.0, 1.2])
    lips = _turn(yaw_deg) @ turned + np.array([0.0, 0.0, 1.2])
    away = np.array([LIPS[0] + gap_m, 0.0, LIPS[2]]) - lips
    true = float(np.copysign(np.linalg.norm(away), away @ _turn(yaw_deg)[:, 0]))
    return found.value, true, off, turned_deg, took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=10, help="frames for each condition")
    frames = parser.parse_args().frames
    rng = np.random.default_rng(0)
    print(
        f"{'light':>6} {'yaw':>5} {'seen':>6} {'gap bias mm':>12} {'gap sd mm':>10} {'head mm':>8} {'deg':>6} {'ms':>6}"
    )
    with stage() as scene:
        detector = TagDetector(camera=scene.camera("table"), geometry=STAGE)
        for light in LIGHTS:
            scene.light(light)
            for yaw in (0.0, 20.0, 40.0):
                found = [_one(scene, detector, float(rng.uniform(0.02, 0.3)), yaw) for _ in range(frames)]
                errors = np.array([1e3 * (value - true) for value, true, *_ in found if value is not None])
                seen = len(errors) / frames
                bias, spread = (
                    (float(errors.mean()), float(errors.std())) if len(errors) else (np.nan, np.nan)
                )
                head, deg = (
                    float(np.nanmedian([row[k] for row in found])) if seen else np.nan for k in (2, 3)
                )
                ms = float(np.median([took for *_, took in found]))
                print(
                    f"{light:6.2f} {yaw:5.0f} {100 * seen:5.0f}% {bias:12.2f} {spread:10.2f} {head:8.2f} "
                    f"{deg:6.2f} {ms:6.0f}"
                )
    _face(frames)


def _face(frames: int) -> None:
    """Print what a frame of the face camera costs: drawn, searched as a whole, and followed from the one before."""
    bench = load_bench("sim")
    spec = bench.cameras[0]
    times: dict[str, list[float]] = {"draw": [], "search": [], "follow": []}

    def timed(what: str, begun: float) -> None:
        times[what].append(1e3 * (time.perf_counter() - begun))

    with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
        backend.place(body={"mouth.opening": 0.02})
        last: dict[int, np.ndarray] = {}
        for number in range(2 * frames):
            backend.set_body({"head.yaw": 5.0 * np.sin(number)})
            backend.hold(spec.period_ns // bench.tick_ns)
            begun = time.perf_counter()
            picture = camera.view.draw()[0]
            timed("draw", begun)
            sides = {
                k: v for k, v in camera.detector.markers.sides_m.items() if k != 2
            }  # the spoon is at rest
            begun = time.perf_counter()
            found = find_tags(picture, camera.detector.camera, sides)
            timed("search", begun)
            if last:
                begun = time.perf_counter()
                find_tags(picture, camera.detector.camera, sides, last)
                timed("follow", begun)
            last = {n: pose.corners for n, pose in found.items() if n in sides}
    print(f"\nface camera, {spec.width} x {spec.height}, ms a frame (median, p99), head and jaw:")
    for what, all_ms in times.items():
        print(f"{what:>8} {np.median(all_ms):7.1f} {np.quantile(all_ms, 0.99):7.1f}")


if __name__ == "__main__":
    main()
