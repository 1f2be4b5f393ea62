"""The mattress and the skin on it: loads from posture, and a dose against the tissue's tolerance.

Four sites: sacrum, left hip, right hip, heels. A dose grows at one over the time that the present
pressure needs to do damage, and fades under relief. It is kept twice: from the true posture, and
from the image of the mat, which goes wrong when the mat does.
"""

import math
from dataclasses import dataclass

from rig.sim.faults import DEAD, STUCK
from rig.sim.native import compiled
from rig.sim.sensing import fault_active
from rig.sim.state import Plant, Record, Senses
from rig.sim.station import Station


@dataclass(frozen=True, slots=True)
class MattressParameters:
    """Constants of skin under pressure: kPa, seconds, degrees, kilograms.

    Attributes:
        reference_kg: Weight at which the pressures below hold; they go with the weight. Proposal.
        full_side_deg: Turn to the side at which relief is complete: 30 degrees, as care plans use.
        supine_sacrum: Pressure under the sacrum, flat. Proposal inside published interface
            pressures on foam (4 to 9 kPa).
        sacrum_per_degree: Rise per degree of trunk angle above 30. Proposal.
        sacrum_relief: Share taken off the sacrum at 30 degrees to the side. Proposal.
        hip_rest: Pressure under either hip, flat. Proposal.
        hip_side: Added pressure under the lower hip at 30 degrees. Proposal.
        heel_rest: Pressure under the heels, flat. Proposal.
        heel_relief: Share taken off the heels at 30 degrees to the side. Proposal.
        relief_pressure: Below it tissue recovers: 32 mmHg capillary closing pressure, textbook value.
        knee_pressure: Lower end of the fitted tolerance curve, 9 kPa. Source: Linder-Ganz et al. 2006
            (over 9 kPa for two hours kills rat muscle).
        cap_pressure: Upper end, 32 kPa (kills within 15 to 60 minutes). Same source.
        curve_s: Middle of the sigmoid fitted between those ends: 95 min.
        curve_per_s: Its steepness: 0.15 per minute.
        shortest_s: Time to damage at the upper end: 15 min. Same source.
        knee_s: Time to damage at the lower end: 150 min, where the sigmoid has flattened. Proposal.
        longest_s: Time to damage just above relief: 12 h. Proposal, so that a supine person needs a
            turn every 2 to 3.5 hours (NICE: at most 4 h at high risk).
        skin_recovery_s: Time constant of recovery under relief. Proposal.
        mat_smoothing_s: Time constant over which the mat averages its image before it adds up a
            dose. Proposal; with the mat's noise of 2 percent it resolves 0.3 percent of a load.
    """

    reference_kg: float = 70.0
    full_side_deg: float = 30.0
    supine_sacrum: float = 8.0
    sacrum_per_degree: float = 0.10
    sacrum_relief: float = 0.55
    hip_rest: float = 3.0
    hip_side: float = 5.5
    heel_rest: float = 6.0
    heel_relief: float = 0.5
    relief_pressure: float = 4.3
    knee_pressure: float = 9.0
    cap_pressure: float = 32.0
    curve_s: float = 95.0 * 60.0
    curve_per_s: float = 0.15 / 60.0
    shortest_s: float = 15.0 * 60.0
    knee_s: float = 150.0 * 60.0
    longest_s: float = 12.0 * 3600.0
    skin_recovery_s: float = 3600.0
    mat_smoothing_s: float = 60.0


SITES = ("sacrum", "left hip", "right hip", "heels")
TRUE, MAT, IMAGE = 0, 1, 2  # rows of Plant.skin: true dose, the mat's dose, the mat's pressures


@compiled
def pressures(world: Record, p: Record) -> tuple[float, float, float, float]:
    """Return the pressure (kPa) at each site: trunk angle, side turn and weight decide."""
    side = (world.bed_tilt + world.person_roll) / p.full_side_deg  # right is positive
    share = min(abs(side), 1.0)
    scale = world.person_weight / p.reference_kg
    upright = max(world.truth_back - 30.0, 0.0)
    sacrum = (p.supine_sacrum + p.sacrum_per_degree * upright) * (1.0 - p.sacrum_relief * share)
    left = p.hip_rest + p.hip_side * max(-side, 0.0)
    right = p.hip_rest + p.hip_side * max(side, 0.0)
    heels = p.heel_rest * (1.0 - p.heel_relief * share)
    return scale * sacrum, scale * left, scale * right, scale * heels


@compiled
def time_to_damage(pressure: float, p: Record) -> float:
    """Return how long (s) a constant pressure (kPa) takes to do damage; infinite under relief."""
    if pressure <= p.relief_pressure:
        return math.inf
    if pressure < p.knee_pressure:
        share = (p.knee_pressure - pressure) / (p.knee_pressure - p.relief_pressure)
        return p.knee_s * math.pow(p.longest_s / p.knee_s, share)
    if pressure == p.knee_pressure:
        return p.knee_s
    if pressure >= p.cap_pressure:
        return p.shortest_s
    ratio = (p.cap_pressure - p.knee_pressure) / (pressure - p.knee_pressure) - 1.0
    t_s = p.curve_s + math.log(ratio) / p.curve_per_s
    return min(max(t_s, p.shortest_s), p.knee_s)


@compiled
def _grown(dose: float, pressure: float, dt_s: float, p: Record) -> float:
    if pressure <= p.relief_pressure:
        return dose * math.exp(-dt_s / p.skin_recovery_s)
    return dose + dt_s / time_to_damage(pressure, p)


@compiled
def load_skin(plant: Plant, dt_s: float) -> None:
    """Let the true posture work on the skin for ``dt_s``."""
    world, p, skin = plant.world[0], plant.parameters[0], plant.skin
    loads = pressures(world, p)
    world.mat_pressure = max(max(loads[0], loads[1]), max(loads[2], loads[3]))
    worst = 0.0
    for i in range(skin.shape[1]):
        skin[TRUE, i] = _grown(skin[TRUE, i], loads[i], dt_s, p)
        worst = max(worst, skin[TRUE, i])
    world.truth_dose = worst


@compiled
def read_mat(plant: Plant, senses: Senses, dt_s: float, t_ns: int) -> None:
    """Let the mat add up its own dose over ``dt_s`` from what it believes the pressures to be.

    A mat that is stuck or dead keeps its last image; one that reads too much or too little sees
    every site scaled alike. The image is smoothed over `mat_smoothing_s`: a single noisy sample under
    the relief pressure is no relief, and adding it up as such would hide a dose that grows.
    """
    world, p, skin, c = plant.world[0], plant.parameters[0], plant.skin, senses.reads[0].mat
    blind, gain = False, 1.0
    if c >= 0:
        shown = senses.values[c]
        blind = fault_active(senses.faults, DEAD, c, t_ns) or fault_active(senses.faults, STUCK, c, t_ns)
        if not blind and world.mat_pressure > 0.0:
            gain = shown / world.mat_pressure
        blind = blind or math.isnan(gain)
    loads = pressures(world, p)
    worst, share = 0.0, 1.0 - math.exp(-dt_s / p.mat_smoothing_s)
    for i in range(skin.shape[1]):
        if not blind:
            seen = gain * loads[i]
            skin[IMAGE, i] = (
                seen if skin[IMAGE, i] == 0.0 else skin[IMAGE, i] + share * (seen - skin[IMAGE, i])
            )
        skin[MAT, i] = _grown(skin[MAT, i], skin[IMAGE, i], dt_s, p)
        worst = max(worst, skin[MAT, i])
    world.mat_dose = worst


STATION = Station(
    name="mattress",
    text="pressure mat and the skin on it: load and damage at sacrum, hips and heels",
    needs=("bed",),
    body=("person.weight", "person.roll"),
    derived=("mat.pressure", "mat.dose", "truth.dose"),
    parameters=MattressParameters(),
    reads={"mat": "mat.pressure"},
    each_second=load_skin,
    read_out=read_mat,
)
