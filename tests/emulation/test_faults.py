"""Every fault of wires and devices, with the reaction that is declared for it."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from firmware_bridge import messages as m
from firmware_bridge.build import LIBRARY
from rig.core.bench import load_bench
from rig.core.channel import ByteArray, Channel, FloatArray, Quality, Trace
from rig.core.clock import MonotonicClock
from rig.core.command import steady
from rig.core.errors import ConfigError, RigFault
from rig.core.rows import LEASE_NS
from rig.emulation.backend import EmulatedBackend
from rig.emulation.faults import (
    MODBUS,
    REACTIONS,
    BenchFault,
    DeviceFault,
    Reaction,
    at,
    is_bench_fault,
    parse_bench_faults,
)
from rig.emulation.fieldbus import FieldDevice
from rig.sim.backend import SimBackend, indifferent_watch
from rig.sim.faults import parse_faults
from tests.firmware_bridge.node import built

HOST = load_bench("emulated-host")
BASE = 0


def fault(kind: BenchFault, **more) -> DeviceFault:
    return DeviceFault.model_validate({"kind": kind, "start": "0.2 s", **more})


MORE = {
    BenchFault.CLOCK_SKEW: {"value": 0.01},
    BenchFault.MODBUS_EXCEPTION: {"value": 4},
    BenchFault.MODBUS_LATE: {"delay": "0.1 s"},
}
ON_THE_NODE = [k for k in BenchFault if k not in MODBUS]
ABORTS = {
    BenchFault.CABLE: "no status for 250 ms|CONTROLLER_LOST|no answer",
    BenchFault.ESTOP: "ESTOP",
    BenchFault.BROWN_OUT: "SUPPLY_LOW",
    BenchFault.REBOOT: "the node has restarted",
}


@pytest.fixture(autouse=True)
def _library() -> None:
    built(LIBRARY)


def run(faults: Sequence[DeviceFault], ticks: int = 300) -> tuple[EmulatedBackend, Trace | None, str]:
    """Swing the arm under faults; return the bench as it was left, the trace, and the rig's fault if any."""
    said, trace = "", None
    backend = EmulatedBackend(HOST, seed=3, device_faults=faults)
    try:
        with backend:
            row = backend.setpoints
            row[BASE] += 0.3
            plan = steady(backend.actuators, row, 0, HOST.tick_ns, ticks)
            trace = backend.stretch(plan, indifferent_watch()).trace
    except RigFault as error:
        said = str(error)
    return backend, trace, said


def test_every_kind_has_a_declared_reaction() -> None:
    assert set(REACTIONS) == set(BenchFault)


@pytest.mark.parametrize("kind", [k for k in ON_THE_NODE if REACTIONS[k] is Reaction.ABSORBED])
def test_what_is_absorbed_changes_nothing_that_matters(kind: BenchFault) -> None:
    chance = {} if kind is BenchFault.CLOCK_SKEW else {"chance": 0.002 if kind is BenchFault.GARBLE else 0.1}
    backend, trace, said = run([fault(kind, **chance, **MORE.get(kind, {}))])
    assert said == "" and trace is not None
    assert trace.column("arm.base")[-1] == pytest.approx(trace.column("arm.base")[0] + 0.3, abs=2e-3)
    wires = backend.board.link.wires
    assert wires is not None
    if kind is not BenchFault.CLOCK_SKEW:
        name = {"reorder": "delay"}.get(kind.value, kind.value)
        assert wires.to_node.done[name] + wires.to_host.done[name] > 0, "it never happened"
    traced = [backend.board.node.trace(k)[:2] for k in range(backend.board.node.traced)]
    assert len(set(traced)) == len(traced), "a command was carried out twice"


@pytest.mark.parametrize("kind", list(ABORTS))
def test_what_makes_it_safe_is_named_and_everything_holds(kind: BenchFault) -> None:
    backend, trace, said = run([fault(kind)])
    assert trace is None
    assert re.search(ABORTS[kind], said), said
    node = backend.board.node
    node.advance(500_000)
    assert node.state is not m.State.ARMED
    stood = node.driven(BASE)
    node.advance(500_000)
    assert node.driven(BASE) == stood


def test_a_clock_that_runs_a_percent_fast_is_mapped_and_reported() -> None:
    backend, trace, _ = run([fault(BenchFault.CLOCK_SKEW, value=0.01)], ticks=600)
    assert trace is not None
    clock = backend.board.link.session.clocks.clock
    assert clock is not None and clock.drift == pytest.approx(-0.0099, abs=5e-3)


# --- Modbus, in real time -------------------------------------------------------------------------


@pytest.fixture
def bed() -> Iterator[FieldDevice]:
    bench = load_bench("emulated")
    (device,) = [d for d in bench.devices if d.driver == "modbus"]
    with SimBackend(load_bench(bench.base), 1) as world, FieldDevice(bench, device, MonotonicClock()) as bed:
        bed.show(world.snapshot())
        bed.place(dict(zip([a.name for a in world.actuators], world.setpoints.tolist(), strict=True)))
        yield bed
        bed.trouble(at([], 0))


def write(bed: FieldDevice) -> None:
    setpoints = np.array(
        [33.0 if a.name == "bed.back" else max(a.low, 0.0) for a in load_bench("emulated").actuators]
    )
    bed.send(setpoints, bed._clock.now_ns() + 10**9)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (BenchFault.MODBUS_EXCEPTION, "4 device failure"),
        (BenchFault.MODBUS_SILENT, "no answer in time"),
        (BenchFault.MODBUS_DEAF, "not there when read back"),
        (BenchFault.MODBUS_UNIT, "no answer in time|not to this question"),
    ],
)
def test_a_bed_that_does_not_obey_is_a_fault_and_holds(bed: FieldDevice, kind: BenchFault, why: str) -> None:
    bed.trouble(at([fault(kind, **MORE.get(kind, {}))], 10**9))
    with pytest.raises(RigFault, match=why):
        write(bed)
    assert REACTIONS[kind] is Reaction.SAFE


def test_a_bed_that_is_late_within_its_time_is_waited_for(bed: FieldDevice) -> None:
    bed.trouble(at([fault(BenchFault.MODBUS_LATE, delay="0.08 s")], 10**9))
    write(bed)
    assert bed.why_lost() is None


# --- from a scenario file -------------------------------------------------------------------------


def test_faults_are_read_from_a_scenario() -> None:
    (found,) = parse_bench_faults([{"kind": "cable", "start": "20 s", "end": "21 s"}], "x.toml")
    assert found.holds(20_500_000_000) and not found.holds(21_000_000_000) and not found.holds(0)
    assert is_bench_fault({"kind": "cable"}) and not is_bench_fault({"kind": "stuck"})


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"kind": "clock_skew"}, "needs a value"),
        ({"kind": "cable", "start": "3 s", "end": "2 s"}, "not after its start"),
        ({"kind": "drop", "chance": 2}, "less than or equal to 1"),
        ({"kind": "cable", "start": "3 kg"}, "kg"),
        ({"kind": "cable", "colour": "red"}, "Extra inputs"),
    ],
)
def test_a_wrong_fault_is_named(document: dict, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_bench_faults([document], "x.toml")


def test_several_at_once() -> None:
    both = [
        fault(BenchFault.DROP, chance=0.1),
        fault(BenchFault.ESTOP, end="0.3 s"),
        fault(BenchFault.REBOOT),
    ]
    now = at(both, 250_000_000)
    assert (now.wire.drop, now.estop, now.rebooted, now.cut) == (0.1, True, 1, False)
    assert not at(both, 300_000_000).estop


# --- a sensor's faults, at the end of either kind of wire -----------------------------------------


WIRED = [("emulated-host", "wrist.force"), ("hoist-emulated-host", "hoist.load")]  # at the node, on Modbus


def through_wires(
    bench: str, channel: str, kind: str, **more: float
) -> tuple[FloatArray, ByteArray, Channel]:
    """Return a channel's values and qualities well after the onset of a fault, and the channel."""
    spec = load_bench(bench)
    bad = parse_faults([{"kind": kind, "channel": channel, "start": "0.1 s", **more}], "here")
    with EmulatedBackend(spec, seed=3, faults=bad) as backend:
        n = round(1e9 / spec.tick_ns)
        trace = backend.stretch(
            steady(backend.actuators, backend.setpoints, 0, spec.tick_ns, n), indifferent_watch()
        ).trace
    i, late = trace.layout.index(channel), trace.t_ns > 500_000_000
    return trace.values[late, i], trace.quality[late, i], trace.layout[channel]


@pytest.mark.parametrize(("bench", "channel"), WIRED)
def test_a_stuck_sensor_looks_fresh_and_does_not_change(bench: str, channel: str) -> None:
    values, quality, _ = through_wires(bench, channel, "stuck", value=12.5)
    assert np.all(values == 12.5) and np.all(quality == Quality.GOOD)


@pytest.mark.parametrize(("bench", "channel"), WIRED)
def test_a_drifting_sensor_drifts(bench: str, channel: str) -> None:
    values, _, _ = through_wires(bench, channel, "drift", value=200.0)
    assert values[-1] - values[0] == pytest.approx(200.0 * 0.5, abs=12.0)


@pytest.mark.parametrize(("bench", "channel"), WIRED)
def test_a_saturated_sensor_stands_at_the_end_of_its_range(bench: str, channel: str) -> None:
    values, _, declared = through_wires(bench, channel, "saturated")
    assert np.all(values == declared.high)


@pytest.mark.parametrize(("bench", "channel"), WIRED)
@pytest.mark.parametrize("kind", ["dead", "nan"])
def test_a_sensor_that_drops_out_is_a_fault_and_no_number(bench: str, channel: str, kind: str) -> None:
    values, quality, _ = through_wires(bench, channel, kind)
    assert np.all(np.isnan(values)) and np.all(quality == Quality.FAULT)


# --- Modbus faults in a whole bench ---------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(MODBUS))
def test_a_modbus_fault_amid_a_motion_has_the_reaction_that_is_declared(kind: BenchFault) -> None:
    spec = load_bench("hoist-emulated-host")
    bad = fault(kind, **MORE.get(kind, {}))
    backend = EmulatedBackend(spec, seed=3, device_faults=[bad])
    said, hoist = "", backend.fieldbus[0].simulated
    try:
        with backend:
            row = backend.setpoints
            row[[a.name for a in spec.actuators].index("hoist.lift")] -= 0.1
            backend.stretch(steady(backend.actuators, row, 0, spec.tick_ns, 60), indifferent_watch())
            backend.board.clock.sleep_until(backend.board.clock.now_ns() + 10**9)
    except RigFault as error:
        said = str(error)
    backend.board.clock.sleep_until(
        backend.board.clock.now_ns() + LEASE_NS
    )  # it holds by itself at the latest then
    stood = hoist.positions
    backend.board.clock.sleep_until(backend.board.clock.now_ns() + 10**9)
    assert hoist.positions == stood and hoist.holding
    assert bool(said) == (REACTIONS[kind] is Reaction.SAFE), said
    assert not said or "unit 3" in said or "device hoist" in said


@pytest.mark.parametrize("kind", [BenchFault.ESTOP, BenchFault.CABLE, BenchFault.REBOOT])
def test_what_makes_the_node_safe_holds_what_is_on_modbus_too(kind: BenchFault) -> None:
    spec = load_bench("hoist-emulated-host")
    backend = EmulatedBackend(spec, seed=3, device_faults=[fault(kind)])
    hoist = backend.fieldbus[0].simulated
    with pytest.raises(RigFault, match=ABORTS[kind]), backend:
        row = backend.setpoints
        row[[a.name for a in spec.actuators].index("hoist.lift")] -= 0.5
        backend.stretch(steady(backend.actuators, row, 0, spec.tick_ns, 150), indifferent_watch())
    stood = hoist.positions
    assert hoist.holding and stood["hoist.lift"] < 1.81 - 0.02  # it was moving
    backend.board.clock.sleep_until(backend.board.clock.now_ns() + 10**9)
    assert hoist.positions == stood
