"""What is read off frames: how far the mouth is and how open, what is on the spoon, what is in the cup, who is in bed.

Every reading is a number with a standard deviation and the exposure it rests on. What cannot be seen is not
guessed: the reading is None, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.frame import Frame, Picture
from rig.vision.markers import Pose, find_tags

HEAD, JAW, SPOON, CUP, BED = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One value read off a frame.

    Attributes:
        value: In the unit of its name; None where it could not be read.
        sd: Standard deviation, the same unit.
        exposed_ns: Of the frame it rests on: its age counts from here.
        why: Why there is no value; empty where there is one.
    """

    value: float | None
    sd: float
    exposed_ns: int
    why: str = ""


class Place(IntEnum):
    """Where a person is."""

    NOWHERE = 0
    IN_BED = 1
    AT_EDGE = 2
    ON_FLOOR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Where on each thing its tag is, and what belongs to it; lengths in metres, in the tag's own axes.

    The tag's x points to its reader's right, y up, z out of its face.

    Attributes:
        sides_m: Side of each tag.
        lips: Middle of the lips from the head's tag.
        closed: From the head's tag to the jaw's with the mouth shut, along the head's y.
        tip: Tip of the spoon from its tag.
        bowl: Middle of the spoon's bowl from its tag.
        bowl_m: Half width and half length of the bowl, along x and y.
        mattress: Middle of the mattress's top from the bed's tag.
        mattress_m: Half its length, along the tag's x, and half its width, along y.
        mattress_over_floor_m: Height of its top.
    """

    sides_m: Mapping[int, float]
    lips: tuple[float, float, float]
    closed: float
    tip: tuple[float, float, float]
    bowl: tuple[float, float, float]
    bowl_m: tuple[float, float]
    mattress: tuple[float, float, float]
    mattress_m: tuple[float, float]
    mattress_over_floor_m: float


STAGE: Final = Geometry(
    sides_m={HEAD: 0.050, JAW: 0.030, SPOON: 0.030, CUP: 0.040, BED: 0.120},
    lips=(0.0, -0.100, -0.008), closed=-0.150,
    tip=(0.0, 0.144, -0.012), bowl=(0.0, 0.120, -0.009), bowl_m=(0.017, 0.024),
    mattress=(0.85, 0.35, -0.002), mattress_m=(1.0, 0.45), mattress_over_floor_m=0.50,
)  # fmt: skip
"""Of the things in `hardware/scenes/vision.xml`."""


class Detector(Protocol):
    """Anything that reads values off frames; a learned one plugs in here."""

    def read(self, frame: Frame) -> Mapping[str, Reading]:
        """Return the values by the name of their channel."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TagDetector:
    """Reads everything off tags, colour and depth.

    Attributes:
        camera: Intrinsics of the camera.
        geometry: Of the things it looks at.
    """

    camera: Intrinsics
    geometry: Geometry

    def read(self, frame: Frame) -> Mapping[str, Reading]:
        """Return ``face.gap`` (m), ``mouth.opening`` (m), ``spoon.load`` (share of a bowl) and ``person.place``."""
        poses = find_tags(frame.picture, self.camera, self.geometry.sides_m)
        found = {
            "face.gap": self._gap(poses, frame),
            "mouth.opening": self._opening(poses, frame),
            "spoon.load": self._load(poses, frame),
        }
        if frame.depth_m is not None:
            found["person.place"] = self._place(poses, frame)
        return found

    def _gap(self, poses: Mapping[int, Pose], frame: Frame) -> Reading:
        """Distance from the spoon's tip to the lips, negative inside the mouth."""
        if missing := [name for tag, name in ((HEAD, "head"), (SPOON, "spoon")) if tag not in poses]:
            return _nothing(frame, f"no {' and no '.join(missing)} seen")
        head, spoon = poses[HEAD], poses[SPOON]
        lips, tip = _point(head, self.geometry.lips), _point(spoon, self.geometry.tip)
        outward = head.rotation[:, 2]
        gap = float(np.linalg.norm(tip - lips))
        inside = float((tip - lips) @ outward) < 0.0
        sd = float(np.hypot(_sd(head, self.geometry.lips), _sd(spoon, self.geometry.tip)))
        return Reading(value=-gap if inside else gap, sd=sd, exposed_ns=frame.exposed_ns)

    def _opening(self, poses: Mapping[int, Pose], frame: Frame) -> Reading:
        if missing := [name for tag, name in ((HEAD, "head"), (JAW, "jaw")) if tag not in poses]:
            return _nothing(frame, f"no {' and no '.join(missing)} seen")
        head, jaw = poses[HEAD], poses[JAW]
        down = float((jaw.position_m - head.position_m) @ head.rotation[:, 1])
        opening = max(0.0, self.geometry.closed - down)
        return Reading(
            value=opening, sd=float(np.hypot(head.sd_m, jaw.sd_m)) / 2.0, exposed_ns=frame.exposed_ns
        )

    def _load(self, poses: Mapping[int, Pose], frame: Frame) -> Reading:
        """Share of the bowl that is the colour of food."""
        if SPOON not in poses:
            return _nothing(frame, "no spoon seen")
        mask = self._outline(poses[SPOON], frame.picture.shape[:2])
        area = int(mask.sum())
        if area < 30:
            return _nothing(frame, "the spoon's bowl is not in the picture, or too far")
        share = float(food(frame.picture)[mask].mean())
        return Reading(
            value=share,
            sd=float(np.sqrt(max(share * (1 - share), 0.01) / area)) + 0.05,
            exposed_ns=frame.exposed_ns,
        )

    def _outline(self, spoon: Pose, shape: tuple[int, int]) -> NDArray[np.bool_]:
        around = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
        width, length = self.geometry.bowl_m
        rim = (
            np.stack((width * np.cos(around), length * np.sin(around), np.zeros(24)), axis=1)
            + self.geometry.bowl
        )
        there, _ = cv2.projectPoints(
            rim,
            cv2.Rodrigues(spoon.rotation)[0],
            spoon.position_m,
            self.camera.matrix,
            self.camera.coefficients,
        )
        canvas = np.zeros(shape, np.uint8)
        cv2.fillPoly(canvas, [np.round(there.reshape(-1, 2)).astype(np.int32)], 1)
        return canvas.astype(bool)

    def _place(self, poses: Mapping[int, Pose], frame: Frame) -> Reading:
        if BED not in poses or frame.depth_m is None:
            return _nothing(frame, "no bed seen")
        return Reading(value=float(person_place(frame.depth_m, self.camera, poses[BED], self.geometry)), sd=0.0,
                       exposed_ns=frame.exposed_ns)  # fmt: skip


def _nothing(frame: Frame, why: str) -> Reading:
    return Reading(value=None, sd=float("inf"), exposed_ns=frame.exposed_ns, why=why)


def _point(pose: Pose, at: tuple[float, float, float]) -> NDArray[np.float64]:
    return np.asarray(pose.position_m + pose.rotation @ np.array(at))


def _sd(pose: Pose, at: tuple[float, float, float]) -> float:
    """Return the standard deviation of a point away from the tag: its turn counts by the lever."""
    turn = float(np.sqrt(np.linalg.eigvalsh(pose.covariance[3:, 3:])[-1]))
    return float(np.hypot(pose.sd_m, turn * float(np.linalg.norm(at))))


def food(picture: Picture) -> NDArray[np.bool_]:
    """Return where a picture has the colour of food: saturated orange to red, in any light."""
    hue, saturation, value = cv2.split(cv2.cvtColor(picture, cv2.COLOR_RGB2HSV))
    return np.asarray(((hue < 22) | (hue > 172)) & (saturation > 140) & (value > 25))


OVER_MATTRESS_M: Final = 0.07
OVER_FLOOR_M: Final = 0.08
EDGE: Final = 0.6  # of the half width: beyond it a middle of the body is at the edge
SMALLEST_BODY_M2: Final = 0.12


def person_place(depth_m: NDArray[np.float32], camera: Intrinsics, bed: Pose, geometry: Geometry) -> Place:
    """Return where a person is, from depth alone: nobody can be recognised in what is used.

    Args:
        depth_m: Distance along the optical axis by pixel, shape (height, width).
        camera: Intrinsics of the depth camera.
        bed: Pose of the bed's tag.
        geometry: Where the mattress is from the tag.
    """
    step = 4
    v, u = np.mgrid[0 : depth_m.shape[0] : step, 0 : depth_m.shape[1] : step]
    z = depth_m[::step, ::step].astype(np.float64)
    rays = np.stack(((u - camera.cx) / camera.fx * z, (v - camera.cy) / camera.fy * z, z), axis=-1)
    own = (rays - bed.position_m) @ bed.rotation - np.array(geometry.mattress)
    area = (z / camera.fx * step) * (z / camera.fy * step)
    along, across, over = own[..., 0], own[..., 1], own[..., 2]
    on_bed = (
        (np.abs(along) < geometry.mattress_m[0])
        & (np.abs(across) < geometry.mattress_m[1])
        & (over > OVER_MATTRESS_M)
    )
    beside = (np.abs(along) > geometry.mattress_m[0] + 0.05) | (
        np.abs(across) > geometry.mattress_m[1] + 0.05
    )
    over_floor = over + geometry.mattress_over_floor_m
    on_floor = beside & (over_floor > OVER_FLOOR_M) & (over_floor < 0.45)
    if float(area[on_floor].sum()) > SMALLEST_BODY_M2 and float(area[on_bed].sum()) < SMALLEST_BODY_M2:
        return Place.ON_FLOOR
    if float(area[on_bed].sum()) < SMALLEST_BODY_M2:
        return Place.NOWHERE
    weights = area[on_bed]
    middle = abs(float(np.average(across[on_bed], weights=weights)))
    return Place.AT_EDGE if middle > EDGE * geometry.mattress_m[1] else Place.IN_BED


def silhouette(depth_m: NDArray[np.float32], nearest_m: float = 0.3, farthest_m: float = 4.0) -> Picture:
    """Return depth as a grey picture, for records that may not show faces."""
    share = np.clip((farthest_m - depth_m) / (farthest_m - nearest_m), 0.0, 1.0)
    grey = np.asarray(255 * share, np.uint8)
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8)


def overlay(
    picture: Picture, camera: Intrinsics, poses: Mapping[int, Pose], lines: tuple[str, ...] = ()
) -> Picture:
    """Return the picture with the axes of every tag and some lines of text, for people to look at."""
    drawn = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
    for pose in poses.values():
        turn: Matrix = np.asarray(cv2.Rodrigues(pose.rotation)[0], np.float64)
        cv2.drawFrameAxes(drawn, camera.matrix, camera.coefficients, turn, pose.position_m, 0.03, 2)
    for row, words in enumerate(lines):
        cv2.putText(
            drawn, words, (8, 20 + 20 * row), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA
        )
    return np.asarray(cv2.cvtColor(drawn, cv2.COLOR_BGR2RGB), np.uint8)
