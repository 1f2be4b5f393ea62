"""The checks of an emulated bench: the list of a physical one, with the hand on the e-stop played by the bench."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.clock_sync import fit
from rig.core.backend import Stop
from rig.core.bench import BenchSpec
from rig.core.channel import Trace
from rig.core.clock import wall_utc
from rig.core.command import Actuator, Plan, actuator_index, steady
from rig.core.device import Device
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.core.watch import Guard
from rig.doctor.calibration import calibration_checks
from rig.doctor.cameras import camera_checks
from rig.doctor.report import Check, judged, listed
from rig.doctor.sensors import plausible, stuck
from rig.doctor.simulated import SPEED, quickest, with_room
from rig.doctor.state import Latency, note_proof, save_latency
from rig.emulation.backend import EmulatedBackend
from rig.sim.backend import indifferent_watch
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import task_names

TICKS = 200
STOPS = 3
STANDSTILL_S = 0.3
RESIDUAL_S = 0.005
MARGIN_S = 0.1
"""Allowed beyond a heartbeat's time-out until SAFE: a step of the node and a busy machine."""


def emulated_checks(bench: BenchSpec, seed: int = 0) -> tuple[list[Check], tuple[str, ...]]:
    """Return the checks of an emulated bench, and what its devices say they are.

    Raises:
        RigFault: If the bench cannot be brought up at all; says what is missing.
    """
    checks, rules = calibration_checks(bench), rules_on(bench)
    with EmulatedBackend(bench, seed, rules=rules) as backend:
        identity = backend.board.identity
        trace = _still(backend, TICKS)
        checks += [
            _firmware(backend.bridge),
            plausible(trace, _sensors(bench)),
            stuck(trace, _sensors(bench)),
        ]
        checks += camera_checks(bench, backend.world)
        checks += [_bus(backend), _clocks(backend.bridge), _stopping(backend)]
    checks += [_proven(bench, seed, rules, "estop"), _proven(bench, seed, rules, "watchdog")]
    return checks, (
        identity,
        *(f"{d.name}: {d.driver} at {d.address}" for d in bench.devices if d.driver != "node"),
    )


def rules_on(bench: BenchSpec) -> Sequence[Path]:
    """Return the rules of a task that can be done on this bench: the monitor beside the node needs some to live."""
    for task in task_names():
        try:
            files = rule_files(task)
            if load_rules(files, bench.layout).rules:
                return files
        except (ConfigError, UsageError):
            continue  # a task for other equipment
    return ()


def _node(bench: BenchSpec) -> Device:
    return next(d for d in bench.devices if d.driver == "node")


def _sensors(bench: BenchSpec) -> tuple[str, ...]:
    return tuple(c.name for c in bench.layout if c.name not in bench.intents)


def _still(backend: EmulatedBackend, ticks: int) -> Trace:
    plan = steady(backend.actuators, backend.setpoints, backend.now_ns, backend.bench.tick_ns, ticks)
    return backend.stretch(plan, indifferent_watch()).trace


def _firmware(bridge: BridgeBackend) -> Check:
    found = bridge.link.seen(lambda s: s.identity)
    good = found is not None and found.fingerprint == m.FINGERPRINT and found.self_test == 0
    said = (
        "no answer" if found is None else f"description {found.fingerprint:08x}, self-test {found.self_test}"
    )
    return judged(
        "firmware", "Firmware and description", good, said, f"description {m.FINGERPRINT:08x}, self-test 0",
        "flash the firmware of this version; a self-test other than 0 names the part that failed",
    )  # fmt: skip


def _bus(backend: EmulatedBackend) -> Check:
    gaps, unreadable = backend.bridge.link.seen(lambda s: (s.gaps, s.unreadable))
    lost = [text for bed in backend.fieldbus if (text := bed.why_lost()) is not None]
    return judged(
        "lines", "Lines without errors", not (gaps or unreadable or lost),
        f"{gaps} telemetry gaps, {unreadable} unreadable frames, {len(lost)} devices lost"
        + (f": {listed(lost)}" if lost else ""),
        "none", "check plugs, shields and the length of cables",
    )  # fmt: skip


def _clocks(bridge: BridgeBackend) -> Check:
    raw = bridge.link.seen(lambda s: list(s.clocks.raw))
    line = fit(raw)
    residuals = [abs(line.host_ns(round(e.node_ns / 1000)) - e.node_ns - e.offset_ns) / 1e9 for e in raw]
    p50 = float(np.median(residuals))
    return judged(
        "clock_sync", "Clocks of host and node agree", p50 <= RESIDUAL_S,
        f"residual {p50 * 1e6:.0f} us median of {len(raw)}, uncertainty {line.uncertainty_ns / 1000:.0f} us",
        f"at most {RESIDUAL_S * 1000:.0f} ms",
        "stop other work on this machine; set an FTDI adapter's latency timer to 1 ms", p50,
    )  # fmt: skip


def _stopping(backend: EmulatedBackend) -> Check:
    bench, mover = backend.bench, quickest(backend.bench)
    channel = backend.layout[mover.name]
    standing, command = [], []
    for k in range(STOPS):
        command_s, standstill_s = _stop_once(backend, mover, 1.0 if k % 2 else -1.0)
        command.append(command_s)
        standing.append(standstill_s)
    latency = Latency(
        bench_digest=bench.digest, measured_utc=wall_utc().isoformat(timespec="seconds"), repeats=STOPS,
        sense_s=channel.latency_s + channel.period_s, command_s=max(command), standstill_s=max(standing),
    )  # fmt: skip
    save_latency(bench.name, latency)
    allowed_s = bench.reaction_ns / 1e9 + latency.sense_s + STANDSTILL_S
    return judged(
        "stop_latency", "Signal to standstill", latency.total_s <= allowed_s,
        f"{latency.total_s * 1000:.0f} ms worst of {STOPS} on {mover.name}, through its device",
        f"at most {allowed_s * 1000:.0f} ms",
        "correct `reaction` in the bench file, or find what became slower", latency.total_s,
    )  # fmt: skip


def _stop_once(backend: EmulatedBackend, mover: Actuator, direction: float) -> tuple[float, float]:
    """Return seconds from the signal to the stop on the wire, and from there to standstill."""
    bench, i = backend.bench, actuator_index(backend.actuators, mover.name)
    rate, tick_s, n = mover.rate, bench.tick_ns / 1e9, round(1.0 / (bench.tick_ns / 1e9))
    rows = np.repeat(backend.setpoints[None, :], n, axis=0)
    start = float(rows[0, i])
    direction = with_room(mover, start, direction)
    rows[:, i] += direction * SPEED * rate * tick_s * np.arange(1, n + 1)
    far = start + direction * SPEED * rate * 0.4
    guard = Guard(mover.name, above=far) if direction > 0 else Guard(mover.name, below=far)
    plan = Plan(bench.actuators, backend.now_ns, bench.tick_ns, rows, backend.now_ns + n * bench.tick_ns)
    found = backend.stretch(plan, indifferent_watch(), [guard])
    if found.stop is not Stop.GUARD:
        raise RigFault(f"{mover.name} was moved and its own sensor did not show it")
    sensed_ns = int(found.trace.t_ns[-1])
    held = backend.setpoints
    held[i] = backend.snapshot().value(mover.name)
    after = backend.stretch(
        steady(backend.actuators, held, sensed_ns, bench.tick_ns, n), indifferent_watch()
    ).trace
    values = after.column(mover.name)
    moving = np.flatnonzero(np.abs(values - values[-1]) > 2e-3)
    return tick_s, 0.0 if not len(moving) else float((after.t_ns[moving[-1]] - sensed_ns) / 1e9)


def _proven(bench: BenchSpec, seed: int, rules: Sequence[Path], what: str) -> Check:
    """Press the emergency stop, or fall silent, amid a motion, and see the node go SAFE for that reason."""
    status, took_s, limit_s = None, 0.0, _node(bench).heartbeat_ns / 1e9 + MARGIN_S
    reason = m.Reason.ESTOP if what == "estop" else m.Reason.CONTROLLER_LOST
    try:
        with EmulatedBackend(bench, seed, rules=rules) as backend:
            row = backend.setpoints
            mover = quickest(bench)
            row[actuator_index(backend.actuators, mover.name)] -= 0.2 * mover.rate
            moving = steady(backend.actuators, row, 0, bench.tick_ns, 20)
            backend.stretch(moving, indifferent_watch())
            began_ns = backend.board.clock.now_ns()
            if what == "estop":
                backend.press(True)
            else:
                backend.bridge.link.seen(lambda s: setattr(s, "beating", False))
            backend.bridge.link.wait(
                lambda s: s.status is not None and s.status.state == m.State.SAFE, 4 * limit_s
            )
            took_s = (backend.board.clock.now_ns() - began_ns) / 1e9
            status = backend.bridge.link.seen(lambda s: s.status)
    except RigFault:
        if status is None:
            raise
    why = m.Reason(status.reason).name if status is not None else "nothing"
    good = status is not None and status.state == m.State.SAFE and status.reason == reason
    if good:
        note_proof(bench.name, what, f"SAFE for {why} after {took_s * 1000:.0f} ms")
    title = "Emergency stop proven today" if what == "estop" else "Watchdog proven"
    return judged(
        what, title, good and took_s <= limit_s, f"SAFE for {why} after {took_s * 1000:.0f} ms, amid a motion just now",
        f"SAFE for {reason.name} within {limit_s * 1000:.0f} ms", "do not use this bench; report the fault", took_s,
    )  # fmt: skip
