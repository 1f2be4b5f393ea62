"""A hoist in a trial: what happens when nobody commands, and when an arm is caught."""

from pathlib import Path

import numpy as np
import pytest
from running import Ran, ran, spec_of, with_agent

from analysis.trials import Outcome
from rig.agents.care import CAREFUL
from rig.agents.scripted import ScriptedAgent
from rig.core.agent import Decision, Observation
from rig.core.event import Kind
from rig.trial import run


class Absent(ScriptedAgent):
    """Careful, but once lost in thought while he hangs over the bed."""

    lost = False

    def act(self, observation: Observation) -> Decision:
        decision = super().act(observation)
        hangs = observation.readings["sling.clearance"].value > 0.2
        if hangs and not self.lost:
            self.lost = True
            return Decision(decision.action, 120.0)
        return decision


def highest(trial: Ran, channel: str) -> float:
    return float(np.nanmax(trial.record.trace([channel]).values))


def test_who_hangs_while_nobody_commands_is_let_down_and_somebody_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "make_agent", with_agent(lambda rng: Absent("careful", CAREFUL, rng)))
    trial = ran(spec_of("sling-transfer/to-chair/plain", monitor="shadow"), tmp_path / "t")
    called = [e for e in trial.events(Kind.CALLED) if e.body["by"] == "rig"]
    assert len(called) == 1
    aloft_s = highest(trial, "truth.aloft_s")
    assert 30.0 < aloft_s < 60.0, "held for 30 s, then let down"
    assert trial.grade.outcome is Outcome.PASS, trial.grade.reason


def test_an_arm_that_is_caught_comes_free_again(tmp_path: Path) -> None:
    spec = spec_of("sling-transfer/to-chair/grabs-bar", agent="slip(limb-trapped)", monitor="guard")
    trial = ran(spec, tmp_path / "t")
    found = trial.finding("limb-trapped")
    assert found.mistake and not found.harm
    assert 10.0 < highest(trial, "truth.caught_force") < 80.0
    assert any(e.body["response"] == "retract" for e in trial.events(Kind.INTERVENED))
