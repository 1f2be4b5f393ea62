"""Attending a trial changes nothing but who is heard: same ticks, same decisions, and a stop that works."""

from dataclasses import dataclass, field
from math import inf

import numpy as np
import pytest

from rig.core.clock import SimClock, nanoseconds, seconds
from rig.core.event import Kind
from rig.core.record import read, verify
from rig.trial.attended import Attendance, Did, StoppedByPerson, Word
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec

SPEC = TrialSpec(item="spoon-feed/4-bites/plain", agent="refuse", bench="sim", monitor="guard", seed=3)
NOTE = Word(Did.NOTED, "Tessa", "technician", "the bowl is warm")
STOP = Word(Did.STOPPED, "Vi", "viewer", "")


@dataclass
class Desk:
    """People with something to say at given trial times."""

    plan: dict[float, Word] = field(default_factory=dict)
    pace: float = inf
    at_ns: int = 0
    safe_ns: list[int] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)

    def words(self) -> list[Word]:
        due = [t for t in self.plan if seconds(self.at_ns) >= t]
        return [self.plan.pop(t) for t in sorted(due)]

    def safe(self, word: Word) -> None:
        self.safe_ns.append(self.at_ns)

    def reached(self, t_ns: int, lag_s: float) -> None:
        self.at_ns = t_ns
        self.lags.append(lag_s)


def attended(folder, desk, clock=None, spec=SPEC):
    return run_trial(spec, folder, attendance=Attendance(desk, clock or SimClock(), nanoseconds(0.05)))


def test_an_attended_trial_is_tick_for_tick_the_trial_alone(tmp_path):
    run_trial(SPEC, tmp_path / "alone")
    attended(tmp_path / "attended", Desk({1.0: NOTE}))
    alone, seen = read(tmp_path / "alone"), read(tmp_path / "attended")
    a, b = alone.trace(), seen.trace()
    assert np.array_equal(a.t_ns, b.t_ns)
    assert np.array_equal(a.values, b.values, equal_nan=True)
    assert np.array_equal(a.sampled_ns, b.sampled_ns)
    kinds = {Kind.OPERATOR, Kind.TELEMETRY_CLOSED, Kind.TRIAL_STARTED, Kind.TRIAL_ENDED}
    said = [[(e.t_ns, e.kind, e.body) for e in r.events if e.kind not in kinds] for r in (alone, seen)]
    assert said[0] == said[1]
    (note,) = seen.of_kind(Kind.OPERATOR)
    assert dict(note.body) == {
        "who": "Tessa",
        "role": "technician",
        "did": "noted",
        "text": "the bowl is warm",
    }


def test_the_pace_is_kept_by_peoples_clock(tmp_path):
    clock = SimClock()
    result = attended(tmp_path / "r", Desk(pace=4.0), clock)
    assert seconds(clock.now_ns()) == pytest.approx(result.elapsed_s / 4.0, abs=0.05)


def test_a_stop_makes_the_bench_safe_at_once_and_ends_the_trial_as_nobodys_fault(tmp_path):
    desk = Desk({1.5: STOP}, pace=1.0)
    with pytest.raises(StoppedByPerson, match="Vi"):
        attended(tmp_path / "r", desk)
    record = read(tmp_path / "r")
    assert verify(tmp_path / "r").ok
    stop = next(e for e in record.of_kind(Kind.OPERATOR) if e.body["did"] == "stopped")
    ended = record.events[-1]
    assert (ended.body["ending"], stop.severity) == ("aborted", "critical")
    assert seconds(desk.safe_ns[0]) - 1.5 <= 0.02, "safe within one look"
    assert record.trace().t_ns[-1] <= stop.t_ns + nanoseconds(0.02), "nothing moves on after the stop"


def test_a_stop_before_the_first_tick_is_heard(tmp_path):
    with pytest.raises(StoppedByPerson):
        attended(tmp_path / "r", Desk({0.0: STOP}))
    assert verify(tmp_path / "r").ok
