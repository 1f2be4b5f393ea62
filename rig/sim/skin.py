"""Skin under pressure, compiled: loads from posture, and a dose against the tissue's tolerance.

Four sites: sacrum, left hip, right hip, heels. A dose grows at one over the time that the present
pressure needs to do damage, and fades under relief. It is kept twice: from the true posture, and
from the image of the mat, which goes wrong when the mat does.
"""

import math

from numba import njit

from rig.sim.faults import DEAD, STUCK
from rig.sim.parameters import (
    CAP,
    CURVE_MIDDLE,
    CURVE_STEEPNESS,
    HEEL_RELIEF,
    HEEL_REST,
    HIP_REST,
    HIP_SIDE,
    KNEE,
    KNEE_TIME,
    LONGEST,
    RELIEF,
    SACRUM_PER_DEGREE,
    SACRUM_RELIEF,
    SHORTEST,
    SKIN_RECOVERY,
    SUPINE_SACRUM,
)
from rig.sim.quantities import DOSE, MAT_DOSE, MAT_PRESSURE, ROLL, TILT, TRUNK, WEIGHT
from rig.sim.sensing import fault_active

SITES = ("sacrum", "left hip", "right hip", "heels")
TRUE, MAT, IMAGE = 0, 1, 2  # rows of Plant.skin
_REFERENCE_KG = 70.0
_FULL_SIDE_DEG = 30.0  # side tilt at which relief is complete; the usual tilt in care plans


@njit
def pressures(world, p):
    """Return the pressure (kPa) at each site: trunk angle, side turn and weight decide."""
    side = (world[TILT] + world[ROLL]) / _FULL_SIDE_DEG  # right is positive
    share = min(abs(side), 1.0)
    scale = world[WEIGHT] / _REFERENCE_KG
    upright = max(world[TRUNK] - 30.0, 0.0)
    sacrum = (p[SUPINE_SACRUM] + p[SACRUM_PER_DEGREE] * upright) * (1.0 - p[SACRUM_RELIEF] * share)
    left = p[HIP_REST] + p[HIP_SIDE] * max(-side, 0.0)
    right = p[HIP_REST] + p[HIP_SIDE] * max(side, 0.0)
    heels = p[HEEL_REST] * (1.0 - p[HEEL_RELIEF] * share)
    return scale * sacrum, scale * left, scale * right, scale * heels


@njit
def time_to_damage(pressure, p):
    """Return how long (s) a constant pressure (kPa) takes to do damage; infinite under relief."""
    if pressure <= p[RELIEF]:
        return math.inf
    if pressure < p[KNEE]:
        share = (p[KNEE] - pressure) / (p[KNEE] - p[RELIEF])
        return p[KNEE_TIME] * (p[LONGEST] / p[KNEE_TIME]) ** share
    if pressure >= p[CAP]:
        return p[SHORTEST]
    if pressure == p[KNEE]:
        return p[KNEE_TIME]
    ratio = (p[CAP] - p[KNEE]) / (pressure - p[KNEE]) - 1.0
    t_s = p[CURVE_MIDDLE] + math.log(ratio) / p[CURVE_STEEPNESS]
    return min(max(t_s, p[SHORTEST]), p[KNEE_TIME])


@njit
def _grow(dose, pressure, dt_s, p):
    if pressure <= p[RELIEF]:
        return dose * math.exp(-dt_s / p[SKIN_RECOVERY])
    return dose + dt_s / time_to_damage(pressure, p)


@njit
def load_skin(plant, dt_s):
    """Let the true posture work on the skin for ``dt_s``."""
    world, skin, p = plant.world, plant.skin, plant.parameters
    loads = pressures(world, p)
    world[MAT_PRESSURE] = max(max(loads[0], loads[1]), max(loads[2], loads[3]))
    worst = 0.0
    for i in range(skin.shape[1]):
        skin[TRUE, i] = _grow(skin[TRUE, i], loads[i], dt_s, p)
        worst = max(worst, skin[TRUE, i])
    world[DOSE] = worst


@njit
def read_mat(plant, senses, dt_s, t_ns):
    """Let the mat add up its own dose over ``dt_s`` from what it believes the pressures to be.

    A mat that is stuck or dead keeps its last image; one that reads too much or too little sees
    every site scaled alike.
    """
    world, skin, p, c = plant.world, plant.skin, plant.parameters, senses.mat[0]
    blind = False
    gain = 1.0
    if c >= 0:
        shown = senses.values[c]
        blind = (
            math.isnan(shown) or fault_active(senses, DEAD, c, t_ns) or fault_active(senses, STUCK, c, t_ns)
        )
        if not blind and world[MAT_PRESSURE] > 0.0:
            gain = shown / world[MAT_PRESSURE]
    loads = pressures(world, p)
    worst = 0.0
    for i in range(skin.shape[1]):
        if not blind:
            skin[IMAGE, i] = gain * loads[i]
        skin[MAT, i] = _grow(skin[MAT, i], skin[IMAGE, i], dt_s, p)
        worst = max(worst, skin[MAT, i])
    world[MAT_DOSE] = worst
