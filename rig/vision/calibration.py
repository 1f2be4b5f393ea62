"""Calibrating a camera with a ChArUco board, and refusing sets that would calibrate it badly.

The board is printed by `board_picture`. A set is good when the board was seen often enough, everywhere in the
picture, near and far, and tilted: otherwise the distortion or the focal length is guessed. What is wrong with a
set is said in words a technician can act on.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from rig.core.errors import ConfigError, UsageError
from rig.vision.frame import Picture, sharpness

Matrix = NDArray[np.float64]

SQUARES: Final = (7, 5)
SQUARE_M: Final = 0.04
MARKER_M: Final = 0.03
FEWEST_VIEWS: Final = 8
FEWEST_CORNERS: Final = 8  # of a view, of 24
WORST_PX: Final = 1.0  # root mean square reprojection error of a good calibration
WORST_VIEW_PX: Final = 2.0
LEAST_COVER: Final = 0.6  # of a 4 x 4 grid over the picture
LEAST_TILT_DEG: Final = 15.0  # between the most and least tilted view
LEAST_RANGE: Final = 1.3  # farthest over nearest distance
VALID_DAYS: Final = 180
GRID: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Intrinsics:
    """What a camera does to the light: focal lengths, centre, distortion (k1 k2 p1 p2 k3), in pixels.

    Attributes:
        rms_px: Root mean square reprojection error of the set.
        worst_px: Of its worst view.
        views: Views used.
        calibrated_utc: When, ISO 8601.
        expires_utc: After which it is not to be used any more.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...]
    rms_px: float = 0.0
    worst_px: float = 0.0
    views: int = 0
    calibrated_utc: str = ""
    expires_utc: str = ""

    @property
    def matrix(self) -> Matrix:
        """The camera matrix, shape (3, 3)."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    @property
    def coefficients(self) -> Matrix:
        """The distortion, shape (5,)."""
        return np.array(self.distortion)

    @property
    def digest(self) -> str:
        """SHA-256 of everything in it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def expired(self, now: datetime) -> bool:
        """Return whether it is too old to be used."""
        return bool(self.expires_utc) and now > datetime.fromisoformat(self.expires_utc)

    @classmethod
    def pinhole(cls, width: int, height: int, field_of_view_deg: float) -> "Intrinsics":
        """Return an ideal camera with this vertical field of view: a renderer's."""
        f = 0.5 * height / np.tan(np.radians(field_of_view_deg) / 2.0)
        return cls(width=width, height=height, fx=float(f), fy=float(f), cx=(width - 1) / 2.0, cy=(height - 1) / 2.0,
                   distortion=(0.0, 0.0, 0.0, 0.0, 0.0))  # fmt: skip


@cache
def board() -> Any:  # noqa: ANN401  OpenCV has no types for it
    """Return the board."""
    words = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    return cv2.aruco.CharucoBoard(SQUARES, SQUARE_M, MARKER_M, words)


def board_picture(dpi: int = 150) -> Picture:
    """Return the board to be printed at this resolution, unscaled: a square is 40 mm."""
    per_m = dpi / 0.0254
    size = tuple(round(n * SQUARE_M * per_m) for n in SQUARES)
    grey = board().generateImage(size, marginSize=0)
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What was seen of the board in one picture.

    Attributes:
        corners: In pixels, shape (n, 2).
        ids: Which corners, shape (n,).
    """

    name: str
    corners: NDArray[np.float32]
    ids: NDArray[np.int32]


def look(name: str, picture: Picture) -> View | str:
    """Return what is seen of the board, or why the picture is no use."""
    detector = cv2.aruco.CharucoDetector(board())
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    corners, ids, _, _ = detector.detectBoard(grey)
    if ids is None or len(ids) < FEWEST_CORNERS:
        seen = 0 if ids is None else len(ids)
        why = "blurred" if sharpness(picture) < 20.0 else "too far, too oblique or covered"
        return f"{name}: {seen} corners of the board seen, {FEWEST_CORNERS} needed ({why})"
    return View(name, corners.reshape(-1, 2).astype(np.float32), ids.ravel().astype(np.int32))


def calibrate(named: Iterable[tuple[str, Picture]], now: datetime) -> Intrinsics:
    """Calibrate a camera from pictures of the board.

    Raises:
        UsageError: If the set is bad; says everything that is wrong with it and what to do.
    """
    views, useless = [], []
    size: tuple[int, int] | None = None
    for name, picture in named:
        here = (picture.shape[1], picture.shape[0])
        if size is not None and here != size:
            useless.append(f"{name}: {here[0]} x {here[1]}, the others {size[0]} x {size[1]}")
            continue
        size = size or here
        found = look(name, picture)
        if isinstance(found, str):
            useless.append(found)
        else:
            views.append(found)
    if size is None or len(views) < FEWEST_VIEWS:
        raise _refused([f"{len(views)} useful pictures; take at least {FEWEST_VIEWS}", *useless])
    points = [board().getChessboardCorners()[view.ids].astype(np.float32) for view in views]
    corners = [view.corners.reshape(-1, 1, 2) for view in views]
    rms, matrix, distortion, turns, moves = cv2.calibrateCamera(points, corners, size, None, None)
    each = [
        _error_px(p, c.reshape(-1, 2), r, t, matrix, distortion)
        for p, c, r, t in zip(points, corners, turns, moves, strict=True)
    ]
    wrong = _coverage(views, size, turns, moves)
    if not rms <= WORST_PX:
        wrong.append(f"reprojection error {rms:.2f} px, at most {WORST_PX} px: hold still, use a flat board")
    wrong += [
        f"{view.name}: reprojection error {error:.2f} px, at most {WORST_VIEW_PX} px; leave it out or take it again"
        for view, error in zip(views, each, strict=True)
        if error > WORST_VIEW_PX
    ]
    if wrong:
        raise _refused([*wrong, *useless])
    coefficients = np.zeros(5)
    found_k = np.ravel(distortion)[:5]
    coefficients[: len(found_k)] = found_k
    return Intrinsics(
        width=size[0], height=size[1], fx=float(matrix[0, 0]), fy=float(matrix[1, 1]), cx=float(matrix[0, 2]),
        cy=float(matrix[1, 2]), distortion=tuple(coefficients.tolist()), rms_px=float(rms), worst_px=max(each),
        views=len(views), calibrated_utc=now.astimezone(UTC).isoformat(timespec="seconds"),
        expires_utc=(now.astimezone(UTC) + timedelta(days=VALID_DAYS)).isoformat(timespec="seconds"),
    )  # fmt: skip


def _refused(mistakes: list[str]) -> UsageError:
    return UsageError(
        "these pictures do not calibrate the camera:\n" + "\n".join(f"  - {m}" for m in mistakes)
    )


def _error_px(points: Any, corners: Any, turn: Any, move: Any, matrix: Any, distortion: Any) -> float:  # noqa: ANN401
    there, _ = cv2.projectPoints(points, turn, move, matrix, distortion)
    return float(np.sqrt(np.mean(np.sum((there.reshape(-1, 2) - corners) ** 2, axis=1))))


def _coverage(views: list[View], size: tuple[int, int], turns: Any, moves: Any) -> list[str]:  # noqa: ANN401
    """Return what a set of views does not cover."""
    wrong = []
    every = np.concatenate([view.corners for view in views])
    columns = np.clip((GRID * every[:, 0] / size[0]).astype(int), 0, GRID - 1)
    rows = np.clip((GRID * every[:, 1] / size[1]).astype(int), 0, GRID - 1)
    covered = len(set(zip(columns.tolist(), rows.tolist(), strict=True)))
    if covered < LEAST_COVER * GRID**2:
        empty = [
            ("upper" if r < GRID / 2 else "lower") + " " + ("left" if c < GRID / 2 else "right")
            for r in range(GRID) for c in range(GRID) if (c, r) not in set(zip(columns.tolist(), rows.tolist(), strict=True))
        ]  # fmt: skip
        most = max(set(empty), key=empty.count)
        wrong.append(
            f"the board was in {covered} of {GRID**2} parts of the picture; show it also in the {most}"
        )
    tilts = [
        float(np.degrees(np.arccos(np.clip(abs(cv2.Rodrigues(turn)[0][2, 2]), 0.0, 1.0)))) for turn in turns
    ]
    if max(tilts) - min(tilts) < LEAST_TILT_DEG:
        wrong.append(
            f"all views are tilted alike, within {max(tilts) - min(tilts):.0f} deg; tilt it by 20 to 45 deg"
        )
    far = [float(np.linalg.norm(move)) for move in moves]
    if max(far) / min(far) < LEAST_RANGE:
        wrong.append(
            f"all views are equally far ({min(far):.2f} to {max(far):.2f} m); show it nearer and farther"
        )
    return wrong


def save_intrinsics(path: Path, found: Intrinsics) -> None:
    """Write a calibration, with its digest."""
    text = json.dumps({**asdict(found), "sha256": found.digest}, indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def load_intrinsics(path: Path, now: datetime) -> Intrinsics:
    """Return a calibration.

    Raises:
        UsageError: If there is none, or it has expired.
        ConfigError: If the file was changed or is none of ours.
    """
    try:
        values = json.loads(path.read_text())
        stated = values.pop("sha256")
        found = Intrinsics(**{**values, "distortion": tuple(values["distortion"])})
    except FileNotFoundError:
        raise UsageError(f"{path}: no such calibration; make one with `runrig camera calibrate`") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(str(path), [f"is no calibration: {error}"]) from None
    if found.digest != stated:
        raise ConfigError(str(path), ["was changed after it was made; calibrate again"])
    if found.expired(now):
        raise UsageError(f"{path}: expired {found.expires_utc}; calibrate again")
    return found
