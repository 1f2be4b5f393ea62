"""Emulated benches: the contract of every backend, and what happens when a part fails."""

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from firmware_bridge import messages as m
from firmware_bridge.build import LIBRARY, build_number
from firmware_bridge.emulator import emulator_problem
from rig.core.backend import Backend
from rig.core.bench import load_bench
from rig.core.channel import Quality
from rig.core.command import Plan, steady
from rig.core.errors import ConfigError, RigFault
from rig.core.watch import Watch
from rig.emulation.backend import EmulatedBackend
from rig.sim.backend import SimBackend, indifferent_watch
from safety_monitor.rules import rule_files
from tests.contracts.backend import StretchContract
from tests.firmware_bridge.node import built
from tests.sim.stage import alarmed

HOST, QEMU = load_bench("emulated-host"), load_bench("emulated")
BACK = [a.name for a in HOST.actuators].index("bed.back")
needs_qemu = pytest.mark.skipif(emulator_problem() is not None, reason=str(emulator_problem()))


@pytest.fixture(autouse=True)
def _library() -> None:
    built(LIBRARY)  # skips with a reason where there is no compiler


class TestLibraryBench(StretchContract):
    @pytest.fixture
    def closed(self) -> Backend:
        return EmulatedBackend(HOST, seed=1)

    def position(self, backend: Backend) -> list[float]:
        assert isinstance(backend, EmulatedBackend)
        return [float(x) for x in backend.setpoints]

    def now_ns(self, backend: Backend) -> int:
        assert isinstance(backend, EmulatedBackend)
        return backend.now_ns

    def tick_ns(self) -> int:
        return HOST.tick_ns

    def indifferent(self) -> Watch:
        return indifferent_watch()

    def alarmed(self, after: int) -> Watch:
        return alarmed(after)


@pytest.fixture
def host() -> Iterator[EmulatedBackend]:
    with EmulatedBackend(HOST, seed=1) as backend:
        yield backend


def drive(backend: EmulatedBackend, name: str, value: float, ticks: int) -> None:
    row = backend.setpoints
    row[[a.name for a in backend.actuators].index(name)] = value
    backend.stretch(
        steady(backend.actuators, row, backend.now_ns, backend.bench.tick_ns, ticks), indifferent_watch()
    )


def test_the_benches_have_the_channels_and_limits_of_the_simulated_one() -> None:
    sim = load_bench("sim")
    for bench in (HOST, QEMU):
        assert bench.layout.names == sim.layout.names and bench.base == "sim"
        assert bench.actuators == sim.actuators and bench.embodiment == "emulated"
        assert bench.digest != sim.digest


def test_a_setpoint_goes_through_the_firmware_into_the_world_and_back(host: EmulatedBackend) -> None:
    drive(host, "bed.back", 33.0, 300)  # 1.5 s at 3 deg/s
    snapshot = host.snapshot()
    assert snapshot.value("bed.back") == pytest.approx(33.0, abs=0.4)
    assert snapshot.value("truth.back") == pytest.approx(33.0, abs=0.4)
    assert host.bridge.link.seen(lambda s: s.status.executed) > 10


def test_the_firmware_ramps_whatever_is_asked(host: EmulatedBackend) -> None:
    start = host.snapshot().value("bed.back")
    drive(host, "bed.back", 80.0, 100)  # half a second
    assert host.snapshot().value("bed.back") - start <= 3.0 * 0.5 + 0.2


@pytest.mark.parametrize("name", ["emulated-host", "hoist-emulated-host"])
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    """With devices on real Modbus sockets too: they live in the bench's time, not in the machine's."""
    bench = load_bench(name)

    def trace() -> bytes:
        with EmulatedBackend(bench, seed=4) as backend:
            row = backend.setpoints
            row[0] -= 0.05
            plan = steady(backend.actuators, row, 0, bench.tick_ns, 100)
            found = backend.stretch(plan, indifferent_watch()).trace
            return found.values.tobytes() + found.sampled_ns.tobytes() + found.quality.tobytes()

    assert trace() == trace()


def test_a_press_of_the_emergency_stop_is_a_fault_that_names_it(host: EmulatedBackend) -> None:
    host.press(True)
    with pytest.raises(RigFault, match="the node went SAFE: ESTOP; a person must look"):
        drive(host, "bed.back", 60.0, 20)
    with pytest.raises(RigFault):
        drive(host, "bed.back", 60.0, 20)


def test_a_sensor_that_dies_in_the_world_is_silent_at_the_node(host: EmulatedBackend) -> None:
    world = host.world.snapshot()
    quality = world.quality.copy()
    quality[world.layout.index("wrist.force")] = Quality.FAULT
    host._node.show(replace(world, quality=quality))
    host.board.pass_until(host.board.clock.now_ns() + 20_000_000, 0)
    seen = host.bridge.read(host.board.clock.now_ns())
    assert seen["wrist.force"].quality is Quality.FAULT


def test_a_set_up_that_fails_half_way_leaves_nothing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = EmulatedBackend(HOST, seed=1)
    monkeypatch.setattr(type(backend.board), "settle", lambda *_: (_ for _ in ()).throw(RigFault("no plant")))
    with pytest.raises(RigFault, match="no plant"):
        backend.__enter__()
    assert backend.board.node.state is not m.State.ARMED
    assert backend.board.link.session.state.value == "closed"


def test_a_bench_without_a_node_is_refused() -> None:
    with pytest.raises(ConfigError, match="exactly one device with driver node"):
        EmulatedBackend(replace(HOST, devices=()), seed=1)


# --- under the emulator, in real time -------------------------------------------------------------


@needs_qemu
def test_under_qemu_the_firmware_moves_the_world() -> None:
    with EmulatedBackend(QEMU, 1, rules=rule_files("spoon-feed")) as backend:
        assert f"build {build_number():08x}" in backend.board.identity, "it is of these very sources"
        drive(backend, "arm.base", float(backend.setpoints[0]) + 0.05, 60)
        drive(backend, "bed.back", 33.0, 200)
        snapshot = backend.snapshot()
        vitals = backend.board.vitals()
        pid = backend.board.node.pid
    assert snapshot.value("bed.back") > 31.0
    assert vitals is not None and vitals.taken > 100
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_emulated_world_is_the_simulated_one() -> None:
    """The same rows on both benches: the firmware adds its ramps and a delay of some milliseconds, no more."""
    n = 400
    with SimBackend(load_bench("sim"), seed=1) as sim, EmulatedBackend(HOST, seed=1) as host:
        sim.place()
        start = sim.setpoints
        rows = np.repeat(start[None, :], n, axis=0)
        rows[:, 0] += 0.2 * np.minimum(1.0, np.arange(n) / 200)
        drive_sim = np.repeat(rows, HOST.tick_ns // 1_000_000, axis=0)
        sim.stretch(Plan(sim.actuators, 0, 1_000_000, drive_sim, 10**10), indifferent_watch())
        host.stretch(Plan(host.actuators, 0, HOST.tick_ns, rows, 10**10), indifferent_watch())
        a, b = sim.snapshot(), host.snapshot()
    assert b.value("arm.base") == pytest.approx(a.value("arm.base"), abs=2e-3)
    assert b.value("spoon.height") == pytest.approx(a.value("spoon.height"), abs=2e-3)
