"""Feetech servos: golden packets, the contract of every backend, and what a bad line may not do."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.feetech.backend import FeetechBackend, Joint
from firmware_bridge.feetech.bus import ServoBus
from firmware_bridge.feetech.packets import (
    number,
    packet,
    read_packet,
    sync_write_packet,
    take_status,
    word,
)  # fmt: skip
from rig.core.backend import Backend
from rig.core.channel import Channel, Layout
from rig.core.clock import MonotonicClock
from rig.core.command import Actuator, Command
from rig.core.errors import RigFault
from tests.contracts.backend import BackendContract
from tests.firmware_bridge.servo_bus import Bus, Servo

ANSWER_NS = 150_000_000  # the bus is a thread of this busy process
NAMES = ("arm.base", "arm.elbow")
JOINTS = {"arm.base": Joint(servo=1), "arm.elbow": Joint(servo=2, centre=2000, sign=-1)}
# The contract writes an actuator's upper limit from rest: limits within a step of it.
ACTUATORS = [Actuator(name=n, unit="rad", low=-0.09, high=0.09, rate=0.6) for n in NAMES]
LAYOUT = Layout(
    [Channel(name=n, unit="rad", low=-3.2, high=3.2, period_s=0.01, stale_after_s=0.1) for n in NAMES]
)


def servos() -> dict[int, Servo]:
    return {1: Servo(), 2: Servo(position=2000)}


@pytest.fixture
def bus() -> Iterator[Bus]:
    with Bus(servos()) as line:
        yield line


def backend_on(line: Bus, clock: MonotonicClock | None = None) -> FeetechBackend:
    clock = clock or MonotonicClock()
    return FeetechBackend(ServoBus(line.port, clock, answer_ns=ANSWER_NS), JOINTS, LAYOUT, ACTUATORS, clock)


class TestFeetechBackend(BackendContract):
    @pytest.fixture
    def closed(self, bus: Bus) -> Backend:
        self.clock = MonotonicClock()
        return backend_on(bus, self.clock)

    def position(self, backend: Backend) -> list[float]:
        snapshot = backend.read(self.now_ns(backend))
        return [snapshot[a.name].value for a in backend.actuators]

    def now_ns(self, backend: Backend) -> int:
        return self.clock.now_ns()


# --- packets --------------------------------------------------------------------------------------


def test_packets_are_those_of_the_manual() -> None:
    """Ping of servo 1 and reading two bytes at 0x38 as the manual has them; a sync write worked out by hand."""
    assert packet(1, 1) == bytes.fromhex("ff ff 01 02 01 fb")
    assert read_packet(1, 0x38, 2) == bytes.fromhex("ff ff 01 04 02 38 02 be")
    goal = word(2048) + word(0) + word(1000)
    assert sync_write_packet(42, {1: goal, 2: goal}) == bytes.fromhex(
        "ff ff fe 12 83 2a 06 01 00 08 00 00 e8 03 02 00 08 00 00 e8 03 53"
    )


@given(st.integers(-32767, 32767))
def test_registers_come_back(value: int) -> None:
    assert number(word(value)) == value


@given(st.binary(max_size=60), st.integers(0, 15))
def test_no_noise_is_taken_for_an_answer_of_another(noise: bytes, length: int) -> None:
    status, _ = take_status(noise, 1, length)
    if status is not None:  # then it is, byte for byte, what servo 1 would have sent
        body = bytes([1, length + 2, status.error]) + status.data
        assert b"\xff\xff" + body + bytes([~sum(body) & 0xFF]) in noise


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_an_answer_is_found_in_noise(before: bytes, after: bytes) -> None:
    answer = bytes.fromhex("ff ff 01 04 00 00 08 f2")
    status, rest = take_status(before + answer + after, 1, 2)
    assert status is not None
    if b"\xff" not in before:
        assert status.data == b"\x00\x08" and rest == after


# --- the arm --------------------------------------------------------------------------------------


def test_it_holds_where_it_is_before_there_is_torque(bus: Bus) -> None:
    bus.servos[1].memory[42:44] = (3000).to_bytes(2, "little")  # a goal of yesterday
    with backend_on(bus):
        time.sleep(0.05)
        assert bus.servos[1].memory[40] == 1
        assert bus.servos[1].position == 2048


def test_it_moves_and_is_held_on_leaving(bus: Bus) -> None:
    with backend_on(bus) as backend:
        backend.write([Command("arm.elbow", 0.05, backend._clock.now_ns() + 10**9)])
        time.sleep(0.3)
        backend.refresh()
        assert backend.read(backend._clock.now_ns()).value("arm.elbow") == pytest.approx(0.05, abs=2e-3)
        assert bus.servos[2].goal == 2000 - 33
    assert bus.servos[2].memory[40] == 1  # never limp: what it carries would fall


def test_a_goal_far_away_is_refused(bus: Bus) -> None:
    bus.servos[1].memory[56:58] = (2048 - 40).to_bytes(2, "little")  # at -0.061 rad
    with (
        backend_on(bus) as backend,
        pytest.raises(RigFault, match=r"more than 0.1 rad from the joint at -0\.061"),
    ):
        backend.write([Command("arm.base", 0.08, backend._clock.now_ns() + 10**9)])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda line: line.servos.pop(2), "servo 2 does not answer; check its cable"),
        (lambda line: line.servos[1].memory.__setitem__(3, 10), "servo 1 .arm.base. is model 778, not 777"),
        (lambda line: setattr(line.servos[1], "error", 4), "servo 1 reports overheating"),
    ],
)  # fmt: skip
def test_a_set_up_that_fails_leaves_no_torque(bus: Bus, change, why: str) -> None:
    change(bus)
    with pytest.raises(RigFault, match=why):
        backend_on(bus).__enter__()
    assert all(servo.memory[40] == 0 for servo in bus.servos.values())


def test_one_lost_answer_does_not_end_a_session(bus: Bus) -> None:
    lose = iter([True, False] * 100)
    bus.spoil = lambda data: b"" if next(lose) else data
    with backend_on(bus) as backend:
        assert backend._bus.lost > 0


@pytest.mark.parametrize(
    "spoil", [lambda d: d[:-1] + bytes([d[-1] ^ 1]), lambda d: d[:4], lambda d: b"\x55" * 30]
)
def test_answers_that_stay_spoilt_are_a_fault(bus: Bus, spoil) -> None:
    bus.spoil = spoil
    with pytest.raises(RigFault, match="servo 1 does not answer"):
        backend_on(bus).__enter__()


def test_our_own_echo_is_not_taken_for_an_answer(bus: Bus) -> None:
    bus.echo = True
    with backend_on(bus) as backend:
        assert backend.read(backend._clock.now_ns()).value("arm.base") == pytest.approx(0.0, abs=1e-3)


def test_a_port_that_is_not_there_is_named() -> None:
    with pytest.raises(RigFault, match="/dev/no-such-port: cannot be opened"):
        ServoBus("/dev/no-such-port", MonotonicClock()).open()
