"""Physical benches: found by identity, refused until proven; and bench files that cannot be."""

from pathlib import Path

import pytest

from firmware_bridge.discovery import Port, port_of
from rig.cli import run
from rig.core.bench import load_bench
from rig.core.data import hardware_dir
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.doctor.physical import physical_checks
from rig.doctor.report import Light
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tests.firmware_bridge.process import node_process

LAB = hardware_dir() / "examples" / "bedside-lab.toml"
PORTS = (
    Port("/dev/ttyACM3", "0483", "374b", "0000000000000000"),
    Port("/dev/ttyUSB0", "0403", "6001", "A0000000"),
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNRIG_STATE", str(tmp_path / "state"))


def test_the_example_is_a_whole_bench_file() -> None:
    bench = load_bench(LAB)
    assert bench.embodiment == "physical" and bench.base == "sim"
    assert {d.name for d in bench.devices} == {"node", "bed", "arm"}
    assert bench.layout.names == load_bench("sim").layout.names
    moved = {a for d in bench.devices for a in d.actuators}
    assert moved == {a.name for a in bench.actuators}


def test_ports_are_found_by_identity() -> None:
    assert port_of("usb:0403:6001:A0000000", PORTS) == "/dev/ttyUSB0"
    with pytest.raises(RigFault, match=r"not found; is it plugged in\? Adapters here: usb:0483:374b"):
        port_of("usb:1a86:55d3:C0", PORTS)
    with pytest.raises(RigFault, match="2 adapters say they are this one"):
        port_of("usb:0403:6001:A0000000", (*PORTS, PORTS[1]))


def test_nothing_there_is_red_all_over_and_says_what_to_do() -> None:
    checks, identities = physical_checks(load_bench(LAB), ports=())
    red = {c.name for c in checks if c.light is Light.RED}
    assert {
        "device.node",
        "device.bed",
        "device.arm",
        "estop",
        "watchdog",
        "stop_latency",
        "calibration",
    } <= red
    assert all(c.todo for c in checks if c.light is Light.RED)
    assert identities == ()


def test_another_node_on_the_right_adapter_is_named() -> None:
    with node_process() as node:
        ports = (Port(node.ports[0], "0483", "374b", "0000000000000000"), *PORTS[1:])
        checks, _ = physical_checks(load_bench(LAB), ports)
    (found,) = [c for c in checks if c.name == "device.node"]
    assert found.light is Light.RED and "instead of 0000000000000000: cables exchanged?" in found.measured


def test_a_physical_trial_without_a_permit_is_refused(tmp_path: Path) -> None:
    spec = TrialSpec(
        item="spoon-feed/4-bites/plain", agent="careful", bench=str(LAB), monitor="guard", seed=0
    )
    with pytest.raises(UsageError, match="physical and has no permit"):
        run_trial(spec, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_the_bench_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "show", str(LAB)]) == 0
    said = capsys.readouterr().out
    assert "node at usb:0483:374b" in said and "monitor's own port" in said and "Calibrations" in said


WRONG = {
    "two at one address": ('usb:0403:6001:B0000000"\nunit', 'usb:1a86:55d3:C0000000"\nunit', "device.arm: is at usb:1a86:55d3:C0000000, where bed is"),
    "a port number": ("usb:1a86:55d3:C0000000", "/dev/ttyUSB0", "is no address; give usb:VID:PID:SERIAL"),
    "two owners": ('channels = ["wrist.force"', 'channels = ["arm.base", "wrist.force"', "channel arm.base belongs to node already"),
    "nothing of ours": ('"bed.tilt", "bed.rails"]\nchannels', '"bed.tilt", "bed.roof"]\nchannels', "there is no actuator 'bed.roof'"),
    "no map": ('registers = "care-bed"\n', "", "give a register map"),
    "a long heartbeat": ('heartbeat = "100 ms"', 'heartbeat = "10 s"', "must be within 50 ms and 1 s"),
    "an unknown key": ('driver = "feetech"', 'driver = "feetech"\ncolour = "red"', "colour"),
    "another base": ('extends = "sim"', 'extends = "mars"', "no bench 'mars'"),
    "a calibration of nothing": ('[calibration."wrist.force"]', '[calibration."wrist.farce"]', "there is no such channel"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_bench_file_that_cannot_be_is_refused_by_name(case: str, tmp_path: Path) -> None:
    before, after, why = WRONG[case]
    text = LAB.read_text()
    assert before in text
    path = tmp_path / "lab.toml"
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(ConfigError, match=why):
        load_bench(path)
    assert run(["bench", "show", str(path)]) == 2
