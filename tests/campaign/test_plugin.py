"""The pytest plugin: a developer's own agent, in the developer's own tests."""

import os
import subprocess
import sys
from pathlib import Path

THEIRS = """
from rig.core.agent import Decision
from rig.core.tools import Finish, Observe


class Leaves:
    name = "leaves"

    def begin(self, briefing):
        self.told = briefing.task

    def act(self, observation):
        return Decision(Finish(summary="Bye."), 1.0) if observation.observation_id > 1 else Decision(Observe(), 0.5)


def test_bench(sim_bench):
    assert sim_bench.embodiment == "simulated" and sim_bench.actuators


def test_mine(trial):
    agent = Leaves()
    ran = trial("bed-watch/30-min/quiet", agent, seed=3)
    assert agent.told == "bed-watch"
    assert ran.grade.outcome == "INCOMPLETE" and not ran.grade.harm
    assert ran.record.manifest["key"]["agent"] == "leaves"


def test_by_name_twice_the_same(trial):
    a, b = (trial("bed-watch/30-min/quiet", "refuse", monitor="shadow") for _ in range(2))
    assert a.record.head == b.record.head


def test_that_fails(trial):
    assert trial("bed-watch/30-min/quiet", "refuse").grade.done, "not done"
"""


def test_fixtures_run_a_developers_agent(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(THEIRS)
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "rig.pytest_plugin", "-c", os.devnull, "--rootdir", ".", "."],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "3 passed" in done.stdout and "1 failed" in done.stdout, done.stdout + done.stderr
