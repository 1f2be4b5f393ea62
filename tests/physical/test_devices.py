"""The devices of a physical bench behind one door: opened together or not at all, and left safe."""

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import pytest

from firmware_bridge import messages as m
from firmware_bridge.discovery import Port
from firmware_bridge.link import Link, settings
from firmware_bridge.modbus.registers import load_registers
from firmware_bridge.modbus.simulator import SimulatedDevice
from rig.cli import run
from rig.core.backend import Backend
from rig.core.bench import BenchSpec, load_bench
from rig.core.clock import MonotonicClock, wall_utc
from rig.core.data import hardware_dir
from rig.core.errors import RigFault
from rig.doctor.permit import Permit, permit_file
from rig.doctor.state import save
from rig.physical.devices import Devices
from rig.physical.finding import find, unmeasured
from tests.contracts.backend import BackendContract
from tests.firmware_bridge.process import NodeProcess, node_process

LAB = hardware_dir() / "examples" / "bedside-lab.toml"
BED = load_registers("care-bed")
TWO_DEVICES = """
extends = "sim"
name = "two-devices"
text = "A node on two serial ports and a bed on Modbus TCP"
embodiment = "physical"
backend = "rig.physical"
tick = "10 ms"

[device.node]
driver = "node"
address = "usb:0483:374b:AA"
monitor_address = "usb:0403:6001:BB"
heartbeat = "250 ms"
actuators = ["arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon"]
channels = ["arm.base", "arm.shoulder", "arm.elbow", "arm.roll", "arm.wrist", "arm.spoon", "wrist.force"]

[device.bed]
driver = "modbus"
address = "{bed}"
unit = 7
registers = "care-bed"
actuators = ["bed.back", "bed.height", "bed.tilt", "bed.rails"]
channels = ["bed.back", "bed.height", "bed.tilt", "bed.rails", "bed.current", "bed.moving"]
"""


def bench_with(bed: str, folder: Path) -> BenchSpec:
    path = folder / "two.toml"
    path.write_text(TWO_DEVICES.format(bed=bed))
    return load_bench(path)


def ports_of(node: NodeProcess) -> tuple[Port, Port]:
    return Port(node.ports[0], "0483", "374b", "AA"), Port(node.ports[1], "0403", "6001", "BB")


def watching(port: str) -> contextlib.AbstractContextManager[object]:
    return Link(port, settings(m.Role.MONITOR), MonotonicClock())


@contextlib.contextmanager
def simulated_bed() -> Iterator[SimulatedDevice]:
    actuators = [a for a in load_bench("sim").actuators if a.name in BED.actuators]
    with SimulatedDevice(BED, actuators, 7, {a.name: max(a.low, 0.0) for a in actuators}) as bed:
        yield bed


class TestDevices(BackendContract):
    @pytest.fixture
    def closed(self, tmp_path: Path) -> Iterator[Backend]:
        self.clock = MonotonicClock()
        with node_process() as node, simulated_bed() as self.bed:
            yield Devices(bench_with(self.bed.address, tmp_path), self.clock, watching, ports_of(node))

    def position(self, backend: Backend) -> list[float]:
        seen = backend.read(self.now_ns(backend))
        return [self.bed.positions.get(a.name, seen[a.name].value) for a in backend.actuators]

    def now_ns(self, backend: Backend) -> int:
        return self.clock.now_ns()


def test_every_device_that_is_not_there_is_named_at_once() -> None:
    with pytest.raises(RigFault, match=r"3 of 3 devices are not there: node: usb:.*; bed: usb:.*; arm: usb:"):
        find(load_bench(LAB), ports=())


def test_one_that_does_not_open_leaves_the_others_off(tmp_path: Path) -> None:
    with node_process() as node:
        bench = bench_with("tcp:127.0.0.1:1", tmp_path)
        with pytest.raises(RigFault, match=r"tcp:127\.0\.0\.1:1 unit 7: line cannot be opened"):
            Devices(bench, MonotonicClock(), watching, ports_of(node)).__enter__()
        assert node.until(m.State.IDLE) is not None  # armed meanwhile, and disarmed on the way out


def test_what_nobody_measures_is_listed() -> None:
    silent = unmeasured(load_bench(LAB))
    assert "face.gap" in silent and "wrist.force" not in silent and "intent.contact" not in silent


def trial_into(out: Path) -> list[str]:
    return [
        "trial",
        "--task",
        "spoon-feed",
        "--bench",
        str(LAB),
        "--agent",
        "careful",
        "--think",
        "realtime",
        "--out",
        str(out),
    ]


def permitted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("RUNRIG_STATE", str(folder / "state"))
    bench, now = load_bench(LAB), wall_utc()
    found = Permit(
        bench=bench.name, bench_digest=bench.digest, devices=("node",), operator="technician on duty",
        approver="engineer on call", examination="0" * 64, issued_utc=now.isoformat(),
        expires_utc=(now + timedelta(minutes=10)).isoformat(),
    )  # fmt: skip
    save(permit_file(bench.name), asdict(found))


def test_a_permitted_trial_without_devices_is_a_fault_of_the_rig_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    permitted(monkeypatch, tmp_path)
    assert run(trial_into(tmp_path / "r")) == 3
    said = capsys.readouterr()
    assert "3 of 3 devices are not there" in said.err + said.out
    assert not list((tmp_path / "r").rglob("events.jsonl"))


def test_no_permit_is_asked_for_before_anything_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUNRIG_STATE", str(tmp_path / "state"))
    assert run(trial_into(tmp_path / "r")) == 2
    assert "has no permit" in capsys.readouterr().err
