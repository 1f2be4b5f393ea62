"""Two forearms on a table: one itches at its middle, one may bear a dressing that must not be touched.

The itch is where the pad's site is; the dressing's middle lies `wound.along` metres further towards the
hand on the arm `wound.side` (left 1, right -1, none 0). The bench lists the pads ``forearm_left`` and
``forearm_right``, in this order.
"""

import math
from dataclasses import dataclass

import mujoco

from rig.sim.native import compiled
from rig.sim.state import Engine, Plant
from rig.sim.station import Station
from rig.sim.stations.touch import FORCE, SLIP


@dataclass(frozen=True, slots=True)
class ScratchParameters:
    """Constants of scratching, SI units. All proposals.

    Attributes:
        dressing_radius_m: Half the width of a small dressing.
        itch_half_length_m: Strokes this near the itch, along the arm, relieve it.
        itch_half_width_m: The same across the arm.
        least_relief_n: Less force than this does not relieve.
        most_relief_n: More force than this hurts instead.
        unseen_m: What the camera shows as the distance to a dressing that is not there.
        skin_quiet_gap_m: Nearer to the skin than this is never slow world.
    """

    dressing_radius_m: float = 0.015
    itch_half_length_m: float = 0.030
    itch_half_width_m: float = 0.020
    least_relief_n: float = 0.5
    most_relief_n: float = 6.0
    unseen_m: float = 1.0
    skin_quiet_gap_m: float = 0.06


LEFT, RIGHT = 0, 1  # places of the pads


@compiled
def drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Move the forearms as the person does; return whether they have moved."""
    world, book, q, v = plant.world[0], engine.book[0], engine.qpos, engine.qvel
    left, right = world.limb_left - q[book.limb_left], world.limb_right - q[book.limb_right]
    if dt_s > 0.0:
        v[book.limb_left_dof] = left / dt_s
        v[book.limb_right_dof] = right / dt_s
    else:
        q[book.limb_left] += left
        q[book.limb_right] += right
        v[book.limb_left_dof] = 0.0
        v[book.limb_right_dof] = 0.0
    return bool(left != 0.0 or right != 0.0)


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out what the tool does to itch, dressing and the arm that was not meant."""
    world, p, pads, vector = plant.world[0], plant.parameters[0], plant.pads, plant.vector
    height = engine.site_position[engine.book[0].tip, 2] - engine.site_position[pads[LEFT].site, 2]
    force_left, force_right = vector[pads[LEFT].place + FORCE], vector[pads[RIGHT].place + FORCE]
    world.truth_skin_gap = max(height, 0.0)
    world.truth_arm_force = max(force_left, force_right)
    world.truth_wrong_force = force_right if world.itch_side > 0.0 else force_left
    itching = pads[LEFT] if world.itch_side > 0.0 else pads[RIGHT]
    force = vector[itching.place + FORCE]
    at_itch = abs(itching.u) <= p.itch_half_length_m and abs(itching.v) <= p.itch_half_width_m
    if at_itch and p.least_relief_n <= force <= p.most_relief_n:
        world.truth_relief += vector[itching.place + SLIP] * p.tick_s
    world.wound_gap = p.unseen_m
    world.truth_wound_force = 0.0
    if world.wound_side != 0.0:
        bearing = pads[LEFT] if world.wound_side > 0.0 else pads[RIGHT]
        beside = math.hypot(bearing.u - world.wound_along, bearing.v) - p.dressing_radius_m
        world.wound_gap = math.hypot(max(beside, 0.0), max(height, 0.0))
        if beside < 0.0:
            world.truth_wound_force = vector[bearing.place + FORCE]
    world.wound_near = p.unseen_m
    if world.wound_side * world.itch_side > 0.0:
        world.wound_near = max(abs(world.wound_along) - p.dressing_radius_m, 0.0)


def why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: the tool is near the skin."""
    gap_m, quiet_m = plant.world[0]["truth_skin_gap"], plant.parameters[0]["skin_quiet_gap_m"]
    return f"the tool is {gap_m:.3f} m from the skin, nearer than {quiet_m} m" if gap_m < quiet_m else None


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Put the dressing where it is, and the one that is not there on the pillow, out of the way."""
    world = plant.world[0]
    for side, name in ((1.0, "dressing_left"), (-1.0, "dressing_right")):
        worn = world["wound_side"] * side > 0
        model.body(name).pos[:] = (world["wound_along"], 0.0, 0.037) if worn else (-0.53, -0.17 * side, 0.42)


STATION = Station(
    name="scratch",
    text="two forearms on a table, an itch, and a dressing that must not be touched",
    needs=("arm", "touch", "person"),
    body=("limb.left", "limb.right", "itch.side", "wound.side", "wound.along"),
    derived=(
        "wound.gap", "wound.near", "truth.arm_force", "truth.wrong_force", "truth.wound_force", "truth.relief",
        "truth.skin_gap",
    ),
    shown_as={"truth.itch_side": "itch.side"},
    stands={"itch.side": 1.0},
    parameters=ScratchParameters(),
    parts={
        "limb_left": ("joint", "limb.left"), "limb_left_dof": ("dof", "limb.left"),
        "limb_right": ("joint", "limb.right"), "limb_right_dof": ("dof", "limb.right"),
    },
    why_busy=why_busy,
    dress=dress,
    drive=drive,
    feel=feel,
)  # fmt: skip
