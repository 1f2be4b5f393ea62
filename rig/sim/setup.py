"""Building the kernels' arrays from a bench, its faults and a seed."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Quality
from rig.core.clock import nanoseconds
from rig.core.command import Actuator, actuator_index
from rig.core.errors import UsageError
from rig.core.watch import Guard
from rig.sim.faults import SensorFault, fault_rows, longest_delays_ns
from rig.sim.parameters import Parameters, scald_table
from rig.sim.quantities import ARM, BED, NAMES, WORLD, channel_sources, world_names
from rig.sim.skin import SITES
from rig.sim.state import CHANNEL, DRIVE, MUSCLE, Guards, Plant, Senses


def _salt(seed: int, channel: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{channel}".encode()).digest()[:8], "big")


def build_senses(bench: BenchSpec, seed: int, faults: Sequence[SensorFault]) -> Senses:
    """Return the sensors of a bench, none of which has measured anything yet."""
    layout, n = bench.layout, len(bench.layout)
    channels = np.zeros(n, dtype=CHANNEL)
    channels["source"] = channel_sources(bench)
    channels["period_ns"] = [nanoseconds(c.period_s) for c in layout]
    channels["latency_ns"] = [nanoseconds(c.latency_s) for c in layout]
    channels["stale_ns"] = [nanoseconds(c.stale_after_s) for c in layout]
    for field in ("low", "high", "resolution", "noise"):
        channels[field] = [getattr(c, field) for c in layout]
    channels["salt"] = [_salt(seed, name) for name in layout.names]
    channels["last"] = channels["taken"] = -1
    channels["quality"] = Quality.FAULT
    added = longest_delays_ns(faults)
    longest_ns = channels["latency_ns"] + np.array([added.get(name, 0) for name in layout.names])
    delayed = longest_ns > 0
    channels["line"] = np.where(delayed, np.cumsum(delayed) - 1, -1)
    depth = int(np.max(longest_ns // channels["period_ns"])) + 2
    return Senses(
        channels=channels,
        delay=np.zeros((int(delayed.sum()), depth)),
        faults=fault_rows(faults, layout),
        values=np.full(n, np.nan),
        sampled_ns=np.zeros(n, dtype=np.int64),
        quality=np.full(n, Quality.FAULT, dtype=np.uint8),
        mat=layout.index("mat.pressure") if "mat.pressure" in layout else -1,
    )


def build_plant(bench: BenchSpec, parameters: Parameters) -> Plant:
    """Return a world of which nothing is known yet; see `fill_world`."""
    names = world_names(bench)
    vector = np.zeros(len(names))
    drives = np.zeros(len(ARM) + len(BED), dtype=DRIVE)
    for drive, name in zip(drives, (*ARM, *BED), strict=True):
        drive["column"] = actuator_index(bench.actuators, name)
        actuator = bench.actuators[int(drive["column"])]
        drive["low"], drive["high"], drive["rate"] = actuator.low, actuator.high, actuator.rate
    body = np.zeros(len(bench.body), dtype=MUSCLE)
    body["place"] = [names.index(b.name) for b in bench.body]
    body["rate"] = [b.rate for b in bench.body]
    intents = np.zeros(len(bench.intents), dtype=MUSCLE)
    intents["place"] = [names.index(i) for i in bench.intents]
    return Plant(
        world=vector[: len(NAMES)].view(WORLD),
        vector=vector,
        parameters=parameters.record(),
        scald=scald_table(),
        skin=np.zeros((3, len(SITES))),
        drives=drives,
        body=body,
        intents=intents,
        clock=np.zeros(2, dtype=np.int64),
    )


def fill_world(
    plant: Plant, setpoints: FloatArray, body: FloatArray, bowl_temperature_c: float, hung_kg: float
) -> None:
    """Put the world at its starting point: everything at rest, nothing hurt, time zero."""
    world, p = plant.world[0], plant.parameters[0]
    plant.vector[:] = 0.0
    plant.skin[:] = 0.0
    plant.clock[:] = 0
    plant.intents["target"] = 0.0
    plant.drives["setpoint"] = plant.vector[: len(setpoints)] = setpoints
    plant.body["target"] = plant.vector[plant.body["place"]] = body
    world["hidden_bowl_temperature"], world["hidden_hung_kg"] = bowl_temperature_c, hung_kg
    food = bowl_temperature_c if world["spoon_load"] > p["least_load_ml"] else p["room_temperature"]
    world["truth_food_temperature"] = world["spoon_temperature"] = food
    world["hidden_bite_temperature"] = p["mouth_temperature"]
    saturation = p["saturation_rest"] - p["saturation_fall"] * world["airway_blocked"]
    world["hidden_lung_saturation"] = world["spo2"] = saturation
    world["hidden_load_before"], world["hidden_taken_before"] = world["spoon_load"], world["bolus_taken"]


def build_guards(guards: Sequence[Guard], bench: BenchSpec) -> Guards:
    """Return the skill's guards for the kernel.

    Raises:
        UsageError: If a guard names an unknown channel or a bound that is not a number.
    """
    for guard in guards:
        if np.isnan(guard.above) or np.isnan(guard.below):
            raise UsageError(f"guard on {guard.channel}: a bound must be a number, seen NaN")
    return Guards(
        channel=np.array([bench.layout.index(g.channel) for g in guards], dtype=np.int64),
        above=np.array([g.above for g in guards], dtype=np.float64),
        below=np.array([g.below for g in guards], dtype=np.float64),
    )


def checked(kind: str, values: Mapping[str, float], known: Sequence[Actuator]) -> dict[int, float]:
    """Return values by column, after refusing what the bench does not have or cannot reach.

    Raises:
        UsageError: If a name is unknown or a value not finite or out of range; all mistakes at once.
    """
    columns = {a.name: i for i, a in enumerate(known)}
    mistakes = []
    for name, value in values.items():
        if name not in columns:
            mistakes.append(f"unknown {kind} {name!r}; known: {', '.join(sorted(columns)) or 'none'}")
            continue
        a = known[columns[name]]
        if not a.low <= value <= a.high:  # also refuses NaN
            mistakes.append(f"{kind} {name}: {value} is not within {a.low} to {a.high} {a.unit}")
    if mistakes:
        raise UsageError("; ".join(mistakes))
    return {columns[name]: float(value) for name, value in values.items()}
