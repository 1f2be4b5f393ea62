"""Washing: water from a mixing tap that may drift, a cloth that carries heat to the skin, cover and rail.

The bench lists the pads ``forearm_left`` and ``forearm_right``, in this order.
"""

import math
from dataclasses import dataclass
from typing import Any

from rig.sim.heat import scald_time
from rig.sim.native import compiled
from rig.sim.slow import ramp
from rig.sim.state import Engine, Plant
from rig.sim.station import Station
from rig.sim.stations.touch import FORCE, SLIP


@dataclass(frozen=True, slots=True)
class BathParameters:
    """Constants of water, cloth and skin, SI units (temperatures degC).

    Attributes:
        bath_room: Air of a bathroom. Proposal.
        tap_s: Time constant of the outlet behind the valve. Proposal.
        hottest: Hottest water the system gives: 65 degC. Proposal (stores are kept at 60 or more).
        soak_s: Time constant of a cloth in the basin. Proposal.
        cloth_s: Time constant of a wet cloth in the air. Proposal.
        skin_s: Time constant of a wet cloth on the skin. Proposal.
        skin_temperature: Skin of the arm. Textbook value.
        bath_harmless: No scald dose at or below it: 44 degC. Source: HSE, whole-body immersion of
            vulnerable people.
        bath_fading_s: Time constant with which a dose below harm fades once the heat is gone. Proposal.
        wipe_m: A soaked cloth wipes so far before it is dry. Proposal.
        least_wipe_n: Less force than this does not clean. Proposal.
        most_wipe_n: Working limit of wiping, 10 N. Source: proposal beside the largest forces volunteers bore
            (face wiping 36 N, IMechE Part H 2023).
        basin_m: A cloth this near the middle of the basin is in the water. Scene.
        bath_gap_m: Nearer to the skin than this is never slow world. Proposal.
    """

    bath_room: float = 24.0
    tap_s: float = 4.0
    hottest: float = 65.0
    soak_s: float = 1.0
    cloth_s: float = 120.0
    skin_s: float = 80.0
    skin_temperature: float = 33.0
    bath_harmless: float = 44.0
    bath_fading_s: float = 120.0
    wipe_m: float = 1.5
    least_wipe_n: float = 1.0
    most_wipe_n: float = 10.0
    basin_m: float = 0.05
    bath_gap_m: float = 0.06


LEFT, RIGHT = 0, 1  # places of the pads
_MOTORS = 4
_TOUCH_N = 0.1
_HALF = 0.5


@compiled
def feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Work out where the cloth is, how hard it presses and how far it wipes."""
    world, p, pads, vector = plant.world[0], plant.parameters[0], plant.pads, plant.vector
    site, book = engine.site_position, engine.book[0]
    tip, basin = book.tip, book.basin
    x, y, z = site[tip, 0] - site[basin, 0], site[tip, 1] - site[basin, 1], site[tip, 2] - site[basin, 2]
    world.hidden_in_basin = 1.0 if math.sqrt(x * x + y * y + z * z) < p.basin_m else 0.0
    left, right = vector[pads[LEFT].place + FORCE], vector[pads[RIGHT].place + FORCE]
    world.truth_arm_force = max(left, right)
    world.truth_skin_gap = max(site[tip, 2] - site[pads[LEFT].site, 2], 0.0)
    wet = world.cloth_wet > 0.05
    if wet and p.least_wipe_n <= left <= p.most_wipe_n:
        world.truth_washed_left += vector[pads[LEFT].place + SLIP] * p.tick_s
    if wet and p.least_wipe_n <= right <= p.most_wipe_n:
        world.truth_washed_right += vector[pads[RIGHT].place + SLIP] * p.tick_s
    slip = max(vector[pads[LEFT].place + SLIP], vector[pads[RIGHT].place + SLIP])
    if moving and slip > 0.0:
        world.cloth_wet = max(world.cloth_wet - slip * p.tick_s / p.wipe_m, 0.0)


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Let valve, cover, rail and the carer's cart go on, and water, cloth, skin and timers with them."""
    world, p, vector, drives, left = (
        plant.world[0], plant.parameters[0], plant.vector, plant.drives, plant.factors[0],
    )  # fmt: skip
    first = plant.stations[0].bath
    for i in range(first, first + _MOTORS):
        vector[i] = ramp(vector[i], drives[i].setpoint, drives[i].rate * dt_s)
    mixed = min(world.bath_valve + world.water_drift, p.hottest)
    world.water_temperature = mixed + (world.water_temperature - mixed) * left.tap_s
    touching = world.truth_arm_force > _TOUCH_N
    around, share = p.bath_room, left.cloth_s
    if world.hidden_in_basin > _HALF:
        around, share = world.water_temperature, left.soak_s
        world.cloth_wet = 1.0
    elif touching:
        around, share = p.skin_temperature, left.skin_s
    heat = around + (world.cloth_temperature - around) * math.sqrt(share)  # in the middle of the step
    world.cloth_temperature = around + (world.cloth_temperature - around) * share
    if touching and heat > p.bath_harmless:
        world.truth_skin_dose += dt_s / scald_time(heat, plant.scald)
    else:
        world.truth_skin_dose *= left.bath_fading_s
    alone = world.carer_present < _HALF
    world.truth_bare_s = world.truth_bare_s + dt_s if alone and world.bath_cover < _HALF else 0.0
    unguarded = alone and world.bath_away > _HALF and world.bath_rail < _HALF
    world.truth_unguarded_s = world.truth_unguarded_s + dt_s if unguarded else 0.0


def _begin(world: Any, p: Any) -> None:  # noqa: ANN401  records
    """The tap has run for a while, the cloth lies in the air."""
    world["water_temperature"] = world["bath_valve"] + world["water_drift"]
    world["cloth_temperature"] = p["bath_room"]


def _why_busy(plant: Plant) -> str | None:
    """Return why the slow world will not do: the cloth is near the skin."""
    gap_m = float(plant.world[0]["truth_skin_gap"])
    near = gap_m < float(plant.parameters[0]["bath_gap_m"])
    return f"the cloth is {gap_m:.3f} m above the skin" if near else None


STATION = Station(
    name="bath",
    text="a basin under a mixing tap, a washing cloth on the arm, a cover and a rail",
    needs=("arm", "touch", "carer"),
    motors=("bath.valve", "bath.cover", "bath.rail", "bath.away"),
    body=("water.drift",),
    derived=(
        "water.temperature", "cloth.temperature", "cloth.wet", "truth.arm_force", "truth.skin_gap",
        "truth.washed_left", "truth.washed_right", "truth.skin_dose", "truth.bare_s", "truth.unguarded_s",
    ),
    hidden=("hidden.in_basin",),
    shown_as={
        "cloth.temperature2": "cloth.temperature", "truth.cloth": "cloth.temperature", "truth.covered": "bath.cover",
        "washed.left": "truth.washed_left", "washed.right": "truth.washed_right",
    },
    stands={"bath.valve": 39.0, "bath.cover": 1.0, "bath.rail": 1.0},
    parameters=BathParameters(),
    lags=("tap_s", "soak_s", "cloth_s", "skin_s", "bath_fading_s"),
    parts={"basin": ("site", "place_basin")},
    begin=_begin,
    why_busy=_why_busy,
    feel=feel,
    pass_time=pass_time,
)  # fmt: skip
