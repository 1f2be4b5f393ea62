"""Poses of things with a fiducial marker on them, with the uncertainty that the picture leaves.

AprilTag 36h11, found by OpenCV. A square seen nearly face-on has two poses that fit almost equally well; both
are solved for, and a pose whose rival fits nearly as well says so by `ambiguity`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.frame import Picture

CORNER_PX: Final = 0.25
"""Standard deviation of a corner, pixels: measured on rendered frames, see tests/benchmarks/bench_vision.py."""

WORST_PX: Final = 0.4
"""Root mean square reprojection error beyond which a detection is none. A clean tag has up to 0.2 px; with something on one
corner it has 0.4 to 0.7 px, and may be turned by 4 degrees without looking strange otherwise (bench_vision.py, grid)."""
SMALLEST_PX: Final = 12.0  # of a side
SAME_RAD: Final = 0.01
"""Two solutions that refine to within this angle are one: near face-on there is no second pose to take it for."""

ENLARGED: Final = 2


@cache
def _detector() -> Any:  # noqa: ANN401  OpenCV has no types for it
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    parameters = cv2.aruco.DetectorParameters()
    # Of the methods there are, the one whose corners do not shrink the square; twice the size, less still.
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_APRILTAG
    return cv2.aruco.ArucoDetector(words, parameters)


def tag_picture(number: int, pixels: int = 240, quiet: int = 30) -> Picture:
    """Return a tag with its white border, to be printed or put on a simulated thing."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    grey = cv2.aruco.generateImageMarker(words, number, pixels - 2 * quiet)
    framed = np.full((pixels, pixels), 255, np.uint8)
    framed[quiet : pixels - quiet, quiet : pixels - quiet] = grey
    return np.asarray(cv2.cvtColor(framed, cv2.COLOR_GRAY2RGB), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """Where a tag is, in the frame of the camera (x right, y down, z away).

    Attributes:
        number: Which tag.
        position_m: Of its centre, shape (3,).
        rotation: From the tag's axes to the camera's, shape (3, 3); the tag's z looks out of its face.
        covariance: Of position (m) and small rotation (rad), shape (6, 6).
        corners: Where its corners are in the picture, pixels, shape (4, 2).
        error_px: Root mean square reprojection error.
        ambiguity: Reprojection error over that of the rival pose, both refined; near 1 the rotation may be the other
            one, 0 where there is no rival.
    """

    number: int
    position_m: NDArray[np.float64]
    rotation: Matrix
    covariance: Matrix
    corners: Matrix
    error_px: float
    ambiguity: float

    @property
    def sd_m(self) -> float:
        """Standard deviation of the position in its worst direction, metres."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance[:3, :3])[-1]))


def find_tags(
    picture: Picture,
    camera: Intrinsics,
    sides_m: Mapping[int, float],
    near: Mapping[int, Matrix] | None = None,
    worst_px: float = WORST_PX,
) -> dict[int, Pose]:
    """Return the pose of every known tag in a picture; of one seen twice, none.

    Args:
        picture: The frame.
        camera: Its intrinsics.
        sides_m: Side of the black square of each known tag; others are not looked at.
        near: Corners of tags in the frame before, shape (4, 2) each: they are looked for there first, which is
            several times quicker; if one of them is not there, the whole picture is searched.
        worst_px: Root mean square reprojection error beyond which a detection is none.
    """
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if near and set(near) == set(sides_m):
        tracked = {number: _squares(grey, _around(corners, grey.shape)) for number, corners in near.items()}
        squares = {number: found[number] for number, found in tracked.items() if number in found}
        if len(squares) < len(near):
            squares = _squares(grey, None)
    else:
        squares = _squares(grey, None)
    found = {
        n: _pose(n, corners, camera, sides_m[n], worst_px) for n, corners in squares.items() if n in sides_m
    }
    return {number: pose for number, pose in found.items() if pose is not None}


def _squares(grey: Any, window: tuple[int, int, int, int] | None) -> dict[int, Matrix]:  # noqa: ANN401
    """Return the corners of every tag seen once in the picture, or in a window (left, top, right, bottom) of it."""
    left, top, right, bottom = window or (0, 0, grey.shape[1], grey.shape[0])
    if right - left < SMALLEST_PX or bottom - top < SMALLEST_PX:
        return {}  # out of the picture
    part = grey[top:bottom, left:right]
    larger = cv2.resize(part, None, fx=ENLARGED, fy=ENLARGED, interpolation=cv2.INTER_CUBIC)
    corners, ids, _ = _detector().detectMarkers(larger)
    numbers = [] if ids is None else ids.ravel().tolist()
    return {
        number: _back(square) + np.array((left, top))
        for square, number in zip(corners, numbers, strict=True)
        if numbers.count(number) == 1
    }


def _around(corners: Matrix, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return a window around a tag with as much room on each side as it is wide: so far it may move in a frame."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    room = max(float((high - low).max()), 16.0)
    left, top = np.maximum(np.floor(low - room), 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(high + room), (shape[1], shape[0])).astype(int).tolist()
    return left, top, right, bottom


def _back(square: Any) -> Matrix:  # noqa: ANN401
    """Return corners found in the enlarged picture in pixels of the picture itself; pixels are centres."""
    return np.asarray((square.reshape(4, 2) + 0.5) / ENLARGED - 0.5, np.float64)


def _pose(number: int, corners: Matrix, camera: Intrinsics, side_m: float, worst_px: float) -> Pose | None:
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    if sides.min() < SMALLEST_PX:
        return None
    h = side_m / 2.0
    points = np.array([[-h, h, 0.0], [h, h, 0.0], [h, -h, 0.0], [-h, -h, 0.0]])
    count, turns, moves, _ = cv2.solvePnPGeneric(
        points, corners, camera.matrix, camera.coefficients, flags=cv2.SOLVEPNP_IPPE_SQUARE
    )
    if not count:
        return None
    fits = sorted(
        (_refined(points, corners, camera, turn, move) for turn, move in zip(turns, moves, strict=True)),
        key=lambda fit: fit.error_px,
    )
    best, rivals = fits[0], [fit for fit in fits[1:] if _apart(fit, fits[0]) > SAME_RAD]
    if not best.error_px <= worst_px or not best.move[2] > 0.0:
        return None
    return Pose(
        number=number,
        position_m=best.move,
        rotation=np.asarray(cv2.Rodrigues(best.turn)[0], np.float64),
        corners=corners,
        covariance=_covariance(best.jacobian, max(best.error_px, CORNER_PX)),
        error_px=best.error_px,
        ambiguity=max((best.error_px / max(rival.error_px, 1e-9) for rival in rivals), default=0.0),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A pose that fits a square's corners best among those near it: rotation vector, position (m), and how well."""

    turn: NDArray[np.float64]
    move: NDArray[np.float64]
    error_px: float
    jacobian: Matrix


def _refined(points: Matrix, corners: Matrix, camera: Intrinsics, turn: Any, move: Any) -> _Fit:  # noqa: ANN401
    turn, move = cv2.solvePnPRefineLM(points, corners, camera.matrix, camera.coefficients, turn, move)
    there, jacobian = cv2.projectPoints(points, turn, move, camera.matrix, camera.coefficients)
    error = float(np.sqrt(np.mean(np.sum((there.reshape(-1, 2) - corners) ** 2, axis=1))))
    return _Fit(np.ravel(turn), np.ravel(move), error, np.asarray(jacobian[:, :6], np.float64))


def _apart(one: _Fit, other: _Fit) -> float:
    """Return the angle between two rotations, radians."""
    a, b = (cv2.Rodrigues(fit.turn)[0] for fit in (one, other))
    return float(np.arccos(np.clip((np.trace(a.T @ b) - 1.0) / 2.0, -1.0, 1.0)))


def _covariance(jacobian: Matrix, corner_px: float) -> Matrix:
    """Return the covariance of (position, rotation) from that of the corners, to first order."""
    information = jacobian.T @ jacobian / corner_px**2
    turned = np.linalg.pinv(information)  # of (rotation, position), as OpenCV orders them
    order = [3, 4, 5, 0, 1, 2]
    return np.asarray(turned[np.ix_(order, order)])
