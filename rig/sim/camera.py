"""Pictures of the simulated bench, on request. Without graphics libraries there are none, and that is all."""

import importlib
import logging
import os
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from rig.core.errors import UsageError, unknown
from rig.sim.backend import SimBackend

Picture = NDArray[np.uint8]
"""Shape (height, width, 3), RGB."""

_log = logging.getLogger(__name__)
_missing: list[str] = []  # why there are no pictures, once found out


def _context_class() -> Any:  # noqa: ANN401  one of several unrelated classes of the engine
    """Return the engine's class of off-screen contexts: the one asked for, or one that needs no screen."""
    asked = os.environ.get("MUJOCO_GL")
    if asked or os.environ.get("DISPLAY") or os.name == "nt":
        return importlib.import_module("mujoco.gl_context").GLContext
    return importlib.import_module("mujoco.egl").GLContext


def _draw(model: mujoco.MjModel, data: mujoco.MjData, camera: int, width: int, height: int) -> Picture:
    gl = _context_class()(width, height)
    try:
        gl.make_current()
        scene, option = mujoco.MjvScene(model, maxgeom=1000), mujoco.MjvOption()
        context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        view = mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED.value, camera
        mujoco.mjv_updateScene(
            model, data, option, mujoco.MjvPerturb(), view, mujoco.mjtCatBit.mjCAT_ALL.value, scene
        )
        rectangle, picture = mujoco.MjrRect(0, 0, width, height), np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(rectangle, scene, context)
        mujoco.mjr_readPixels(picture, None, rectangle, context)
        context.free()
        return picture[::-1].copy()
    finally:
        gl.free()


def render(backend: SimBackend, camera: str = "room", width: int = 640, height: int = 480) -> Picture | None:
    """Return a picture of the bench as it is now, None where there is no graphics library.

    Takes about 0.2 s without a graphics card; the plant is not touched.

    Raises:
        UsageError: If the scene has no such camera or the size is too large.
    """
    model = backend.scene.model
    names = [model.camera(i).name for i in range(model.ncam)]
    if camera not in names:
        raise unknown("camera", camera, names)
    widest, highest = model.vis.global_.offwidth, model.vis.global_.offheight
    if not (0 < width <= widest and 0 < height <= highest):
        raise UsageError(f"a picture of {width} x {height} is not within 1 x 1 to {widest} x {highest}")
    if _missing:
        return None
    data = mujoco.MjData(model)
    data.qpos[:] = backend.scene.data.qpos
    backend.dress(data)
    mujoco.mj_forward(model, data)
    try:
        return _draw(model, data, names.index(camera), width, height)
    except (ImportError, AttributeError, OSError, RuntimeError, mujoco.FatalError) as error:
        _missing.append(str(error))
        _log.warning("no pictures: the graphics libraries are missing (%s); nothing else is lost", error)
        return None
