"""The cameras of a simulated bench whose frames are read: what is drawn, and by what it is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.camera import CameraSpec
from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.sim.backend import SimBackend
from rig.sim.camera import Plate, View
from rig.vision.amount import AmountDetector, load_vessel
from rig.vision.calibration import Intrinsics
from rig.vision.extrinsics import load_extrinsics
from rig.vision.face import CHANNELS, Extrinsics, FaceDetector, load_markers
from rig.vision.markers import tag_picture
from rig.vision.perceive import Detector
from rig.vision.room import CHANNELS as ROOM
from rig.vision.room import RoomDetector, load_room
from rig.vision.source import encoded

AMOUNTS = {"camera.load": "spoon", "camera.drink": "cup", "camera.spill": "bib"}
"""Channels that say how much of something there is, and the vessel each is read off."""


def read_off(spec: CameraSpec) -> tuple[str, ...]:
    """Return the channels that are read off a camera's frames; others may rest on it and be told by the bench."""
    return tuple(c for c in spec.channels if c in (*CHANNELS, *AMOUNTS, *ROOM))


@dataclass(slots=True)
class Rendered:
    """A camera of a simulated bench, drawn and read: the same code as for a real one.

    Attributes:
        view: What is drawn.
        detector: What reads it.
    """

    view: View
    detector: Detector
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
def rendered(backend: SimBackend, spec: CameraSpec) -> Iterator[Rendered]:
    """Yield a camera of a simulated bench, open, with what reads it.

    One that looks at the face has tags in its scene, and is where the bench file's `place` says, as a real camera, or
    else where the scene has it. One on the wrist looks at what the tool holds, one over the bed for the person.

    Raises:
        UsageError: If it is no camera of the scene, nothing is read off it, its place has expired, or the graphics
            libraries are missing.
        ConfigError: If its place is none.
    """
    if spec.scene_camera is None:
        raise UsageError(f"camera {spec.name} is a device; only cameras of the scene are drawn")
    channels = set(read_off(spec))
    if not channels:
        raise UsageError(f"camera {spec.name}: nothing is read off its frames")
    looks_at_face = channels <= {*CHANNELS}
    with View(
        backend, spec.scene_camera, spec.width, spec.height, _plates() if looks_at_face else ()
    ) as view:
        if looks_at_face:
            yield Rendered(view, _face(view, spec))
        elif channels <= {*ROOM}:
            lens, where = _lens_and_place(view, spec)
            yield Rendered(view, RoomDetector(camera=lens, place=where, room=load_room()))
        else:
            yield Rendered(view, _amount(view, spec, channels))


def _plates() -> list[Plate]:
    return [
        Plate(name, t.body, t.side_m, t.at_m, t.axes, encoded(tag_picture(t.number), ".png"))
        for name, t in load_markers().tags.items()
    ]


def _lens_and_place(view: View, spec: CameraSpec) -> tuple[Intrinsics, Extrinsics]:
    turn, position, fovy = view.pose()
    where = load_extrinsics(Path(spec.place), wall_utc()) if spec.place else Extrinsics(turn, position)
    return Intrinsics.pinhole(spec.width, spec.height, fovy), where


def _face(view: View, spec: CameraSpec) -> FaceDetector:
    lens, where = _lens_and_place(view, spec)
    return FaceDetector(camera=lens, markers=load_markers(), extrinsics=where)


def _amount(view: View, spec: CameraSpec, channels: set[str]) -> AmountDetector:
    """Return what reads an amount: off a tool that the camera goes with, or off something that stands on the bench."""
    found = {AMOUNTS[channel] for channel in channels & {*AMOUNTS}}
    if len(channels) != 1 or not found:
        raise UsageError(
            f"camera {spec.name}: {', '.join(sorted(channels))} cannot all be read off one camera"
        )
    vessel = load_vessel(found.pop())
    lens, where = _lens_and_place(view, spec)
    if view.goes_with is not None:
        where = Extrinsics(*view.mounted())
    return AmountDetector(camera=lens, vessel=vessel, place=where)
