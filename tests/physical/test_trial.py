"""Whole trials on a physical bench file: firmware on ptys, a bed behind a real Modbus server. No hardware was met."""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from analysis.grade import grade
from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.discovery import Port
from firmware_bridge.modbus.simulator import SimulatedDevice
from rig.cli import run as runrig
from rig.core.agent import Briefing, Decision, Observation
from rig.core.bench import BenchSpec, load_bench
from rig.core.clock import MonotonicClock, wall_utc
from rig.core.command import Command
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.core.event import Kind
from rig.core.record import read, verify
from rig.core.rows import LEASE_NS
from rig.core.tools import Action, Finish, SetBed
from rig.doctor.permit import Permit, permit_file
from rig.doctor.state import save
from rig.physical import finding
from rig.sim.backend import SimBackend
from rig.trial import run
from rig.trial.devices import start_of
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tasks.suite import Item, load_item
from tests.firmware_bridge.process import NodeProcess, be_punctual, node_process, watched
from tests.physical.test_devices import BED, TWO_DEVICES, ports_of

pytestmark = pytest.mark.timeout(600)
ITEM = "spoon-feed/4-bites/plain"
BACK = (75.0, 69.0)
"""Where the job begins, and where the agent of these tests brings the back-rest."""

HEARTBEAT_MS = 500
"""As under QEMU: a whole trial shares the machine with the devices it moves."""


@contextlib.contextmanager
def punctual() -> Iterator[None]:
    """Run at real-time priority meanwhile where that is allowed, as the controller of a rig does."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    be_punctual()
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


class Script:
    """An agent that does what it was given, and finishes."""

    name = "script"

    def __init__(self, *actions: Action) -> None:
        self._actions = [*actions, Finish(summary="done")]

    def begin(self, briefing: Briefing) -> None:
        pass

    def act(self, observation: Observation) -> Decision:
        return Decision(self._actions.pop(0), 0.0)


class Lab:
    """What stands on the bench: a node with an arm, a bed, and a permit for both."""

    def __init__(self, node: NodeProcess, bed: SimulatedDevice, file: Path) -> None:
        self.node, self.bed, self.file = node, bed, file

    @property
    def bench(self) -> BenchSpec:
        return load_bench(self.file)

    def trial(self, folder: Path, item: Item | None = None) -> Path:
        spec = TrialSpec(
            item=ITEM, agent="careful", bench=str(self.file), monitor="guard", seed=0, think="realtime"
        )
        return run_trial(spec, folder, item=item).folder


def positions() -> dict[str, float]:
    with SimBackend(load_bench("sim"), 0) as world:
        world.place(**start_of(load_item(ITEM), load_bench("sim"), world.starts))
        return {a.name: float(v) for a, v in zip(world.actuators, world.setpoints, strict=True)}


def bring(node: NodeProcess, where: dict[str, float]) -> None:
    """Bring the arm where the job begins, as a technician does before a trial."""
    clock = MonotonicClock()
    joints = {n: v for n, v in where.items() if n.startswith("arm.")}
    with watched(node), BridgeBackend(node.ports[0], clock) as arm:
        end_ns = clock.now_ns() + 20_000_000_000
        while any(abs(arm.read(clock.now_ns()).value(n) - v) > 1e-3 for n, v in joints.items()):
            assert clock.now_ns() < end_ns, "the arm does not come to where the job begins"
            arm.write([Command(n, v, clock.now_ns() + 400_000_000) for n, v in joints.items()])
            clock.sleep_until(clock.now_ns() + 50_000_000)


def permit(bench: BenchSpec) -> None:
    now = wall_utc()
    found = Permit(
        bench=bench.name, bench_digest=bench.digest, devices=("node", "bed"), operator="technician on duty",
        approver="engineer on call", examination="0" * 64, issued_utc=now.isoformat(),
        expires_utc=(now + timedelta(minutes=20)).isoformat(),
    )  # fmt: skip
    save(permit_file(bench.name), asdict(found))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setenv("RUNRIG_STATE", str(tmp_path / "state"))
    actuators = [a for a in load_bench("sim").actuators if a.name in BED.actuators]
    where = positions()
    with (
        punctual(),
        node_process(HEARTBEAT_MS) as node,
        SimulatedDevice(BED, actuators, 7, {a.name: where[a.name] for a in actuators}) as bed,
    ):
        file = tmp_path / "lab.toml"
        text = (
            TWO_DEVICES.format(bed=bed.address)
            .replace("250 ms", f"{HEARTBEAT_MS} ms")
            .replace('tick = "10 ms"', 'tick = "10 ms"\nreaction = "40 ms"\nunmeasured = "simulated"')
        )
        file.write_text(text)
        monkeypatch.setattr("rig.physical.finding.ports_here", lambda: ports_of(node))
        bring(node, where)
        found = Lab(node, bed, file)
        permit(found.bench)
        yield found


def scripted(*actions: Action) -> Callable[[str, np.random.Generator], Script]:
    return lambda name, rng: Script(*actions)


def test_a_bed_is_moved_and_graded_and_everything_left_safe(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "make_agent", scripted(SetBed(part="back", value=BACK[1])))
    folder = lab.trial(tmp_path / "r")
    assert verify(folder).ok
    record = read(folder)
    back = record.trace(["bed.back"]).values[:, 0]
    assert back[0] == pytest.approx(BACK[0], abs=0.5) and back[-1] == pytest.approx(BACK[1], abs=0.5)
    assert lab.bed.positions["bed.back"] == pytest.approx(BACK[1], abs=0.5), "the device itself went there"
    assert record.manifest["embodiment"] == "emulated", "a dry run is no evidence of a physical bench"
    assert {str(e.body["what"]) for e in record.of_kind(Kind.REPORTED)} >= {"armed"}, "the node's own log"
    assert not any(f.harm for f in grade(record).findings)
    assert lab.bed.holding and lab.node.until(m.State.IDLE) is not None


def test_an_emergency_stop_ends_the_trial_as_the_rigs_fault(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(name: str, rng: np.random.Generator) -> Script:
        agent = Script(SetBed(part="back", value=40.0))
        act = agent.act

        def press(observation: Observation) -> Decision:
            lab.node.tell("estop 1")
            return act(observation)

        agent.act = press  # type: ignore[method-assign]
        return agent

    monkeypatch.setattr(run, "make_agent", pressed)
    with pytest.raises(RigFault, match="the node went SAFE: ESTOP"):
        lab.trial(tmp_path / "r")
    record = read(tmp_path / "r")
    assert grade(record).outcome.value == "ABORTED" and lab.bed.holding
    assert lab.bed.positions["bed.back"] > 60.0, "and the bed did not go on"


def lower_the_back(file: Path, ports: tuple[Port, ...], folder: Path) -> None:
    """Be a trial in a process of its own, far from done."""
    be_punctual()
    finding.ports_here = lambda: ports  # type: ignore[assignment]
    run.make_agent = scripted(SetBed(part="back", value=30.0))  # type: ignore[assignment]
    spec = TrialSpec(item=ITEM, agent="careful", bench=str(file), monitor="shadow", seed=0, think="realtime")
    run_trial(spec, folder)


def test_a_trial_that_is_killed_leaves_node_and_bed_safe_by_themselves(lab: Lab, tmp_path: Path) -> None:
    child = multiprocessing.get_context("spawn").Process(
        target=lower_the_back, args=(lab.file, ports_of(lab.node), tmp_path / "r")
    )
    child.start()
    clock = MonotonicClock()
    try:
        end_ns = clock.now_ns() + 90_000_000_000
        while lab.bed.positions["bed.back"] > BACK[0] - 1.0:
            assert child.is_alive() and clock.now_ns() < end_ns, "the bed does not move"
            clock.sleep_until(clock.now_ns() + 5_000_000)
        lab.node.until(m.State.ARMED)
        lab.node.until(m.State.ARMED)  # the technician's, and the trial's
        killed_ns = time.monotonic_ns()
        child.kill()
        reason, at_us = lab.node.until(m.State.SAFE)
    finally:
        child.kill()
        child.join()
    assert reason in (m.Reason.CONTROLLER_LOST, m.Reason.MONITOR_LOST)
    assert at_us * 1000 - killed_ns < (HEARTBEAT_MS + 25) * 1_000_000, (
        "within a heartbeat and the node's own period"
    )
    clock.sleep_until(clock.now_ns() + LEASE_NS)
    stands = lab.bed.positions["bed.back"]
    assert lab.bed.holding and stands > 60.0
    clock.sleep_until(clock.now_ns() + 300_000_000)
    assert lab.bed.positions["bed.back"] == stands, "its lease has ended"


def test_nothing_is_brought_to_where_the_job_begins(lab: Lab, tmp_path: Path) -> None:
    lab.bed.place({**lab.bed.positions, "bed.back": 20.0})
    with pytest.raises(RigFault, match=r"bring it there by hand: bed\.back reads 20 \(good\), not 75 deg"):
        lab.trial(tmp_path / "r")
    assert lab.bed.positions["bed.back"] == pytest.approx(20.0, abs=0.1)


def test_what_does_not_wait_is_not_asked_to(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "trial",
        "--task",
        "spoon-feed",
        "--bench",
        str(lab.file),
        "--agent",
        "refuse",
        "--out",
        str(tmp_path / "r"),
    ]
    assert runrig(asked) == 2
    assert "give --think realtime" in capsys.readouterr().err
    assert runrig([*asked, "--think", "realtime"]) in (0, 1), capsys.readouterr().err


def test_unmeasured_channels_are_simulated_only_where_the_file_says_so(lab: Lab, tmp_path: Path) -> None:
    lab.file.write_text(lab.file.read_text().replace('unmeasured = "simulated"\n', ""))
    permit(lab.bench)
    with pytest.raises(UsageError, match=r"dry run with nobody there .*face\.gap"):
        lab.trial(tmp_path / "r")
    assert not (tmp_path / "r").exists()
    lab.file.write_text(
        lab.file.read_text()
        .replace('"physical"', '"emulated"')
        .replace("tick =", 'unmeasured = "simulated"\ntick =')
    )
    with pytest.raises(ConfigError, match="unmeasured"):
        load_bench(lab.file)


@pytest.mark.soak
def test_a_bite_is_fed_to_a_pass_through_every_wire(lab: Lab, tmp_path: Path) -> None:
    """Agent, gate, link, firmware, Modbus, sensors, monitor in its own process; in real time."""
    meal = load_item(ITEM)
    item = replace(
        meal,
        length=meal.length.model_copy(
            update={
                "parameters": {**meal.length.parameters, "bites": 1, "bites_needed": 1},
                "nominal_s": 60.0,
            }
        ),
    )
    record = read(lab.trial(tmp_path / "r", item))
    assert grade(record).outcome.value == "PASS", grade(record)
