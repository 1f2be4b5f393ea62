"""A sleeve on a weak arm: a hoop on a cable, a cuff that catches, a collar that tightens, a stiff shoulder.

The engine carries arm, hoop, cable and the springs of cuff and collar; see ``hardware/scenes/sleeve.xml``.
Added here: what catches and comes free, how far the shoulder goes before it hurts, and how many
sleeves are on.
"""

import math
from dataclasses import dataclass

from rig.sim.native import compiled
from rig.sim.slow import ramp
from rig.sim.state import Engine, Plant
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class SleeveParameters:
    """Constants of sleeve and shoulder, SI units.

    Attributes:
        cable_m: Length of the cable from fingers to cuff. Scene.
        free_m: Setpoint of a spring that holds nothing back. Scene.
        collar_at_m: Place of the cuff from which a caught collar tightens. Proposal.
        armpit_m: Place from which the sleeve passes only a raised arm. Proposal.
        armpit_deg: Angle below which it does not. Proposal.
        tight_n: What holds it back then, per metre past `armpit_m`. Proposal.
        shoulder_nm_per_deg: Resistance of a stiff shoulder past its range. Proposal: 1.5 N m a degree,
            so that 6 N m show 4 degrees past it.
        range_deg: Range of a healthy old shoulder. Proposal.
        smooth_slack_n: A caught cuff is smoothed free under less pull than this. Proposal.
        on_m: A cuff past this place is on. Proposal (two centimetres short of the shoulder).
        slack_n: Less pull than this is a slack cable. Proposal.
        still_mps: Slower than this, nothing moves. Proposal.
    """

    cable_m: float = 0.10
    free_m: float = 3.0
    collar_at_m: float = 0.44
    armpit_m: float = 0.40
    armpit_deg: float = 35.0
    tight_n: float = 900.0
    shoulder_nm_per_deg: float = 1.5
    range_deg: float = 110.0
    smooth_slack_n: float = 3.0
    on_m: float = 0.53
    slack_n: float = 0.5
    still_mps: float = 0.004


_ON_ARM = 0.5  # a sleeve threaded this far is on the hand
_SMOOTHED = 0.99
_MOTORS = 2


@compiled
def drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Hold a sleeve that is not threaded at the hand; let cuff, collar and shoulder hold back."""
    world, p, book, q, v = plant.world[0], plant.parameters[0], engine.book[0], engine.qpos, engine.qvel
    moved = False
    if world.sleeve_thread < _ON_ARM:
        moved = q[book.hoop] != 0.0
        q[book.hoop] = 0.0
        v[book.hoop_dof] = 0.0
    threaded = world.sleeve_thread >= _ON_ARM
    engine.ctrl[book.cable] = p.cable_m if threaded else p.free_m
    caught = world.sleeve_snag > 0.0 and world.hidden_smoothed < 0.5
    engine.ctrl[book.snag] = world.sleeve_snag if caught else p.free_m
    tight_collar = world.collar_caught > 0.5 and world.hidden_smoothed < 0.5
    engine.ctrl[book.collar] = p.collar_at_m if tight_collar else p.free_m
    past_deg = max(math.degrees(q[book.raised]) - world.shoulder_range, 0.0)
    engine.wrench[book.limb, 4] = p.shoulder_nm_per_deg * past_deg  # about y: against the raise
    low = math.degrees(q[book.raised]) < p.armpit_deg
    tight = p.tight_n * max(q[book.hoop] - p.armpit_m, 0.0) if low else 0.0
    angle = q[book.raised]
    engine.wrench[book.hoop_body, 0] = tight * math.sin(angle)
    engine.wrench[book.hoop_body, 2] = -tight * math.cos(angle)
    return moved


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out pull, collar, shoulder and where the cuff is."""
    world, book, q, v, sensors = plant.world[0], engine.book[0], engine.qpos, engine.qvel, engine.sensors
    world.grip_x, world.grip_z, world.hold_raise = q[book.grip_x], q[book.grip_z], q[book.raised]
    world.sleeve_at = q[book.hoop]
    world.pull_force = max(-sensors[book.pull], 0.0)
    world.neck_force = max(-sensors[book.neck], 0.0)
    world.hold_torque = abs(sensors[book.holder])
    world.shoulder_angle = math.degrees(q[book.raised])
    speed = math.hypot(v[book.grip_x_dof], v[book.grip_z_dof]) if moving else 0.0
    turn = abs(v[book.raised_dof]) if moving else 0.0
    world.dress_moving = 1.0 if speed > plant.parameters[0].still_mps or turn > 0.02 else 0.0
    world.truth_past_range = max(world.shoulder_angle - world.shoulder_range, 0.0)
    lifting = moving and v[book.raised_dof] > 0.02
    world.truth_tugging = 1.0 if world.pull_force > 2.0 or lifting else 0.0


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Thread and smooth; a cuff smoothed without pull comes free; a sleeve let go when it is on stays on."""
    world, p, vector, drives = plant.world[0], plant.parameters[0], plant.vector, plant.drives
    before = world.sleeve_thread
    first = plant.stations[0].sleeve
    for i in range(first, first + _MOTORS):
        vector[i] = ramp(vector[i], drives[i].setpoint, drives[i].rate * dt_s)
    if world.sleeve_smooth >= _SMOOTHED and world.pull_force < p.smooth_slack_n:
        world.hidden_smoothed = 1.0
    if before >= _ON_ARM and world.sleeve_thread < _ON_ARM:
        if world.sleeve_at >= p.on_m:
            world.truth_sleeves += 1.0
        world.hidden_smoothed = 0.0


def _why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: the sleeve is pulled at, or the arm moves."""
    world, p = plant.world[0], plant.parameters[0]
    if world["pull_force"] > p["slack_n"]:
        return f"{world['pull_force']:.1f} N pull at the sleeve"
    return "the dressing arm moves" if world["dress_moving"] > 0 else None


STATION = Station(
    name="sleeve",
    text="a sleeve on a cable, a gripper that pulls it and a holder that raises the arm",
    servos=("grip.x", "grip.z", "hold.raise"),
    motors=("sleeve.thread", "sleeve.smooth"),
    body=("sleeve.snag", "collar.caught", "shoulder.range"),
    derived=(
        "sleeve.at", "pull.force", "neck.force", "hold.torque", "shoulder.angle", "dress.moving",
        "truth.past_range", "truth.tugging", "truth.sleeves",
    ),
    hidden=("hidden.smoothed",),
    shown_as={
        "truth.pull": "pull.force", "truth.neck": "neck.force", "sleeve.count": "truth.sleeves",
        "pull.force2": "pull.force",
    },
    stands={"shoulder.range": SleeveParameters().range_deg},
    parameters=SleeveParameters(),
    parts={
        "grip_x": ("joint", "grip.x"), "grip_z": ("joint", "grip.z"), "raised": ("joint", "hold.raise"),
        "hoop": ("joint", "hoop"), "grip_x_dof": ("dof", "grip.x"), "grip_z_dof": ("dof", "grip.z"),
        "raised_dof": ("dof", "hold.raise"), "hoop_dof": ("dof", "hoop"),
        "limb": ("body", "limb"), "hoop_body": ("body", "hoop"),
        "cable": ("actuator", "cable"), "snag": ("actuator", "snag"), "collar": ("actuator", "collar"),
        "pull": ("sensor", "cable"), "neck": ("sensor", "collar"), "holder": ("sensor", "holder"),
    },
    why_busy=_why_busy,
    drive=drive,
    feel=feel,
    pass_time=pass_time,
)  # fmt: skip
