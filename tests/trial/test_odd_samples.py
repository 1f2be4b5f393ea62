"""Samples that came late, twice or out of order are in the record, by rule; nothing is said where there were none."""

from pathlib import Path

from running import spec_of

from rig.core.event import Kind
from rig.core.record import read
from rig.trial.run import open_session
from rig.trial.session import Ending
from safety_monitor.kernel import ARRIVAL


def test_odd_samples_are_stated_for_every_rule_that_saw_them(tmp_path: Path) -> None:
    with open_session(spec_of("bed-watch/30-min/quiet"), tmp_path / "t", {}) as session:
        monitor = session._rig._parts.monitor
        row = monitor.program.arrivals
        channel = next(iter(monitor.arrivals()))
        monitor.watch.integers[row + ARRIVAL.late] = 3
        monitor.watch.integers[row + ARRIVAL.disordered] = 1
        session.end(Ending.FINISHED, "enough")
    ended = read(tmp_path / "t").events[-1]
    readers = {rule.id for rule in monitor.rules.rules if channel in rule.channels}
    assert ended.kind == Kind.TRIAL_ENDED and readers
    assert ended.body["odd_samples"] == {r: {"late": 3, "duplicate": 0, "disordered": 1} for r in readers}


def test_where_every_sample_came_in_order_nothing_is_stated(tmp_path: Path) -> None:
    with open_session(spec_of("bed-watch/30-min/quiet"), tmp_path / "t", {}) as session:
        session.end(Ending.FINISHED, "enough")
    assert "odd_samples" not in read(tmp_path / "t").events[-1].body
