"""A cup: it pours by its tilt, into a mouth that is open before it, or down the front.

The drink is a lumped volume. It flows once the cup is tilted beyond where its surface meets the rim,
which takes more tilt the emptier the cup; thick drinks flow more slowly. What has passed the lips
stays in the mouth until the person swallows.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import mujoco

from rig.sim.native import compiled
from rig.sim.state import Engine, Plant
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class DrinkParameters:
    """Constants of the cup, ml and degrees. All proposals.

    Attributes:
        cup_ml: A full cup.
        brim_deg: Tilt at which a full cup begins to flow.
        last_deg: Tilt at which the last of it flows.
        thin_ml_per_s_deg: Flow of a thin drink per degree beyond that.
        thicker: Factor on the flow for each IDDSI level.
        at_lips_m: A rim this near to the lips pours into the mouth.
        opening_m: Lips this far apart let it in.
    """

    cup_ml: float = 150.0
    brim_deg: float = 8.0
    last_deg: float = 50.0
    thin_ml_per_s_deg: float = 0.6
    thicker: float = 0.7
    at_lips_m: float = 0.008
    opening_m: float = 0.008


INSIDE_M: Final = 0.034
"""Radius of the cup inside."""
FLOOR_M: Final = -0.073
"""Height of its floor over the handle."""


STAIN_M2_PER_ML: Final = 1.5e-4
"""Area of a thick cloth that a millilitre wets. Proposal."""


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out the tilt of the cup: how far its rim points below the horizontal."""
    down = -engine.site_axes[engine.book[0].tip, 6]
    plant.world[0].cup_tilt = math.degrees(math.asin(min(max(down, -1.0), 1.0)))


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Let the drink flow, and let what was swallowed leave the mouth."""
    world, p = plant.world[0], plant.parameters[0]
    world.cup_left += world.cup_filled - world.hidden_filled_before
    world.hidden_filled_before = world.cup_filled
    left_share = max(world.cup_left, 0.0) / p.cup_ml
    begins = p.brim_deg + (p.last_deg - p.brim_deg) * (1.0 - min(left_share, 1.0))
    beyond = max(world.cup_tilt - begins, 0.0)
    rate = p.thin_ml_per_s_deg * beyond * math.pow(p.thicker, world.drink_level)
    flows = min(rate * dt_s, max(world.cup_left, 0.0))
    world.cup_flow = flows / dt_s if dt_s > 0.0 else 0.0
    world.cup_left -= flows
    if flows > 0.0:
        enters = world.truth_gap <= p.at_lips_m and world.truth_opening >= p.opening_m
        if enters:
            world.cup_given += flows
            world.truth_mouth_ml += flows
            if world.airway_closed < 0.5:
                world.truth_unsafe_ml += flows
            if world.drink_level < world.card_level:
                world.truth_thin_ml += flows
        else:
            world.truth_spilt_ml += flows
    if world.drink_swallows > world.hidden_swallows_before:
        world.truth_drunk_ml += world.truth_mouth_ml
        world.truth_mouth_ml = 0.0
        world.cup_given = 0.0
    world.hidden_swallows_before = world.drink_swallows


def begin(world: Any, p: Any) -> None:  # noqa: ANN401 records
    """Fill the cup."""
    world["cup_left"] = world["hidden_filled_before"] = world["cup_filled"]
    world["hidden_swallows_before"] = world["drink_swallows"]


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Fill the cup as far as the drink stands in it, and stain the cloth on the chest.

    The surface is drawn square to the cup, however that is tilted; all that was spilt is drawn as one round stain.
    """
    half = max(float(plant.world[0]["cup_left"]), 0.1) * 1e-6 / (2.0 * math.pi * INSIDE_M**2)
    geom = model.geom("drink")
    geom.size[:2] = INSIDE_M, half
    geom.pos[2] = FLOOR_M + half
    spilt_ml = float(plant.world[0]["truth_spilt_ml"])
    model.geom("cloth_on_chest").rgba[3] = 1.0
    model.geom("stain").rgba[3] = 1.0 if spilt_ml > 0.0 else 0.0
    model.geom("stain").size[0] = max(math.sqrt(spilt_ml * STAIN_M2_PER_ML / math.pi), 1e-4)


STATION = Station(
    name="drink",
    text="cup that pours by its tilt, and the mouth it pours into",
    needs=("arm", "face", "person"),
    body=("cup.filled", "drink.level", "card.level", "drink.swallows", "airway.closed"),
    derived=(
        "cup.tilt", "cup.left", "cup.flow", "cup.given", "truth.mouth_ml", "truth.unsafe_ml", "truth.thin_ml",
        "truth.spilt_ml", "truth.drunk_ml",
    ),
    hidden=("hidden.swallows_before", "hidden.filled_before"),
    shown_as={
        "camera.drink": "cup.left", "camera.spill": "truth.spilt_ml", "throat.swallows": "drink.swallows",
        "truth.cup_tilt": "cup.tilt",
    },
    stands={"cup.filled": 100.0, "airway.closed": 1.0},
    parameters=DrinkParameters(),
    begin=begin,
    dress=dress,
    feel=feel,
    pass_time=pass_time,
)  # fmt: skip
