"""Building the kernels' arrays from a bench, its faults and a seed."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Quality
from rig.core.clock import nanoseconds
from rig.core.command import Actuator, actuator_index
from rig.core.errors import ConfigError, UsageError
from rig.core.watch import Guard
from rig.sim.composition import PAD_QUANTITIES, Composition, channel_sources, world_names
from rig.sim.faults import SensorFault, fault_rows, longest_delays_ns
from rig.sim.heat import scald_table
from rig.sim.state import CHANNEL, DRIVE, MUSCLE, PAD, Guards, Plant, Senses
from rig.sim.stations.mattress import SITES
from rig.sim.stations.touch import REGIONS


def _salt(seed: int, channel: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{channel}".encode()).digest()[:8], "big")


def build_senses(
    bench: BenchSpec, made: Composition, seed: int, faults: Sequence[SensorFault], given: Sequence[str] = ()
) -> Senses:
    """Return the sensors of a bench, none of which has measured anything yet.

    Args:
        bench: The bench.
        made: Its stations.
        seed: Of the noise.
        faults: What goes wrong with them.
        given: Channels whose samples come from outside.
    """
    layout, n = bench.layout, len(bench.layout)
    channels = np.zeros(n, dtype=CHANNEL)
    channels["source"] = channel_sources(bench, made)
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
    channels["given"][[layout.index(name) for name in given]] = 1
    channels["line"] = np.where(delayed, np.cumsum(delayed) - 1, -1)
    depth = int(np.max(longest_ns // channels["period_ns"])) + 2
    return Senses(
        channels=channels,
        delay=np.zeros((int(delayed.sum()), depth)),
        faults=fault_rows(faults, layout),
        values=np.full(n, np.nan),
        sampled_ns=np.zeros(n, dtype=np.int64),
        quality=np.full(n, Quality.FAULT, dtype=np.uint8),
        reads=_reads(bench, made),
    )


def _reads(bench: BenchSpec, made: Composition) -> NDArray[np.void]:
    wanted = {field: channel for s in made.stations for field, channel in s.reads.items()}
    places = [bench.layout.index(c) if c in bench.layout else -1 for c in wanted.values()]
    return np.array([tuple(places) or (-1,)], [(n, np.int64) for n in wanted or ["nothing"]])


def _pads(bench: BenchSpec, names: Sequence[str]) -> NDArray[np.void]:
    if wrong := [p for p in bench.pads if p.region not in REGIONS]:
        known = ", ".join(sorted(REGIONS))
        raise ConfigError(
            f"bench {bench.name}",
            [f"pad.{p.name}.region: unknown region {p.region!r}; known: {known}" for p in wrong],
        )
    pads = np.zeros(len(bench.pads), dtype=PAD)
    pads["stiffness"] = [REGIONS[p.region] for p in bench.pads]
    pads["area_m2"] = [p.area_m2 for p in bench.pads]
    pads["place"] = [names.index(f"pad.{p.name}.{PAD_QUANTITIES[0]}") for p in bench.pads]
    return pads


def _drives(bench: BenchSpec, made: Composition) -> NDArray[np.void]:
    driven = (*made.servos, *made.motors)
    drives = np.zeros(len(driven), dtype=DRIVE)
    for drive, name in zip(drives, driven, strict=True):
        drive["column"] = actuator_index(bench.actuators, name)
        actuator = bench.actuators[int(drive["column"])]
        drive["low"], drive["high"], drive["rate"] = actuator.low, actuator.high, actuator.rate
    return drives


def build_plant(bench: BenchSpec, made: Composition) -> Plant:
    """Return a world of which nothing is known yet; see `fill_world`.

    Raises:
        ConfigError: If the bench does not fit its stations.
    """
    names = world_names(bench, made)
    vector = np.zeros(len(names))
    body = np.zeros(len(bench.body), dtype=MUSCLE)
    body["place"] = [names.index(b.name) for b in bench.body]
    body["rate"] = [b.rate for b in bench.body]
    intents = np.zeros(len(bench.intents), dtype=MUSCLE)
    intents["place"] = [names.index(i) for i in bench.intents]
    parameters, factors = made.record(), np.ones(1, dtype=made.factors_type)
    constants = list(parameters.dtype.names or ())
    return Plant(
        stations=np.array([tuple(made.first_motors())], dtype=made.stations_type),
        world=vector[: len(made.names)].view(made.world_type),
        vector=vector,
        parameters=parameters,
        constants=parameters.view(np.float64),
        factors=factors,
        lefts=factors.view(np.float64),
        lags=np.array([constants.index(name) for name in made.lags], dtype=np.int64),
        scald=scald_table(),
        skin=np.zeros((3, len(SITES))),
        pads=_pads(bench, names),
        drives=_drives(bench, made),
        servos=len(made.servos),
        body=body,
        intents=intents,
        clock=np.zeros(2, dtype=np.int64),
    )


def fill_world(
    plant: Plant, made: Composition, setpoints: FloatArray, body: FloatArray, hidden: Mapping[str, float]
) -> None:
    """Put the world at its starting point: everything at rest, nothing hurt, time zero."""
    plant.vector[:] = 0.0
    plant.skin[:] = 0.0
    plant.clock[:] = 0
    plant.pads["touched"] = 0
    plant.intents["target"] = 0.0
    plant.drives["setpoint"] = plant.vector[: len(setpoints)] = setpoints
    plant.body["target"] = plant.vector[plant.body["place"]] = body
    for name, value in hidden.items():
        plant.world[0][name.replace(".", "_")] = value
    for station in made.stations:
        if station.begin is not None:
            station.begin(plant.world[0], plant.parameters[0])


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
