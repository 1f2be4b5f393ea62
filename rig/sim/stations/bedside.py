"""Who is at the bed and who has left it: time on the floor without help, time held back by rails."""

from typing import Any, Final

import mujoco

from rig.sim.native import compiled
from rig.sim.slow import unattended
from rig.sim.state import Plant, Record
from rig.sim.station import Station

NOWHERE, IN_BED, AT_EDGE, ON_FLOOR = 0.0, 1.0, 2.0, 3.0
"""Where a person is, as a depth camera tells it (`rig.vision.perceive.Place`)."""
LEAST_KG: Final = 5.0
"""Less weight than this is an empty bed."""
SHIFT_M: Final = 0.30
"""How far legs and trunk are drawn to the left with all of the weight on the edge."""
LYING: Final = ("trunk", "legs", "legs2")
LYING_Y: Final = (0.0, 0.11, -0.11)
FALLEN: Final = ("fallen", "fallen_legs")


@compiled
def _where(world: Record) -> float:
    if world.person_floor >= 0.5:
        return ON_FLOOR
    if world.person_weight < LEAST_KG:
        return NOWHERE
    return AT_EDGE if world.person_edge >= 0.5 else IN_BED


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Run the timers: each counts while its condition lasts and starts again at nothing."""
    world = plant.world[0]
    on_floor = unattended(world) and world.person_floor >= 0.5
    held_back = world.bed_rails >= 0.5 and world.person_leaving >= 0.5
    world.person_place = _where(world)
    world.truth_floor_s = world.truth_floor_s + dt_s if on_floor else 0.0
    world.truth_held_back_s = world.truth_held_back_s + dt_s if held_back else 0.0


def begin(world: Any, p: Any) -> None:  # noqa: ANN401 records
    """Say where the person is."""
    world["person_place"] = (
        ON_FLOOR if world["person_floor"] >= 0.5
        else NOWHERE if world["person_weight"] < LEAST_KG
        else AT_EDGE if world["person_edge"] >= 0.5 else IN_BED
    )  # fmt: skip


def dress(model: mujoco.MjModel, data: mujoco.MjData, plant: Plant) -> None:
    """Show the person in bed, nearer to its edge with the weight, or on the floor beside it."""
    world = plant.world[0]
    place, shift = world["person_place"], SHIFT_M * world["person_edge"]
    for name, y in zip(LYING, LYING_Y, strict=True):
        model.geom(name).pos[1] = y + shift
        model.geom(name).rgba[3] = 1.0 if place in (IN_BED, AT_EDGE) else 0.0
    for name in FALLEN:
        model.geom(name).rgba[3] = 1.0 if place == ON_FLOOR else 0.0


STATION = Station(
    name="bedside",
    text="floor, bed edge and rails around a person who may want to leave the bed",
    needs=("bed", "carer"),
    body=("person.edge", "person.fall", "person.floor", "person.leaving"),
    derived=("person.place", "truth.floor_s", "truth.held_back_s"),
    shown_as={
        "mat.edge": "person.edge", "edge.load": "person.edge", "depth.floor": "person.floor", "depth.place": "person.place",
        "truth.place": "person.place", "truth.on_floor": "person.floor",
        "truth.fall_speed": "person.fall",
    },
    begin=begin,
    dress=dress,
    pass_time=pass_time,
)  # fmt: skip
