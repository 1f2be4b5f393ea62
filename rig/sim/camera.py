"""Pictures of the simulated bench, on request. Without graphics libraries there are none, and that is all."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from rig.core.data import scene_files
from rig.core.errors import UsageError, unknown
from rig.offscreen import NO_GRAPHICS, Offscreen, Picture, plate_mesh
from rig.sim.backend import SimBackend

_log = logging.getLogger(__name__)
_missing: list[str] = []  # why there are no pictures, once found out


@dataclass(frozen=True, slots=True, eq=False)
class Plate:
    """A tag on a body of the scene, for a camera to find; it is seen and nothing else.

    Attributes:
        name: Of the tag.
        body: To what it is fixed.
        side_m: Of its black square.
        at_m: Its middle in the body's axes, shape (3,).
        axes: Its own axes in the body's, as columns: x to the reader's right, y up, z out of its face.
        picture: PNG.
    """

    name: str
    body: str
    side_m: float
    at_m: NDArray[np.float64]
    axes: NDArray[np.float64]
    picture: bytes


class View:
    """One camera of a simulated bench, ready to draw; a context manager.

    Args:
        backend: The bench; it is looked at and never touched.
        camera: Name of the camera in the scene.
        width: Pixels.
        height: Pixels.
        plates: Tags put on the scene for the picture; the bench itself has none.

    Raises:
        UsageError: If the scene has no such camera, or the size is larger than it can draw.
    """

    def __init__(
        self, backend: SimBackend, camera: str, width: int, height: int, plates: Sequence[Plate] = ()
    ) -> None:
        model = _with_plates(backend, plates) if plates else copy(backend.scene.model)
        names = [model.camera(i).name for i in range(model.ncam)]
        if camera not in names:
            raise unknown("camera", camera, names)
        widest, highest = model.vis.global_.offwidth, model.vis.global_.offheight
        if not (0 < width <= widest and 0 < height <= highest):
            raise UsageError(f"a picture of {width} x {height} is not within 1 x 1 to {widest} x {highest}")
        self._backend, self._model, self._camera = backend, model, names.index(camera)
        self._size = (width, height)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Open a place to draw.

        Raises:
            UsageError: If the graphics libraries are missing.
        """
        try:
            self._screen = self._stack.enter_context(Offscreen(self._model, *self._size))
        except NO_GRAPHICS as error:
            raise UsageError(
                f"no pictures on this machine: the graphics libraries are missing ({error}); "
                f"install libegl1 and libgl1-mesa-dri, or set MUJOCO_GL=osmesa"
            ) from None
        self._data = mujoco.MjData(self._model)
        return self

    @property
    def model(self) -> mujoco.MjModel:
        """The scene as it is drawn; lights and colours may be changed."""
        return self._model

    def pose(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return rotation (camera x right, y down, z away, to the scene), position (m) and field of view (degrees)."""
        data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, data)
        turn = data.cam_xmat[self._camera].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0])
        return turn, data.cam_xpos[self._camera].copy(), float(self._model.cam_fovy[self._camera])

    @property
    def goes_with(self) -> str | None:
        """The body the camera is mounted on; None where it stands still."""
        body = int(self._model.cam_bodyid[self._camera])
        return str(self._model.body(body).name) if body else None

    def mounted(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rotation and position as `pose` does, in the axes of the body the camera is mounted on."""
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, self._model.cam_quat[self._camera])
        return turn.reshape(3, 3) @ np.diag([1.0, -1.0, -1.0]), self._model.cam_pos[self._camera].copy()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def draw(self) -> tuple[Picture, NDArray[np.float32]]:
        """Return the picture of the bench as it is now, and the depth along the axis in metres.

        Takes about 0.2 s without a graphics card.
        """
        self._data.qpos[:] = self._backend.scene.data.qpos
        self._backend.dress(self._model, self._data)
        mujoco.mj_forward(self._model, self._data)
        return self._screen.draw(self._data, self._camera)


def _with_plates(backend: SimBackend, plates: Sequence[Plate]) -> mujoco.MjModel:
    """Return the bench's scene with tags on it; joints and bodies are as they were."""
    _, text, parts = scene_files(backend.bench.scene, backend.bench.tool)
    spec = mujoco.MjSpec.from_string(text, parts)
    for plate in plates:
        name = f"tag.{plate.name}"
        vertices, spots, faces = plate_mesh(plate.side_m)
        spec.add_mesh(
            name=name, uservert=vertices.ravel(), usertexcoord=spots.ravel(), userface=faces.ravel(),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )  # fmt: skip
        spec.assets[f"{name}.png"] = plate.picture
        spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, file=f"{name}.png")
        material = spec.add_material(name=name, specular=0, shininess=0)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
        right, up, out = plate.axes.T
        turn = np.empty(4)
        mujoco.mju_mat2Quat(turn, np.stack((out, right, up), axis=1).ravel())
        spec.body(plate.body).add_geom(
            name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, material=name, pos=plate.at_m, quat=turn,
            contype=0, conaffinity=0, mass=0,
        )  # fmt: skip
    return spec.compile()


def render(backend: SimBackend, camera: str = "room", width: int = 640, height: int = 480) -> Picture | None:
    """Return a picture of the bench as it is now, None where there is no graphics library.

    Raises:
        UsageError: If the scene has no such camera or the size is too large.
    """
    view = View(backend, camera, width, height)
    if _missing:
        return None
    try:
        with view:
            return view.draw()[0]
    except UsageError as error:
        _missing.append(str(error))
        _log.warning("%s; nothing else is lost", error)
        return None
