"""Killed at any moment and started again by the same command: every trial exactly once, the same bytes in the end."""

import os
from pathlib import Path

import numpy as np
import pytest
from killing import heads, start, status, until_done
from plans import plan_file

from rig.campaign.report import COMPLETION
from rig.campaign.running import Options, run_campaign
from rig.core.record import records_under


def grid(trials: int) -> str:
    return f"""
[[grid]]
agents = ["refuse"]
items = ["bed-watch/30-min/quiet"]
monitors = ["guard", "shadow"]
seeds = {{ first = 0, count = {trials // 2} }}
"""


def kill_and_compare(folder: Path, trials: int, every_ended: int, seed: int) -> dict[str, int]:
    plan = plan_file(folder, grid(trials))
    killed_out, calm_out = folder / "killed", folder / "calm"
    killed = until_done(
        plan, killed_out, np.random.default_rng(seed), "--workers", "2", every_ended=every_ended
    )
    ran = run_campaign(plan, calm_out, Options(workers=0))
    assert ran.stopped is None
    now = status(killed_out)
    assert now is not None and now.complete and now.ended == now.trials == trials
    assert heads(killed_out) == heads(calm_out) and len(heads(calm_out)) == trials
    assert len(list(records_under(killed_out / "records"))) == trials
    for name in ("trials.parquet", "trials.csv", "results.json", "junit.xml"):
        assert (killed_out / "report" / name).read_bytes() == (calm_out / "report" / name).read_bytes()
    assert (killed_out / COMPLETION).is_file()
    return killed


def test_sixty_trials_with_workers_and_coordinators_killed(tmp_path: Path) -> None:
    killed = kill_and_compare(tmp_path, 60, 14, seed=3)
    assert killed["worker"] and killed["coordinator"]


@pytest.mark.soak
def test_two_thousand_trials_with_workers_and_coordinators_killed(tmp_path: Path) -> None:
    killed = kill_and_compare(tmp_path, 2000, 25, seed=4)
    assert killed["worker"] > 20 and killed["coordinator"] > 10


def test_an_interrupted_coordinator_lets_trials_end_and_says_how_to_go_on(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, grid(40))
    process = start(plan, tmp_path / "out", "--workers", "1")
    while (now := status(tmp_path / "out")) is None or now.ended < 3:
        assert process.poll() is None
    os.kill(process.pid, 2)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Go on with: runrig campaign run" in text
    now = status(tmp_path / "out")
    assert now is not None and not now.complete and not now.leases and not now.running
    assert not (tmp_path / "out" / "interrupted").exists()
