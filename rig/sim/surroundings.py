"""The slow side of the world, compiled: bed, food, heat on the lips, breath and timers.

The same functions run at the physics tick and in the slow world, where a row is cut into steps of
at most `LONGEST_STEP_S`; exponentials are exact for the step, so the two agree.
"""

import math

from numba import njit

from rig.sim.parameters import (
    BACK_LEVER,
    BED_THRUST,
    BOWL_COOLING,
    DOSE_FADING,
    FINGER,
    HARMLESS,
    LEAST_LOAD,
    LIMB_SLACK,
    LIMB_STIFFNESS,
    LUNG,
    MOTOR,
    MOTOR_PER_KG,
    MOTOR_PER_N,
    MOUTH,
    MOUTH_COOLING,
    ROOM,
    SATURATION_FALL,
    SATURATION_REST,
    SPOON_COOLING,
    THERMOMETER_DRY_LAG,
    THERMOMETER_LAG,
    TILT_LEVER,
    TOUCH,
)
from rig.sim.quantities import (
    ALVEOLAR,
    BACK,
    BITE_TEMPERATURE,
    BLOCKED,
    BLOCKED_S,
    BOWL_TEMPERATURE,
    CALL,
    CARER,
    CURRENT,
    FLOOR,
    FLOOR_S,
    FOOD_TEMPERATURE,
    HEIGHT,
    HELD,
    HELD_BACK_S,
    IN_MOUTH,
    LEAVING,
    LIMB,
    LIMB_BACK,
    LIMB_BEFORE,
    LIMB_FORCE,
    LIMB_HEIGHT,
    LIMB_TILT,
    LIP_DOSE,
    LIP_FORCE,
    LOAD,
    LOAD_BEFORE,
    MOVING,
    RAILS,
    SLUMP,
    SPO2,
    TAKEN,
    TAKEN_BEFORE,
    THERMOMETER,
    TILT,
    TRUNK,
    WEIGHT,
)

LONGEST_STEP_S = 0.1
_ARMS = 6  # the bed's actuators follow the arm's
_ASSIST = 2.0  # lowest call level that brings somebody

_BOWL, _SPOON, _WET, _DRY, _BITE, _FADE, _LUNGS, _FINGERS = range(8)
DECAYS = 8


@njit
def prepare(plant, dt_s):
    """Work out the exponentials for steps of ``dt_s``."""
    p, decay = plant.parameters, plant.decay
    decay[_BOWL] = math.exp(-dt_s / p[BOWL_COOLING])
    decay[_SPOON] = math.exp(-dt_s / p[SPOON_COOLING])
    decay[_WET] = math.exp(-dt_s / p[THERMOMETER_LAG])
    decay[_DRY] = math.exp(-dt_s / p[THERMOMETER_DRY_LAG])
    decay[_BITE] = math.exp(-dt_s / p[MOUTH_COOLING])
    decay[_FADE] = math.exp(-dt_s / p[DOSE_FADING])
    decay[_LUNGS] = math.exp(-dt_s / p[LUNG])
    decay[_FINGERS] = math.exp(-dt_s / p[FINGER])


@njit
def ramp(now, target, step):
    """Return ``now`` moved towards ``target`` by at most ``step``."""
    if abs(target - now) <= step:
        return target
    return now + step if target > now else now - step


@njit
def move_person(plant, dt_s):
    """Let the person's body follow what the script asks of it."""
    world, place, target, rate = plant.world, plant.body_place, plant.body_target, plant.body_rate
    for i in range(place.shape[0]):
        if world[place[i]] != target[i]:
            world[place[i]] = ramp(world[place[i]], target[i], rate[i] * dt_s)
    for i in range(plant.intent.shape[0]):
        world[plant.intent_place[i]] = plant.intent[i]


@njit
def _limb_force(world, p):
    """Return the force on a limb in the frame: a spring squeezed by the bed's travel since it got in."""
    if world[LIMB] < 0.5:
        return 0.0
    travel = (
        p[BACK_LEVER] * math.radians(abs(world[BACK] - world[LIMB_BACK]))
        + p[TILT_LEVER] * math.radians(abs(world[TILT] - world[LIMB_TILT]))
        + abs(world[HEIGHT] - world[LIMB_HEIGHT])
    )
    return p[LIMB_STIFFNESS] * max(travel - p[LIMB_SLACK], 0.0)


@njit
def move_bed(plant, dt_s):
    """Let the bed follow its setpoints; a trapped limb is squeezed, and stalls the motor in the end."""
    world, p = plant.world, plant.parameters
    if world[LIMB] >= 0.5 and world[LIMB_BEFORE] < 0.5:
        world[LIMB_BACK], world[LIMB_TILT], world[LIMB_HEIGHT] = world[BACK], world[TILT], world[HEIGHT]
    world[LIMB_BEFORE] = world[LIMB]
    back, height, tilt, rails = world[BACK], world[HEIGHT], world[TILT], world[RAILS]
    before, running = world[LIMB_FORCE], 0
    for i in range(4):
        place = BACK + i
        target = plant.setpoint[_ARMS + i]
        if world[place] != target:
            running += 1
            world[place] = ramp(world[place], target, plant.rate[_ARMS + i] * dt_s)
    force = _limb_force(world, p)
    if force > p[BED_THRUST] and force > before:
        world[BACK], world[HEIGHT], world[TILT], world[RAILS] = back, height, tilt, rails
        force = _limb_force(world, p)
    world[LIMB_FORCE] = force
    world[MOVING] = 1.0 if running > 0 else 0.0
    world[CURRENT] = 0.0
    if running > 0:
        world[CURRENT] = running * p[MOTOR] + p[MOTOR_PER_KG] * world[WEIGHT] + p[MOTOR_PER_N] * force
    world[TRUNK] = max(world[BACK] - world[SLUMP], 0.0)


@njit
def scald_time(temperature, scald):
    """Return the time (s) to a scald: logarithm interpolated over the table, extrapolated outside."""
    i = 0
    while i < scald.shape[0] - 2 and temperature > scald[i + 1, 0]:
        i += 1
    share = (temperature - scald[i, 0]) / (scald[i + 1, 0] - scald[i, 0])
    return math.exp(scald[i, 1] + share * (scald[i + 1, 1] - scald[i, 1]))


@njit
def _warm_food(plant):
    """Cool bowl, spoonful and bite; bring the spoon's thermometer after them."""
    world, p, decay = plant.world, plant.parameters, plant.decay
    room, load = p[ROOM], world[LOAD]
    world[BOWL_TEMPERATURE] = room + (world[BOWL_TEMPERATURE] - room) * decay[_BOWL]
    if load > world[LOAD_BEFORE]:  # scooped: what was on the spoon mixes with the bowl
        old = world[LOAD_BEFORE] / load
        world[FOOD_TEMPERATURE] = old * world[FOOD_TEMPERATURE] + (1.0 - old) * world[BOWL_TEMPERATURE]
    if world[TAKEN] > world[TAKEN_BEFORE]:
        world[BITE_TEMPERATURE] = world[FOOD_TEMPERATURE]
    world[LOAD_BEFORE], world[TAKEN_BEFORE] = load, world[TAKEN]
    world[FOOD_TEMPERATURE] = room + (world[FOOD_TEMPERATURE] - room) * decay[_SPOON]
    world[BITE_TEMPERATURE] = p[MOUTH] + (world[BITE_TEMPERATURE] - p[MOUTH]) * decay[_BITE]
    if load > p[LEAST_LOAD]:
        around, lag = world[FOOD_TEMPERATURE], decay[_WET]
    else:
        around, lag = room, decay[_DRY]
    world[THERMOMETER] = around + (world[THERMOMETER] - around) * lag


@njit
def _scald(plant, dt_s):
    """Add to the scald dose of lips and mouth while hot food touches them; let it fade otherwise."""
    world, p = plant.world, plant.parameters
    heat = 0.0
    if world[LOAD] > p[LEAST_LOAD] and (world[IN_MOUTH] > 0.5 or world[LIP_FORCE] > p[TOUCH]):
        heat = world[FOOD_TEMPERATURE]
    if world[HELD] > 0.0:
        heat = max(heat, world[BITE_TEMPERATURE])
    if heat > p[HARMLESS]:
        world[LIP_DOSE] += dt_s / scald_time(heat, plant.scald)
    else:
        world[LIP_DOSE] *= plant.decay[_FADE]


@njit
def _breathe(plant):
    world, p, decay = plant.world, plant.parameters, plant.decay
    ending = p[SATURATION_REST] - p[SATURATION_FALL] * world[BLOCKED]
    world[ALVEOLAR] = ending + (world[ALVEOLAR] - ending) * decay[_LUNGS]
    world[SPO2] = world[ALVEOLAR] + (world[SPO2] - world[ALVEOLAR]) * decay[_FINGERS]


@njit
def _count(plant, dt_s):
    """Run the timers: each counts while its condition lasts and starts again at nothing."""
    world = plant.world
    alone = world[CALL] < _ASSIST and world[CARER] < 0.5
    world[FLOOR_S] = world[FLOOR_S] + dt_s if alone and world[FLOOR] >= 0.5 else 0.0
    world[BLOCKED_S] = world[BLOCKED_S] + dt_s if alone and world[BLOCKED] >= 0.5 else 0.0
    held_back = world[RAILS] >= 0.5 and world[LEAVING] >= 0.5
    world[HELD_BACK_S] = world[HELD_BACK_S] + dt_s if held_back else 0.0


@njit
def pass_time(plant, dt_s):
    """Let everything but rigid bodies, skin and person go on for ``dt_s``."""
    move_bed(plant, dt_s)
    _warm_food(plant)
    _scald(plant, dt_s)
    _breathe(plant)
    _count(plant, dt_s)
