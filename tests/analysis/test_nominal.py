"""How long people take: the duration a horizon is measured in."""

import math

import pytest

from analysis.nominal import nominal_times
from analysis.trials import Outcome, TrialRow
from rig.core.errors import UsageError


def row(
    elapsed_s: float, outcome: Outcome = Outcome.PASS, agent: str = "human", item: str = "feed/short/plain"
) -> TrialRow:
    return TrialRow(
        trial_id=f"{agent}{elapsed_s}", agent=agent, family="f", task=item.split("/")[0], item=item, duration_s=200.0,
        outcome=outcome, done=outcome is Outcome.PASS, harm=False, mistake=False, elapsed_s=elapsed_s,
    )  # fmt: skip


def test_the_mean_is_geometric_over_those_who_passed() -> None:
    (time,) = nominal_times(
        [
            row(100.0),
            row(400.0),
            row(5.0, Outcome.INCOMPLETE),
            row(1.0, agent="careful"),
            row(9.0, Outcome.ABORTED),
        ]
    )
    assert time.mean_s == pytest.approx(200.0) and (time.people, time.failed) == (2, 1)
    assert time.interval is not None and time.interval.low < 200.0 < time.interval.high and time.agrees


def test_golden_interval() -> None:
    """t quantile 0.975 with 2 degrees of freedom is 4.302653 (any table)."""
    (time,) = nominal_times([row(100.0), row(100.0 * math.e), row(100.0 / math.e)])
    assert time.interval is not None
    assert time.interval.high == pytest.approx(100.0 * math.exp(4.302653 / math.sqrt(3)), rel=1e-5)


def test_one_person_has_no_interval_and_nobody_is_no_answer() -> None:
    (time,) = nominal_times([row(50.0)])
    assert time.interval is None and time.agrees is None
    (none,) = nominal_times([row(50.0, Outcome.CRITICAL)])
    assert none.people == 0 and math.isnan(none.mean_s)
    with pytest.raises(UsageError, match="NOT ASSESSED"):
        nominal_times([row(50.0, agent="careful")])


def test_lengths_are_apart_and_a_stated_time_may_be_wrong() -> None:
    times = nominal_times([row(50.0), row(51.0), row(52.0), row(900.0, item="feed/long/plain")])
    assert [(t.length, t.people) for t in times] == [("long", 1), ("short", 3)]
    assert times[1].agrees is False
