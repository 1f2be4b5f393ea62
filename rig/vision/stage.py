"""A stage to check the cameras on: rendered things whose true places are known, in light that can be changed.

The scene is `hardware/scenes/vision.xml`. Its things have tags; where each is, in the frame of a camera, is known
exactly, and so is what a perfect reading would be.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import NDArray

from rig.core.data import hardware_dir
from rig.core.errors import UsageError
from rig.offscreen import NO_GRAPHICS, Offscreen, Picture, plate_mesh
from rig.vision.calibration import Intrinsics, Matrix
from rig.vision.markers import tag_picture
from rig.vision.source import encoded

HEAD, JAW, SPOON, CUP, BED = range(5)
"""Numbers of the tags."""
SIDE_M: Final = {0: 0.050, 1: 0.030, 2: 0.030, 3: 0.040, 4: 0.120}
"""Side of the black square of each tag: head, jaw, spoon, cup, bed."""

_PIXELS, _QUIET = 240, 30
NAMES: Final = {0: "head", 1: "jaw", 2: "spoon", 3: "cup", 4: "bed"}


def _plate(side_m: float) -> str:
    """Return a plate for a tag as an inline mesh."""
    words = [" ".join(f"{v:.6g}" for v in part.ravel()) for part in plate_mesh(side_m)]
    return f'vertex="{words[0]}" texcoord="{words[1]}" face="{words[2]}"'


@dataclass(slots=True)
class Stage:
    """The scene, drawn on demand; open it with `stage()`."""

    model: Any
    data: Any
    _screen: Offscreen
    _size: tuple[int, int] = field(default=(0, 0))

    def place(self, body: str, position_m: tuple[float, float, float], turn: Matrix | None = None) -> None:
        """Put a thing somewhere; ``turn`` is its rotation from its own axes to the room's."""
        k = int(self.model.body(body).mocapid[0])
        self.data.mocap_pos[k] = position_m
        if turn is not None:
            mujoco.mju_mat2Quat(self.data.mocap_quat[k], np.ascontiguousarray(turn).ravel())

    def light(self, share: float) -> None:
        """Dim or brighten every light to this share of the usual."""
        self.model.vis.headlight.ambient[:] = 0.35 * share
        self.model.vis.headlight.diffuse[:] = 0.4 * share
        self.model.light_diffuse[:] = 0.6 * share

    def size(self, geom: str, size: tuple[float, float, float]) -> None:
        """Set a thing's size; the height of the tea, the bite on the spoon."""
        self.model.geom(geom).size[:] = size

    def show(self, geom: str, there: bool) -> None:
        """Let a thing be there or not."""
        self.model.geom(geom).rgba[3] = 1.0 if there else 0.0
        if int(self.model.geom(geom).matid[0]) >= 0 and not there:
            self.model.geom(geom).matid[0] = -1

    def draw(self, camera: str) -> Picture:
        """Return the picture of a camera."""
        return self._drawn(camera)[0]

    def depth(self, camera: str) -> NDArray[np.float32]:
        """Return the distance along the optical axis by pixel, metres."""
        return self._drawn(camera)[1]

    def _drawn(self, camera: str) -> tuple[Picture, NDArray[np.float32]]:
        mujoco.mj_forward(self.model, self.data)
        return self._screen.draw(self.data, self.model.camera(camera).id)

    def camera(self, name: str) -> Intrinsics:
        """Return a camera's true intrinsics."""
        width, height = self._size
        return Intrinsics.pinhole(width, height, float(self.model.camera(name).fovy[0]))

    def seen_from(self, camera: str, tag: int) -> tuple[NDArray[np.float64], Matrix]:
        """Return where a tag truly is and how it is turned, in the frame of a camera (x right, y down, z away)."""
        mujoco.mj_forward(self.model, self.data)
        cam = self.data.camera(camera)
        geom = self.data.geom(f"tag{tag}")
        to_camera = np.diag([1.0, -1.0, -1.0]) @ cam.xmat.reshape(3, 3).T
        # A mesh geom sits at its centre of mass, half a tenth of a millimetre behind its face.
        facing = geom.xmat.reshape(3, 3) @ _own_axes(self.model, tag)
        # The tag's x to the reader's right, y up, z out of its face.
        turned = np.stack((facing[:, 1], facing[:, 2], facing[:, 0]), axis=1)
        return to_camera @ (geom.xpos - cam.xpos), to_camera @ turned


def _own_axes(model: Any, tag: int) -> Matrix:  # noqa: ANN401
    """Return the axes a plate was drawn in, in those the engine gave its mesh."""
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[model.mesh(f"plate{tag}").id])
    return turn.reshape(3, 3).T


@contextmanager
def stage(width: int = 640, height: int = 480, tags: Mapping[int, Picture] | None = None) -> Iterator[Stage]:
    """Yield the stage.

    Args:
        width: Of the pictures.
        height: Of the pictures.
        tags: Pictures for the tags, to damage them; by default clean ones.

    Raises:
        UsageError: If there are no graphics libraries.
    """
    xml = (hardware_dir() / "scenes" / "vision.xml").read_text()
    plates = "".join(f'<mesh name="plate{k}" inertia="shell" {_plate(side)}/>' for k, side in SIDE_M.items())
    xml = xml.replace("<asset>", f"<asset>{plates}", 1)
    assets = {}
    for k in SIDE_M:
        shown = (tags or {}).get(k, tag_picture(k, _PIXELS, _QUIET))
        assets[f"tag{k}.png"] = encoded(shown, ".png")
    model = mujoco.MjModel.from_xml_string(xml, assets)
    with ExitStack() as stack:
        try:
            screen = stack.enter_context(Offscreen(model, width, height))
        except NO_GRAPHICS as error:
            raise UsageError(f"no pictures: the graphics libraries are missing ({error})") from None
        yield Stage(model, mujoco.MjData(model), screen, (width, height))
