"""Where compiled code meets the rigid bodies: the face is driven, and forces and poses are felt."""

import math

from numba import njit

from rig.sim.parameters import (
    FACE_STIFFNESS,
    FOREHEAD_STIFFNESS,
    LIP_STIFFNESS,
    MOUTH_HALF_WIDTH,
    SPOON_HEIGHT,
)
from rig.sim.quantities import (
    ARM0,
    FACE_FORCE,
    GAP,
    HEAD_YAW,
    HUNG_MASS,
    IN_MOUTH,
    LIP_FORCE,
    MOUTH_OPENING,
    OPENING,
    TIP_HEIGHT,
    TIP_SPEED,
    WRIST_FORCE,
)
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

_ARMS = 6
_CLEARANCE_M = 0.0005  # lips that close on a spoon stop this much short of squeezing it


@njit
def drive_face(engine, plant, dt_s):
    """Turn the head and open the lips as the person does; ``dt_s`` of 0 places them at once.

    Lips never close through a spoon that is between them.
    """
    world, book, q = plant.world, engine.book, engine.qpos
    angle = math.radians(world[HEAD_YAW])
    if dt_s > 0.0:
        engine.qvel[book[YAW]] = (angle - q[book[YAW]]) / dt_s
    else:
        q[book[YAW]] = angle
        engine.qvel[book[YAW]] = 0.0
    half = 0.5 * world[MOUTH_OPENING]
    if world[IN_MOUTH] > 0.5:
        half = max(half, 0.5 * plant.parameters[SPOON_HEIGHT] + _CLEARANCE_M)
    lips = book[LIP_CTRL]
    # The lip and its resting place move together: the spring between them feels the spoon only.
    q[book[LIP_UPPER_Z]] += half - engine.ctrl[lips]
    q[book[LIP_LOWER_Z]] += -half - engine.ctrl[lips + 1]
    engine.ctrl[lips] = half
    engine.ctrl[lips + 1] = -half
    engine.wrench[book[TOOL], 2] = -world[HUNG_MASS] * engine.constants[GRAVITY]


@njit
def _feel_regions(engine, plant):
    """Work out the force on each region: stiffness times what its pad has been pushed in."""
    world, p, q, book, ctrl = plant.world, plant.parameters, engine.qpos, engine.book, engine.ctrl
    lips, k = book[LIP_CTRL], p[LIP_STIFFNESS]
    upper = math.hypot(min(q[book[LIP_UPPER]], 0.0), max(q[book[LIP_UPPER_Z]] - ctrl[lips], 0.0))
    lower = math.hypot(min(q[book[LIP_LOWER]], 0.0), min(q[book[LIP_LOWER_Z]] - ctrl[lips + 1], 0.0))
    corners = max(q[book[CORNER_LEFT]], 0.0) + max(-q[book[CORNER_RIGHT]], 0.0)
    world[LIP_FORCE] = k * (upper + lower + corners)
    firm = max(max(-q[book[CHEEK_LEFT]], -q[book[CHEEK_RIGHT]]), -q[book[CHIN]])
    brow = max(-q[book[FOREHEAD]], 0.0)
    face = max(p[FACE_STIFFNESS] * max(firm, 0.0), p[FOREHEAD_STIFFNESS] * brow)
    world[FACE_FORCE] = max(face, world[LIP_FORCE])
    world[OPENING] = max(q[book[LIP_UPPER_Z]] - q[book[LIP_LOWER_Z]], 0.0)


@njit
def _feel_spoon(engine, plant):
    """Work out where the spoon is relative to the mouth."""
    world, p, book = plant.world, plant.parameters, engine.book
    tip, mouth = engine.site_position[book[TIP]], engine.site_position[book[MOUTH_SITE]]
    axes = engine.site_axes[book[MOUTH_SITE]]
    x, y, z = tip[0] - mouth[0], tip[1] - mouth[1], tip[2] - mouth[2]
    gap = x * axes[0] + y * axes[3] + z * axes[6]
    aside = x * axes[1] + y * axes[4] + z * axes[7]
    above = x * axes[2] + y * axes[5] + z * axes[8]
    world[GAP] = gap
    between = abs(aside) <= p[MOUTH_HALF_WIDTH] and abs(above) <= 0.5 * world[OPENING]
    inside = gap < 0.0 and between and world[OPENING] >= p[SPOON_HEIGHT]
    world[IN_MOUTH] = 1.0 if inside else 0.0
    world[TIP_HEIGHT] = tip[2] - engine.constants[BOWL_HEIGHT]


@njit
def _feel_wrist(engine, plant):
    """Work out the wrist force without the spoon's own weight."""
    f, axes = engine.book[WRIST], engine.site_axes[engine.book[WRIST_SITE]]
    a, b, c = engine.sensors[f], engine.sensors[f + 1], engine.sensors[f + 2]
    x = axes[0] * a + axes[1] * b + axes[2] * c
    y = axes[3] * a + axes[4] * b + axes[5] * c
    z = axes[6] * a + axes[7] * b + axes[8] * c - engine.constants[TOOL_WEIGHT]
    plant.world[WRIST_FORCE] = math.sqrt(x * x + y * y + z * z)


@njit
def feel(engine, plant, moving):
    """Bring everything that rigid bodies decide up to date; without motion the spoon has no speed."""
    world = plant.world
    _feel_regions(engine, plant)
    _feel_spoon(engine, plant)
    for i in range(_ARMS):
        world[ARM0 + i] = engine.qpos[engine.book[i]]
    if moving:
        _feel_wrist(engine, plant)
        v = engine.book[TIP_VELOCITY]
        a, b, c = engine.sensors[v], engine.sensors[v + 1], engine.sensors[v + 2]
        world[TIP_SPEED] = math.sqrt(a * a + b * b + c * c)
    else:
        world[TIP_SPEED] = 0.0
