"""Worker processes, killed before they have come up."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_work import exists

from rig.campaign.local import MOST_FAILED_STARTS, Processes
from rig.core.errors import RigFault


@pytest.fixture
def one() -> Iterator[Processes[Path, bool]]:
    processes: Processes[Path, bool] = Processes(exists, 1)
    yield processes
    processes.close(at_once=True)


def kill_all(processes: Processes[Path, bool]) -> None:
    for pid in processes.pids().values():
        os.kill(pid, signal.SIGKILL)


def test_one_killed_while_it_starts_is_replaced(one: Processes[Path, bool], tmp_path: Path) -> None:
    for _ in range(MOST_FAILED_STARTS - 1):
        kill_all(one)
        one.wait(10.0)
    while not one.free():
        one.wait(10.0)
    (name,) = one.free()
    assert name == f"worker-{MOST_FAILED_STARTS}"
    one.give(name, tmp_path)
    came: list[object] = []
    while not came:
        came = [what for _, _, what, _ in one.wait(10.0) if not isinstance(what, float)]
    assert came == [True]


def test_when_none_comes_up_the_campaign_is_told_why(one: Processes[Path, bool]) -> None:
    with pytest.raises(RigFault, match=r"no worker process can be started: .* ended by SIGKILL"):
        for _ in range(MOST_FAILED_STARTS):
            kill_all(one)
            one.wait(10.0)
