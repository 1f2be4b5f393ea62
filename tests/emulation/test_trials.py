"""Whole trials on emulated benches, to a grade: the firmware under QEMU, Modbus on TCP and on a serial line."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.grade import Grade, grade
from firmware_bridge.build import LIBRARY
from firmware_bridge.emulator import emulator_problem
from rig.core.record import Record, read, verify
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tasks.suite import Item, load_item
from tests.firmware_bridge.node import built

needs_qemu = pytest.mark.skipif(emulator_problem() is not None, reason=str(emulator_problem()))
MEAL, LIFT = "spoon-feed/4-bites/plain", "sling-transfer/to-chair/plain"


@pytest.fixture(autouse=True)
def _library() -> None:
    built(LIBRARY)  # skips with a reason where there is no compiler


def graded(
    folder: Path, bench: str, key: str, agent: str = "careful", item: Item | None = None
) -> tuple[Grade, Record]:
    spec = TrialSpec(item=key, agent=agent, bench=bench, monitor="guard", seed=0)
    result = run_trial(spec, folder / f"{bench}-{agent}", item=item)
    assert verify(result.folder).ok
    record = read(result.folder)
    assert record.manifest["embodiment"] == ("simulated" if bench == "sim" else "emulated")
    return grade(record), record


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
    found, _ = graded(tmp_path, "emulated-host", MEAL, "refuse")
    assert not found.harm


@needs_qemu
def test_under_qemu_a_bite_is_fed_to_a_pass(tmp_path: Path) -> None:
    """In real time: agent, gate, bridge, firmware under QEMU and bed on Modbus, sensors, monitor in its own process."""
    found, _ = graded(tmp_path, "emulated", MEAL, item=one_bite())
    assert found.outcome.value == "PASS", found


def test_a_resident_is_lifted_into_the_chair_over_modbus_to_a_pass(tmp_path: Path) -> None:
    """Hoist on Modbus TCP, bed scale on Modbus RTU, e-stop and heartbeats at the real firmware, in virtual time."""
    found, record = graded(tmp_path, "emulated-host", LIFT)
    assert found.outcome.value == "PASS", found
    assert record.manifest["site"] == "hoist-emulated-host"


# --- the same scenario on sim and emulated --------------------------------------------------------
