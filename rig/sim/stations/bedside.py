"""Who is at the bed and who has left it: time on the floor without help, time held back by rails."""

from rig.sim.native import compiled
from rig.sim.slow import unattended
from rig.sim.state import Plant
from rig.sim.station import Station


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Run the timers: each counts while its condition lasts and starts again at nothing."""
    world = plant.world[0]
    on_floor = unattended(world) and world.person_floor >= 0.5
    held_back = world.bed_rails >= 0.5 and world.person_leaving >= 0.5
    world.truth_floor_s = world.truth_floor_s + dt_s if on_floor else 0.0
    world.truth_held_back_s = world.truth_held_back_s + dt_s if held_back else 0.0


STATION = Station(
    name="bedside",
    text="floor, bed edge and rails around a person who may want to leave the bed",
    needs=("bed", "carer"),
    body=("person.edge", "person.fall", "person.floor", "person.leaving"),
    derived=("truth.floor_s", "truth.held_back_s"),
    shown_as={
        "mat.edge": "person.edge", "edge.load": "person.edge", "depth.floor": "person.floor",
        "truth.fall_speed": "person.fall",
    },
    pass_time=pass_time,
)  # fmt: skip
