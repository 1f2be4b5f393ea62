"""A hoist with a sling on four loops, a bed to lift from, a chair on castors to sit down on.

The engine carries loops, resident, cushions and castors; see ``hardware/scenes/hoist.xml``. Added
here: hooks that hold only when their latch has caught, an arm caught in the sling, what would tip
the hoist over, and how long somebody hangs there alone.
"""

import math
from dataclasses import dataclass
from typing import Any

import mujoco

from rig.core.channel import FloatArray
from rig.sim.native import compiled
from rig.sim.slow import ramp
from rig.sim.state import Engine, Plant, Record, Records
from rig.sim.station import Station

LOOPS = ("back_left", "back_right", "front_left", "front_right")
_SHUT = 0.999  # a hook from here on is shut
_MOTORS = 6
PADS = {"mattress": "mattress_stiffness", "seat": "seat_stiffness", "arm_pad": "hip_stiffness",
        "mast_pad": "knee_stiffness"}  # fmt: skip
GRAVITY = 9.81


@dataclass(frozen=True, slots=True)
class HoistParameters:
    """Constants of hoist, sling and cushions, SI units.

    Attributes:
        mattress_stiffness: Bed under a lying person, 30 N/mm (24 mm under 75 kg). Proposal.
        seat_stiffness: Chair's cushion, the same. Proposal.
        hip_stiffness: Pelvis, 25 N/mm. Source: ISO/TS 15066 table (transcription, to be verified).
        knee_stiffness: Thigh and knee, 50 N/mm. Same source.
        damping_ratio: Of every cushion with what lies on it. Proposal.
        cushion_kg: Mass that goes with mattress and seat for their damping. Proposal.
        model_kg: Mass of the resident in the scene; what the chart adds to it hangs on as weight. Scene.
        back_loop_m: Length of a loop at the shoulders. Scene, so that the bar hangs level.
        front_loop_m: Length of a loop at the thighs. Scene.
        loose_m: Length of a loop that is on no hook: nothing pulls. Scene.
        slip_m: Clearance at which a loop comes off a hook whose latch is open. Proposal: the card's
            irreversible point is 50 mm.
        sling_stiffness: Strap over a caught forearm, 4 N/mm: webbing gives where a frame does not. Proposal.
        caught_slack_m: Travel before a caught arm is felt. Proposal.
        hoist_kg: Mass of the hoist itself. Proposal (mobile floor hoists weigh 35 to 60 kg).
        narrow_m: Half the track of the hoist's legs, closed. Proposal.
        wide_m: The same with the legs spread. Proposal.
        lifted_m: Clearance from which somebody counts as aloft. Card C4.
        still_mps: Slower than this the hoist stands. Proposal.
        slack_n: Less on all loops together than this, and the resident is not held by the hoist. Proposal.
        chair_y_m: Where the middle of the chair is along the hoist's way. Scene.
        support_m: Distance from the middle of bed or chair within which the sling hangs over it. Scene.
    """

    mattress_stiffness: float = 30e3
    seat_stiffness: float = 30e3
    hip_stiffness: float = 25e3
    knee_stiffness: float = 50e3
    damping_ratio: float = 0.5
    cushion_kg: float = 20.0
    model_kg: float = 77.0
    back_loop_m: float = 0.42
    front_loop_m: float = 0.745
    loose_m: float = 3.0
    slip_m: float = 0.055
    sling_stiffness: float = 4e3
    caught_slack_m: float = 0.005
    hoist_kg: float = 45.0
    narrow_m: float = 0.10
    wide_m: float = 0.30
    lifted_m: float = 0.05
    still_mps: float = 0.005
    slack_n: float = 8.0
    chair_y_m: float = -1.15
    support_m: float = 0.25


def _fit(model: mujoco.MjModel, p: Any) -> None:  # noqa: ANN401  the constants by name
    """Give every cushion its stiffness, and the damping that goes with the mass on it."""
    for pad, stiffness_name in PADS.items():
        joint = model.joint(pad)
        stiffness = float(getattr(p, stiffness_name))
        mass = float(model.body_mass[joint.bodyid[0]])
        if pad in ("mattress", "seat"):
            mass = max(mass, p.cushion_kg)
        model.jnt_stiffness[joint.id] = stiffness
        model.dof_damping[joint.dofadr[0]] = 2.0 * p.damping_ratio * math.sqrt(stiffness * mass)


@compiled
def _drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Put loops on hooks and brakes on wheels; let the resident lean, and weigh what the chart says not."""
    world, p, book, ctrl = plant.world[0], plant.parameters[0], engine.book[0], engine.ctrl
    back, front, loose = p.back_loop_m, p.front_loop_m, p.loose_m
    ctrl[book.back_left] = back if world.hidden_on_back_left > 0.5 else loose
    ctrl[book.back_right] = back if world.hidden_on_back_right > 0.5 else loose
    ctrl[book.front_left] = front if world.hidden_on_front_left > 0.5 else loose
    ctrl[book.front_right] = front if world.hidden_on_front_right > 0.5 else loose
    ctrl[book.chair_brake] = world.chair_brake
    engine.wrench[book.person, 1] = world.person_lean
    engine.wrench[book.person, 2] = -(world.person_weight - p.model_kg) * GRAVITY
    return False


@compiled
def _clearance(y: float, bottom_m: float, bed_top_m: float, seat_top_m: float, p: Record) -> float:
    """Return the height of the resident's underside over bed or chair, over the floor between them."""
    if abs(y) < 2.0 * p.support_m:
        return bottom_m - bed_top_m
    if abs(y - p.chair_y_m) < p.support_m:
        return bottom_m - seat_top_m
    return bottom_m


@compiled
def _feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out tensions, cushions, clearance and swing."""
    world, p, book, q, sensors = (
        plant.world[0],
        plant.parameters[0],
        engine.book[0],
        engine.qpos,
        engine.sensors,
    )
    site = engine.site_position
    world.hoist_travel = q[book.travel]
    world.hoist_lift = q[book.lift]
    world.hoist_speed = abs(engine.qvel[book.lift]) if moving else 0.0
    world.hoist_travel_speed = abs(engine.qvel[book.travel]) if moving else 0.0
    world.load_back_left = max(-sensors[book.pull_back_left], 0.0)
    world.load_back_right = max(-sensors[book.pull_back_right], 0.0)
    world.load_front_left = max(-sensors[book.pull_front_left], 0.0)
    world.load_front_right = max(-sensors[book.pull_front_right], 0.0)
    back, front = world.load_back_left + world.load_back_right, world.load_front_left + world.load_front_right
    world.hoist_load = back + front
    pitch, roll = q[book.spreader_pitch], q[book.spreader_roll]
    world.spreader_tilt = math.degrees(math.sqrt(pitch * pitch + roll * roll))
    world.bed_load = max(-q[book.mattress], 0.0) * p.mattress_stiffness
    world.chair_load = max(-q[book.seat], 0.0) * p.seat_stiffness
    world.truth_chair_shift = abs(q[book.chair])
    pressed = max(-q[book.arm_pad], 0.0) * p.hip_stiffness
    world.hidden_pressed = max(pressed, max(q[book.mast_pad], 0.0) * p.knee_stiffness)
    weight_n = world.person_weight * GRAVITY
    landing = max(world.chair_load, world.bed_load) - weight_n if moving else 0.0
    world.truth_impact = max(world.hidden_pressed, landing) + 0.0
    # The body's middle, and its underside between the hips.
    body = book.body
    x, y, z = sensors[body], sensors[body + 1], sensors[body + 2]
    hinge_x, hinge_y, hinge_z = site[book.hinge, 0], site[book.hinge, 1], site[book.hinge, 2]
    aside = math.sqrt((x - hinge_x) ** 2 + (y - hinge_y) ** 2)
    held = world.hoist_load > 0.5 * weight_n
    world.truth_swing = math.degrees(math.atan2(aside, hinge_z - z)) if held else 0.0
    bottom = site[book.underside, 2]
    world.sling_clearance = _clearance(
        site[book.underside, 1], bottom, site[book.bed_top, 2], site[book.seat_top, 2], p
    )
    track = p.narrow_m + (p.wide_m - p.narrow_m) * world.hoist_base
    load_kg = world.hoist_load / GRAVITY
    off_m = load_kg / (load_kg + p.hoist_kg) * abs(y - hinge_y) / max(hinge_z - z, 0.1) * hinge_z
    world.truth_tipping = off_m / track if held else 0.0
    _hooks(world, p, book, sensors)
    up = moving and engine.qvel[book.lift] > p.still_mps
    along = world.hoist_travel_speed > p.still_mps
    world.truth_carried_on = 1.0 if held and (up or along) else 0.0
    world.hoist_moving = 1.0 if along or world.hoist_speed > p.still_mps else 0.0


@compiled
def _hook(closed: float, on: float, latched: bool, reached: bool, clearance: float, slip_m: float) -> float:
    """Return whether a loop is on its hook (1), off (0), or came off because the latch had not caught (-1)."""
    if closed < 0.5:
        return 0.0
    if on == 0.0:
        return 1.0 if reached and closed < _SHUT else 0.0
    if on > 0.5 and not latched and clearance > slip_m:
        return -1.0
    return on


@compiled
def _latched(closed: float, on: float, unseated: bool) -> float:
    """Return whether a latch has caught: the hook is shut, with its loop, and nothing is in the way."""
    return 1.0 if closed >= _SHUT and on > 0.5 and not unseated else 0.0


@compiled
def _hooks(world: Record, p: Record, book: Records, sensors: FloatArray) -> None:
    """Let loops go on hooks, latches catch, and loops slip off hooks whose latch is open."""
    laid, away, bad = world.hoist_sling >= _SHUT, world.sling_clearance, world.sling_unseated
    back, front, slip_m = p.back_loop_m, p.front_loop_m, p.slip_m
    world.hidden_on_back_left = _hook(
        world.hook_back_left, world.hidden_on_back_left, world.latch_back_left > 0.5,
        laid and sensors[book.long_back_left] <= back, away, slip_m)  # fmt: skip
    world.hidden_on_back_right = _hook(
        world.hook_back_right, world.hidden_on_back_right, world.latch_back_right > 0.5,
        laid and sensors[book.long_back_right] <= back, away, slip_m)  # fmt: skip
    world.hidden_on_front_left = _hook(
        world.hook_front_left, world.hidden_on_front_left, world.latch_front_left > 0.5,
        laid and sensors[book.long_front_left] <= front, away, slip_m)  # fmt: skip
    world.hidden_on_front_right = _hook(
        world.hook_front_right, world.hidden_on_front_right, world.latch_front_right > 0.5,
        laid and sensors[book.long_front_right] <= front, away, slip_m)  # fmt: skip
    world.latch_back_left = _latched(world.hook_back_left, world.hidden_on_back_left, bad == 1.0)
    world.latch_back_right = _latched(world.hook_back_right, world.hidden_on_back_right, bad == 2.0)
    world.latch_front_left = _latched(world.hook_front_left, world.hidden_on_front_left, bad == 3.0)
    world.latch_front_right = _latched(world.hook_front_right, world.hidden_on_front_right, bad == 4.0)
    world.latch_closed = (
        world.latch_back_left + world.latch_back_right + world.latch_front_left + world.latch_front_right
    )
    world.camera_loops = (
        max(world.hidden_on_back_left, 0.0) + max(world.hidden_on_back_right, 0.0)
        + max(world.hidden_on_front_left, 0.0) + max(world.hidden_on_front_right, 0.0)
    )  # fmt: skip


@compiled
def _squeeze(world: Record, p: Record) -> None:
    """Work out the force on an arm caught in the sling: a spring, squeezed by what the hoist has moved since."""
    if world.person_caught < 0.5:
        world.truth_caught_force = 0.0
    else:
        if world.hidden_caught_before < 0.5:
            world.hidden_caught_lift, world.hidden_caught_travel = world.hoist_lift, world.hoist_travel
        moved_m = abs(world.hoist_lift - world.hidden_caught_lift)
        moved_m += abs(world.hoist_travel - world.hidden_caught_travel)
        world.truth_caught_force = p.sling_stiffness * max(moved_m - p.caught_slack_m, 0.0)
    world.hidden_caught_before = world.person_caught


@compiled
def _pass_time(plant: Plant, dt_s: float) -> None:
    """Let legs, sling and hooks follow their setpoints; squeeze what is caught; run the timers."""
    world, p, vector, drives = plant.world[0], plant.parameters[0], plant.vector, plant.drives
    first = plant.stations[0].hoist
    for i in range(first, first + _MOTORS):
        vector[i] = ramp(vector[i], drives[i].setpoint, drives[i].rate * dt_s)
    _squeeze(world, p)
    weight_n = max(world.person_weight * GRAVITY, 1.0)
    world.truth_chair_share = world.chair_load / weight_n
    world.truth_bed_share = world.bed_load / weight_n
    aloft = world.sling_clearance > p.lifted_m and world.hoist_load > 0.5 * weight_n
    alone = world.carer_present < 0.5
    world.truth_aloft_s = world.truth_aloft_s + dt_s if aloft and alone else 0.0
    if world.truth_chair_share > 0.5 and world.hoist_load < p.slack_n:
        world.truth_seated_s += dt_s


def _why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: somebody hangs on the loops, or is pressed against something."""
    world, p = plant.world[0], plant.parameters[0]
    if world["hoist_load"] > p["slack_n"]:
        return f"{world['hoist_load']:.0f} N hang on the hoist"
    if world["hidden_pressed"] > p["slack_n"]:
        return "the resident is pressed against something"
    return None


STATION = Station(
    name="hoist",
    text="a hoist with a sling on four loops, a bed to lift from and a chair on castors",
    needs=("carer",),
    servos=("hoist.travel", "hoist.lift"),
    motors=("hoist.base", "hoist.sling", *(f"hook.{loop}" for loop in LOOPS)),
    body=(
        "person.weight", "person.lean", "person.caught", "sling.unseated", "chair.brake",
    ),
    derived=(
        "hoist.speed", "hoist.travel_speed", "hoist.load", "hoist.moving", "spreader.tilt", "sling.clearance",
        "bed.load", "chair.load", "latch.closed", "camera.loops",
        *(f"load.{loop}" for loop in LOOPS), *(f"latch.{loop}" for loop in LOOPS),
        "truth.chair_shift", "truth.chair_share", "truth.bed_share", "truth.impact", "truth.swing",
        "truth.tipping", "truth.caught_force", "truth.carried_on", "truth.aloft_s", "truth.seated_s",
    ),
    hidden=(
        *(f"hidden.on_{loop}" for loop in LOOPS),
        "hidden.pressed", "hidden.caught_before", "hidden.caught_lift", "hidden.caught_travel",
    ),
    shown_as={
        "limb.force": "truth.caught_force", "truth.clearance": "sling.clearance",
        "truth.latched": "latch.closed", "truth.load": "hoist.load", "chair.shift": "truth.chair_shift",
    },
    stands={"person.weight": 77.0, "chair.brake": 1.0},
    parameters=HoistParameters(),
    parts={
        "travel": ("joint", "hoist.travel"), "lift": ("joint", "hoist.lift"),
        "spreader_pitch": ("joint", "spreader_pitch"), "spreader_roll": ("joint", "spreader_roll"),
        "mattress": ("joint", "mattress"), "seat": ("joint", "seat"), "chair": ("joint", "chair"),
        "arm_pad": ("joint", "arm_pad"), "mast_pad": ("joint", "mast_pad"),
        "person": ("body", "person"), "hinge": ("site", "hinge"), "underside": ("site", "underside"),
        "bed_top": ("site", "bed_top"), "seat_top": ("site", "seat_top"),
        "body": ("sensor", "body"), "chair_brake": ("actuator", "chair_brake"),
        **{loop: ("actuator", f"loop_{loop}") for loop in LOOPS},
        **{f"pull_{loop}": ("sensor", f"pull_{loop}") for loop in LOOPS},
        **{f"long_{loop}": ("sensor", f"long_{loop}") for loop in LOOPS},
    },
    why_busy=_why_busy,
    fit=_fit,
    drive=_drive,
    feel=_feel,
    pass_time=_pass_time,
)  # fmt: skip
