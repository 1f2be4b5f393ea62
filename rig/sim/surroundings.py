"""The slow side of the world, compiled: bed, food, heat on the lips, breath and timers.

The same functions run at the physics tick and in the slow world, where a row is cut into steps of
at most `LONGEST_STEP_S`; exponentials are exact for the step, so the two agree.
"""

import math

from rig.core.channel import FloatArray
from rig.sim.native import compiled
from rig.sim.state import Plant, Record

LONGEST_STEP_S = 0.1
_ARMS = 6  # the bed's actuators follow the arm's
_BEDS = 4
_ASSIST = 2.0  # lowest call level that brings somebody

Decays = tuple[float, float, float, float, float, float, float, float]
"""What is left of each exponential after a step; the order is that of `decays`."""


@compiled
def decays(p: Record, dt_s: float) -> Decays:
    """Return the factors of bowl, spoon, wet and dry thermometer, bite, scald dose, lung and finger."""
    return (
        math.exp(-dt_s / p.bowl_cooling_s),
        math.exp(-dt_s / p.spoon_cooling_s),
        math.exp(-dt_s / p.thermometer_lag_s),
        math.exp(-dt_s / p.thermometer_dry_lag_s),
        math.exp(-dt_s / p.mouth_cooling_s),
        math.exp(-dt_s / p.dose_fading_s),
        math.exp(-dt_s / p.lung_s),
        math.exp(-dt_s / p.finger_s),
    )


@compiled
def ramp(now: float, target: float, step: float) -> float:
    """Return ``now`` moved towards ``target`` by at most ``step``."""
    if abs(target - now) <= step:
        return target
    return now + step if target > now else now - step


@compiled
def move_person(plant: Plant, dt_s: float) -> None:
    """Let the person's body follow what the script asks of it; intents are what they are at once."""
    vector, body, intents = plant.vector, plant.body, plant.intents
    for i in range(body.shape[0]):
        muscle = body[i]
        now = vector[muscle.place]
        if now != muscle.target:
            vector[muscle.place] = ramp(now, muscle.target, muscle.rate * dt_s)
    for i in range(intents.shape[0]):
        vector[intents[i].place] = intents[i].target


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
def _move_bed(plant: Plant, dt_s: float) -> None:
    """Let the bed follow its setpoints; a trapped limb is squeezed, and stalls the motor in the end."""
    world, p, vector, drives = plant.world[0], plant.parameters[0], plant.vector, plant.drives
    if world.person_limb >= 0.5 and world.hidden_limb_before < 0.5:
        world.hidden_limb_back = world.bed_back
        world.hidden_limb_tilt = world.bed_tilt
        world.hidden_limb_height = world.bed_height
    world.hidden_limb_before = world.person_limb
    back, height, tilt = world.bed_back, world.bed_height, world.bed_tilt
    running = 0
    for i in range(_ARMS, _ARMS + _BEDS):
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


@compiled
def scald_time(temperature: float, scald: FloatArray) -> float:
    """Return the time (s) to a scald: logarithm interpolated over the table, extrapolated outside."""
    i = 0
    while i < scald.shape[0] - 2 and temperature > scald[i + 1, 0]:
        i += 1
    share = (temperature - scald[i, 0]) / (scald[i + 1, 0] - scald[i, 0])
    return math.exp(scald[i, 1] + share * (scald[i + 1, 1] - scald[i, 1]))


@compiled
def _cool_food(world: Record, p: Record, decay: Decays) -> None:
    """Cool bowl, spoonful and bite; bring the spoon's thermometer after them."""
    room, load = p.room_temperature, world.spoon_load
    world.hidden_bowl_temperature = room + (world.hidden_bowl_temperature - room) * decay[0]
    if load > world.hidden_load_before:  # scooped: what was on the spoon mixes with the bowl
        old = world.hidden_load_before / load
        mixed = old * world.truth_food_temperature + (1.0 - old) * world.hidden_bowl_temperature
        world.truth_food_temperature = mixed
    if world.bolus_taken > world.hidden_taken_before:
        world.hidden_bite_temperature = world.truth_food_temperature
    world.hidden_load_before = load
    world.hidden_taken_before = world.bolus_taken
    mouth = p.mouth_temperature
    world.truth_food_temperature = room + (world.truth_food_temperature - room) * decay[1]
    world.hidden_bite_temperature = mouth + (world.hidden_bite_temperature - mouth) * decay[4]
    around, lag = room, decay[3]
    if load > p.least_load_ml:
        around, lag = world.truth_food_temperature, decay[2]
    world.spoon_temperature = around + (world.spoon_temperature - around) * lag


@compiled
def _scald(world: Record, p: Record, scald: FloatArray, decay: Decays, dt_s: float) -> None:
    """Add to the scald dose of lips and mouth while hot food touches them; let it fade otherwise.

    What counts is the temperature in the middle of the step: hot food does harm by the exponential.
    """
    heat, room, mouth = 0.0, p.room_temperature, p.mouth_temperature
    touching = world.truth_in_mouth > 0.5 or world.truth_lip_force > p.touch_n
    if touching and world.spoon_load > p.least_load_ml:
        heat = room + (world.truth_food_temperature - room) / math.sqrt(decay[1])
    if world.bolus_held > 0.0:
        heat = max(heat, mouth + (world.hidden_bite_temperature - mouth) / math.sqrt(decay[4]))
    if heat > p.harmless_temperature:
        world.truth_lip_dose += dt_s / scald_time(heat, scald)
    else:
        world.truth_lip_dose *= decay[5]


@compiled
def _breathe(world: Record, p: Record, lung: float, finger: float) -> None:
    ending = p.saturation_rest - p.saturation_fall * world.airway_blocked
    world.hidden_lung_saturation = ending + (world.hidden_lung_saturation - ending) * lung
    world.spo2 = world.hidden_lung_saturation + (world.spo2 - world.hidden_lung_saturation) * finger


@compiled
def _count(world: Record, dt_s: float) -> None:
    """Run the timers: each counts while its condition lasts and starts again at nothing."""
    alone = world.call_level < _ASSIST and world.carer_present < 0.5
    on_floor = alone and world.person_floor >= 0.5
    choking = alone and world.airway_blocked >= 0.5
    held_back = world.bed_rails >= 0.5 and world.person_leaving >= 0.5
    world.truth_floor_s = world.truth_floor_s + dt_s if on_floor else 0.0
    world.truth_blocked_s = world.truth_blocked_s + dt_s if choking else 0.0
    world.truth_held_back_s = world.truth_held_back_s + dt_s if held_back else 0.0


@compiled
def pass_time(plant: Plant, decay: Decays, dt_s: float) -> None:
    """Let everything but rigid bodies, skin and person go on for ``dt_s``."""
    world, p = plant.world[0], plant.parameters[0]
    _move_bed(plant, dt_s)
    _cool_food(world, p, decay)
    _scald(world, p, plant.scald, decay, dt_s)
    _breathe(world, p, decay[6], decay[7])
    _count(world, dt_s)
