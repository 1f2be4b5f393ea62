"""Modbus devices: the contract of every backend, and no answer believed that is not to its question."""

import importlib.metadata
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge.modbus.backend import ModbusBackend
from firmware_bridge.modbus.line import EXCEPTIONS, Fault, Line, LineError
from firmware_bridge.modbus.registers import check_units, load_registers
from firmware_bridge.modbus.simulator import SimulatedDevice
from rig.core.backend import Backend
from rig.core.bench import load_bench
from rig.core.channel import Layout, Quality
from rig.core.clock import MonotonicClock
from rig.core.command import Command
from rig.core.data import hardware_file
from rig.core.errors import ConfigError, RigFault, UsageError
from tests.contracts.backend import BackendContract
from tests.firmware_bridge.raw_slave import RawSlave, Reply, crc16, exception_reply, framed, registers_reply

BENCH = load_bench("sim")
BED = load_registers("care-bed")
ACTUATORS = [a for a in BENCH.actuators if a.name in BED.actuators]
LAYOUT = Layout([c for c in BENCH.layout if c.name in BED.channels])
START = {"bed.back": 30.0, "bed.height": 0.45, "bed.tilt": 0.0, "bed.rails": 0.0}
UNIT = 7
STATUS = [0xBED1, 1, 0, 3000, 4500, 0x10000 - 250, 1000, 300, 0]
IDENTITY = [0xBED1, 1, 0x1234, 0x5678]


def soon(condition, within_s: float = 5.0) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return False


class BedContract(BackendContract):
    rtu = False

    @pytest.fixture
    def closed(self) -> Iterator[Backend]:
        self.clock = MonotonicClock()
        with SimulatedDevice(BED, ACTUATORS, UNIT, START, rtu=self.rtu) as bed:
            self.bed = bed
            yield ModbusBackend(Line(bed.address, UNIT, BED, self.clock), LAYOUT, ACTUATORS, self.clock)

    def position(self, backend: Backend) -> list[float]:
        return [self.bed.positions[a.name] for a in backend.actuators]

    def now_ns(self, backend: Backend) -> int:
        return self.clock.now_ns()


class TestBedOverTcp(BedContract):
    pass


class TestBedOverRtu(BedContract):
    rtu = True


@pytest.fixture
def bed() -> Iterator[SimulatedDevice]:
    with SimulatedDevice(BED, ACTUATORS, UNIT, START) as simulated:
        yield simulated


@pytest.fixture
def clock() -> MonotonicClock:
    return MonotonicClock()


def backend_of(bed: SimulatedDevice, clock: MonotonicClock, unit: int = UNIT) -> ModbusBackend:
    return ModbusBackend(Line(bed.address, unit, BED, clock), LAYOUT, ACTUATORS, clock)


def in_a_second(clock: MonotonicClock) -> int:
    return clock.now_ns() + 10**9


def test_pymodbus_is_the_version_whose_source_was_read() -> None:
    assert importlib.metadata.version("pymodbus") == "3.16.1"


# --- what the bed does ----------------------------------------------------------------------------


def test_it_moves_at_its_rate_and_holds_when_its_lease_ends(
    bed: SimulatedDevice, clock: MonotonicClock
) -> None:
    with backend_of(bed, clock) as backend:
        backend.write([Command("bed.back", 60.0, clock.now_ns() + 200_000_000)])
        assert soon(lambda: bed.positions["bed.back"] > 30.2)
        assert soon(lambda: bed.holding)
        stood = bed.positions["bed.back"]
        assert stood < 30.0 + 3.0 * 2.0  # never faster than 3 deg/s, lease 0.2 s
        time.sleep(0.1)
        assert bed.positions["bed.back"] == stood


def test_leaving_the_block_holds_it(bed: SimulatedDevice, clock: MonotonicClock) -> None:
    with pytest.raises(KeyError), backend_of(bed, clock) as backend:
        backend.write([Command("bed.back", 60.0, in_a_second(clock))])
        raise KeyError
    assert bed.holding


def test_one_that_stops_counting_grows_stale_though_it_answers(
    bed: SimulatedDevice, clock: MonotonicClock
) -> None:
    with backend_of(bed, clock) as backend:
        bed.faults.frozen = True
        time.sleep(0.1)
        late = backend.read(clock.now_ns() + 2 * 10**9)
        assert late["bed.back"].quality is Quality.STALE
        bed.faults.frozen = False


def test_one_that_acknowledges_and_does_nothing_is_found_out(
    bed: SimulatedDevice, clock: MonotonicClock
) -> None:
    with backend_of(bed, clock) as backend:
        bed.faults.deaf = True
        with pytest.raises(RigFault, match="not there when read back"):
            backend.write([Command("bed.back", 60.0, in_a_second(clock))])
        bed.faults.deaf = False


def test_one_that_is_silent_is_lost_and_named(bed: SimulatedDevice, clock: MonotonicClock) -> None:
    backend = backend_of(bed, clock).__enter__()
    bed.faults.silent = True
    assert soon(lambda: backend.why_lost() is not None, 20.0)
    assert "no answer in time" in str(backend.why_lost())
    bed.faults.silent = False
    backend.__exit__(None, None, None)


def test_an_exception_is_named_and_nothing_is_taken(bed: SimulatedDevice, clock: MonotonicClock) -> None:
    with backend_of(bed, clock) as backend:
        bed.faults.exception = 4
        with pytest.raises(RigFault, match="4 device failure"):
            backend.write([Command("bed.back", 60.0, in_a_second(clock))])
        bed.faults.exception = None
        assert bed.holding


def test_nobody_there_and_the_wrong_unit_are_named(bed: SimulatedDevice, clock: MonotonicClock) -> None:
    with pytest.raises(RigFault, match=r"unit 9: .*check address, power and wiring"):
        backend_of(bed, clock, unit=9).__enter__()
    with pytest.raises(RigFault, match="cannot be opened"):
        Line("tcp:127.0.0.1:1", UNIT, BED, clock).open()
    with pytest.raises(RigFault, match="cannot be opened"):
        Line("/dev/no-such-port", UNIT, BED, clock).open()


# --- register maps --------------------------------------------------------------------------------


def test_a_map_says_all_its_mistakes_at_once(tmp_path: Path) -> None:
    text = hardware_file("registers", "care-bed.toml").read_text()
    path = tmp_path / "bad.toml"
    path.write_text(
        text.replace("length = 9", "length = 4").replace('"bed.tilt"    = { block = "status", at = 5', '"bed.tilt" = { block = "status", at = 3')
    )  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        load_registers(path)
    said = "\n".join(caught.value.mistakes)
    assert "block.status: as long as identity" in said
    assert "channel.bed.tilt: at 3 of status is channel.bed.back already" in said
    assert "channel.bed.rails: at 6 is outside block status of 4" in said


def test_other_units_than_the_benchs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "radians.toml"
    path.write_text(
        hardware_file("registers", "care-bed.toml").read_text().replace('unit = "deg"', 'unit = "rad"')
    )
    with pytest.raises(ConfigError, match=r"bed\.back: is in rad here, in deg on the bench"):
        check_units(load_registers(path), LAYOUT, ACTUATORS)


def test_what_does_not_fit_a_register_is_refused_never_clipped() -> None:
    with pytest.raises(UsageError, match="does not fit a u16"):
        BED.actuators["bed.height"].encode(-0.1)
    with pytest.raises(UsageError, match="does not fit a i16"):
        BED.actuators["bed.back"].encode(330.0)
    assert BED.channels["bed.tilt"].decode(0xFFFF) == pytest.approx(-0.01)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (STATUS[:-1], "8 registers instead of 9"),
        ([0xFEED, *STATUS[1:]], "another unit, or another map"),
    ],
)
def test_a_block_that_cannot_be_ours(words: list[int], why: str) -> None:
    assert why in str(BED.wrong("status", words))
    assert BED.wrong("status", STATUS) is None


def test_swapped_words_are_seen() -> None:
    assert "order_high reads 0x5678" in str(BED.wrong("identity", [0xBED1, 1, 0x5678, 0x1234]))
    assert "order_high reads 0x3412" in str(BED.wrong("identity", [0xBED1, 1, 0x3412, 0x7856]))


# --- against a slave of our own bytes -------------------------------------------------------------


def asked_address(request: bytes) -> int:
    return request[2] << 8 | request[3]


def honest(request: bytes, unit: int = UNIT) -> bytes:
    address = asked_address(request)
    if request[1] == 16:
        return framed(request[:6])
    return registers_reply(unit, {0: IDENTITY, 100: STATUS, 200: [0] * 6}[address])


def line_to(slave: RawSlave) -> Line:
    return Line(slave.port, UNIT, BED, MonotonicClock())


def test_requests_are_the_bytes_of_the_standard() -> None:
    """Golden: Modbus application protocol 1.1b3, sections 6.3 and 6.12; checksum by our own routine."""
    seen: dict[int, list[int]] = {}

    def answer(request: bytes) -> Reply:
        if request[1] == 16:
            seen[200] = [int.from_bytes(request[7 + 2 * i : 9 + 2 * i], "big") for i in range(6)]
            return [(0.0, framed(request[:6]))]
        address = asked_address(request)
        return [
            (0.0, registers_reply(UNIT, seen.get(address, [0] * 6)) if address == 200 else honest(request))
        ]

    with RawSlave(answer) as slave:
        line = line_to(slave)
        line.open()
        assert line.read("status") == STATUS
        line.write([1, 1000, 3000, 4500, 0xFF06, 0])
        line.close()
    read = bytes([UNIT, 3, 0, 100, 0, 9])
    write = bytes([UNIT, 16, 0, 200, 0, 6, 12, 0, 1, 0x03, 0xE8, 0x0B, 0xB8, 0x11, 0x94, 0xFF, 0x06, 0, 0])
    assert slave.requests[1] == read + crc16(read)
    assert slave.requests[2] == write + crc16(write)
    assert crc16(bytes([1, 4, 2, 0xFF, 0xFF])) == b"\xb8\x80"  # a published example of the checksum


@pytest.mark.parametrize("late_s", [0.32, 0.4])
def test_late_answers_are_never_taken_for_another_question(late_s: float) -> None:
    """The slave answers after our time-out of 0.3 s; both blocks are asked for in turn."""
    late = iter([True, False] * 20)

    def answer(request: bytes) -> Reply:
        return [(late_s if next(late) else 0.0, honest(request))]

    right = failed = 0
    with RawSlave(answer) as slave:
        line = line_to(slave)
        for k in range(8):
            block, truth = (("status", STATUS), ("identity", IDENTITY))[k % 2]
            try:
                right += line.read(block) == truth
            except LineError:
                failed += 1
        line.close()
    assert right >= 3 and failed >= 3
    assert right + failed == 8  # none was wrong
    assert line.quarantines >= 3


def test_even_one_later_than_the_device_may_be_is_caught_by_length_or_canary() -> None:
    """Beyond its declared longest answer the quarantine cannot help; different lengths and the canary do."""
    first = [True]

    def answer(request: bytes) -> Reply:
        if first:
            first.clear()
            return [(0.46, honest(request))]  # time-out 0.3 s, quarantine 0.15 s: it arrives with the next
        return [(0.05, honest(request))]

    with RawSlave(answer) as slave:
        line = line_to(slave)
        with pytest.raises(LineError):
            line.read("identity")
        try:
            assert line.read("status") == STATUS
        except LineError as error:
            assert error.fault in (Fault.WRONG, Fault.SILENT)
        line.close()


@pytest.mark.parametrize("code", sorted(EXCEPTIONS))
def test_exceptions_are_decoded(code: int) -> None:
    with RawSlave(lambda request: [(0.0, exception_reply(UNIT, request[1], code))]) as slave:
        line = line_to(slave)
        with pytest.raises(LineError, match=f"exception: {code} {EXCEPTIONS[code]}"):
            line.read("status")
        line.close()
    assert line.counts[Fault.REFUSED] == 1 and line.quarantines == 0  # it answered: nothing is late


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: registers_reply(8, STATUS),  # another unit
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),  # a bit of the checksum
        lambda data: data[:7],  # cut off
        lambda data: b"",
        lambda data: bytes(40),
        lambda data: registers_reply(UNIT, [0xFEED, *STATUS[1:]]),  # another map
        lambda data: registers_reply(UNIT, IDENTITY),  # the answer to another question
    ],
    ids=["unit", "checksum", "short", "silent", "noise", "map", "question"],
)
def test_a_spoilt_answer_is_refused_and_the_line_recovers(spoilt) -> None:
    spoil = [True]

    def answer(request: bytes) -> Reply:
        data = honest(request)
        if spoil:
            spoil.clear()
            return [(0.0, spoilt(data))]
        return [(0.0, data)]

    with RawSlave(answer) as slave:
        line = line_to(slave)
        with pytest.raises(LineError) as caught:
            line.read("status")
        assert caught.value.fault in (Fault.SILENT, Fault.WRONG)
        assert line.quarantines == 1
        assert line.read("status") == STATUS
        line.close()


def test_no_value_is_made_up_for_what_was_never_read(bed: SimulatedDevice, clock: MonotonicClock) -> None:
    more = Layout([*LAYOUT.channels, BENCH.layout["spo2"]])
    line = Line(bed.address, UNIT, BED, clock)
    with ModbusBackend(line, more, ACTUATORS, clock) as backend:
        reading = backend.read(clock.now_ns())["spo2"]
    assert reading.quality is Quality.FAULT and math.isnan(reading.value)
