"""How much is on the spoon, in the cup or on the cloth, read off the area that its colour takes in a picture.

The camera sits where it sees the thing always in one place: on the wrist for a tool. What a volume looks like from there
is worked out from a shape: the outline of the heap, of the column of drink, of the stain, as the lens shows it. The area
that is seen is looked up in that. Light changes brightness, not hue, and highlights do not matter: the hull of what is
seen is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rig.core.data import hardware_file
from rig.core.errors import ConfigError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import Table, load_validated
from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.face import Extrinsics
from rig.vision.frame import Frame
from rig.vision.perceive import Reading, food, nothing

Vector = NDArray[np.float64]
Three = tuple[str, str, str]
STEPS: Final = 80
EDGE_PX: Final = 0.5
"""How far off the edge of a coloured area may be."""
SHAPE: Final = 0.05
"""Share of a volume by which its shape may mislead."""
FEWEST_PX: Final = 12
ASIDE_PX: Final = 4.0
BEHIND: Final = 0.1
"""Share of the rim around the vessel with the colour of what is in it, from which on it cannot be told apart."""
BEYOND: Final = 1.15
"""More colour than this times what the vessel can hold is not in the vessel."""


class _Heap(Table):
    at: Three
    half_axes: Three
    bowl: tuple[str, str]
    holds: str


class _Level(Table):
    floor: Three
    radius: str


class _Stain(Table):
    at: Three
    wets: str


class _VesselFile(Table):
    text: str
    channel: Annotated[str, Field(min_length=1)]
    most: str
    heap: _Heap | None = None
    level: _Level | None = None
    stain: _Stain | None = None


def _metres(texts: tuple[str, ...]) -> Vector:
    return np.array([parse_quantity(text, "m") for text in texts])


@dataclass(frozen=True, slots=True, eq=False)
class Heap:
    """An ellipsoid that grows alike in every direction, sunk into a bowl to its middle; in the tool's axes.

    Attributes:
        at_m: Its middle.
        half_axes_m: Of ``holds_ml``.
        holds_ml: A volume.
        bowl_m: Half length and half width of the bowl, which hides what is below the middle.
    """

    at_m: Vector
    half_axes_m: Vector
    holds_ml: float
    bowl_m: Vector

    def outline(self, ml: float) -> Vector:
        """Return points on the surface of this volume that are not hidden by the bowl, shape (n, 3)."""
        turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 24, endpoint=False), np.linspace(-1, 1, 25))
        ring = np.sqrt(1.0 - rise**2)
        ball = np.stack((ring * np.cos(turn), ring * np.sin(turn), rise), axis=-1).reshape(-1, 3)
        ball *= np.cbrt(ml / self.holds_ml) * self.half_axes_m
        hidden = (ball[:, 2] < 0.0) & (np.sum((ball[:, :2] / self.bowl_m) ** 2, axis=1) < 1.0)
        return np.asarray(self.at_m + ball[~hidden])


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A drink in a round cup: middle of the floor and radius inside (m, in the tool's axes)."""

    floor_m: Vector
    radius_m: float

    def outline(self, ml: float) -> Vector:
        """Return points on the rims of this volume, shape (n, 3)."""
        turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        ring = self.radius_m * np.stack((np.cos(turn), np.sin(turn), np.zeros_like(turn)), axis=-1)
        up = np.array([0.0, 0.0, 1e-6 * ml / (np.pi * self.radius_m**2)])
        return np.asarray(self.floor_m + np.concatenate((ring, ring + up)))


@dataclass(frozen=True, slots=True, eq=False)
class Stain:
    """A round stain on something flat that hangs square to x: its middle (m) and the area a millilitre wets (m^2)."""

    at_m: Vector
    wets_m2: float

    def outline(self, ml: float) -> Vector:
        """Return points on the rim of this volume, shape (n, 3)."""
        turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        rim = np.stack((np.zeros_like(turn), np.cos(turn), np.sin(turn)), axis=-1)
        return np.asarray(self.at_m + np.sqrt(ml * self.wets_m2 / np.pi) * rim)


@dataclass(frozen=True, slots=True, eq=False)
class Vessel:
    """What holds something whose amount can be seen.

    Attributes:
        channel: What the amount is called.
        most_ml: More it cannot hold.
        shape: What a volume looks like.
    """

    channel: str
    most_ml: float
    shape: Heap | Level | Stain


@cache
def load_vessel(tool: str) -> Vessel:
    """Return the vessel of ``hardware/vessels/TOOL.toml``.

    Raises:
        UsageError: If there is no such file, or a length or volume in it is none.
        ConfigError: If it says something that cannot be.
    """
    path = hardware_file("vessels", f"{tool}.toml")
    file = load_validated(path, _VesselFile)
    most_ml, shapes = parse_quantity(file.most, "ml"), list[Heap | Level | Stain]()
    if (heap := file.heap) is not None:
        shapes.append(
            Heap(
                _metres(heap.at),
                _metres(heap.half_axes),
                parse_quantity(heap.holds, "ml"),
                _metres(heap.bowl),
            )
        )
    if file.level is not None:
        shapes.append(Level(_metres(file.level.floor), parse_quantity(file.level.radius, "m")))
    if file.stain is not None:
        shapes.append(Stain(_metres(file.stain.at), parse_quantity(file.stain.wets, "m^2")))
    if len(shapes) != 1:
        raise ConfigError(str(path), ["give one of [heap], [level] and [stain]"])
    return Vessel(file.channel, most_ml, shapes[0])


@dataclass(slots=True, kw_only=True)
class AmountDetector:
    """Reads how much a vessel holds.

    Attributes:
        camera: Its intrinsics.
        vessel: What it looks at.
        place: Where the camera is, in the axes of what it looks at: of the tool, or of the bench.
    """

    camera: Intrinsics
    vessel: Vessel
    place: Extrinsics
    _table: tuple[Vector, Vector] = field(init=False)  # volumes (ml) and the areas they take (pixels)
    _reach: NDArray[np.bool_] = field(init=False)  # where in the picture the vessel can hold something

    def __post_init__(self) -> None:
        volumes = self.vessel.most_ml * np.linspace(0.001, 1.0, STEPS) ** 2
        areas = [float(cv2.contourArea(self._hull(ml))) for ml in volumes]
        self._table = volumes, np.maximum.accumulate(np.array(areas))
        canvas = np.zeros((self.camera.height, self.camera.width), np.uint8)
        cv2.fillPoly(canvas, [np.round(self._hull(self.vessel.most_ml)).astype(np.int32)], 1)
        self._reach = cv2.dilate(canvas, np.ones((5, 5), np.uint8)).astype(bool)

    def _hull(self, ml: float) -> Matrix:
        points = (self.vessel.shape.outline(ml) - self.place.position_m) @ self.place.rotation
        there, _ = cv2.projectPoints(
            points, np.zeros(3), np.zeros(3), self.camera.matrix, self.camera.coefficients
        )
        return np.asarray(cv2.convexHull(there.reshape(-1, 1, 2).astype(np.float32)).reshape(-1, 2))

    def read(self, frame: Frame, tip_m: Vector | None = None) -> Mapping[str, Reading]:
        """Return the amount (ml) by the name of its channel.

        Args:
            frame: The frame.
            tip_m: Not needed: what it looks at is always in one place.
        """
        return {self.vessel.channel: self._amount(frame)}

    def _amount(self, frame: Frame) -> Reading:
        mask = food(frame.picture)
        if mask[self._rim()].mean() > BEHIND:
            return nothing(frame, "what is behind the vessel has the colour of what is in it")
        inside = (mask & self._reach).astype(np.uint8)
        found, _ = cv2.findContours(inside, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        largest = max(found, key=cv2.contourArea, default=None)
        volumes, areas = self._table
        if largest is None or len(largest) < FEWEST_PX:
            smallest = float(np.interp(FEWEST_PX**2 / (4 * np.pi), areas, volumes))
            return Reading(value=0.0, sd=smallest, exposed_ns=frame.exposed_ns)
        if not self._begins_in(largest):
            return nothing(frame, "something of the same colour is in front")
        hull = cv2.convexHull(largest)
        around = float(cv2.arcLength(hull, closed=True))
        area = float(cv2.contourArea(hull)) + around * EDGE_PX  # contours run through the middles of pixels
        if area > BEYOND * areas[-1]:
            return nothing(frame, "more of the colour than the vessel can hold")
        ml = float(np.interp(area, areas, volumes))
        edge = float(np.interp(area + around * 2 * EDGE_PX, areas, volumes)) - ml
        return Reading(value=ml, sd=float(np.hypot(edge, SHAPE * ml)), exposed_ns=frame.exposed_ns)

    def _begins_in(self, contour: Any) -> bool:  # noqa: ANN401
        """Return whether what is seen is where a little would be: what is elsewhere is something else."""
        middle = self._hull(self._table[0][0]).mean(axis=0)
        return float(cv2.pointPolygonTest(contour, middle.tolist(), measureDist=True)) > -ASIDE_PX

    def _rim(self) -> NDArray[np.bool_]:
        """Return the pixels just outside of what the vessel can fill."""
        wider = cv2.dilate(self._reach.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(bool)
        return np.asarray(wider & ~self._reach)
