"""The checks of a simulated bench: the same list as for wires, each measured on the simulation itself."""

from dataclasses import dataclass

import numpy as np

from rig.core.backend import Stop
from rig.core.bench import BenchSpec
from rig.core.channel import Trace, joined
from rig.core.clock import wall_utc
from rig.core.command import Actuator, Command, Plan, actuator_index, steady
from rig.core.errors import RigFault
from rig.core.watch import Guard
from rig.doctor.cameras import camera_checks
from rig.doctor.report import Check, judged
from rig.doctor.sensors import plausible, stuck, weighed
from rig.doctor.state import Latency, save_latency
from rig.sim.backend import SimBackend, indifferent_watch

FAST_TICKS, SLOW_TICKS, MOVE_TICKS = 500, 60, 200
MASS_KG, MASS_TOLERANCE_N = 0.2, 0.1
STOPS = 5
SPEED = 0.3
"""Share of the actuator's rate at which a stop is tried."""
STANDSTILL_S = 0.2
"""Allowed from the stop at the actuator to standstill; the approach speeds to a face leave room for it."""


def simulated_checks(bench: BenchSpec, seed: int = 0) -> list[Check]:
    """Return the checks of a simulated bench; writes its latency file."""
    sensors = tuple(c.name for c in bench.layout if c.name not in bench.intents)
    with SimBackend(bench, seed) as backend:
        trace = joined([backend.hold(FAST_TICKS), backend.hold(SLOW_TICKS, bench.slow_tick_ns)], bench.layout)
        checks = [plausible(trace, sensors), stuck(trace, sensors), *camera_checks(bench, backend)]
        if "wrist.force" in bench.layout:
            checks.append(_known_mass(backend))
        mover = quickest(bench)
        checks += [_stopping(backend, mover), _estop(backend, mover), _lease(backend, mover)]
    return checks


def quickest(bench: BenchSpec) -> Actuator:
    """Return the actuator whose own sensor is sampled most often: on it a stop is seen soonest."""
    own = [a for a in bench.actuators if a.name in bench.layout]
    return min(own, key=lambda a: bench.layout[a.name].period_s)


def with_room(mover: Actuator, start: float, direction: float) -> float:
    """Return the direction in which an actuator can be tried for a second: this one, or else the other."""
    return direction if mover.low <= start + direction * SPEED * mover.rate <= mover.high else -direction


def _known_mass(backend: SimBackend) -> Check:
    backend.place(hidden={"tool.hung": MASS_KG})
    trace = backend.hold(FAST_TICKS)
    return weighed(float(np.nanmean(trace.column("wrist.force")[-200:])), MASS_KG, MASS_TOLERANCE_N)


@dataclass(frozen=True, slots=True)
class _Stopped:
    command_s: float
    standstill_s: float


def _run_and_stop(backend: SimBackend, mover: Actuator, direction: float) -> _Stopped:
    """Move, stop on a signal as a skill would, and measure when the actuator stands."""
    bench = backend.bench
    backend.place()
    i, tick_s = actuator_index(bench.actuators, mover.name), bench.tick_ns / 1e9
    n = round(1.0 / tick_s)
    rows = np.repeat(backend.setpoints[None, :], n, axis=0)
    start = float(backend.setpoints[i])
    direction = with_room(mover, start, direction)
    rows[:, i] += direction * SPEED * mover.rate * tick_s * np.arange(1, n + 1)
    far = start + direction * SPEED * mover.rate * 0.5
    guard = Guard(mover.name, above=far) if direction > 0 else Guard(mover.name, below=far)
    plan = Plan(bench.actuators, backend.now_ns, bench.tick_ns, rows, backend.now_ns + n * bench.tick_ns)
    found = backend.stretch(plan, indifferent_watch(), [guard])
    if found.stop is not Stop.GUARD:
        raise RigFault(f"{mover.name} was moved and its own sensor did not show it")
    sensed_ns, done = backend.now_ns, len(found.trace)
    coast = bench.reaction_ns // bench.tick_ns  # what the bench takes to bring a command to the actuator
    backend.stretch(
        Plan(bench.actuators, backend.now_ns, bench.tick_ns, rows[done : done + coast], plan.expires_ns),
        indifferent_watch(),
    )
    commanded_ns = backend.now_ns
    backend.make_safe()
    after = backend.hold(n)
    return _Stopped((commanded_ns - sensed_ns) / 1e9, _standing_s(after, mover.name, tick_s))


def stops_s(bench: BenchSpec, n: int, seed: int = 0) -> list[float]:
    """Return ``n`` measured times from a signal in the world to standstill, seconds."""
    with SimBackend(bench, seed) as backend:
        mover = quickest(bench)
        channel = bench.layout[mover.name]
        sense_s = channel.latency_s + channel.period_s
        found = [_run_and_stop(backend, mover, 1.0 if k % 2 else -1.0) for k in range(n)]
    return [sense_s + one.command_s + one.standstill_s for one in found]


def _standing_s(after: Trace, name: str, tick_s: float) -> float:
    """Return when the last movement of more than a few steps of the sensor was seen, seconds."""
    values, channel = after.column(name), after.layout[name]
    band = max(5 * channel.resolution, 5 * channel.noise, 1e-3)
    moving = np.flatnonzero(np.abs(values - values[-1]) > band)
    return 0.0 if not len(moving) else float((moving[-1] + 1) * tick_s)


def _stopping(backend: SimBackend, mover: Actuator) -> Check:
    bench, channel = backend.bench, backend.layout[mover.name]
    stops = [_run_and_stop(backend, mover, 1.0 if k % 2 else -1.0) for k in range(STOPS)]
    latency = Latency(
        bench_digest=bench.digest, measured_utc=wall_utc().isoformat(timespec="seconds"), repeats=STOPS,
        sense_s=channel.latency_s + channel.period_s, command_s=max(s.command_s for s in stops),
        standstill_s=max(s.standstill_s for s in stops),
    )  # fmt: skip
    save_latency(bench.name, latency)
    allowed_s = bench.reaction_ns / 1e9 + channel.latency_s + channel.period_s + STANDSTILL_S
    return judged(
        "stop_latency", "Signal to standstill", latency.total_s <= allowed_s,
        f"{latency.total_s * 1000:.0f} ms worst of {STOPS} (sense {latency.sense_s * 1000:.0f}, command "
        f"{latency.command_s * 1000:.0f}, standstill {latency.standstill_s * 1000:.0f}) on {mover.name}",
        f"at most {allowed_s * 1000:.0f} ms", "correct `reaction` in the bench file, or find what became slower",
        latency.total_s,
    )  # fmt: skip


def _estop(backend: SimBackend, mover: Actuator) -> Check:
    """Prove the stop that needs nobody: make everything safe amid a motion."""
    start = backend.place().value(mover.name)
    target = backend.setpoints.copy()
    i = actuator_index(backend.actuators, mover.name)
    target[i] += with_room(mover, float(target[i]), 1.0) * SPEED * mover.rate
    moving = steady(backend.actuators, target, backend.now_ns, backend.bench.tick_ns, MOVE_TICKS)
    backend.stretch(moving, indifferent_watch())
    backend.make_safe()
    before = backend.snapshot().value(mover.name)
    after = backend.hold(FAST_TICKS)
    moved = abs(float(after.column(mover.name)[-1]) - before)
    allowed = SPEED * mover.rate * STANDSTILL_S
    return judged(
        "estop", "Emergency stop proven today", abs(before - start) > allowed / 2 and moved <= allowed,
        f"stopped {abs(before - start):.3f} {mover.unit} into a motion; {mover.name} went on by {moved:.4f} {mover.unit}",
        f"at most {allowed:.4f} {mover.unit}", "do not use this bench; report the fault", moved,
    )  # fmt: skip


def _lease(backend: SimBackend, mover: Actuator) -> Check:
    """Prove that a command past its lease is refused: the simulated bench's watchdog."""
    backend.hold(2)
    late = Command(mover.name, float(backend.snapshot().value(mover.name)), backend.now_ns - 1)
    try:
        backend.write([late])
        refused = False
    except RigFault:
        refused = True
    return judged(
        "watchdog", "Watchdog proven", refused, "a command past its lease was " + ("refused" if refused else "carried out"),
        "refused", "do not use this bench; report the fault",
    )  # fmt: skip
