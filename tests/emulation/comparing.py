"""The same scenario on a simulated and an emulated bench: what is compared, and how much it may differ."""

from pathlib import Path

import numpy as np

from analysis.grade import Grade, grade
from rig.core.record import Record, read, verify
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tasks.suite import Item

MEAL, LIFT = "spoon-feed/4-bites/plain", "sling-transfer/to-chair/plain"
KEY_FIGURES = {
    MEAL: {"wrist.force": 1.5, "spoon.speed": 0.1, "truth.lip_force": 1.0, "truth.lip_dose": 0.1},
    LIFT: {"truth.load": 20.0, "truth.swing": 2.0, "truth.tipping": 0.01, "hoist.speed": 0.01,
           "hoist.travel_speed": 0.01, "limb.force": 2.0},
}  # fmt: skip
"""Largest value of each channel, and by how much it may differ from the simulated bench's, in its unit."""
ELAPSED_SHARE = 0.05


def run(
    folder: Path, bench: str, key: str, agent: str = "careful", item: Item | None = None
) -> tuple[Grade, Record]:
    """Return the grade and the record of one trial."""
    spec = TrialSpec(item=key, agent=agent, bench=bench, monitor="guard", seed=0)
    result = run_trial(spec, folder / f"{bench}-{agent}", item=item)
    assert verify(result.folder).ok
    record = read(result.folder)
    return grade(record), record


def figures(key: str, found: Grade, record: Record) -> dict[str, float]:
    """Return a trial's key figures: job time, and the largest value of every channel compared."""
    peaks = {
        name: float(np.nanmax(record.trace([name]).values))
        for name in KEY_FIGURES[key]
        if name in record.layout
    }
    return {"elapsed_s": found.elapsed_s, **peaks}


def differences(key: str, sim: dict[str, float], other: dict[str, float]) -> list[str]:
    """Return what differs by more than it may."""
    allowed = {"elapsed_s": ELAPSED_SHARE * sim["elapsed_s"], **KEY_FIGURES[key]}
    return [
        f"{name}: {other[name]:.4g} instead of {value:.4g}, more than {allowed[name]:g} apart"
        for name, value in sim.items()
        if not abs(other[name] - value) <= allowed[name]
    ]
