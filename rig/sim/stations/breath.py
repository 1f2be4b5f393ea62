"""Breathing: the oxygen that is left with a blocked airway, and how long nobody has been called."""

from dataclasses import dataclass
from typing import Any

from rig.sim.native import compiled
from rig.sim.slow import unattended
from rig.sim.state import Plant
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class BreathParameters:
    """Constants of breathing, SI units.

    Attributes:
        saturation_rest: Oxygen saturation at rest, percent. Proposal for an old resident.
        saturation_fall: Fall of the saturation with a complete obstruction in the end. Proposal.
        lung_s: Time constant of the lung's oxygen store. Proposal.
        finger_s: Delay of the finger sensor, as a time constant. Proposal; with `lung_s` a complete
            obstruction costs three points in about ten seconds.
    """

    saturation_rest: float = 97.0
    saturation_fall: float = 40.0
    lung_s: float = 40.0
    finger_s: float = 10.0


@compiled
def pass_time(plant: Plant, dt_s: float) -> None:
    """Use up or replenish the lung's oxygen; count the time of a blocked airway without a call."""
    world, p, left = plant.world[0], plant.parameters[0], plant.factors[0]
    ending = p.saturation_rest - p.saturation_fall * world.airway_blocked
    world.hidden_lung_saturation = ending + (world.hidden_lung_saturation - ending) * left.lung_s
    world.spo2 = world.hidden_lung_saturation + (world.spo2 - world.hidden_lung_saturation) * left.finger_s
    choking = unattended(world) and world.airway_blocked >= 0.5
    world.truth_blocked_s = world.truth_blocked_s + dt_s if choking else 0.0


def begin(world: Any, p: Any) -> None:  # noqa: ANN401 records
    """Start where an airway like this one ends up."""
    saturation = p["saturation_rest"] - p["saturation_fall"] * world["airway_blocked"]
    world["hidden_lung_saturation"] = world["spo2"] = saturation


STATION = Station(
    name="breath",
    text="airway, oxygen saturation and the finger sensor",
    needs=("carer",),
    body=("airway.blocked",),
    derived=("spo2", "truth.blocked_s"),
    hidden=("hidden.lung_saturation",),
    parameters=BreathParameters(),
    lags=("lung_s", "finger_s"),
    begin=begin,
    pass_time=pass_time,
)
