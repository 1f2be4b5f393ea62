"""What a reading is, who gives one, and pictures of readings for people.

Every reading is a number with a standard deviation and the exposure it rests on. What cannot be seen is not
guessed: the reading is None, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.frame import Frame, Picture
from rig.vision.markers import Pose


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


def nothing(frame: Frame, why: str) -> Reading:
    """Return that nothing was read off a frame, and why."""
    return Reading(value=None, sd=float("inf"), exposed_ns=frame.exposed_ns, why=why)


class Place(IntEnum):
    """Where a person is."""

    NOWHERE = 0
    IN_BED = 1
    AT_EDGE = 2
    ON_FLOOR = 3


class Detector(Protocol):
    """Reads values off frames; a learned one plugs in here."""

    def read(self, frame: Frame, tip_m: NDArray[np.float64] | None = None) -> Mapping[str, Reading]:
        """Return the values by the name of their channel.

        Args:
            frame: The frame.
            tip_m: Where the arm says the tip of its tool is, in the bench's axes.
        """
        ...


def food(picture: Picture) -> NDArray[np.bool_]:
    """Return where a picture has the colour of food: saturated orange to red, in any light."""
    hue, saturation, value = cv2.split(cv2.cvtColor(picture, cv2.COLOR_RGB2HSV))
    return np.asarray(((hue < 22) | (hue > 172)) & (saturation > 140) & (value > 25))


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
