"""The scene: the engine's model of a bench, loaded from ``hardware/scenes``.

The file gives shapes and masses. The springs of body regions come from the stations' parameters, so
that there is one place where such numbers and their sources stand.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import mujoco
import numpy as np
from numpy.typing import NDArray

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray
from rig.core.data import scene_files
from rig.core.errors import ConfigError
from rig.sim.composition import Composition
from rig.sim.springs import fit_spring
from rig.sim.state import Engine, Plant
from rig.sim.stations.touch import DAMPING_RATIO


@dataclass(frozen=True, slots=True)
class Scene:
    """A loaded scene: the engine's structures and the kernel's view of them."""

    model: mujoco.MjModel
    data: mujoco.MjData
    engine: Engine
    rest: FloatArray  # joint angles of the servos at rest, from the scene's keyframe "rest"


def _load_model(bench: BenchSpec) -> mujoco.MjModel:
    source, text, assets = scene_files(bench.scene, bench.tool)
    try:
        return mujoco.MjModel.from_xml_string(text, assets)
    except ValueError as error:
        raise ConfigError(source, [f"not a scene the engine can load: {error}"]) from None


def find(model: mujoco.MjModel, kind: str, name: str) -> int:
    """Return where a part of the scene is: an address in positions, speeds or sensor data, or an id.

    Args:
        model: The loaded scene.
        kind: ``joint`` (address in qpos), ``dof`` (address in qvel), ``sensor`` (address in
            sensordata), ``site``, ``body``, ``actuator``, ``tendon`` or ``equality`` (ids).
        name: The part's name.

    Raises:
        KeyError: If there is no such part.
    """
    if kind == "joint":
        return int(model.joint(name).qposadr[0])
    if kind == "dof":
        return int(model.joint(name).dofadr[0])
    if kind == "sensor":
        return int(model.sensor(name).adr[0])
    return int(getattr(model, kind)(name).id)


def _check_actuators(model: mujoco.MjModel, made: Composition, source: str) -> None:
    names = [model.actuator(i).name for i in range(model.nu)]
    parts = [name for s in made.stations for kind, name in s.parts.values() if kind == "actuator"]
    if sorted(names) != sorted([*made.servos, *parts]):
        wanted = ", ".join((*made.servos, *parts)) or "none"
        raise ConfigError(source, [f"actuators must be {wanted}; there are {', '.join(names)}"])


def _fit(model: mujoco.MjModel, made: Composition, plant: Plant, bench: BenchSpec) -> None:
    """Adapt the model to the parameters, and tell the plant where servos and pads are."""
    constants = SimpleNamespace(**made.constants)
    for station in made.stations:
        if station.fit is not None:
            station.fit(model, constants)
    for drive, name in zip(plant.drives, made.servos, strict=False):
        drive["ctrl"], drive["joint"] = find(model, "actuator", name), find(model, "joint", name)
        drive["dof"] = find(model, "dof", name)
    for record, pad in zip(plant.pads, bench.pads, strict=True):
        name = f"pad.{pad.name}"
        fit_spring(model, name, float(record["stiffness"]), DAMPING_RATIO)
        record["joint"], record["site"] = find(model, "joint", name), find(model, "site", name)


def _book(model: mujoco.MjModel, made: Composition) -> NDArray[np.void]:
    parts = {field: find(model, *part) for s in made.stations for field, part in s.parts.items()}
    return np.array([tuple(parts.values()) or (0,)], [(n, np.int64) for n in parts or ["nothing"]])


def load_scene(bench: BenchSpec, made: Composition, plant: Plant) -> Scene:
    """Load a bench's scene, and complete the plant with what depends on it.

    Raises:
        UsageError: If there is no such scene.
        ConfigError: If the engine cannot load it, or parts the stations need are missing.
    """
    model = _load_model(bench)
    model.opt.timestep = bench.tick_ns / 1e9
    try:
        _check_actuators(model, made, bench.scene)
        _fit(model, made, plant, bench)
        book = _book(model, made)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        rest = model.key("rest").qpos[plant.drives["joint"][: plant.servos]].copy()
        clock = find(model, "sensor", "clock")
        for station in made.stations:
            if station.measure is not None:
                for name, value in station.measure(model, data).items():
                    plant.parameters[0][name] = value
    except KeyError as error:
        raise ConfigError(bench.scene, [f"the scene lacks a part: {error}"]) from None
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
        connected=data.eq_active,
        clock=clock,
        book=book,
    )
    return Scene(model, data, engine, rest)


def settle(scene: Scene, plant: Plant, joints: FloatArray) -> None:
    """Put the servos at ``joints`` (shape (servos,)) at rest, all else at rest, the clock at zero."""
    model, data, drives = scene.model, scene.data, plant.drives[: plant.servos]
    mujoco.mj_resetDataKeyframe(model, data, model.key("rest").id)
    data.qpos[drives["joint"]] = joints
    data.ctrl[drives["ctrl"]] = joints
    mujoco.mj_forward(model, data)
