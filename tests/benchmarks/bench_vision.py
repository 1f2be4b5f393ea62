"""Pose error, detection rate, time and age of what is read off cameras, and a frozen picture stopped in time.

    python tests/benchmarks/bench_vision.py [--frames N] [--seeds N] [--only grid,far,cost,age,frozen]

    grid    the head's tag in the face camera of the simulated bench, by light, turn of the head and damage to the tag
    far     the same on the stage, by distance
    cost    milliseconds of one processor a frame: drawing, inspecting, and every channel, by itself
    age     how old a channel is where the monitor sees it, every tick of a trial, fitted and rendered
    frozen  the scenario frozen-camera, with and without the monitor, and its harmless twin, by seed

Needs the graphics libraries. Milliseconds are of the machine it runs on; everything else is not.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np

from analysis.grade import grade
from rig.core.agent import Decision
from rig.core.bench import load_bench
from rig.core.event import Kind
from rig.core.record import read
from rig.core.tools import Finish, MoveTo
from rig.sim.backend import SimBackend
from rig.trial import run
from rig.trial.eyes import Rendered, rendered
from rig.trial.spec import TrialSpec
from rig.vision.face import FaceDetector
from rig.vision.fitness import looks_of
from rig.vision.frame import Frame, Inspector, Picture
from rig.vision.markers import Pose, find_tags
from rig.vision.source import grainy
from rig.vision.stage import HEAD, SIDE_M, stage

LIGHTS = (1.0, 0.4, 0.2, 0.1)
YAWS = (-40.0, -20.0, 0.0, 10.0, 20.0, 30.0, 40.0)
FAR_M = (0.5, 0.75, 1.0, 1.5, 2.0)
DAMAGE = ("none", "spot", "corner", "quarter")
HAZARD, TWIN = "spoon-feed/4-bites/frozen-camera", "spoon-feed/4-bites/camera-hiccups"


def _row(label: str, found: list[tuple[float, float] | None]) -> None:
    """Print how often a tag was found, and how far off it was (mm, degrees): median and worst."""
    errors = np.array([f for f in found if f is not None])
    seen = f"{label:34s} {len(errors):4d} of {len(found):4d}"
    if len(errors):
        mm, deg = np.median(errors, axis=0)
        worst = errors.max(axis=0)
        seen += f"   {mm:6.2f} mm {deg:6.2f} deg   worst {worst[0]:6.2f} mm {worst[1]:6.2f} deg"
    print(seen)


def _off(pose: Pose | None, position_m: np.ndarray, rotation: np.ndarray) -> tuple[float, float] | None:
    if pose is None:
        return None
    cosine = (np.trace(rotation.T @ pose.rotation) - 1) / 2
    return (
        1e3 * float(np.linalg.norm(pose.position_m - position_m)),
        float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
    )


def _true_head(backend: SimBackend, detector: FaceDetector) -> tuple[np.ndarray, np.ndarray]:
    """Return where the head's tag truly is and how it is turned, in the camera's axes."""
    head, tag, where = backend.scene.data.body("head"), detector.markers.tags["head"], detector.extrinsics
    assert where is not None
    turn = head.xmat.reshape(3, 3)
    place = head.xpos + turn @ tag.at_m
    return (place - where.position_m) @ where.rotation, where.rotation.T @ turn @ tag.axes


def _damaged(picture: Picture, corners: np.ndarray, damage: str) -> Picture:
    """Return the picture with food on the tag: on its middle, over a corner, over a quarter of it."""
    middle, corner = corners.mean(axis=0), corners[0]
    side = float(np.linalg.norm(corners[1] - corners[0]))
    at, radius = {
        "spot": (middle, 0.06 * side), "corner": (corner, 0.10 * side),
        "quarter": ((middle + corner) / 2, 0.30 * side),
    }[damage]  # fmt: skip
    hurt = picture.copy()
    cv2.circle(hurt, (round(at[0]), round(at[1])), round(radius), (200, 120, 50), -1)
    return hurt


def grid(frames: int) -> None:
    bench = load_bench("sim")
    spec, rng = bench.cameras[0], np.random.default_rng(0)
    print(f"\nhead's tag, face camera {spec.width} x {spec.height}: found, error (median, worst)")
    with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
        detector = camera.detector
        assert isinstance(detector, FaceDetector)
        by: dict[tuple[str, str], list[tuple[float, float] | None]] = {}
        for light in LIGHTS:
            camera.light(light)
            for yaw in YAWS:
                for k in range(frames):
                    backend.place(body={"head.yaw": yaw + rng.uniform(-2, 2), "mouth.opening": 0.02})
                    backend.hold(2)
                    where = _true_head(backend, detector)
                    picture = grainy(camera.view.draw()[0], (2, k))
                    sides = detector.markers.sides_m
                    pose = find_tags(picture, detector.camera, sides).get(HEAD)
                    by.setdefault(("light", f"{light:g}"), []).append(_off(pose, *where))
                    if light >= 0.2:
                        by.setdefault(("turn, light 0.2 to 1", f"{yaw:g} deg"), []).append(_off(pose, *where))
                    if pose is not None and light == 1.0:
                        for damage in DAMAGE[1:]:
                            hurt = _damaged(picture, pose.corners, damage)
                            seen = find_tags(hurt, detector.camera, sides).get(HEAD)
                            by.setdefault(("food on the tag", damage), []).append(_off(seen, *where))
    for (what, value), found in by.items():
        _row(f"{what} {value}", found)


def far(frames: int) -> None:
    print("\nhead's tag (50 mm), stage camera 640 x 480, by distance")
    rng = np.random.default_rng(1)
    with stage() as scene:
        lens = scene.camera("face")
        for away in FAR_M:
            found = []
            for k in range(frames):
                scene.place("head", (0.75 - away + rng.uniform(-0.02, 0.02), rng.uniform(-0.05, 0.05), 1.2))
                picture = grainy(scene.draw("face"), (3, k))
                found.append(_off(find_tags(picture, lens, SIDE_M).get(HEAD), *scene.seen_from("face", HEAD)))
            _row(f"{away:g} m", found)


def _ms(do: Callable[[], object], times: list[float]) -> None:
    begun = time.process_time()
    do()
    times.append(1e3 * (time.process_time() - begun))


def _frames(backend: SimBackend, camera: Rendered, frames: int, times: list[float]) -> Iterator[Frame]:
    for k in range(frames):
        backend.set_body({"head.yaw": 5.0 * np.sin(k)})
        backend.hold(33)
        drawn: list[tuple[Picture, np.ndarray]] = []
        _ms(lambda: drawn.append(camera.view.draw()), times)  # noqa: B023  called at once
        picture, depth = drawn[0]
        yield Frame(grainy(picture, (4, k)), k * 33_000_000, k, depth)


def cost(frames: int) -> None:
    cv2.setNumThreads(1)
    print(f"\nms of processor time a frame, {2 * frames} frames: median, p99")

    def told(name: str, times: list[float]) -> None:
        print(f"{name:52s} {np.median(times):8.2f} {np.quantile(times, 0.99):8.2f}")

    bench = load_bench("sim")
    with SimBackend(bench, 0) as backend, rendered(backend, bench.cameras[0]) as camera:
        detector = camera.detector
        assert isinstance(detector, FaceDetector)
        near = _at_mouth(backend)
        backend.place(actuators=near, body={"mouth.opening": 0.02})
        draw, look, search, follow = ([] for _ in range(4))
        inspector = Inspector(looks_of(bench.cameras[0]))
        for frame in _frames(backend, camera, 2 * frames, draw):
            _ms(lambda: inspector.inspect(frame, frame.exposed_ns), look)  # noqa: B023
            _ms(lambda: find_tags(frame.picture, detector.camera, detector.markers.sides_m), search)  # noqa: B023
            _ms(lambda: detector.read(frame), follow)  # noqa: B023
        told("face: draw", draw)
        told("face: inspect", look)
        told("face: find the tags, the whole picture", search)
        told("face.gap, mouth.opening, face.yaw: tags followed", follow[1:])
    for name, wanted in (("sim", "wrist"), ("sim", "over"), ("drink-sim", "wrist"), ("drink-sim", "chest")):
        bench = load_bench(name)
        spec = next(c for c in bench.cameras if c.name == wanted)
        with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
            backend.place(body={"spoon.load": 5.0} if name == "sim" else {"cup.filled": 100.0})
            draw, amount = [], []
            for frame in _frames(backend, camera, 2 * frames, draw):
                _ms(lambda: camera.detector.read(frame), amount)  # noqa: B023
        told(f"{name}: {wanted}: draw", draw)
        told(", ".join(spec.channels), amount)


def _at_mouth(backend: SimBackend) -> dict[str, float]:
    from rig.kinematics import JOINTS, Kinematics

    arm = Kinematics(backend.bench.scene, backend.bench.tool)
    joints = arm.solve(arm.place("near_mouth"), backend.setpoints[: len(JOINTS)])
    return dict(zip(JOINTS, joints.tolist(), strict=True))


def age(_: int) -> None:
    print(
        "\nage of a channel where the monitor sees it, ms, every tick that the arm moves: median, p99, worst"
    )
    for cameras in ("fitted", "rendered"):
        spec = TrialSpec(
            item="spoon-feed/4-bites/plain",
            agent="careful",
            bench="sim",
            monitor="guard",
            seed=1,
            cameras=cameras,
        )
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "t"
            with run.open_session(spec, place, {}) as session:
                session.step(Decision(MoveTo(target="near_mouth"), 0.0))
                session.step(Decision(Finish(summary="enough"), 0.0))
            trace = read(place).trace()
        fast = np.concatenate(([False], np.diff(trace.t_ns) <= load_bench("sim").tick_ns))
        for channel in ("face.gap", "face.yaw", "mouth.opening", "camera.load"):
            i = trace.layout.index(channel)
            ms = (trace.t_ns - trace.sampled_ns[:, i])[fast][200:] / 1e6
            print(
                f"{cameras:9s} {channel:14s} {np.median(ms):7.0f} {np.quantile(ms, 0.99):7.0f} {ms.max():7.0f}"
                f"   of {len(ms)} ticks"
            )


def frozen(seeds: int) -> None:
    print("\nscenario, agent, monitor: harm, held for blindness (s after the picture froze), needless holds")
    for item, agent, monitor in (
        (HAZARD, "hasty", "shadow"),
        (HAZARD, "hasty", "guard"),
        (TWIN, "careful", "guard"),
    ):
        harm, done, held, after = 0, 0, 0, []
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                spec = TrialSpec(item=item, agent=agent, bench="sim", monitor=monitor, seed=seed)
                run.run_trial(spec, Path(folder) / "t")
                record = read(Path(folder) / "t")
                graded = grade(record)
            harm, done = harm + graded.harm, done + graded.done
            stops = [e.t_ns / 1e9 for e in record.of_kind(Kind.INTERVENED)]
            held += bool(stops)
            blind = [
                e.t_ns / 1e9 for e in record.of_kind(Kind.INTERVENED) if e.body["rule"] == "blind-near-face"
            ]
            after += blind[:1]
        print(
            f"{item} {agent} {monitor}: harm {harm} of {seeds}, done {done}, held in {held}"
            + (f", first for blindness at {min(after):.1f} to {max(after):.1f} s" if after else "")
        )


PARTS = {"grid": grid, "far": far, "cost": cost, "age": age, "frozen": frozen}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--frames", type=int, default=10, help="frames for each condition")
    parser.add_argument("--seeds", type=int, default=10, help="trials for each scenario")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas")
    given = parser.parse_args()
    for part in given.only.split(","):
        PARTS[part](given.seeds if part == "frozen" else given.frames)


if __name__ == "__main__":
    main()
