"""Skin pads: what a tool does to named pieces of skin, felt at the rate of the physics.

Each pad of the bench file is a body ``pad.NAME`` of the scene on a slide joint of the same name along
the outward normal, with a site of that name on its surface whose x axis points out of the skin. The
spring under it is the body region's, so force is stiffness times displacement on every tick, and the
largest force so far is kept, whatever the period of the channel that shows it.
"""

import math
from collections.abc import Mapping

import mujoco

from rig.sim.native import compiled
from rig.sim.state import Engine, Plant
from rig.sim.station import Station

FORCE, PRESSURE, SLIP, PEAK = range(4)
"""Places of a pad's quantities: force (N), pressure (Pa), slip speed (m/s), largest force so far (N)."""

REGIONS: Mapping[str, float] = {
    "face": 75e3, "forehead": 150e3, "neck": 50e3, "back": 35e3, "shoulder": 35e3, "chest": 25e3,
    "abdomen": 10e3, "pelvis": 25e3, "upper_arm": 30e3, "forearm": 40e3, "hand": 75e3, "thigh": 50e3,
    "lower_leg": 60e3,
}  # fmt: skip
"""Stiffness by body region, N/m. Source: ISO/TS 15066 table A.4 (transcription, to be verified)."""

DAMPING_RATIO = 0.5
TOUCH_N = 0.05


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out force, pressure and slip on every pad, and keep the peaks."""
    pads, vector, q = plant.pads, plant.vector, engine.qpos
    site, axes, tip = engine.site_position, engine.site_axes, engine.book[0].tip
    for i in range(pads.shape[0]):
        pad = pads[i]
        s, place = pad.site, pad.place
        force = pad.stiffness * max(-q[pad.joint], 0.0)
        x, y, z = site[tip, 0] - site[s, 0], site[tip, 1] - site[s, 1], site[tip, 2] - site[s, 2]
        u = x * axes[s, 1] + y * axes[s, 4] + z * axes[s, 7]
        v = x * axes[s, 2] + y * axes[s, 5] + z * axes[s, 8]
        touched = force > TOUCH_N
        vector[place + FORCE] = force
        vector[place + PRESSURE] = force / pad.area_m2
        vector[place + SLIP] = 0.0
        if moving and touched and pad.touched == 1:
            vector[place + SLIP] = math.hypot(u - pad.u, v - pad.v) / plant.parameters[0].tick_s
        vector[place + PEAK] = max(vector[place + PEAK], force)
        pad.touched = 1 if touched else 0
        pad.u = u
        pad.v = v


def measure(model: mujoco.MjModel, data: mujoco.MjData) -> Mapping[str, float]:
    """Return the length of a tick."""
    return {"tick_s": float(model.opt.timestep)}


def why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: something presses on a pad."""
    forces = plant.vector[plant.pads["place"] + FORCE]
    return "the tool touches the skin" if (forces > TOUCH_N).any() else None


STATION = Station(
    name="touch",
    text="pads of skin that feel force, pressure and slip of a tool",
    needs=("arm",),
    measured=("tick_s",),
    measure=measure,
    why_busy=why_busy,
    feel=feel,
)
