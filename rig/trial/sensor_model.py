"""The sensor model of the face camera, fitted from rendered frames: what campaigns use in place of drawing.

Rendering costs a fifth of a second a frame on a processor; a model of what is read off the frames costs nothing. It is
fitted by putting the simulated bench into many poses, drawing each as the camera would see it in different light,
reading the frames with the code that reads real ones, and comparing with where things truly are.
"""

import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.bench import BenchSpec
from rig.core.camera import CameraSpec
from rig.core.clock import Clock, seconds, wall_utc
from rig.core.errors import UsageError
from rig.kinematics import JOINTS, Kinematics
from rig.sim.backend import SimBackend
from rig.sim.camera import Plate, View
from rig.vision.calibration import Intrinsics
from rig.vision.extrinsics import load_extrinsics
from rig.vision.face import CHANNELS, Extrinsics, FaceDetector, Markers, load_markers
from rig.vision.frame import Frame, Picture
from rig.vision.markers import tag_picture
from rig.vision.source import encoded, grainy

LIGHTS = (1.0, 0.7, 0.4, 0.2)
"""Shares of the usual light; at a tenth the camera's own limits end it."""
BEYOND = (-0.3, 1.6)
"""From inside the mouth to well before it, in shares of the way from the lips to the place in front of them."""
ASIDE_M, YAW_DEG, OPENING_M = 0.008, 20.0, 0.04
TRUTH: Mapping[str, str] = {
    "face.gap": "truth.gap",
    "face.yaw": "truth.yaw",
    "mouth.opening": "truth.opening",
}


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


@dataclass(slots=True)
class Rendered:
    """The face camera of a simulated bench, drawn and read: the same code as for a real one.

    Attributes:
        view: What is drawn.
        detector: What is read off it.
    """

    view: View
    detector: FaceDetector
    _lights: tuple[NDArray[np.float32], ...] = field(default=(), init=False)

    def light(self, share: float) -> None:
        """Dim every light to this share of the usual."""
        model = self.view.model
        parts = (
            model.vis.headlight.ambient,
            model.vis.headlight.diffuse,
            model.light_diffuse,
            model.light_ambient,
        )
        if not self._lights:
            self._lights = tuple(np.array(part) for part in parts)
        for part, usual in zip(parts, self._lights, strict=True):
            part[:] = share * usual


@contextmanager
def rendered(backend: SimBackend, spec: CameraSpec, markers: Markers | None = None) -> Iterator[Rendered]:
    """Yield a camera of a simulated bench with tags in its scene.

    It is where the bench file's `place` says, as for a real camera, or else where the scene has it.

    Raises:
        UsageError: If it is no camera of the scene, its place has expired, or the graphics libraries are missing.
        ConfigError: If its place is none.
    """
    if spec.scene_camera is None:
        raise UsageError(f"camera {spec.name} is a device; only cameras of the scene are drawn")
    markers = markers or load_markers()
    plates = [
        Plate(name, t.body, t.side_m, t.at_m, t.axes, encoded(tag_picture(t.number), ".png"))
        for name, t in markers.tags.items()
    ]
    with View(backend, spec.scene_camera, spec.width, spec.height, plates) as view:
        turn, position, fovy = view.pose()
        lens = Intrinsics.pinhole(spec.width, spec.height, fovy)
        where = load_extrinsics(Path(spec.place), wall_utc()) if spec.place else Extrinsics(turn, position)
        yield Rendered(view, FaceDetector(camera=lens, markers=markers, extrinsics=where))


def samples(
    bench: BenchSpec, spec: CameraSpec, frames: int, rng: np.random.Generator, clock: Clock
) -> Iterator[Sample]:
    """Give frames of the bench in random poses, in every light in turn, read and compared with the truth.

    Raises:
        UsageError: If no pictures can be made here.
    """
    arm = Kinematics(bench.scene, bench.tool)
    lips, near = arm.place("lips"), arm.place("near_mouth")
    with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
        for number in range(frames):
            light = LIGHTS[number % len(LIGHTS)]
            share = rng.uniform(*BEYOND)
            aside = rng.uniform(-ASIDE_M, ASIDE_M, 3)
            target = replace(lips, position=lips.position + share * (near.position - lips.position) + aside)
            joints = arm.solve(target, backend.setpoints[: len(JOINTS)])
            body = {"head.yaw": rng.uniform(-YAW_DEG, YAW_DEG), "mouth.opening": rng.uniform(0.0, OPENING_M)}
            backend.place(actuators=dict(zip(JOINTS, joints.tolist(), strict=True)), body=body)
            backend.hold(2)
            now = backend.snapshot()
            camera.light(light)
            begun = clock.now_ns()
            picture: Picture = grainy(camera.view.draw()[0], (1, number))
            drawn = clock.now_ns()
            found = camera.detector.read(Frame(picture, 0, number))
            done = clock.now_ns()
            yield Sample(
                light=light,
                truth={name: now.value(true) for name, true in TRUTH.items()},
                read={name: np.nan if (v := found[name].value) is None else v for name in CHANNELS},
                sd={name: found[name].sd for name in CHANNELS},
                draw_s=seconds(drawn - begun), read_s=seconds(done - drawn),
            )  # fmt: skip


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
    for channel in CHANNELS:
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
