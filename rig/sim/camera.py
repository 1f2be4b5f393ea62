"""Pictures of the simulated bench, on request. Without graphics libraries there are none, and that is all."""

import logging

import mujoco

from rig.core.errors import UsageError, unknown
from rig.offscreen import NO_GRAPHICS, Offscreen, Picture
from rig.sim.backend import SimBackend

_log = logging.getLogger(__name__)
_missing: list[str] = []  # why there are no pictures, once found out


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
        with Offscreen(model, width, height) as screen:
            return screen.draw(data, names.index(camera))[0]
    except NO_GRAPHICS as error:
        _missing.append(str(error))
        _log.warning("no pictures: the graphics libraries are missing (%s); nothing else is lost", error)
        return None
