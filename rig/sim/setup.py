"""Building the kernels' arrays from a bench, its faults and a seed."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, IntArray, Quality
from rig.core.clock import nanoseconds
from rig.core.command import Actuator
from rig.core.errors import UsageError
from rig.core.watch import Guard
from rig.sim.faults import SensorFault, fault_rows, longest_delays_ns
from rig.sim.parameters import (
    LEAST_LOAD,
    MOUTH,
    ROOM,
    SATURATION_FALL,
    SATURATION_REST,
    Parameters,
    scald_table,
)
from rig.sim.quantities import (
    ALVEOLAR,
    ARM,
    ARM0,
    BED,
    BITE_TEMPERATURE,
    BLOCKED,
    BOWL_TEMPERATURE,
    FOOD_TEMPERATURE,
    HUNG_MASS,
    LOAD,
    LOAD_BEFORE,
    SPO2,
    TAKEN,
    TAKEN_BEFORE,
    THERMOMETER,
    channel_sources,
    world_names,
)
from rig.sim.skin import SITES
from rig.sim.state import Guards, Plant, Senses
from rig.sim.surroundings import DECAYS


def _ints(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _salt(seed: int, channel: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{channel}".encode()).digest()[:8], "big")


def build_senses(bench: BenchSpec, seed: int, faults: Sequence[SensorFault]) -> Senses:
    """Return the sensors of a bench, none of which has measured anything yet."""
    layout, n = bench.layout, len(bench.layout)
    period_ns = _ints([nanoseconds(c.period_s) for c in layout])
    latency_ns = _ints([nanoseconds(c.latency_s) for c in layout])
    added = longest_delays_ns(faults)
    longest_ns = latency_ns + _ints([added.get(name, 0) for name in layout.names])
    delayed = longest_ns > 0
    depth = int(np.max(longest_ns // period_ns, initial=0)) + 2
    return Senses(
        source=_ints(channel_sources(bench)),
        period_ns=period_ns,
        latency_ns=latency_ns,
        stale_ns=_ints([nanoseconds(c.stale_after_s) for c in layout]),
        low=np.array([c.low for c in layout]),
        high=np.array([c.high for c in layout]),
        resolution=np.array([c.resolution for c in layout]),
        noise=np.array([c.noise for c in layout]),
        salt=np.array([_salt(seed, name) for name in layout.names], dtype=np.uint64),
        due_ns=np.zeros(n, dtype=np.int64),
        last=np.full(n, -1, dtype=np.int64),
        taken=np.full(n, -1, dtype=np.int64),
        line=np.where(delayed, np.cumsum(delayed) - 1, -1).astype(np.int64),
        delay=np.zeros((int(delayed.sum()), depth)),
        values=np.full(n, np.nan),
        sampled_ns=np.zeros(n, dtype=np.int64),
        first_quality=np.full(n, Quality.FAULT, dtype=np.uint8),
        quality=np.full(n, Quality.FAULT, dtype=np.uint8),
        fault=fault_rows(faults, layout),
        mat=_ints([layout.index("mat.pressure") if "mat.pressure" in layout else -1]),
    )


def build_plant(bench: BenchSpec, parameters: Parameters) -> Plant:
    """Return a world of which nothing is known yet; see `fill_world`."""
    names = world_names(bench)
    by_name = {a.name: (column, a) for column, a in enumerate(bench.actuators)}
    ordered = [by_name[name] for name in (*ARM, *BED)]
    return Plant(
        world=np.zeros(len(names)),
        parameters=parameters.vector(),
        scald=scald_table(),
        skin=np.zeros((3, len(SITES))),
        setpoint=np.zeros(len(ordered)),
        low=np.array([a.low for _, a in ordered]),
        high=np.array([a.high for _, a in ordered]),
        rate=np.array([a.rate for _, a in ordered]),
        column=_ints([column for column, _ in ordered]),
        body_place=_ints([names.index(b.name) for b in bench.body]),
        body_target=np.zeros(len(bench.body)),
        body_rate=np.array([b.rate for b in bench.body]),
        intent_place=_ints([names.index(i) for i in bench.intents]),
        intent=np.zeros(len(bench.intents)),
        clock=np.zeros(2, dtype=np.int64),
        decay=np.ones(DECAYS),
    )


def fill_world(
    plant: Plant, setpoints: FloatArray, body: FloatArray, bowl_temperature_c: float, hung_kg: float
) -> None:
    """Put the world at its starting point: everything at rest, nothing hurt, time zero."""
    world, p = plant.world, plant.parameters
    world[:] = 0.0
    plant.skin[:] = 0.0
    plant.clock[:] = 0
    plant.intent[:] = 0.0
    plant.setpoint[:] = setpoints
    plant.body_target[:] = body
    world[plant.body_place] = body
    world[ARM0 : ARM0 + len(setpoints)] = setpoints
    world[BOWL_TEMPERATURE], world[HUNG_MASS] = bowl_temperature_c, hung_kg
    food = bowl_temperature_c if world[LOAD] > p[LEAST_LOAD] else p[ROOM]
    world[FOOD_TEMPERATURE] = world[THERMOMETER] = food
    world[BITE_TEMPERATURE] = p[MOUTH]
    world[ALVEOLAR] = world[SPO2] = p[SATURATION_REST] - p[SATURATION_FALL] * world[BLOCKED]
    world[LOAD_BEFORE], world[TAKEN_BEFORE] = world[LOAD], world[TAKEN]


def build_guards(guards: Sequence[Guard], bench: BenchSpec) -> Guards:
    """Return the skill's guards for the kernel.

    Raises:
        UsageError: If a guard names an unknown channel or a bound that is not a number.
    """
    for guard in guards:
        if np.isnan(guard.above) or np.isnan(guard.below):
            raise UsageError(f"guard on {guard.channel}: a bound must be a number, seen NaN")
    return Guards(
        channel=_ints([bench.layout.index(g.channel) for g in guards]),
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
