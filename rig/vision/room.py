"""Where a person is, read off depth alone: nobody can be recognised in what is used.

Points of the bed that stand out of the plane of the mattress are a body; so are points that stand out of the floor
beside it. The plane is found in every frame, whatever the height and the tilt of the bed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rig.core.data import hardware_file
from rig.core.quantity import parse_quantity
from rig.core.toml_file import Table, load_validated
from rig.vision.calibration import Intrinsics
from rig.vision.face import Extrinsics
from rig.vision.frame import Frame
from rig.vision.perceive import Place, Reading, nothing

CHANNELS: Final = ("depth.place", "depth.floor")
Vector = NDArray[np.float64]
Two = tuple[str, str]
ROUNDS: Final = 5
NEAR_PLANE_M: Final = 0.015
UNSURE: Final = 0.3
"""An area or a middle this near to its threshold, as a share of it, may be on the other side."""


class _Zone(Table):
    begins: Two = Field(alias="from")
    ends: Two = Field(alias="to")
    over: Two
    least: str


class _Bed(_Zone):
    edge: str


class _RoomFile(Table):
    text: str
    bed: _Bed
    floor: _Zone


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Part of a room in which a body is looked for, in the bench's axes, metres.

    Attributes:
        low: Corner, shape (2,).
        high: The corner across from it, shape (2,).
        over: Heights over its ground between which a body is, shape (2,).
        least_m2: Area of it that must be seen.
    """

    low: Vector
    high: Vector
    over: Vector
    least_m2: float

    def holds(self, points: Vector) -> NDArray[np.bool_]:
        """Return which points, shape (..., 3), are over its ground."""
        return np.asarray(np.all((points[..., :2] > self.low) & (points[..., :2] < self.high), axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Where a person is looked for.

    Attributes:
        bed: Part of the mattress.
        floor: Part of the floor.
        edge_m: A body on the bed whose middle is beyond this is at its edge.
    """

    bed: Zone
    floor: Zone
    edge_m: float


@cache
def load_room(name: str = "bedside") -> Room:
    """Return the room of ``hardware/rooms/NAME.toml``.

    Raises:
        UsageError: If there is no such file, or a length or an area in it is none.
        ConfigError: If it says something that cannot be.
    """
    file = load_validated(hardware_file("rooms", f"{name}.toml"), _RoomFile)
    return Room(_zone(file.bed), _zone(file.floor), parse_quantity(file.bed.edge, "m"))


def _zone(table: _Zone) -> Zone:
    low, high, over = (
        np.array([parse_quantity(t, "m") for t in two]) for two in (table.begins, table.ends, table.over)
    )
    return Zone(low, high, over, parse_quantity(table.least, "m^2"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomDetector:
    """Reads where a person is off depth.

    Attributes:
        camera: Its intrinsics.
        place: Where the camera is on the bench.
        room: Where a person is looked for.
    """

    camera: Intrinsics
    place: Extrinsics
    room: Room

    def read(self, frame: Frame, tip_m: Vector | None = None) -> Mapping[str, Reading]:
        """Return ``depth.place`` (`Place`) and ``depth.floor`` (1 while somebody is on the floor).

        Args:
            frame: The frame; it must have depth.
            tip_m: Not needed.
        """
        if frame.depth_m is None:
            return dict.fromkeys(CHANNELS, nothing(frame, "no depth"))
        points, area = self._points(frame.depth_m)
        room = self.room
        down = area[room.floor.holds(points) & _between(points[..., 2], room.floor.over)].sum()
        inside = room.bed.holds(points)
        over = points[..., 2] - _plane(points[inside])(points)
        body = inside & _between(over, room.bed.over)
        lying = area[body].sum()
        middle = float(np.average(points[..., 1][body], weights=area[body])) if lying > 0 else 0.0
        on_floor = bool(down > room.floor.least_m2)
        if on_floor:
            where = Place.ON_FLOOR
        elif lying < room.bed.least_m2:
            where = Place.NOWHERE
        else:
            where = Place.AT_EDGE if abs(middle) > room.edge_m else Place.IN_BED
        floor_sd = _doubt(down, room.floor.least_m2)
        bed_sd = max(_doubt(lying, room.bed.least_m2), _doubt(abs(middle), room.edge_m) if lying > 0 else 0.0)
        return {
            "depth.place": Reading(
                value=float(where),
                sd=floor_sd if on_floor else max(floor_sd, bed_sd),
                exposed_ns=frame.exposed_ns,
            ),
            "depth.floor": Reading(value=float(on_floor), sd=floor_sd, exposed_ns=frame.exposed_ns),
        }

    def _points(self, depth_m: NDArray[np.float32]) -> tuple[Vector, Vector]:
        """Return every second pixel in the bench's axes (m), and the area it stands for (m^2)."""
        lens, step = self.camera, 2
        v, u = np.mgrid[0 : depth_m.shape[0] : step, 0 : depth_m.shape[1] : step]
        z = depth_m[::step, ::step].astype(np.float64)
        rays = np.stack(((u - lens.cx) / lens.fx * z, (v - lens.cy) / lens.fy * z, z), axis=-1)
        return rays @ self.place.rotation.T + self.place.position_m, (z / lens.fx * step) * (
            z / lens.fy * step
        )


def _between(heights: Vector, limits: Vector) -> NDArray[np.bool_]:
    return np.asarray((heights > limits[0]) & (heights < limits[1]))


class _Plane:
    """A height that goes with x and y."""

    def __init__(self, slopes: Vector) -> None:
        self._slopes = slopes

    def __call__(self, points: Vector) -> Vector:
        return np.asarray(points[..., :2] @ self._slopes[:2] + self._slopes[2])


def _plane(points: Vector) -> _Plane:
    """Return the plane of the mattress: fitted again and again to what is not above the last fit."""
    kept = points
    plane = _Plane(np.zeros(3))
    for _ in range(ROUNDS):
        if len(kept) < 3:
            return plane
        sides = np.column_stack((kept[:, :2], np.ones(len(kept))))
        plane = _Plane(np.asarray(np.linalg.lstsq(sides, kept[:, 2], rcond=None)[0], np.float64))
        kept = points[points[:, 2] < plane(points) + NEAR_PLANE_M]
    return plane


def _doubt(seen: float, threshold: float) -> float:
    """Return 0.5, of one step of the reading, at the threshold, falling to nothing away from it."""
    return float(0.5 * max(0.0, 1.0 - abs(seen - threshold) / (UNSURE * threshold)))
