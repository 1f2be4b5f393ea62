"""The manikin's face: the head turns, the lips part, and every region feels the tool."""

import math
from dataclasses import dataclass
from typing import Any

import mujoco

from rig.sim.native import compiled
from rig.sim.springs import fit_spring
from rig.sim.state import Engine, Plant, Record
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class FaceParameters:
    """Constants of the face, SI units.

    Attributes:
        lip_stiffness: Each lip, 5 N/mm. Proposal between soft tissue over the teeth (Young's modulus
            of lips 18 to 46 kPa, Luboz et al. 2014: about 1.5 N/mm for a 10 mm layer under a spoon)
            and the bone behind it (face, 75 N/mm).
        face_stiffness: Cheeks and chin, 75 N/mm. Source: ISO/TS 15066, face (transcription).
        forehead_stiffness: 150 N/mm. Source: ISO/TS 15066, skull and forehead (transcription).
        damping_ratio: Of every region spring with its pad's mass. Proposal.
        spoon_height_m: Height of the spoon's bowl: what the lips must open to let it pass. Scene.
        mouth_half_width_m: From the middle to a corner of the mouth. Scene.
        touch_n: Region force that counts as touching. Proposal.
        quiet_gap_m: Nearer to the lips than this is never slow world. Proposal.
    """

    lip_stiffness: float = 5e3
    face_stiffness: float = 75e3
    forehead_stiffness: float = 150e3
    damping_ratio: float = 0.5
    spoon_height_m: float = 0.010
    mouth_half_width_m: float = 0.025
    touch_n: float = 0.05
    quiet_gap_m: float = 0.05


_PASSED = 0.95  # lips this share of the spoon apart have let it through; contacts give a little
_CLEARANCE_M = 0.0005  # lips that close on a spoon stop this much short of squeezing it
_LIPS = ("lip_upper", "lip_lower", "corner_left", "corner_right")
_SERVO_LIPS = ("lip_upper_z", "lip_lower_z")
_FIRM = ("cheek_left", "cheek_right", "chin")
_REGIONS = (*_LIPS, *_SERVO_LIPS, *_FIRM, "forehead")


@compiled
def drive(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Turn the head as the person does; return whether it has moved.

    During a step of ``dt_s`` it turns at a speed, which contacts feel; 0 places it at once.
    """
    book, q, v = engine.book[0], engine.qpos, engine.qvel
    turn = math.radians(plant.world[0].head_yaw) - q[book.yaw]
    if dt_s > 0.0:
        v[book.yaw_dof] = turn / dt_s
    else:
        q[book.yaw] += turn
        v[book.yaw_dof] = 0.0
    return bool(turn != 0.0)


@compiled
def shape(engine: Engine, plant: Plant) -> bool:
    """Open or close the lips as the person does, never through a spoon that is between them.

    Each lip and its resting place move together, so that the spring between them feels the spoon
    only; the engine must work out positions anew afterwards. Returns whether they have moved.
    """
    world, book, q, ctrl = plant.world[0], engine.book[0], engine.qpos, engine.ctrl
    half = 0.5 * world.mouth_opening
    if world.truth_in_mouth > 0.5:
        half = max(half, 0.5 * plant.parameters[0].spoon_height_m + _CLEARANCE_M)
    wider = half - ctrl[book.lip_upper_ctrl]
    q[book.lip_upper_z] += wider
    q[book.lip_lower_z] -= wider
    ctrl[book.lip_upper_ctrl] = half
    ctrl[book.lip_lower_ctrl] = -half
    return bool(wider != 0.0)


@compiled
def _feel_regions(engine: Engine, world: Record, p: Record) -> None:
    """Work out the force on each region: stiffness times what its pad has been pushed in."""
    q, book = engine.qpos, engine.book[0]
    half = engine.ctrl[book.lip_upper_ctrl]
    raised, lowered = q[book.lip_upper_z] - half, q[book.lip_lower_z] + half
    upper = math.hypot(min(q[book.lip_upper], 0.0), max(raised, 0.0))
    lower = math.hypot(min(q[book.lip_lower], 0.0), min(lowered, 0.0))
    corners = max(q[book.corner_left], 0.0) + max(-q[book.corner_right], 0.0)
    world.truth_lip_force = p.lip_stiffness * (upper + lower + corners)
    firm = max(max(-q[book.cheek_left], -q[book.cheek_right]), max(-q[book.chin], 0.0))
    brow = max(-q[book.forehead], 0.0)
    face = max(p.face_stiffness * firm, p.forehead_stiffness * brow)
    world.truth_face_force = max(face, world.truth_lip_force) + 0.0  # no minus zero
    world.truth_opening = max(q[book.lip_upper_z] - q[book.lip_lower_z], 0.0)


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out the forces on the face, and where the tool's tip is relative to the mouth."""
    world, p, book = plant.world[0], plant.parameters[0], engine.book[0]
    _feel_regions(engine, world, p)
    tip, mouth, site, axes = book.tip, book.mouth_site, engine.site_position, engine.site_axes
    x, y, z = site[tip, 0] - site[mouth, 0], site[tip, 1] - site[mouth, 1], site[tip, 2] - site[mouth, 2]
    gap = x * axes[mouth, 0] + y * axes[mouth, 3] + z * axes[mouth, 6]
    aside = x * axes[mouth, 1] + y * axes[mouth, 4] + z * axes[mouth, 7]
    above = x * axes[mouth, 2] + y * axes[mouth, 5] + z * axes[mouth, 8]
    world.truth_gap = gap
    between = abs(aside) <= p.mouth_half_width_m and abs(above) <= 0.5 * world.truth_opening
    inside = gap < 0.0 and between and world.truth_opening >= _PASSED * p.spoon_height_m
    world.truth_in_mouth = 1.0 if inside else 0.0


def fit(model: mujoco.MjModel, p: Any) -> None:  # noqa: ANN401 constants by name
    """Give every region its stiffness; the lips' resting place moves, so there a servo is the spring."""
    for name in _LIPS:
        fit_spring(model, name, p.lip_stiffness, p.damping_ratio)
    for name in _FIRM:
        fit_spring(model, name, p.face_stiffness, p.damping_ratio)
    fit_spring(model, "forehead", p.forehead_stiffness, p.damping_ratio)
    for name in _SERVO_LIPS:
        fit_spring(model, name, p.lip_stiffness, p.damping_ratio, servo=name)


def why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: the tool touches the face or is near it."""
    world, p = plant.world[0], plant.parameters[0]
    if world["truth_face_force"] > p["touch_n"] or world["truth_in_mouth"] > 0:
        return "the spoon touches the face"
    if world["truth_gap"] < p["quiet_gap_m"]:
        gap_m, quiet_m = world["truth_gap"], p["quiet_gap_m"]
        return f"the spoon is {gap_m:.3f} m from the lips, nearer than {quiet_m} m"
    return None


STATION = Station(
    name="face",
    text="manikin face on a turning head: lips that part, regions that feel force",
    needs=("arm",),
    body=("head.yaw", "mouth.opening"),
    derived=("truth.gap", "truth.in_mouth", "truth.lip_force", "truth.face_force", "truth.opening"),
    shown_as={
        "face.gap": "truth.gap", "face.yaw": "head.yaw", "truth.yaw": "head.yaw",
        "mouth.opening": "truth.opening",
    },
    parameters=FaceParameters(),
    parts={
        "yaw": ("joint", "head.yaw"),
        "yaw_dof": ("dof", "head.yaw"),
        "mouth_site": ("site", "mouth"),
        "lip_upper_ctrl": ("actuator", "lip_upper_z"),
        "lip_lower_ctrl": ("actuator", "lip_lower_z"),
        **{name: ("joint", name) for name in _REGIONS},
    },
    fit=fit,
    why_busy=why_busy,
    drive=drive,
    shape=shape,
    feel=feel,
)  # fmt: skip
