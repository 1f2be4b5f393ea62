"""A meal: food that cools in bowl, spoon and mouth, a thermometer, and burns on lips and mouth."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from rig.sim.heat import scald_time
from rig.sim.native import compiled
from rig.sim.state import Engine, Plant, Record
from rig.sim.station import Start, Station


@dataclass(frozen=True, slots=True)
class MealParameters:
    """Constants of food and heat, SI units (temperatures degC, volumes ml).

    Attributes:
        room_temperature: Air. Proposal.
        bowl_cooling_s: Time constant of a 300 ml bowl towards the room. Proposal (about half the
            excess left after 28 minutes).
        spoon_cooling_s: Time constant of 5 ml on a spoon. Proposal (66 degC falls to 55 degC in 26 s).
        thermometer_lag_s: Time constant of the spoon thermometer in food. Proposal.
        thermometer_dry_lag_s: The same with an empty spoon. Proposal.
        mouth_temperature: Oral temperature. Textbook value.
        mouth_cooling_s: Time constant of a bite in the mouth. Proposal.
        dose_fading_s: Time constant with which a scald dose below harm fades once the heat is gone:
            the scald table holds for one exposure, not for a meal. Proposal.
        least_load_ml: Less food than this is an empty spoon. Proposal.
        harmless_temperature: No scald dose at or below it: 44 degC. Source: HSE, whole-body immersion
            of vulnerable people.
    """

    room_temperature: float = 22.0
    bowl_cooling_s: float = 2400.0
    spoon_cooling_s: float = 90.0
    thermometer_lag_s: float = 1.0
    thermometer_dry_lag_s: float = 20.0
    mouth_temperature: float = 37.0
    mouth_cooling_s: float = 4.0
    dose_fading_s: float = 60.0
    least_load_ml: float = 0.2
    harmless_temperature: float = 44.0


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out how high the spoon is above the bowl."""
    height = engine.site_position[engine.book[0].tip, 2]
    plant.world[0].spoon_height = height - plant.parameters[0].bowl_height


@compiled
def _cool(world: Record, p: Record, left: Record) -> None:
    """Cool bowl, spoonful and bite; bring the spoon's thermometer after them."""
    room, load = p.room_temperature, world.spoon_load
    world.hidden_bowl_temperature = room + (world.hidden_bowl_temperature - room) * left.bowl_cooling_s
    if load > world.hidden_load_before:  # scooped: what was on the spoon mixes with the bowl
        old = world.hidden_load_before / load
        mixed = old * world.truth_food_temperature + (1.0 - old) * world.hidden_bowl_temperature
        world.truth_food_temperature = mixed
    if world.bolus_taken > world.hidden_taken_before:
        world.hidden_bite_temperature = world.truth_food_temperature
    world.hidden_load_before = load
    world.hidden_taken_before = world.bolus_taken
    mouth = p.mouth_temperature
    world.truth_food_temperature = room + (world.truth_food_temperature - room) * left.spoon_cooling_s
    world.hidden_bite_temperature = mouth + (world.hidden_bite_temperature - mouth) * left.mouth_cooling_s
    around, lag = room, left.thermometer_dry_lag_s
    if load > p.least_load_ml:
        around, lag = world.truth_food_temperature, left.thermometer_lag_s
    world.spoon_temperature = around + (world.spoon_temperature - around) * lag


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Cool the food; add to the scald dose of lips and mouth while hot food touches them, or let it fade.

    What counts is the temperature in the middle of the step: hot food does harm by the exponential.
    """
    world, p, left = plant.world[0], plant.parameters[0], plant.factors[0]
    _cool(world, p, left)
    heat, room, mouth = 0.0, p.room_temperature, p.mouth_temperature
    touching = world.truth_in_mouth > 0.5 or world.truth_lip_force > p.touch_n
    if touching and world.spoon_load > p.least_load_ml:
        heat = room + (world.truth_food_temperature - room) / math.sqrt(left.spoon_cooling_s)
    if world.bolus_held > 0.0:
        bite = (world.hidden_bite_temperature - mouth) / math.sqrt(left.mouth_cooling_s)
        heat = max(heat, mouth + bite)
    if heat > p.harmless_temperature:
        world.truth_lip_dose += dt_s / scald_time(heat, plant.scald)
    else:
        world.truth_lip_dose *= left.dose_fading_s


def begin(world: Any, p: Any) -> None:  # noqa: ANN401 records
    """Give the spoon what is in it, at the bowl's temperature or the room's."""
    loaded = world["spoon_load"] > p["least_load_ml"]
    food = world["hidden_bowl_temperature"] if loaded else p["room_temperature"]
    world["truth_food_temperature"] = world["spoon_temperature"] = food
    world["hidden_bite_temperature"] = p["mouth_temperature"]
    world["hidden_load_before"], world["hidden_taken_before"] = world["spoon_load"], world["bolus_taken"]


def bite(load_ml: float) -> tuple[float, float, float]:
    """Return the half axes of a heap of food as it is drawn on the spoon, metres: 5 ml are 21 x 17 x 13 mm."""
    share = math.cbrt(max(load_ml, 0.0) / 5.0)
    return 0.0130 * share, 0.0105 * share, 0.0087 * share


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Put the food on the spoon."""
    model.geom("bite").size[:] = np.maximum(bite(float(plant.world[0]["spoon_load"])), 1e-4)


def measure(model: mujoco.MjModel, data: mujoco.MjData) -> Mapping[str, float]:
    """Return the height of the bowl."""
    return {"bowl_height": float(data.site("bowl").xpos[2])}


STATION = Station(
    name="meal",
    text="bowl and spoon with food that cools, a thermometer, and the scald dose of lips and mouth",
    needs=("arm", "face"),
    body=("bolus.taken", "bolus.held", "spoon.load"),
    derived=("spoon.height", "spoon.temperature", "truth.food_temperature", "truth.lip_dose"),
    hidden=(
        "hidden.bowl_temperature", "hidden.bite_temperature", "hidden.load_before", "hidden.taken_before",
    ),
    shown_as={"camera.takes": "bolus.taken", "camera.load": "spoon.load", "spoon.speed": "tool.speed"},
    starts={"bowl.temperature": Start("hidden.bowl_temperature", 55.0, -10.0, 100.0, "degC")},
    parameters=MealParameters(),
    lags=(
        "bowl_cooling_s", "spoon_cooling_s", "thermometer_lag_s", "thermometer_dry_lag_s",
        "mouth_cooling_s", "dose_fading_s",
    ),
    measured=("bowl_height",),
    measure=measure,
    begin=begin,
    dress=dress,
    feel=feel,
    pass_time=pass_time,
)  # fmt: skip
