"""The arm: six joints, a force sensor at the wrist, and whatever tool is fitted behind it."""

import math
from collections.abc import Mapping

import mujoco
import numpy as np

from rig.sim.native import compiled
from rig.sim.state import Engine, Plant
from rig.sim.station import Start, Station


@compiled
def drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Let the mass that hangs from the tool pull at it."""
    pull = plant.world[0].hidden_hung_kg * plant.parameters[0].gravity
    engine.wrench[engine.book[0].tool, 2] = -pull
    return False


@compiled
def _feel_wrist(engine: Engine, plant: Plant) -> None:
    """Work out the wrist force without the tool's own weight."""
    book, axes, sensors = engine.book[0], engine.site_axes, engine.sensors
    f, site = book.wrist, book.wrist_site
    a, b, c = sensors[f], sensors[f + 1], sensors[f + 2]
    x = axes[site, 0] * a + axes[site, 1] * b + axes[site, 2] * c
    y = axes[site, 3] * a + axes[site, 4] * b + axes[site, 5] * c
    z = axes[site, 6] * a + axes[site, 7] * b + axes[site, 8] * c - plant.parameters[0].tool_weight
    plant.world[0].wrist_force = math.sqrt(x * x + y * y + z * z)


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out wrist force and speed of the tool's tip; without motion it has none."""
    world = plant.world[0]
    world.tool_speed = 0.0
    if moving:
        _feel_wrist(engine, plant)
        v, sensors = engine.book[0].tip_velocity, engine.sensors
        a, b, c = sensors[v], sensors[v + 1], sensors[v + 2]
        world.tool_speed = math.sqrt(a * a + b * b + c * c)


def measure(model: mujoco.MjModel, data: mujoco.MjData) -> Mapping[str, float]:
    """Return gravity and the weight of the tool that is fitted."""
    gravity = float(np.linalg.norm(model.opt.gravity))
    return {"gravity": gravity, "tool_weight": float(model.body_subtreemass[model.body("tool").id]) * gravity}


STATION = Station(
    name="arm",
    text="arm with six joints, wrist force sensor and an interchangeable tool",
    servos=("arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon"),
    derived=("wrist.force", "tool.speed"),
    hidden=("hidden.hung_kg",),
    starts={"tool.hung": Start("hidden.hung_kg", 0.0, 0.0, 20.0, "kg")},
    parts={
        "tool": ("body", "tool"),
        "tip": ("site", "tool_tip"),
        "wrist_site": ("site", "wrist"),
        "wrist": ("sensor", "wrist"),
        "tip_velocity": ("sensor", "tip_velocity"),
    },
    measured=("gravity", "tool_weight"),
    measure=measure,
    drive=drive,
    feel=feel,
)
