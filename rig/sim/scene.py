"""The scene: the engine's model of arm, spoon and face, loaded from ``hardware/scenes``.

The file gives shapes and masses. The springs of the face regions come from `Parameters`, so that
there is one place where such numbers and their sources stand.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from rig.core.channel import FloatArray, IntArray
from rig.core.data import hardware_file
from rig.core.errors import ConfigError
from rig.sim.parameters import Parameters
from rig.sim.quantities import ARM
from rig.sim.state import Engine

(
    YAW, LIP_UPPER, LIP_UPPER_Z, LIP_LOWER, LIP_LOWER_Z, CORNER_LEFT, CORNER_RIGHT,
    CHEEK_LEFT, CHEEK_RIGHT, CHIN, FOREHEAD,
) = range(6, 17)  # fmt: skip
"""Places in the engine's book; the first six are the arm's joints, all these are addresses in qpos."""
LIP_CTRL, TIP, MOUTH_SITE, WRIST_SITE, TOOL, WRIST, TIP_VELOCITY, CLOCK = range(17, 25)
GRAVITY, TOOL_WEIGHT, BOWL_HEIGHT = range(3)  # places in the engine's constants

_FACE = (
    "head.yaw", "lip_upper", "lip_upper_z", "lip_lower", "lip_lower_z", "corner_left", "corner_right",
    "cheek_left", "cheek_right", "chin", "forehead",
)  # fmt: skip
_LIPS = ("lip_upper_z", "lip_lower_z")


@dataclass(frozen=True, slots=True)
class Scene:
    """A loaded scene: the engine's structures and the kernel's view of them."""

    model: mujoco.MjModel
    data: mujoco.MjData
    engine: Engine
    rest: FloatArray  # joint angles of the arm at rest, from the scene's keyframe "rest"


def _load_model(name: str) -> mujoco.MjModel:
    path = hardware_file("scenes", name)
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise ConfigError(str(path), [f"not a scene the engine can load: {error}"]) from None


def _stiffness(parameters: Parameters) -> dict[str, float]:
    lips = ("lip_upper", "lip_upper_z", "lip_lower", "lip_lower_z", "corner_left", "corner_right")
    face = ("cheek_left", "cheek_right", "chin")
    springs = dict.fromkeys(lips, parameters.lip_stiffness) | dict.fromkeys(face, parameters.face_stiffness)
    return springs | {"forehead": parameters.forehead_stiffness}


def _fit_springs(model: mujoco.MjModel, parameters: Parameters) -> None:
    """Give every region its stiffness, and the damping that goes with its pad's mass."""
    for name, stiffness in _stiffness(parameters).items():
        joint = model.joint(name)
        mass = float(model.body_mass[joint.bodyid[0]])
        model.dof_damping[joint.dofadr[0]] = 2.0 * parameters.damping_ratio * math.sqrt(stiffness * mass)
        if name in _LIPS:  # its resting place moves with the mouth: a servo is the spring
            actuator = model.actuator(name).id
            model.actuator_gainprm[actuator, 0] = stiffness
            model.actuator_biasprm[actuator, 1] = -stiffness
        else:
            model.jnt_stiffness[joint.id] = stiffness


def _book(model: mujoco.MjModel) -> IntArray:
    joints = [int(model.joint(n).qposadr[0]) for n in (*ARM, *_FACE)]
    lips = model.actuator(_LIPS[0]).id
    sites = [model.site(n).id for n in ("spoon_tip", "mouth", "wrist")]
    sensors = [int(model.sensor(n).adr[0]) for n in ("wrist", "tip_velocity", "clock")]
    return np.array([*joints, lips, *sites, model.body("tool").id, *sensors], dtype=np.int64)


def _check_order(model: mujoco.MjModel, source: str) -> None:
    names = [model.actuator(i).name for i in range(model.nu)]
    if names != [*ARM, *_LIPS]:
        raise ConfigError(
            source, [f"actuators must be {', '.join((*ARM, *_LIPS))}; there are {', '.join(names)}"]
        )
    if model.nq != model.nv:
        raise ConfigError(source, ["joints must be hinges and slides: positions and speeds share addresses"])


def load_scene(name: str, parameters: Parameters, tick_s: float) -> Scene:
    """Load ``hardware/scenes/<name>``.

    Raises:
        UsageError: If there is no such scene.
        ConfigError: If the engine cannot load it, or parts the plant needs are missing.
    """
    model = _load_model(name)
    model.opt.timestep = tick_s
    try:
        _fit_springs(model, parameters)
        _check_order(model, name)
        book = _book(model)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        rest = model.key("rest").qpos[book[: len(ARM)]].copy()
        tool_kg = float(model.body_mass[model.body("tool").id])
        gravity = float(np.linalg.norm(model.opt.gravity))
        constants = np.array([gravity, tool_kg * gravity, data.site("bowl").xpos[2]])
    except KeyError as error:
        raise ConfigError(name, [f"the scene lacks a part: {error}"]) from None
    engine = Engine(
        model=model._address,  # noqa: SLF001  the binding's own way to hand its structures to C
        data=data._address,  # noqa: SLF001
        ctrl=data.ctrl,
        qpos=data.qpos,
        qvel=data.qvel,
        wrench=data.xfrc_applied,
        site_position=data.site_xpos,
        site_axes=data.site_xmat,
        sensors=data.sensordata,
        warnings=data.warning.number,
        book=book,
        constants=constants,
    )
    return Scene(model, data, engine, rest)


def settle(scene: Scene, joints: FloatArray) -> None:
    """Put the arm at ``joints`` (shape (6,), rad) at rest, the face at rest, the clock at zero."""
    model, data, book = scene.model, scene.data, scene.engine.book
    mujoco.mj_resetData(model, data)
    data.qpos[book[: len(ARM)]] = joints
    data.ctrl[: len(ARM)] = joints
    mujoco.mj_forward(model, data)
