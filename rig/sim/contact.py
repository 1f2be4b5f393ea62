"""Where compiled code meets the rigid bodies: the face is driven, and forces and poses are felt."""

import math

from rig.sim.native import compiled
from rig.sim.scene import (
    BOWL_HEIGHT,
    CHEEK_LEFT,
    CHEEK_RIGHT,
    CHIN,
    CORNER_LEFT,
    CORNER_RIGHT,
    FOREHEAD,
    GRAVITY,
    LIP_CTRL,
    LIP_LOWER,
    LIP_LOWER_Z,
    LIP_UPPER,
    LIP_UPPER_Z,
    MOUTH_SITE,
    TIP,
    TIP_VELOCITY,
    TOOL,
    TOOL_WEIGHT,
    WRIST,
    WRIST_SITE,
    YAW,
)
from rig.sim.state import Engine, Plant, Record

_ARMS = 6
_PASSED = 0.95  # lips this share of the spoon apart have let it through; contacts give a little
_CLEARANCE_M = 0.0005  # lips that close on a spoon stop this much short of squeezing it


@compiled
def turn_head(engine: Engine, plant: Plant, dt_s: float) -> bool:
    """Turn the head as the person does; return whether it has moved.

    During a step of ``dt_s`` it turns at a speed, which contacts feel; 0 places it at once.
    """
    world, yaw, q, v = plant.world[0], engine.book[YAW], engine.qpos, engine.qvel
    turn = math.radians(world.head_yaw) - q[yaw]
    if dt_s > 0.0:
        v[yaw] = turn / dt_s
    else:
        q[yaw] += turn
        v[yaw] = 0.0
    engine.wrench[engine.book[TOOL], 2] = -world.hidden_hung_kg * engine.constants[GRAVITY]
    return bool(turn != 0.0)


@compiled
def part_lips(engine: Engine, plant: Plant) -> bool:
    """Open or close the lips as the person does, never through a spoon that is between them.

    Each lip and its resting place move together, so that the spring between them feels the spoon
    only; the engine must work out positions anew afterwards. Returns whether they have moved.
    """
    world, q, ctrl, upper = plant.world[0], engine.qpos, engine.ctrl, engine.book[LIP_CTRL]
    half = 0.5 * world.mouth_opening
    if world.truth_in_mouth > 0.5:
        half = max(half, 0.5 * plant.parameters[0].spoon_height_m + _CLEARANCE_M)
    wider = half - ctrl[upper]
    q[engine.book[LIP_UPPER_Z]] += wider
    q[engine.book[LIP_LOWER_Z]] -= wider
    ctrl[upper] = half
    ctrl[upper + 1] = -half
    return bool(wider != 0.0)


@compiled
def _feel_regions(engine: Engine, world: Record, p: Record) -> None:
    """Work out the force on each region: stiffness times what its pad has been pushed in."""
    q, book, half = engine.qpos, engine.book, engine.ctrl[engine.book[LIP_CTRL]]
    raised, lowered = q[book[LIP_UPPER_Z]] - half, q[book[LIP_LOWER_Z]] + half
    upper = math.hypot(min(q[book[LIP_UPPER]], 0.0), max(raised, 0.0))
    lower = math.hypot(min(q[book[LIP_LOWER]], 0.0), min(lowered, 0.0))
    corners = max(q[book[CORNER_LEFT]], 0.0) + max(-q[book[CORNER_RIGHT]], 0.0)
    world.truth_lip_force = p.lip_stiffness * (upper + lower + corners)
    firm = max(max(-q[book[CHEEK_LEFT]], -q[book[CHEEK_RIGHT]]), max(-q[book[CHIN]], 0.0))
    brow = max(-q[book[FOREHEAD]], 0.0)
    face = max(p.face_stiffness * firm, p.forehead_stiffness * brow)
    world.truth_face_force = max(face, world.truth_lip_force) + 0.0  # no minus zero
    world.truth_opening = max(q[book[LIP_UPPER_Z]] - q[book[LIP_LOWER_Z]], 0.0)


@compiled
def _feel_spoon(engine: Engine, world: Record, p: Record) -> None:
    """Work out where the spoon is relative to the mouth."""
    tip, mouth, site, axes = engine.book[TIP], engine.book[MOUTH_SITE], engine.site_position, engine.site_axes
    x, y, z = site[tip, 0] - site[mouth, 0], site[tip, 1] - site[mouth, 1], site[tip, 2] - site[mouth, 2]
    gap = x * axes[mouth, 0] + y * axes[mouth, 3] + z * axes[mouth, 6]
    aside = x * axes[mouth, 1] + y * axes[mouth, 4] + z * axes[mouth, 7]
    above = x * axes[mouth, 2] + y * axes[mouth, 5] + z * axes[mouth, 8]
    world.truth_gap = gap
    between = abs(aside) <= p.mouth_half_width_m and abs(above) <= 0.5 * world.truth_opening
    inside = gap < 0.0 and between and world.truth_opening >= _PASSED * p.spoon_height_m
    world.truth_in_mouth = 1.0 if inside else 0.0
    world.spoon_height = site[tip, 2] - engine.constants[BOWL_HEIGHT]


@compiled
def _feel_wrist(engine: Engine, world: Record) -> None:
    """Work out the wrist force without the spoon's own weight."""
    f, site, axes, sensors = engine.book[WRIST], engine.book[WRIST_SITE], engine.site_axes, engine.sensors
    a, b, c = sensors[f], sensors[f + 1], sensors[f + 2]
    x = axes[site, 0] * a + axes[site, 1] * b + axes[site, 2] * c
    y = axes[site, 3] * a + axes[site, 4] * b + axes[site, 5] * c
    z = axes[site, 6] * a + axes[site, 7] * b + axes[site, 8] * c - engine.constants[TOOL_WEIGHT]
    world.wrist_force = math.sqrt(x * x + y * y + z * z)


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Bring everything that rigid bodies decide up to date; without motion the spoon has no speed."""
    world, p, vector, q, book = plant.world[0], plant.parameters[0], plant.vector, engine.qpos, engine.book
    _feel_regions(engine, world, p)
    _feel_spoon(engine, world, p)
    for i in range(_ARMS):
        vector[i] = q[book[i]]
    world.spoon_speed = 0.0
    if moving:
        _feel_wrist(engine, world)
        v, sensors = book[TIP_VELOCITY], engine.sensors
        a, b, c = sensors[v], sensors[v + 1], sensors[v + 2]
        world.spoon_speed = math.sqrt(a * a + b * b + c * c)
