"""Pictures of a MuJoCo model without a screen, where the graphics libraries are there."""

import importlib
import os
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Shape (height, width, 3), RGB."""

NO_GRAPHICS = (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError)
"""What opening a context raises where the graphics libraries are missing."""


BORDER = 240 / 180
"""Side of a plate over that of the black square of the tag on it: a quiet zone of a sixth on each side."""


def plate_mesh(side_m: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return vertices, texture coordinates and faces of a flat plate for a tag whose black square has this side.

    It faces +x, its picture is upright along z, and a reader has y to the right.
    """
    h = side_m * BORDER / 2.0
    front = np.array([(0, -h, -h), (0, h, -h), (0, h, h), (0, -h, h)], np.float64)
    spots = np.array(
        [(0, 1), (1, 1), (1, 0), (0, 0)] * 2, np.float64
    )  # the first row of a picture is at v = 0
    faces = np.array(
        [(0, 1, 2), (0, 2, 3), (4, 6, 5), (4, 7, 6), (0, 4, 5), (0, 5, 1), (3, 2, 6), (3, 6, 7), (0, 3, 7), (0, 7, 4),
         (1, 5, 6), (1, 6, 2)], np.int32,
    )  # fmt: skip
    return np.concatenate((front, front - (1e-4, 0.0, 0.0))), spots, faces


def _context_class() -> Any:  # noqa: ANN401  one of several unrelated classes of the engine
    """Return the engine's class of off-screen contexts: the one asked for, or one that needs no screen."""
    if os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY") or os.name == "nt":
        return importlib.import_module("mujoco.gl_context").GLContext
    return importlib.import_module("mujoco.egl").GLContext


class Offscreen:
    """A renderer of one model at one size; a context manager.

    Entering raises one of `NO_GRAPHICS` where there are no graphics libraries.
    """

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        self._model, self._size = model, (width, height)
        self._gl: Any = None
        self._context: Any = None

    def __enter__(self) -> Self:
        self._gl = _context_class()(*self._size)
        try:
            self._gl.make_current()
            self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
            self._scene = mujoco.MjvScene(self._model, maxgeom=1000)
        except BaseException:
            self._gl.free()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._context.free()
        self._gl.free()

    def draw(self, data: mujoco.MjData, camera: int) -> tuple[Picture, NDArray[np.float32]]:
        """Return the picture of a camera of the model, by its number, and the depth along its axis in metres."""
        self._gl.make_current()
        width, height = self._size
        view = mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED.value, camera
        every = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, mujoco.MjvOption(), mujoco.MjvPerturb(), view, every, self._scene
        )
        rectangle = mujoco.MjrRect(0, 0, width, height)
        picture, buffer = np.empty((height, width, 3), np.uint8), np.empty((height, width), np.float32)
        mujoco.mjr_render(rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(picture, buffer, rectangle, self._context)
        near, far = (
            float(x * self._model.stat.extent) for x in (self._model.vis.map.znear, self._model.vis.map.zfar)
        )
        depth = near / (1.0 - buffer[::-1] * (1.0 - near / far))
        return picture[::-1].copy(), np.asarray(depth, np.float32)


def why_no_graphics() -> str | None:
    """Return what is missing for drawing on this machine, None where it can draw."""
    try:
        with Offscreen(mujoco.MjModel.from_xml_string("<mujoco/>"), 64, 64):
            return None
    except NO_GRAPHICS as error:
        return str(error)
