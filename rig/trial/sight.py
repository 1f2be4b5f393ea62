"""What a trial sees: its cameras, opened before anything is armed, looked at on request, never believed unseen.

A frame is inspected before it is shown or read (`rig.vision.frame`). On request means: as many exposures as it takes
to know that the camera is not frozen, one period apart, then the camera's latency; all of it is trial time. What
has a blinding flaw is recorded, and the agent is told the flaw instead of being shown the picture.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import cv2
import numpy as np

from rig.core.agent import Sighting
from rig.core.bench import BenchSpec
from rig.core.camera import CameraSpec
from rig.core.clock import Clock, nanoseconds, seconds, wall_utc
from rig.core.errors import CannotArm, UsageError, unknown
from rig.core.event import Json
from rig.core.record import Image, Stream
from rig.sim.backend import SimBackend
from rig.sim.camera import View
from rig.sim.camera_faults import CameraFault, CameraTrouble
from rig.vision.fitness import calibrated, looks_of, watched
from rig.vision.frame import BLINDING, Frame, Inspector, Picture
from rig.vision.perceive import silhouette
from rig.vision.source import Camera, CameraFailure, DeviceCamera, DrawnCamera, FaultyCamera, encoded

NARROWEST, WIDEST = 160, 1280
"""Widths of a picture an agent may ask for, pixels."""


def streams(bench: BenchSpec) -> tuple[Stream, ...]:
    """Return what the record says of a bench's cameras; those whose frames are not recorded are left out."""
    return tuple(
        Stream(
            name=c.name, content=c.record, width=c.width, height=c.height, period_ns=c.period_ns,
            recorded_every_ns=c.record_every_ns, sync_error_ns=c.sync_error_ns, source=c.source,
        )
        for c in bench.cameras
        if c.record != "nothing"
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What came of looking through a camera.

    Attributes:
        sighting: What the agent is shown.
        image: The frame for the record, None where nothing came or nothing may be recorded.
        body: What the event says.
    """

    sighting: Sighting
    image: Image | None
    body: Mapping[str, Json]


class Sight:
    """The cameras of a bench in use; a context manager that lets them go.

    Args:
        bench: The bench.
        clock: Stamps frames of real cameras.
        faults: What goes wrong with cameras, and when.
        seed: Of the grain in simulated pictures.
    """

    def __init__(
        self, bench: BenchSpec, clock: Clock, faults: Sequence[CameraFault] = (), seed: int = 0
    ) -> None:
        self._bench, self._clock, self._faults, self._seed = bench, clock, tuple(faults), seed
        self._specs = {spec.name: spec for spec in bench.cameras}
        self._cameras: dict[str, Camera] = {}
        self._stack = ExitStack()
        self._world: SimBackend | None = None

    @property
    def cameras(self) -> Mapping[str, CameraSpec]:
        """The cameras by name."""
        return self._specs

    def __enter__(self) -> Self:
        """Open every real camera and check it: a task that needs sight is not armed without it.

        Raises:
            CannotArm: If a camera is not there, busy, of the wrong size, or shows nothing that can be believed.
            UsageError: If its calibration is missing or has expired.
            ConfigError: If its calibration was altered.
        """
        with ExitStack() as stack:
            for spec in self._specs.values():
                if spec.scene_camera is None:
                    self._cameras[spec.name] = self._faulty(spec, stack.enter_context(self._device(spec)))
                    self._must_see(spec)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cameras.clear()
        self._stack.close()

    def _device(self, spec: CameraSpec) -> DeviceCamera:
        calibrated(spec, wall_utc())
        if spec.record == "silhouette":
            raise UsageError(
                f"camera {spec.name}: silhouettes need depth, which a plain camera does not measure"
            )
        return _Arming(spec, self._clock)

    def _must_see(self, spec: CameraSpec) -> None:
        try:
            flaws = watched(spec, self._cameras[spec.name], self._clock, spec.frozen_after).flaws
        except CameraFailure as error:
            raise CannotArm(f"camera {spec.name}: {error}") from None
        if flaws:
            raise CannotArm(
                f"camera {spec.name}: nothing can be read off its frames: {', '.join(sorted(flaws))}"
            )

    def eye(self, spec: CameraSpec, camera: Camera) -> Camera:
        """Return a camera with the scenario's faults in it, to be looked through from now on."""
        self._cameras[spec.name] = self._faulty(spec, camera)
        return self._cameras[spec.name]

    def look_at(self, world: SimBackend) -> None:
        """Give the cameras of the scene a world to look at."""
        self._world = world

    def look(self, name: str, width: int, now_ns: Callable[[], int], wait: Callable[[int], None]) -> Look:
        """Look through a camera: expose until it is known whether it lives, and let its latency pass.

        Args:
            name: Which camera.
            width: Of the picture to be shown, pixels; it is never enlarged.
            now_ns: Returns the trial time.
            wait: Lets trial time pass, nanoseconds.

        Raises:
            UsageError: If there is no such camera, or no picture can be made here.
        """
        if name not in self._specs:
            raise unknown("camera", name, list(self._specs))
        spec = self._specs[name]
        inspector, frame, flaws = Inspector(looks_of(spec)), None, frozenset[Any]()
        try:
            for k in range(spec.frozen_after):
                if k:
                    wait(spec.period_ns)
                frame = self._camera(spec).frame(now_ns())
                flaws = inspector.inspect(frame, now_ns())
            wait(spec.latency_ns)
            flaws |= inspector.inspect(frame, now_ns())
        except CameraFailure as error:
            return _nothing(spec, now_ns(), str(error))
        return _seen(spec, frame, sorted(flaws), now_ns(), width)

    def _camera(self, spec: CameraSpec) -> Camera:
        """Return a camera; one of the scene is made when it is first looked through.

        Raises:
            UsageError: If there is nothing it could look at, or no graphics library to draw it.
        """
        if spec.name not in self._cameras:
            self._cameras[spec.name] = self._faulty(spec, self._drawn(spec))
        return self._cameras[spec.name]

    def _drawn(self, spec: CameraSpec) -> Camera:
        if self._world is None or spec.scene_camera is None:
            raise UsageError(f"camera {spec.name}: this bench has no scene to look at")
        view = View(self._world, spec.scene_camera, spec.width, spec.height)
        return self.drawing(spec, self._stack.enter_context(view))

    def drawing(self, spec: CameraSpec, view: View) -> Camera:
        """Return an open view as a camera, with the grain of a live sensor."""
        return DrawnCamera(view.draw, seconds(spec.period_ns), grain=(self._seed, _number(spec.name)))

    def _faulty(self, spec: CameraSpec, camera: Camera) -> Camera:
        for fault in self._faults:
            if fault.camera == spec.name:
                end_ns = 2**62 if fault.end_s is None else nanoseconds(fault.end_s)
                chance = fault.chance if fault.kind is CameraTrouble.DROP else 1.0
                camera = FaultyCamera(
                    camera,
                    fault.kind.removeprefix("camera_"),
                    nanoseconds(fault.start_s),
                    end_ns,
                    chance,
                    self._seed,
                )
        return camera


class _Arming(DeviceCamera):
    """A device whose failure to open says that nothing was armed."""

    def __init__(self, spec: CameraSpec, clock: Clock) -> None:
        super().__init__(spec.source, spec.width, spec.height, clock)
        self._name = spec.name

    def __enter__(self) -> Self:
        try:
            return super().__enter__()
        except CameraFailure as error:
            raise CannotArm(f"camera {self._name}: {error}") from None


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def _nothing(spec: CameraSpec, now_ns: int, why: str) -> Look:
    body: dict[str, Json] = {"camera": spec.name, "flaws": ["silent"], "why": why}
    return Look(Sighting(camera=spec.name, t_ns=now_ns, flaws=("silent",)), None, body)


def _seen(spec: CameraSpec, frame: Frame | None, flaws: Sequence[str], now_ns: int, width: int) -> Look:
    if frame is None:
        return _nothing(spec, now_ns, "no frame has come")
    words = tuple(str(flaw) for flaw in flaws)
    image = image_of(spec, frame, now_ns)
    believed = not BLINDING & set(flaws)
    shown = _scaled(_allowed(spec, frame), width)
    data = encoded(shown) if believed else b""
    sighting = Sighting(
        camera=spec.name, t_ns=frame.exposed_ns, flaws=words, number=frame.number, data=data,
        width=shown.shape[1] if believed else 0, height=shown.shape[0] if believed else 0,
    )  # fmt: skip
    body: dict[str, Json] = {
        "camera": spec.name, "number": frame.number, "exposed_ns": frame.exposed_ns,
        "age_s": seconds(now_ns - frame.exposed_ns), "flaws": list(words), "shown": believed,
        "sha256": hashlib.sha256(data).hexdigest() if believed else "",
        "width": sighting.width, "height": sighting.height,
        "recorded_sha256": "" if image is None else image.sha256,
    }  # fmt: skip
    return Look(sighting, image, body)


def image_of(spec: CameraSpec, frame: Frame, now_ns: int) -> Image | None:
    """Return a frame for the record: the picture, its silhouette, or None where nothing may be recorded."""
    if spec.record == "nothing":
        return None
    return Image(spec.name, now_ns, frame.exposed_ns, frame.number, encoded(_allowed(spec, frame)))


def _allowed(spec: CameraSpec, frame: Frame) -> Picture:
    """Return what may leave the rig of a frame: where faces are not to be seen, depth alone."""
    if spec.record != "silhouette":
        return frame.picture
    if frame.depth_m is None:  # as black as what is not known
        return np.zeros_like(frame.picture)
    return silhouette(frame.depth_m)


def _scaled(picture: Picture, width: int) -> Picture:
    if picture.shape[1] <= width:
        return picture
    height = max(1, round(picture.shape[0] * width / picture.shape[1]))
    return np.asarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
