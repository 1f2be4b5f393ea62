"""Whole trials on emulated benches, to a grade: the firmware under QEMU, Modbus on TCP and on a serial line."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.release.reconcile import devices
from firmware_bridge.build import LIBRARY
from firmware_bridge.emulator import emulator_problem
from rig.core.event import Kind
from tasks.suite import Item, load_item
from tests.emulation.comparing import LIFT, MEAL, differences, figures, run
from tests.firmware_bridge.node import built

pytestmark = pytest.mark.timeout(900)
"""A trial is minutes of real time under QEMU, and more on a machine that cannot keep up."""
needs_qemu = pytest.mark.skipif(emulator_problem() is not None, reason=str(emulator_problem()))


@pytest.fixture(autouse=True)
def _library() -> None:
    built(LIBRARY)  # skips with a reason where there is no compiler


def one_bite() -> Item:
    """A meal of one bite, whole from briefing to grade, for a bench whose time is the machine's."""
    meal = load_item(MEAL)
    parameters = {**meal.length.parameters, "bites": 1, "bites_needed": 1}
    return replace(
        meal,
        length=meal.length.model_copy(update={"parameters": parameters, "nominal_s": 60.0}),
        scenario=meal.scenario.model_copy(update={"start": {**meal.scenario.start, "bed.back": 72.0}}),
    )


def test_a_refusing_agent_is_graded_on_the_emulated_bench(tmp_path: Path) -> None:
    found, record = run(tmp_path, "emulated-host", MEAL, "refuse")
    assert not found.harm and record.manifest["embodiment"] == "emulated"
    said = {str(event.body["what"]) for event in record.of_kind(Kind.REPORTED)}
    assert said >= {"booted", "armed"}, "the node's own log"
    assert devices(record) == ()


@needs_qemu
def test_under_qemu_a_bite_is_fed_to_a_pass(tmp_path: Path) -> None:
    """In real time: agent, gate, bridge, firmware under QEMU and bed on Modbus, sensors, monitor in its own process."""
    found, record = run(tmp_path, "emulated", MEAL, item=one_bite())
    assert found.outcome.value == "PASS", found
    assert record.manifest["site"] == "emulated"


def test_a_resident_is_lifted_into_the_chair_over_modbus_as_without_wires(tmp_path: Path) -> None:
    """Hoist on Modbus TCP, bed scale on Modbus RTU, e-stop and heartbeats at the real firmware, in virtual time."""
    assert_alike(tmp_path, "emulated-host", LIFT)


def assert_alike(folder: Path, bench: str, key: str) -> None:
    simulated, emulated = run(folder, "sim", key), run(folder, bench, key)
    assert simulated[0].outcome.value == emulated[0].outcome.value == "PASS", emulated[0]
    assert emulated[1].manifest["embodiment"] == "emulated"
    assert differences(key, figures(key, *simulated), figures(key, *emulated)) == []


@pytest.mark.soak
def test_a_meal_is_fed_through_the_firmware_as_without_wires(tmp_path: Path) -> None:
    assert_alike(tmp_path, "emulated-host", MEAL)


@needs_qemu
@pytest.mark.soak
@pytest.mark.parametrize("key", [MEAL, LIFT])
def test_under_qemu_a_job_is_done_as_without_wires(tmp_path: Path, key: str) -> None:
    """Real time: minutes, and more on a machine that cannot keep up (the world then waits)."""
    assert_alike(tmp_path, "emulated", key)
