"""The bridge over real ptys to the real firmware keeps to the contract of every backend."""

import math
import os
import signal
from collections.abc import Iterator

import pytest

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend, node_actuators, node_layout
from firmware_bridge.link import Link, settings
from firmware_bridge.states import LinkState
from rig.core.backend import Backend
from rig.core.bench import load_bench
from rig.core.channel import Quality
from rig.core.clock import MonotonicClock
from rig.core.command import Command
from rig.core.errors import RigFault, UsageError
from tests.contracts.backend import BackendContract
from tests.firmware_bridge.process import NodeProcess, beside, control, node_process, watch, watched

OPERATOR = 4711


@pytest.fixture
def node() -> Iterator[NodeProcess]:
    with node_process() as process:
        yield process


@pytest.fixture
def clock() -> MonotonicClock:
    return MonotonicClock()


@pytest.fixture
def closed(node: NodeProcess, clock: MonotonicClock) -> Iterator[BridgeBackend]:
    with watched(node):
        yield BridgeBackend(node.ports[0], clock)


@pytest.fixture
def backend(closed: BridgeBackend) -> Iterator[BridgeBackend]:
    with closed as opened:
        yield opened


def settled(backend: BridgeBackend, condition) -> bool:
    return backend.link.wait(condition, 5.0)


class TestBridgeBackend(BackendContract):
    @pytest.fixture
    def closed(self, node: NodeProcess, clock: MonotonicClock) -> Iterator[Backend]:
        self.clock = clock
        with watched(node):
            yield BridgeBackend(node.ports[0], clock)

    def position(self, backend: Backend) -> list[float]:
        snapshot = backend.read(self.now_ns(backend))
        return [snapshot[a.name].value for a in backend.actuators]

    def now_ns(self, backend: Backend) -> int:
        return self.clock.now_ns()


def test_the_node_has_the_limits_of_the_simulated_bench() -> None:
    simulated = {a.name: a for a in load_bench("sim").actuators}
    for actuator in node_actuators():
        if actuator.name in simulated:
            other = simulated[actuator.name]
            assert (actuator.low, actuator.high, actuator.rate) == (other.low, other.high, other.rate)
    assert set(simulated) <= {a.name for a in node_actuators()}
    assert set(simulated) <= set(node_layout().names)


def test_what_is_written_is_done_and_read_back(backend: BridgeBackend, clock: MonotonicClock) -> None:
    backend.write(
        [Command("arm.base", 0.05, clock.now_ns() + 10**9), Command("call.lamp", 0.0, clock.now_ns() + 10**9)]
    )
    base = [i.name for i in m.INPUTS].index("arm.base")

    def arrived(_) -> bool:
        received = backend.link._mailbox.newest[m.Telemetry].message
        return received.counts[base] == 5000

    assert settled(backend, arrived)
    snapshot = backend.read(clock.now_ns())
    assert snapshot.value("arm.base") == pytest.approx(0.05)
    assert snapshot.value("call.lamp") == 0.0


def test_a_silent_sensor_is_a_fault_and_one_out_of_range_says_so(
    node: NodeProcess, backend: BridgeBackend, clock: MonotonicClock
) -> None:
    node.tell("silent 11")
    node.tell("channel 13 25000")

    def seen(_) -> bool:
        message = backend.link._mailbox.newest[m.Telemetry].message
        return not message.valid >> 11 & 1 and message.counts[13] == 25_000

    assert settled(backend, seen)
    snapshot = backend.read(clock.now_ns())
    assert snapshot["wrist.force"].quality is Quality.FAULT
    assert math.isnan(snapshot["wrist.force"].value)
    assert snapshot["bed.current"].quality is Quality.OUT_OF_RANGE


def test_a_lease_longer_than_the_node_allows_is_refused(
    backend: BridgeBackend, clock: MonotonicClock
) -> None:
    with pytest.raises(RigFault, match="LEASE_TOO_LONG"):
        backend.write([Command("bed.back", 1.0, clock.now_ns() + 3 * 10**9)])


def test_without_a_monitor_it_does_not_arm_and_nothing_stays_open(
    node: NodeProcess, clock: MonotonicClock
) -> None:
    backend = BridgeBackend(node.ports[0], clock)
    with pytest.raises(RigFault, match="does not arm: refused, HEARTBEAT_MISSING"):
        backend.__enter__()
    assert not backend.link._thread.is_alive()
    with pytest.raises(RigFault, match="closed"):
        backend.read(0)


def test_an_emergency_stop_ends_writing_until_a_person_clears_it(
    node: NodeProcess, backend: BridgeBackend, clock: MonotonicClock
) -> None:
    node.tell("estop 1")
    assert node.until(m.State.SAFE)[0] is m.Reason.ESTOP
    assert settled(backend, lambda s: s.status.state == m.State.SAFE)
    with pytest.raises(RigFault, match=r"NOT_ARMED; it is SAFE since ESTOP: a person must look"):
        backend.write([Command("bed.back", 1.0, clock.now_ns() + 10**9)])
    with pytest.raises(RigFault, match="CAUSE_PRESENT"):
        backend.clear(OPERATOR)
    node.tell("estop 0")
    assert settled(backend, lambda s: s.status.estop == 0)
    backend.clear(OPERATOR)
    backend.arm()
    backend.write([Command("bed.back", 1.0, clock.now_ns() + 10**9)])
    kinds = [m.Occurrence(r.message.occurrence) for r in backend.events() if isinstance(r.message, m.Event)]
    assert [k for k in kinds if k is not m.Occurrence.BOOTED] == [
        m.Occurrence.ARMED, m.Occurrence.TRIPPED, m.Occurrence.ESTOP_PRESSED, m.Occurrence.ESTOP_RELEASED,
        m.Occurrence.CLEARED, m.Occurrence.ARMED,
    ]  # fmt: skip


def test_a_restarted_node_ends_the_work(
    node: NodeProcess, backend: BridgeBackend, clock: MonotonicClock
) -> None:
    node.tell("reset 2")
    assert settled(backend, lambda s: s.state is LinkState.LOST)
    with pytest.raises(RigFault, match="not sent, the node has restarted"):
        backend.write([Command("bed.back", 1.0, clock.now_ns() + 10**9)])
    with pytest.raises(RigFault, match="not confirmed safe"):
        backend.make_safe()
    backend._open = False
    backend.link.__exit__(None, None, None)


def test_a_pulled_cable_is_named_and_readings_grow_stale(
    node: NodeProcess, backend: BridgeBackend, clock: MonotonicClock
) -> None:
    node.process.kill()
    assert settled(backend, lambda s: s.state is LinkState.LOST)
    assert backend.link.session.why.startswith(("the port is gone", "no status"))
    late = backend.read(clock.now_ns() + 2 * 10**9)
    assert all(late[name].quality is not Quality.GOOD for name in backend.layout.names)
    backend._open = False
    backend.link.__exit__(None, None, None)


def test_a_port_that_is_not_there_is_named(clock: MonotonicClock) -> None:
    with pytest.raises(RigFault, match=r"/dev/no-such-port: cannot be opened .* plugged in"):
        Link("/dev/no-such-port", settings(m.Role.CONTROLLER), clock).__enter__()


def test_a_port_in_use_is_refused(node: NodeProcess, clock: MonotonicClock) -> None:
    with watched(node), pytest.raises(RigFault, match="no other program"):
        Link(node.ports[1], settings(m.Role.MONITOR), clock).__enter__()


def test_another_program_on_the_port_is_not_taken_for_a_node(clock: MonotonicClock) -> None:
    master, slave = os.openpty()
    try:
        os.write(master, b"login: \r\n" * 20 + bytes(range(256)))
        with pytest.raises(RigFault, match="no node answers"):
            Link(os.ttyname(slave), settings(m.Role.CONTROLLER), clock).__enter__()
    finally:
        os.close(master)
        os.close(slave)


def test_a_link_is_used_once(node: NodeProcess, clock: MonotonicClock) -> None:
    link = Link(node.ports[0], settings(m.Role.CONTROLLER), clock)
    with link:
        pass
    with pytest.raises(UsageError, match="used once"):
        link.__enter__()


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_controller_killed_or_stopped_leaves_the_node_safe(node: NodeProcess, blow: signal.Signals) -> None:
    with watched(node), beside(control, node.ports[0]) as child:
        os.kill(child.pid, blow)
        assert node.until(m.State.SAFE)[0] is m.Reason.CONTROLLER_LOST


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_monitor_killed_or_stopped_leaves_the_node_safe(node: NodeProcess, blow: signal.Signals) -> None:
    with beside(watch, node.ports[1]) as monitor, beside(control, node.ports[0]):
        os.kill(monitor.pid, blow)
        assert node.until(m.State.SAFE)[0] is m.Reason.MONITOR_LOST
