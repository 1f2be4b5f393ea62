"""The sensor model of a camera, fitted from rendered frames: what campaigns use in place of drawing.

Rendering costs a fifth of a second a frame on a processor; a model of what is read off the frames costs nothing. It is
fitted by putting the simulated bench into many poses, drawing each as the camera would see it in different light,
reading the frames with the code that reads real ones, and comparing with where things truly are.
"""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.bench import BenchSpec
from rig.core.camera import CameraSpec
from rig.core.clock import Clock, seconds, wall_utc
from rig.core.errors import UsageError
from rig.kinematics import JOINTS, Kinematics, Pose
from rig.sim.backend import SimBackend
from rig.trial.eyes import read_off, rendered
from rig.vision.face import CHANNELS
from rig.vision.frame import Frame
from rig.vision.source import grainy

LIGHTS = (1.0, 0.7, 0.4, 0.2)
"""Shares of the usual light; at a tenth the camera's own limits end it."""
BEYOND = (-0.3, 1.6)
"""From inside the mouth to well before it, in shares of the way from the lips to the place in front of them."""
ASIDE_M, YAW_DEG, OPENING_M = 0.008, 20.0, 0.04
PLACES, NEAR_M = ("rest", "near_mouth", "lips"), 0.01
"""Where a tool is looked into: not over the bowl, where the food behind it is told apart from its own by nothing."""
POURING_DEG, LONGEST_POUR = 40.0, 4000
"""Tilt of a cup that pours, and for how many ticks of 1 ms at most: some 50 ml."""
DEPTH_SD_PER_M = 0.004
"""Noise of a depth sensor over the square of the distance, 1/m: 4 mm at 1 m, 27 mm at 2.6 m. Proposal."""
EMPTY = 0.2
"""Share of frames of a wrist camera in which there is nothing."""
TRUTH: Mapping[str, str] = {
    "face.gap": "truth.gap",
    "face.yaw": "truth.yaw",
    "mouth.opening": "truth.opening",
    "camera.spill": "truth.spilt_ml",
    "depth.place": "truth.place",
    "depth.floor": "truth.on_floor",
}
"""The channel of the oracle that says what is true of a channel."""
FILLED: Mapping[str, tuple[str, float]] = {
    "camera.load": ("spoon.load", 12.0),
    "camera.drink": ("cup.filled", 150.0),
}
"""What fills the vessel of a channel, and how much at most, ml."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One frame: what was true, what was read (NaN for nothing), how sure the reading was, and what it cost.

    Attributes:
        light: Share of the usual light.
        truth: By channel.
        read: By channel.
        sd: By channel, as the reading itself says.
        draw_s: Time to draw.
        read_s: Time to read.
    """

    light: float
    truth: Mapping[str, float]
    read: Mapping[str, float]
    sd: Mapping[str, float]
    draw_s: float
    read_s: float


def samples(
    bench: BenchSpec, spec: CameraSpec, frames: int, rng: np.random.Generator, clock: Clock
) -> Iterator[Sample]:
    """Give frames of the bench in random poses, in every light in turn, read and compared with the truth.

    Raises:
        UsageError: If nothing is read off the camera, or no pictures can be made here.
    """
    arm, channels = Kinematics(bench.scene, bench.tool), read_off(spec)
    with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
        for number in range(frames):
            light = LIGHTS[number % len(LIGHTS)]
            scene = _scene(arm, channels, rng)
            joints = arm.solve(scene.target, backend.setpoints[: len(JOINTS)])
            stand = {**dict(zip(JOINTS, joints.tolist(), strict=True)), **scene.stand}
            backend.place(actuators=stand, body=scene.body)
            backend.hold(scene.ticks)
            camera.light(light)
            begun = clock.now_ns()
            picture, depth_m = camera.view.draw()
            drawn = clock.now_ns()
            frame = Frame(grainy(picture, (1, number)), 0, number, _noisy(depth_m, (2, number)))
            found = camera.detector.read(frame)
            done = clock.now_ns()
            yield Sample(
                light=light,
                truth={name: _true(backend, name, scene.body) for name in channels},
                read={name: np.nan if (v := found[name].value) is None else v for name in channels},
                sd={name: found[name].sd for name in channels},
                draw_s=seconds(drawn - begun), read_s=seconds(done - drawn),
            )  # fmt: skip


def _true(backend: SimBackend, channel: str, body: Mapping[str, float]) -> float:
    """Return what is true of a channel: by the oracle, or what was put into the vessel."""
    if channel in TRUTH:
        return backend.snapshot().value(TRUTH[channel])
    return body[FILLED[channel][0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What there is to be seen.

    Attributes:
        target: Where the tip of the tool is to be.
        body: What the person and the tool are like.
        stand: How the bed stands.
        ticks: How long that lasts before the picture is taken.
    """

    target: Pose
    body: Mapping[str, float]
    stand: Mapping[str, float] = field(default_factory=dict)
    ticks: int = 2


def _scene(arm: Kinematics, channels: tuple[str, ...], rng: np.random.Generator) -> Scene:
    if {*CHANNELS} & {*channels}:
        return _face_scene(arm, rng)
    if channels[0] in FILLED:
        return _tool_scene(arm, channels, rng)
    return _spill_scene(arm, rng) if channels == ("camera.spill",) else _room_scene(arm, rng)


def _noisy(depth_m: NDArray[np.float32], seed: tuple[int, ...]) -> NDArray[np.float32]:
    """Return depth with the noise of a sensor, which grows with the square of the distance."""
    noise = np.random.default_rng(seed).standard_normal(depth_m.shape, np.float32)
    return np.asarray(depth_m + DEPTH_SD_PER_M * depth_m**2 * noise, np.float32)


def _face_scene(arm: Kinematics, rng: np.random.Generator) -> Scene:
    lips, near = arm.place("lips"), arm.place("near_mouth")
    share = rng.uniform(*BEYOND)
    aside = rng.uniform(-ASIDE_M, ASIDE_M, 3)
    target = replace(lips, position=lips.position + share * (near.position - lips.position) + aside)
    body = {"head.yaw": rng.uniform(-YAW_DEG, YAW_DEG), "mouth.opening": rng.uniform(0.0, OPENING_M)}
    return Scene(target=target, body=body)


def _tool_scene(arm: Kinematics, channels: tuple[str, ...], rng: np.random.Generator) -> Scene:
    """Go near one of the places that a meal leads to, over the table too, with something or nothing in the tool."""
    place = arm.place(str(rng.choice(PLACES)))
    target = replace(place, position=place.position + rng.uniform(-NEAR_M, NEAR_M, 3))
    name, most = FILLED[channels[0]]
    amount = 0.0 if rng.uniform() < EMPTY else rng.uniform(0.0, most)
    return Scene(target=target, body={name: amount, "head.yaw": rng.uniform(-YAW_DEG, YAW_DEG)})


def _spill_scene(arm: Kinematics, rng: np.random.Generator) -> Scene:
    """Hold a full cup level, or pour from it before the mouth for a while."""
    near = arm.place("near_mouth")
    aside = rng.uniform(-NEAR_M, NEAR_M, 3)
    level = rng.uniform() < EMPTY
    down = np.radians(0.0 if level else POURING_DEG)
    target = replace(
        near, position=near.position + aside, approach=np.array((-np.cos(down), 0.0, -np.sin(down)))
    )
    return Scene(
        target=target, body={"cup.filled": 150.0}, ticks=2 if level else int(rng.integers(2, LONGEST_POUR))
    )


def _room_scene(arm: Kinematics, rng: np.random.Generator) -> Scene:
    """Put the person anywhere: gone, in bed, more or less at its edge, or on the floor; the bed as it may stand."""
    where = rng.integers(4)
    body = {
        "person.weight": 0.0 if where in (0, 3) else 70.0, "person.floor": float(where == 3),
        "person.edge": float(rng.uniform()) if where in (1, 2) else 0.0,
    }  # fmt: skip
    stand = {
        "bed.back": rng.uniform(0.0, 70.0), "bed.height": rng.uniform(0.30, 0.70),
        "bed.tilt": rng.uniform(-15.0, 15.0),
    }  # fmt: skip
    return Scene(target=arm.place(str(rng.choice(PLACES))), body=body, stand=stand)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What is read off a channel, compared with the truth.

    Attributes:
        channel: Its name.
        sd: Root mean square error, bias included: the noise of the sensor model.
        bias: Mean error.
        worst: Largest error.
        missed: Share of frames without a reading.
        frames: How many frames.
    """

    channel: str
    sd: float
    bias: float
    worst: float
    missed: float
    frames: int


def fit(found: list[Sample], channel: str) -> Fit:
    """Fit one channel.

    Raises:
        UsageError: If it was never read.
    """
    errors = np.array([s.read[channel] - s.truth[channel] for s in found])
    good = errors[np.isfinite(errors)]
    if not len(good):
        raise UsageError(f"{channel}: was not read off any of {len(errors)} frames")
    return Fit(
        channel=channel, sd=float(np.sqrt(np.mean(good**2))), bias=float(good.mean()), worst=float(np.abs(good).max()),
        missed=1.0 - len(good) / len(errors), frames=len(errors),
    )  # fmt: skip


def text_of(spec: CameraSpec, bench: BenchSpec, found: list[Sample]) -> str:
    """Return the sensor model as TOML, with where it comes from; it does not depend on how fast the machine is."""
    made = wall_utc().date().isoformat()
    engines = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "opencv-python-headless", "numpy"))
    lines = [
        f"# What is read off camera {spec.name}, fitted from rendered frames with `runrig camera fit`. Do not edit.",
        f'text = "{len(found)} frames of {spec.width} x {spec.height} on bench {bench.name}, light {LIGHTS[-1]:g} to 1"',
        f'made = "{made}, {engines}, python {platform.python_version()}"',
        f"frames = {len(found)}",
        "",
    ]
    for channel in read_off(spec):
        one = fit(found, channel)
        lines += [
            f'[channel."{channel}"]', f"sd = {one.sd:.3g}", f"bias = {one.bias:.3g}", f"worst = {one.worst:.3g}",
            f"missed = {one.missed:.4g}", "",
        ]  # fmt: skip
    return "\n".join(lines)


def save(path: Path, text: str) -> None:
    """Write a sensor model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
