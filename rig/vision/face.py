"""The face camera: how far the spoon is from the lips, how wide the mouth is open, where the head is turned.

The same definitions as the channels of the bench: the gap is measured along the direction in which the mouth looks,
negative once the tip is past the plane of the lips; the turn is about the vertical, left positive.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rig.core.data import hardware_file
from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import Table, load_validated
from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.frame import Frame
from rig.vision.markers import Pose, find_tags
from rig.vision.perceive import Reading, nothing

Vector = NDArray[np.float64]
AMBIGUOUS: Final = 0.6
"""A pose whose rival fits nearly as well may be the other one: nothing is read off it. Good frames stay below 0.2."""
CHANNELS: Final = ("face.gap", "face.yaw", "mouth.opening")


def _metres(texts: tuple[str, ...]) -> Vector:
    """Return lengths of a file in metres.

    Raises:
        UsageError: If one is no length.
    """
    return np.array([parse_quantity(text, "m") for text in texts])


Three = tuple[str, str, str]


class TagTable(Table):
    """A ``[tag.NAME]`` table: which picture, how large, where its middle is, and how it is turned."""

    number: Annotated[int, Field(ge=0, lt=587)]
    side: str
    at: Three
    faces: tuple[float, float, float]
    up: tuple[float, float, float]

    def on(self, body: str) -> "Tag":
        """Return the tag, fixed to a body.

        Raises:
            UsageError: If a length is none.
        """
        axes = _axes_of(np.array(self.faces), np.array(self.up))
        return Tag(self.number, body, parse_quantity(self.side, "m"), _metres(self.at), axes)


class _BodyTag(TagTable):
    body: str


class _Mouth(Table):
    lips: Three
    jaw_shut: Three
    opens: Annotated[float, Field(gt=0)]


class _Spoon(Table):
    tip: Three


class _MarkerFile(Table):
    text: str
    tag: dict[str, _BodyTag]
    mouth: _Mouth
    spoon: _Spoon


@dataclass(frozen=True, slots=True, eq=False)
class Tag:
    """A tag and where it is fixed.

    Attributes:
        number: Which picture.
        body: To what it is fixed, by the name of the body in the scene.
        side_m: Of its black square.
        at_m: Its middle, in the body's axes, shape (3,).
        axes: Its own axes in the body's, as columns: x to the reader's right, y up, z out of its face.
    """

    number: int
    body: str
    side_m: float
    at_m: Vector
    axes: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """The tags of the face camera, and the points that matter; lengths in metres.

    Attributes:
        tags: ``head``, ``jaw`` and ``spoon``.
        lips: Middle of the lips in the head's axes.
        jaw_shut: Where the lower lip's axes are with the mouth shut, in the head's axes.
        opens: Opening by how far the lower lip has gone down.
        tip: Tip of the spoon in its axes.
    """

    tags: Mapping[str, Tag]
    lips: Vector
    jaw_shut: Vector
    opens: float
    tip: Vector

    @property
    def sides_m(self) -> Mapping[int, float]:
        """Side of each tag by its number."""
        return {tag.number: tag.side_m for tag in self.tags.values()}


@cache
def load_markers(name: str = "face") -> Markers:
    """Return the tags of ``hardware/markers/NAME.toml``.

    Raises:
        UsageError: If there is no such file, or a length in it is none.
        ConfigError: If it says something that cannot be; all mistakes at once.
    """
    file = load_validated(hardware_file("markers", f"{name}.toml"), _MarkerFile)
    if missing := [part for part in ("head", "jaw", "spoon") if part not in file.tag]:
        raise UsageError(f"markers {name}: no tag on {', '.join(missing)}")
    tags = {part: t.on(t.body) for part, t in file.tag.items()}
    return Markers(
        tags,
        _metres(file.mouth.lips),
        _metres(file.mouth.jaw_shut),
        file.mouth.opens,
        _metres(file.spoon.tip),
    )


def _axes_of(faces: Vector, up: Vector) -> Matrix:
    """Return a tag's axes (right, up, out as columns) from the way it faces and where its upper edge is."""
    out = faces / np.linalg.norm(faces)
    above = up - (up @ out) * out
    above /= np.linalg.norm(above)
    return np.stack((np.cross(above, out), above, out), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Extrinsics:
    """Where a camera is on the bench.

    Attributes:
        rotation: From the camera's axes (x right, y down, z away) to the bench's (x out of the face, z up), (3, 3).
        position_m: Of the camera in the bench's axes, shape (3,).
    """

    rotation: Matrix
    position_m: Vector


@dataclass(slots=True, kw_only=True)
class FaceDetector:
    """Reads the channels of the face camera off tags, which it follows from frame to frame.

    Attributes:
        camera: Its intrinsics.
        markers: What it looks at.
        extrinsics: Where it is; without them the head's turn is not read.
    """

    camera: Intrinsics
    markers: Markers
    extrinsics: Extrinsics | None = None
    _last: Mapping[int, Matrix] = field(default_factory=dict, init=False)

    def read(self, frame: Frame, tip_m: Vector | None = None) -> Mapping[str, Reading]:
        """Return ``face.gap`` (m), ``mouth.opening`` (m) and ``face.yaw`` (degrees).

        Args:
            frame: The frame.
            tip_m: Where the arm says the tip of the spoon is, in the bench's axes: what the gap is read off where
                the spoon itself is not in the picture.
        """
        poses = find_tags(frame.picture, self.camera, self.markers.sides_m, self._last)
        self._last = {number: pose.corners for number, pose in poses.items()}
        poses = {number: pose for number, pose in poses.items() if pose.ambiguity < AMBIGUOUS}
        tags = self.markers.tags
        seen = {part: poses[tag.number] for part, tag in tags.items() if tag.number in poses}
        if "head" not in seen:
            return {name: nothing(frame, "no head seen") for name in CHANNELS}
        bodies = {part: _body(seen[part], tags[part]) for part in seen}
        return {
            "face.gap": self._gap(seen, bodies, frame, tip_m),
            "mouth.opening": self._opening(seen, bodies, frame),
            "face.yaw": self._yaw(seen, bodies, frame),
        }

    def _gap(
        self, seen: Mapping[str, Pose], bodies: "Mapping[str, _Body]", frame: Frame, tip_m: Vector | None
    ) -> Reading:
        if "spoon" not in seen:
            return self._gap_by_arm(seen["head"], bodies["head"], frame, tip_m)
        head, spoon = bodies["head"], bodies["spoon"]
        gap = head.inside(spoon.outside(self.markers.tip)) - self.markers.lips
        tags = self.markers.tags
        sd = np.hypot(
            _sd(seen["head"], self.markers.lips - tags["head"].at_m),
            _sd(seen["spoon"], self.markers.tip - tags["spoon"].at_m),
        )
        return Reading(value=float(gap[0]), sd=float(sd), exposed_ns=frame.exposed_ns)

    def _gap_by_arm(self, pose: Pose, head: "_Body", frame: Frame, tip_m: Vector | None) -> Reading:
        """Read the gap off the head alone, and take the spoon to be where the arm's joints say."""
        if tip_m is None or self.extrinsics is None:
            return nothing(frame, "no spoon seen")
        tip = (tip_m - self.extrinsics.position_m) @ self.extrinsics.rotation
        away = head.inside(tip) - self.markers.lips
        sd = _sd(pose, head.inside(tip) - self.markers.tags["head"].at_m)
        return Reading(value=float(away[0]), sd=sd, exposed_ns=frame.exposed_ns)

    def _opening(self, seen: Mapping[str, Pose], bodies: "Mapping[str, _Body]", frame: Frame) -> Reading:
        if "jaw" not in seen:
            return nothing(frame, "no jaw seen")
        m = self.markers
        jaw = (
            bodies["head"].inside(seen["jaw"].position_m) - m.tags["jaw"].at_m
        )  # where the lower lip's axes are
        opening = m.opens * float(m.jaw_shut[2] - jaw[2])
        return Reading(
            value=max(0.0, opening), sd=m.opens * float(np.hypot(seen["head"].sd_m, seen["jaw"].sd_m)) / 2.0,
            exposed_ns=frame.exposed_ns,
        )  # fmt: skip

    def _yaw(self, seen: Mapping[str, Pose], bodies: "Mapping[str, _Body]", frame: Frame) -> Reading:
        if self.extrinsics is None:
            return nothing(frame, "it is not known where the camera is; calibrate its extrinsics")
        out = (self.extrinsics.rotation @ bodies["head"].rotation)[:, 0]
        turn = float(np.sqrt(np.linalg.eigvalsh(seen["head"].covariance[3:, 3:])[-1]))
        return Reading(
            value=float(np.degrees(np.arctan2(out[1], out[0]))),
            sd=float(np.degrees(turn)),
            exposed_ns=frame.exposed_ns,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """A body's axes in the camera's."""

    rotation: Matrix
    position_m: Vector

    def outside(self, point: Vector) -> Vector:
        return np.asarray(self.position_m + self.rotation @ point)

    def inside(self, point: Vector) -> Vector:
        return np.asarray((point - self.position_m) @ self.rotation)


def _body(pose: Pose, tag: Tag) -> _Body:
    """Return the axes of what a tag is fixed to, from the tag's pose."""
    rotation = pose.rotation @ tag.axes.T
    return _Body(rotation, pose.position_m - rotation @ tag.at_m)


def _sd(pose: Pose, lever: Vector) -> float:
    turn = float(np.sqrt(np.linalg.eigvalsh(pose.covariance[3:, 3:])[-1]))
    return float(np.hypot(pose.sd_m, turn * np.linalg.norm(lever)))
