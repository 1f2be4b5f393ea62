"""Trials to test on, and the reference data that may only be read where it lies."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.bootstrap import Items
from analysis.fit import Cells
from analysis.trials import Outcome, TrialRow

ROOT = Path(__file__).resolve().parents[2]
HORIZON_DATA = ROOT.parent / "shared" / "data" / "horizon"
TOY_S = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


@pytest.fixture(scope="session")
def data() -> Path:
    if not HORIZON_DATA.is_dir():
        pytest.skip("reference data not here: ../shared/data/horizon")
    return HORIZON_DATA


@pytest.fixture(scope="session")
def expected(data: Path) -> dict[str, Any]:
    return json.loads((data / "expected.json").read_text())


def read_csv(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        return list(csv.DictReader(stream))


def toy(passes: list[int], trials: int = 5, durations_s: np.ndarray = TOY_S) -> Cells:
    """Five trials of each duration, as in the reference answers."""
    return Cells(np.log(durations_s), np.array(passes, float), np.full(len(passes), float(trials)))


def items(passes: list[int], trials: int = 5, durations_s: np.ndarray = TOY_S) -> Items:
    count = len(passes)
    return Items(
        np.log(durations_s[:count]),
        np.array(passes, np.int64),
        np.full(count, trials, np.int64),
        np.ones(count),
        np.array([0, count], np.int64),
    )


def row(**changes: Any) -> TrialRow:
    """A passed trial, with changes."""
    values: dict[str, Any] = {
        "trial_id": "t1",
        "agent": "careful",
        "family": "feeding",
        "task": "spoon-feed",
        "item": "spoon-feed/5min/soup",
        "duration_s": 300.0,
        "outcome": Outcome.PASS,
        "done": True,
        "harm": False,
        "mistake": False,
        "monitor": "guard",
        "embodiment": "simulated",
        "config_digest": "c1",
    }
    return TrialRow(**(values | changes))


def failed(**changes: Any) -> TrialRow:
    """A trial with a mistake that did harm, with changes."""
    verdict = {"outcome": Outcome.CRITICAL, "done": False, "harm": True, "mistake": True}
    return row(**(verdict | changes))


def campaign(passes: dict[float, list[int]], trials: int = 5, **changes: Any) -> list[TrialRow]:
    """Rows of ``trials`` trials per item; ``passes`` maps a duration (s) to passes of each of its items."""
    agent = changes.get("agent", "careful")
    return [
        (row if number < count else failed)(
            trial_id=f"{agent}/{duration_s:g}/{index}/{number}",
            item=f"{duration_s:g}/{index}",
            duration_s=duration_s,
            **changes,
        )
        for duration_s, counts in passes.items()
        for index, count in enumerate(counts)
        for number in range(trials)
    ]
