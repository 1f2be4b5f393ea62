"""Pictures of the simulated bench, on request. Without graphics libraries there are none, and that is all."""

import logging
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from rig.core.errors import UsageError, unknown
from rig.offscreen import NO_GRAPHICS, Offscreen, Picture
from rig.sim.backend import SimBackend

_log = logging.getLogger(__name__)
_missing: list[str] = []  # why there are no pictures, once found out


class View:
    """One camera of a simulated bench, ready to draw; a context manager.

    Args:
        backend: The bench; it is looked at and never touched.
        camera: Name of the camera in the scene.
        width: Pixels.
        height: Pixels.

    Raises:
        UsageError: If the scene has no such camera, or the size is larger than it can draw.
    """

    def __init__(self, backend: SimBackend, camera: str, width: int, height: int) -> None:
        model = backend.scene.model
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def draw(self) -> tuple[Picture, NDArray[np.float32]]:
        """Return the picture of the bench as it is now, and the depth along the axis in metres.

        Takes about 0.2 s without a graphics card.
        """
        self._data.qpos[:] = self._backend.scene.data.qpos
        self._backend.dress(self._data)
        mujoco.mj_forward(self._model, self._data)
        return self._screen.draw(self._data, self._camera)


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
