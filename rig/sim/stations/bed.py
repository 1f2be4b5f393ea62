"""The bed: four motors, their current, a limb that gets into the frame, and where the trunk lies."""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from rig.core.channel import FloatArray
from rig.sim.native import compiled
from rig.sim.slow import ramp
from rig.sim.state import Plant, Record
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class BedParameters:
    """Constants of the bed, SI units.

    Attributes:
        limb_stiffness: Forearm, 40 N/mm. Source: ISO/TS 15066 table (transcription, to be verified).
        limb_slack_m: Travel before a limb in the gap is touched. Proposal.
        back_lever_m: Distance of the pinched limb from the back-rest hinge. Proposal.
        tilt_lever_m: The same for the sideways turn. Proposal.
        bed_thrust_n: Force at which the bed's motor stalls. Proposal.
        motor_a: Current of one bed motor running free. Proposal.
        motor_a_per_kg: Added current per kilogram on the bed. Proposal.
        motor_a_per_n: Added current per newton on a trapped limb. Proposal (33 N adds 30 %).
    """

    limb_stiffness: float = 40e3
    limb_slack_m: float = 0.005
    back_lever_m: float = 0.15
    tilt_lever_m: float = 0.30
    bed_thrust_n: float = 1000.0
    motor_a: float = 1.5
    motor_a_per_kg: float = 0.01
    motor_a_per_n: float = 0.02


_MOTORS = 4
_RAIL_TRAVEL_M = 0.30


@compiled
def _limb_force(world: Record, p: Record) -> float:
    """Return the force on a limb in the frame: a spring squeezed by the bed's travel since it got in."""
    if world.person_limb < 0.5:
        return 0.0
    travel = (
        p.back_lever_m * math.radians(abs(world.bed_back - world.hidden_limb_back))
        + p.tilt_lever_m * math.radians(abs(world.bed_tilt - world.hidden_limb_tilt))
        + abs(world.bed_height - world.hidden_limb_height)
    )
    return p.limb_stiffness * max(travel - p.limb_slack_m, 0.0)


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Let the bed follow its setpoints; a trapped limb is squeezed, and stalls the motor in the end."""
    world, p, vector, drives = plant.world[0], plant.parameters[0], plant.vector, plant.drives
    if world.person_limb >= 0.5 and world.hidden_limb_before < 0.5:
        world.hidden_limb_back = world.bed_back
        world.hidden_limb_tilt = world.bed_tilt
        world.hidden_limb_height = world.bed_height
    world.hidden_limb_before = world.person_limb
    back, height, tilt = world.bed_back, world.bed_height, world.bed_tilt
    running = 0
    first = plant.stations[0].bed
    for i in range(first, first + _MOTORS):
        if vector[i] != drives[i].setpoint:
            running += 1
            vector[i] = ramp(vector[i], drives[i].setpoint, drives[i].rate * dt_s)
    force = _limb_force(world, p)
    if force > p.bed_thrust_n and force > world.truth_limb_force:
        world.bed_back = back
        world.bed_height = height
        world.bed_tilt = tilt
        force = _limb_force(world, p)
    world.truth_limb_force = force
    world.bed_moving = 1.0 if running > 0 else 0.0
    world.bed_current = 0.0
    if running > 0:
        load = p.motor_a_per_kg * world.person_weight + p.motor_a_per_n * force
        world.bed_current = running * p.motor_a + load
    world.truth_back = max(world.bed_back - world.person_slump, 0.0)


def _turn(angle_deg: float, axis: tuple[float, float, float]) -> FloatArray:
    quaternion = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, np.array(axis), math.radians(angle_deg))
    return quaternion


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Place mattress, back-rest with trunk, and rails."""
    world = plant.world[0]
    tilt, back = _turn(world["bed_tilt"], (1.0, 0.0, 0.0)), np.zeros(4)
    mujoco.mju_mulQuat(back, tilt, _turn(world["truth_back"], (0.0, 1.0, 0.0)))
    level = np.array([1.0, 0.0, 0.0, 0.0])
    rail_z = world["bed_height"] - 0.12 + _RAIL_TRAVEL_M * world["bed_rails"]
    for name, z, quaternion in (
        ("mattress", world["bed_height"], tilt),
        ("backrest", world["bed_height"], back),
        ("rail_left", rail_z, level),
        ("rail_right", rail_z, level),
    ):
        place = int(model.body(name).mocapid[0])
        data.mocap_pos[place, 2] = z
        data.mocap_quat[place] = quaternion


STATION = Station(
    name="bed",
    text="adjustable bed: back-rest, height, sideways turn and rails",
    motors=("bed.back", "bed.height", "bed.tilt", "bed.rails"),
    body=("person.weight", "person.slump", "person.limb"),
    derived=("bed.current", "bed.moving", "truth.back", "truth.limb_force"),
    hidden=(
        "hidden.limb_before", "hidden.limb_back", "hidden.limb_height", "hidden.limb_tilt",
    ),
    shown_as={"bed.back2": "bed.back", "mat.weight": "person.weight"},
    stands={"bed.back": 30.0, "bed.height": 0.45, "person.weight": 70.0},
    parameters=BedParameters(),
    dress=dress,
    pass_time=pass_time,
)  # fmt: skip
