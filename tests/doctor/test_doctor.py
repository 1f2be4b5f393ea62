"""The preflight: what is red is named with what to do, and nothing physical moves without a permit."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from firmware_bridge.build import LIBRARY
from rig.cli import run
from rig.core.bench import bench_names, load_bench
from rig.core.channel import Channel, Layout, Quality, Trace
from rig.core.device import Calibration
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.doctor import Light, Report, examine
from rig.doctor.calibration import calibration_checks
from rig.doctor.emulated import rules_on
from rig.doctor.permit import INTERLOCKS, issue, permit_file, require_permit
from rig.doctor.report import judged, not_needed
from rig.doctor.sensors import plausible, stuck, weighed
from rig.doctor.state import latency_file, load_latency, note_proof, proof_of_today
from safety_monitor.rules import load_rules
from tests.firmware_bridge.node import built


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNRIG_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNRIG_STATE", str(tmp_path_factory.mktemp("state")))
        report = examine("sim")
        latency = load_latency("sim")
    assert latency is not None and latency.bench_digest == report.bench_digest
    return report


def test_the_simulated_bench_is_ready(simulated: Report) -> None:
    assert simulated.ok, simulated.reds
    names = {c.name for c in simulated.checks}
    assert {
        "disk",
        "durable",
        "real_time",
        "wall_clock",
        "plausible",
        "stuck",
        "known_mass",
        *INTERLOCKS,
    } <= names


@pytest.mark.parametrize("bench", ["hoist-sim", "hoist-emulated-host"])
def test_a_bench_that_begins_at_an_end_of_its_range_is_ready(bench: str) -> None:
    """The hoist stands over the bed: along the floor there is room on one side alone."""
    built(LIBRARY)
    report = examine(bench)
    assert report.ok, report.reds


@pytest.mark.parametrize("bench", [n for n in bench_names() if "emulated" in n])
def test_there_are_rules_for_the_monitor_beside_every_emulated_node(bench: str) -> None:
    spec = load_bench(bench)
    assert load_rules(rules_on(spec), spec.layout).rules


@pytest.mark.soak
@pytest.mark.parametrize("bench", bench_names())
def test_every_bench_of_the_project_is_ready(bench: str) -> None:
    report = examine(bench)
    assert report.ok, report.reds


def test_the_stop_takes_the_declared_reaction(simulated: Report) -> None:
    check = simulated.check("stop_latency")
    bench = load_bench("sim")
    assert check is not None and check.value is not None
    assert bench.reaction_ns / 1e9 < check.value < bench.reaction_ns / 1e9 + 0.1


def test_reports_are_strict_json_and_name_themselves(simulated: Report) -> None:
    text = json.dumps(simulated.as_json(), allow_nan=False)
    assert json.loads(text)["digest"] == simulated.digest()
    assert replace(simulated, examined_utc="other").digest() != simulated.digest()


def trace(values: np.ndarray, noise: float = 0.1, quality: Quality = Quality.GOOD) -> Trace:
    layout = Layout(
        [Channel(name="x", unit="N", low=0, high=10, period_s=0.01, stale_after_s=1, noise=noise)]
    )
    n = len(values)
    t_ns = np.arange(1, n + 1) * 10_000_000
    return Trace(layout, t_ns, values[:, None], t_ns[:, None], np.full((n, 1), quality, np.uint8))


def test_a_frozen_sensor_is_red_and_a_live_one_green() -> None:
    assert stuck(trace(np.full(30, 5.0)), ("x",)).light is Light.RED
    assert stuck(trace(5 + 0.1 * np.sin(np.arange(30))), ("x",)).light is Light.GREEN


def test_a_sensor_that_cannot_be_told_is_not_green() -> None:
    check = stuck(trace(np.full(30, 5.0), noise=0.0), ("x",))
    assert check.light is Light.RED and "0 noisy channels" in check.measured


def test_a_channel_that_is_not_good_is_named() -> None:
    check = plausible(trace(np.full(3, 5.0), quality=Quality.OUT_OF_RANGE), ("x",))
    assert check.light is Light.RED and "x (out_of_range)" in check.measured


@pytest.mark.parametrize(
    ("seen_n", "light"), [(1.96, Light.GREEN), (2.2, Light.RED), (float("nan"), Light.RED)]
)
def test_a_known_mass(seen_n: float, light: Light) -> None:
    assert weighed(seen_n, 0.2, 0.1).light is light


def test_nothing_checked_is_not_ready() -> None:
    assert not Report(
        bench="x", embodiment="physical", bench_digest="", examined_utc="", devices=(), checks=()
    ).ok


def test_an_emulated_bench_is_examined_through_its_firmware() -> None:
    built(LIBRARY)
    report = examine("emulated-host")
    needed = {"firmware", "lines", "clock_sync", "plausible", *INTERLOCKS}
    assert needed <= {c.name for c in report.checks}
    machine = {"punctual", "durable", "real_time"}  # of the machine the tests run on, not of the bench
    assert not [c for c in report.reds if c.name not in machine], report.reds
    assert report.devices and "firmware" in report.devices[0]
    assert "ESTOP" in str(proof_of_today("emulated-host", "estop"))


def test_a_bench_that_does_not_come_up_is_red_and_never_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "rig.emulation.backend.open_board", lambda *_: (_ for _ in ()).throw(RigFault("no board"))
    )
    report = examine("emulated-host")
    assert [c.measured for c in report.reds if c.name == "bench"] == ["no board"]
    assert report.check("plausible") is None


@pytest.mark.parametrize(
    ("expires", "light", "says"),
    [(date(2026, 5, 31), Light.RED, "expired: x"), (date(2026, 6, 5), Light.GREEN, "soon: x"),
     (date(2027, 1, 1), Light.GREEN, "1 of 1 in date")],
)  # fmt: skip
def test_calibrations_end(expires: date, light: Light, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.doctor.calibration.wall_utc", lambda: datetime(2026, 6, 1, tzinfo=UTC))
    one = Calibration(
        channel="x", gain=1, offset=0, expires=expires, certificate="c", sha256="0" * 64, by_role="technician"
    )
    (check,) = calibration_checks(replace(LAB, calibrations=(one,)))
    assert check.light is light and says in check.measured


# --- permits --------------------------------------------------------------------------------------


def physical(**changes) -> Report:
    checks = tuple(judged(name, name, True, "seen", "so", "") for name in INTERLOCKS)
    whole = Report(
        bench="lab", embodiment="physical", bench_digest="d", examined_utc="2026-01-05T17:00:00+00:00",
        devices=("node 01",), checks=checks,
    )  # fmt: skip
    return replace(whole, **changes)


LAB = replace(load_bench("sim"), name="lab", embodiment="physical", digest="d")


def test_a_permit_opens_its_bench_and_no_other_version_of_it() -> None:
    permit = issue(physical(), "A", "B", 30)
    assert require_permit(LAB) == permit
    with pytest.raises(UsageError, match="another version of its bench file"):
        require_permit(replace(LAB, digest="e"))


def test_without_a_permit_a_physical_bench_is_refused() -> None:
    with pytest.raises(UsageError, match="physical and has no permit"):
        require_permit(LAB)
    assert require_permit(load_bench("sim")) is None


@pytest.mark.parametrize(
    ("report", "operator", "approver", "minutes", "why"),
    [
        (physical(), "A", "a ", 30, "somebody else must approve"),
        (physical(), "", "B", 30, "give both"),
        (physical(), "A", "B", 31, "give 1 to 30"),
        (physical(devices=()), "A", "B", 30, "no device said who it is"),
        (physical(checks=physical().checks[1:]), "A", "B", 30, "estop was not checked"),
        (physical(checks=(not_needed("estop", "estop", "", ""), *physical().checks[1:])), "A", "B", 30, "estop was not"),
        (physical(checks=(judged("estop", "E-stop", False, "not pressed", "", ""), *physical().checks)), "A", "B", 30,
         "E-stop: not pressed"),
        (physical(embodiment="simulated"), "A", "B", 30, "only physical benches"),
    ],
)  # fmt: skip
def test_a_permit_is_refused(report: Report, operator: str, approver: str, minutes: int, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        issue(report, operator, approver, minutes)
    assert not permit_file("lab").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"expires_utc": "2020-01-01T00:00:00+00:00", "issued_utc": "2020-01-01T00:00:00+00:00"}, "ran out"),
        ({"expires_utc": "2099-01-01T00:00:00+00:00"}, "ran out"),  # longer than any may be
        ({"approver": "A"}, "own operator"),
        ({"expires_utc": "soon"}, "is no permit"),
        ({"stranger": 1}, "is no permit"),
    ],
)
def test_a_permit_that_was_stretched_by_hand_is_refused(changes: dict, why: str) -> None:
    issue(physical(), "A", "B", 30)
    path = permit_file("lab")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(UsageError, match=why):
        require_permit(LAB)


def test_a_proof_holds_for_its_day() -> None:
    assert proof_of_today("lab", "estop") is None
    note_proof("lab", "estop", "pressed once")
    assert str(proof_of_today("lab", "estop")).startswith("pressed once at ")


def test_a_damaged_latency_file_is_named() -> None:
    latency_file("lab").write_text('{"wrong": 1}')
    with pytest.raises(ConfigError, match=r"latency.json.*delete it"):
        load_latency("lab")


# --- the command ----------------------------------------------------------------------------------


def test_the_command_says_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    red = physical(
        checks=(judged("disk", "Room for records", False, "0.1 GiB", "2 GiB", "move old records away"),)
    )
    monkeypatch.setattr("rig.cli.doctor.examine", lambda bench: red)
    assert run(["doctor", "sim"]) == 1
    assert "1. Room for records: move old records away" in capsys.readouterr().out


def test_a_permit_for_a_simulated_bench_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "sim", "--permit", "--operator", "A", "--approver", "B"]) == 2
    assert "only physical benches" in capsys.readouterr().err
    assert run(["doctor", "nowhere"]) == 2
