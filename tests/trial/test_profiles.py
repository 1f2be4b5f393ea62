"""What a skill does of its own accord stays under what the monitor stops: policy < trip < harm."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from running import ran, spec_of, with_agent

from rig.core.agent import Decision
from rig.core.bench import load_bench
from rig.core.channel import Layout, Trace
from rig.core.event import Kind
from rig.core.tools import Act, Finish, MoveTo
from rig.trial import run
from rig.trial.profiles import FACE_M, LIPS_M, SHARES, profiles, profiles_under
from safety_monitor.limits import limit_files, load_limits
from safety_monitor.rules import ACTUATING, load_rules, rule_files
from safety_monitor.vector import Evaluation
from tasks.suite import load_task, task_names

LIMITS = load_limits(limit_files())
TASKS = sorted(task_names())
NOISE = 5.0  # standard deviations of the speed and of the gap


def layout_of(task: str) -> Layout:
    return load_bench(load_task(task).bench("sim")).layout


def moving(layout: Layout, cases: Sequence[tuple[float, float]]) -> Trace:
    """Return a spoon on its way to an open mouth, all else unknown: (speed m/s, gap m) tick by tick."""
    values = np.full((len(cases), len(layout)), np.nan)
    known = {"intent.mouth": 1.0, "mouth.opening": 0.035, "wrist.force": 0.0, "intent.push": 1.0}
    for name, value in known.items():
        if name in layout:
            values[:, layout.index(name)] = value
    for j, name in enumerate(("spoon.speed", "face.gap")):
        values[:, layout.index(name)] = [case[j] for case in cases]
    t_ns = np.arange(len(cases)) * 1_000_000_000
    stamps = np.repeat(t_ns[:, None], values.shape[1], axis=1)
    return Trace(layout, t_ns, values, stamps, np.zeros(values.shape, np.uint8))


def stopped_by(task: str, cases: Sequence[tuple[float, float]]) -> set[str]:
    """Return the actuating rules on speed that a moving spoon surely breaks."""
    layout = layout_of(task)
    said = Evaluation(moving(layout, cases))
    rules = load_rules(rule_files(task), layout).rules
    speedy = [r for r in rules if r.response in ACTUATING and "spoon.speed" in r.channels]
    return {r.id for r in speedy if said.truth(r.violated).must.any()}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*SHARES, "into_mouth"])
def test_no_shipped_rule_stops_a_shipped_profile(name, task):
    """At every distance, at the profile's own speed, with noise and as late as the camera sees it."""
    layout = layout_of(task)
    if "spoon.speed" not in layout or "face.gap" not in layout:
        return  # nothing on this bench comes near a face
    speed, gap = layout["spoon.speed"], layout["face.gap"]
    begins, cases = 0.003, []
    for ends, most in profiles()[name]:
        shown = most + NOISE * (speed.noise + speed.resolution)
        for true_gap in np.linspace(begins, min(ends, 0.4), 40):
            for late_s in (gap.latency_s, gap.latency_s + gap.period_s):
                cases.append((shown, true_gap + most * late_s - NOISE * gap.noise))
        begins = ends
    assert stopped_by(task, cases) == set()


def test_a_profile_at_the_trip_limit_would_be_stopped():
    near, far = LIPS_M - 0.006, FACE_M - 0.016
    assert "too-fast-at-lips" in stopped_by("spoon-feed", [(LIMITS["lip_speed"].trip * 1.01, near)])
    assert "too-fast-near-face" in stopped_by("spoon-feed", [(LIMITS["approach_speed"].trip * 1.01, far)])


def test_profiles_follow_the_limits():
    lower = {**LIMITS, "lip_speed": replace(LIMITS["lip_speed"], trip=0.008)}
    assert profiles_under(lower)["normal"][0][1] == pytest.approx(0.006)
    for name in SHARES:
        (_, lips), (_, face), (_, free) = profiles()[name]
        assert lips < LIMITS["lip_speed"].trip < LIMITS["lip_speed"].policy < LIMITS["lip_speed"].harm
        assert face < LIMITS["approach_speed"].trip < LIMITS["approach_speed"].policy
        assert free <= LIMITS["approach_speed"].harm
    assert profiles()["out_of_mouth"][0][1] <= LIMITS["lip_speed"].policy


class Feeding:
    """Scoops, comes to the lips at one speed and gives the bite."""

    name = "careful"

    def __init__(self, speed: str) -> None:
        self._left = [
            Act(skill="scoop"), MoveTo(target="near_mouth", speed=speed),
            MoveTo(target="lips", speed=speed, guard_n=1.0), Act(skill="transfer", guard_n=2.0),
            Act(skill="withdraw"), MoveTo(target="rest", speed=speed), Finish(summary="one bite"),
        ]  # fmt: skip

    def begin(self, briefing):
        pass

    def act(self, observation):
        return Decision(self._left.pop(0), 0.5)


SPEEDS = [
    pytest.param(s, marks=pytest.mark.soak) if s == "slow" else s for s in SHARES
]  # slow also for the clock


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_bite_given_at_any_shipped_speed_is_not_interrupted(speed, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "make_agent", with_agent(lambda rng: Feeding(speed)))
    trial = ran(spec_of("spoon-feed/4-bites/plain", seed=3), tmp_path / "t")
    assert trial.events(Kind.INTERVENED) == []
    assert [e.body["rule"] for e in trial.events(Kind.VERDICT) if e.body["holds"] is not True] == []
    assert all(e.body["status"] == "completed" for e in trial.events(Kind.EFFECTED))
    assert trial.record.trace(channels=["camera.takes"]).column("camera.takes")[-1] == 1.0
