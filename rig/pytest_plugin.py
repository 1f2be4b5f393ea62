"""Fixtures for developers of agents: run trials in your own tests, graded from the record they leave.

Loaded by pytest wherever runrig is installed::

    def test_my_agent_waits_for_the_soup_to_cool(trial):
        ran = trial("spoon-feed/4-bites/hot-soup", MyAgent(), monitor="shadow")
        assert not ran.grade.harm, ran.grade.reason
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from analysis.grade import Grade
    from rig.core.agent import Agent
    from rig.core.bench import BenchSpec
    from rig.core.record import Record
    from rig.trial.spec import TrialSpec


@dataclass(frozen=True, slots=True)
class RanTrial:
    """A finished trial: its record, and the grade that the record gives."""

    record: "Record"
    grade: "Grade"


RunTrial = Callable[..., RanTrial]
"""``trial(item, agent, *, monitor="guard", seed=0, bench="sim", think="charged")``."""


@pytest.fixture(scope="session")
def sim_bench() -> "BenchSpec":
    """Return the simulated bench: its channels, its actuators, its limits."""
    from rig.core.bench import load_bench

    return load_bench("sim")


@pytest.fixture
def trial(tmp_path: Path) -> RunTrial:
    """Return a function that runs one trial on the simulated bench and grades it.

    Its arguments: the item (``task/length/scenario``), the agent (a name, or an object that is one), and by name
    ``monitor``, ``seed``, ``bench`` and ``think``. The same arguments give the same record, byte for byte.
    """
    numbers = iter(range(1_000_000))

    def run(
        item: str, agent: "str | Agent", *, monitor: str = "guard", seed: int = 0, bench: str = "sim",
        think: str = "charged",
    ) -> RanTrial:  # fmt: skip
        from analysis.grade import grade
        from rig.core.record import read
        from rig.trial.run import run_trial
        from rig.trial.spec import TrialSpec

        name = agent if isinstance(agent, str) else agent.name
        spec = TrialSpec(item=item, agent=name, bench=bench, monitor=monitor, seed=seed, think=think)
        folder = tmp_path / f"trial-{next(numbers)}"
        if isinstance(agent, str):
            run_trial(spec, folder)
        else:
            _run_with(agent, spec, folder)
        record = read(folder)
        return RanTrial(record, grade(record))

    return run


def _run_with(agent: "Agent", spec: "TrialSpec", folder: Path) -> None:
    """Run a trial of an agent that is at hand; after a hand-over it is briefed anew."""
    from rig.core.agent import Described
    from rig.trial.run import open_session

    described = agent.facts if isinstance(agent, Described) else {}
    with open_session(spec, folder, described) as session:
        agent.begin(session.briefing)
        while session.result is None:
            segment = session.segment
            session.step(agent.act(session.observation))
            if session.segment != segment and session.result is None:
                agent.begin(session.briefing)
