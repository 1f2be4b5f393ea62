"""Handing something over: a gripper that reaches out, turns and opens, and a hand that takes hold or does not.

The object is where it is held: on the table, in the gripper, in the hand; with nobody holding at
least half of its weight it falls. The hand is scalded by what is hot, cut by what is sharp, on the
side that is turned to it.
"""

import math
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from rig.sim.heat import scald_time
from rig.sim.native import compiled
from rig.sim.slow import ramp
from rig.sim.state import Plant
from rig.sim.station import Start, Station

_MOTORS = 3
TABLE, GRIPPER, HAND, FALLING, FLOOR = 0.0, 1.0, 2.0, 3.0, 4.0


@dataclass(frozen=True, slots=True)
class HandingParameters:
    """Constants of handing over, SI units.

    Attributes:
        gravity: Standard gravity.
        hold_share: Share of the weight somebody must carry so that it does not slip. Card E1: half.
        fall_m: From the hand to the floor. Proposal.
        at_table_m: Reach up to which the gripper is over the table. Scene.
        mug_cooling_s: Time constant of a filled mug towards the room. Proposal (20 minutes).
        mug_room: Air. Proposal.
        harmless: No scald dose at or below it: 44 degC. Source: HSE, immersion of vulnerable people.
        wrong_way_deg: Turned further than this the blade, or the bare side of a mug, points at the person.
    """

    gravity: float = 9.80665
    hold_share: float = 0.5
    fall_m: float = 0.75
    at_table_m: float = 0.02
    mug_cooling_s: float = 1200.0
    mug_room: float = 22.0
    harmless: float = 44.0
    wrong_way_deg: float = 90.0


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Let the motors follow; let the object be held, change hands, or fall; hurt or spare the hand."""
    world, p, vector, drives = plant.world[0], plant.parameters[0], plant.vector, plant.drives
    first = plant.stations[0].handing
    for i in range(first, first + _MOTORS):
        vector[i] = ramp(vector[i], drives[i].setpoint, drives[i].rate * dt_s)
    closed = world.hand_grip < 0.5
    if world.hidden_where == TABLE and closed and world.hand_reach < p.at_table_m:
        world.hidden_where = GRIPPER
    elif world.hidden_where == GRIPPER and not closed:
        if world.hand_reach < p.at_table_m:
            world.hidden_where = TABLE
        elif world.person_pull >= p.hold_share:
            world.hidden_where = HAND
            world.truth_given += 1.0
        else:
            world.hidden_where = FALLING
    elif world.hidden_where == HAND and world.person_pull < p.hold_share and closed:
        world.hidden_where = HAND  # what was taken is the person's own business
    elif (
        world.hidden_where >= HAND
        and world.person_left > 0.5
        and world.hand_reach < p.at_table_m
        and not closed
    ):
        world.hidden_where = TABLE  # the next one stands ready
        world.object_temperature = world.hidden_served
        world.hidden_dropped_m = 0.0
    if world.hidden_where == FALLING:
        world.truth_fall += p.gravity * (1.0 - world.person_pull) * dt_s
        world.hidden_dropped_m += world.truth_fall * dt_s
        if world.hidden_dropped_m >= p.fall_m:
            world.hidden_where = FLOOR
            world.truth_spill += world.hidden_volume
    else:
        world.truth_fall = 0.0
    offered = (world.hidden_where == GRIPPER and world.hand_reach > 0.1) or world.hidden_where == HAND
    touching = offered and world.person_pull > 0.02
    world.object_share = world.person_pull if world.hidden_where == GRIPPER else 0.0
    world.object_held = 1.0 if world.hidden_where == GRIPPER else 0.0
    world.object_temperature = (
        p.mug_room + (world.object_temperature - p.mug_room) * plant.factors[0].mug_cooling_s
    )
    if touching and world.hand_turn > p.wrong_way_deg:
        if world.object_temperature > p.harmless:
            world.truth_hand_dose += dt_s / scald_time(world.object_temperature, plant.scald)
        if world.object_sharp > 0.5:
            world.truth_cut = 1.0


def begin(world: Any, p: Any) -> None:  # noqa: ANN401 records
    """Keep in mind how hot the next ones come."""
    world["hidden_served"] = world["object_temperature"]


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Place gripper, object and hand."""
    world = plant.world[0]
    reach, where = float(world["hand_reach"]), float(world["hidden_where"])
    object_x = {TABLE: 0.0, GRIPPER: reach, HAND: 0.62, FALLING: 0.60, FLOOR: 0.60}[where]
    object_z = 0.80 if where <= HAND else max(0.05, 0.80 - float(world["hidden_dropped_m"]))
    turn = math.radians(float(world["hand_turn"]))
    for name, x, z, angle in (
        ("gripper", reach - 0.06, 0.80, 0.0),
        ("object", object_x, object_z, turn),
        ("hand", 0.70 - 0.06 * float(world["person_pull"]), 0.80, 0.0),
    ):
        place = int(model.body(name).mocapid[0])
        data.mocap_pos[place] = (x, 0.0, z)
        data.mocap_quat[place] = np.array([math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)])


STATION = Station(
    name="handing",
    text="a gripper that hands things over, and the hand that takes them",
    motors=("hand.reach", "hand.grip", "hand.turn"),
    body=("person.pull", "person.left"),
    derived=(
        "object.temperature", "object.share", "object.held", "object.sharp", "truth.fall", "truth.spill",
        "truth.hand_dose", "truth.cut", "truth.given",
    ),
    hidden=("hidden.where", "hidden.dropped_m", "hidden.volume", "hidden.served"),
    shown_as={"truth.reach": "hand.reach"},
    stands={"hand.grip": 1.0},
    starts={
        "object.temperature": Start("object.temperature", 22.0, 0.0, 100.0, "degC"),
        "object.sharp": Start("object.sharp", 0.0, 0.0, 1.0, "1"),
        "object.volume": Start("hidden.volume", 0.0, 0.0, 1000.0, "ml"),
    },
    parameters=HandingParameters(),
    lags=("mug_cooling_s",),
    begin=begin,
    dress=dress,
    pass_time=pass_time,
)  # fmt: skip
