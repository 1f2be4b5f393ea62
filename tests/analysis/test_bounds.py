import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bounds import (
    exact_interval,
    exact_lower,
    exact_upper,
    monotone_bracket,
    trials_needed,
    wilson_interval,
    zero_failure_bound,
)
from rig.core.errors import UsageError


@pytest.mark.parametrize(
    ("trials", "percent"), [(30, 9.503), (100, 2.951), (300, 0.994), (600, 0.498), (3000, 0.0998)]
)
def test_zero_failures_bound_the_rate_as_the_protocol_prints(trials: int, percent: float) -> None:
    assert 100 * zero_failure_bound(trials) == pytest.approx(percent, abs=5e-4)


@pytest.mark.parametrize(
    ("rate", "trials"), [(0.1, 29), (0.05, 59), (0.01, 299), (0.005, 598), (0.001, 2995)]
)
def test_the_trials_needed_without_failure_are_the_known_ones(rate: float, trials: int) -> None:
    assert trials_needed(rate) == trials


def test_failures_that_are_allowed_ask_for_more_trials() -> None:
    assert [trials_needed(0.01, failures) for failures in (0, 1, 2)] == [299, 473, 628]


def test_one_failure_in_59_has_the_known_bound() -> None:
    assert exact_upper(1, 59) == pytest.approx(0.0778979215, rel=1e-8)


@given(st.integers(1, 400), st.floats(0.5, 0.999))
def test_without_failures_the_exact_bound_is_the_zero_failure_bound(trials: int, confidence: float) -> None:
    assert exact_upper(0, trials, confidence) == pytest.approx(
        zero_failure_bound(trials, confidence), rel=1e-9
    )


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_bounds_have_their_tail_probability(counts: tuple[int, int]) -> None:
    passes, trials = counts
    low = exact_lower(passes, trials)
    if passes:
        tail = sum(
            math.comb(trials, k) * low**k * (1 - low) ** (trials - k) for k in range(passes, trials + 1)
        )
        assert tail == pytest.approx(0.05, rel=1e-6)
    interval = exact_interval(passes, trials)
    assert interval.low <= passes / trials <= interval.high


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_never_collapses(counts: tuple[int, int]) -> None:
    interval = wilson_interval(*counts)
    assert interval.high - interval.low > 0.01
    assert 0.0 <= interval.low <= interval.high <= 1.0


def test_ten_of_ten_by_wilson() -> None:
    assert wilson_interval(10, 10).low == pytest.approx(0.7225, abs=5e-5)


@pytest.mark.parametrize("counts", [(-1, 5), (6, 5), (0, 0)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(UsageError):
        exact_interval(*counts)


def test_five_passes_at_each_duration_bracket_the_median_from_below() -> None:
    durations = np.repeat([60.0, 120.0, 240.0], 5)
    bracket = monotone_bracket(durations, np.ones(15), np.ones(15), 0.5)
    assert (bracket.low, bracket.high) == (240.0, math.inf)


def test_failures_at_long_durations_bracket_it_from_above() -> None:
    durations = np.repeat([60.0, 120.0, 240.0], 10)
    bracket = monotone_bracket(durations, (durations < 200.0) * 1.0, np.ones(30), 0.5)
    assert (bracket.low, bracket.high) == (120.0, 240.0)


def test_brackets_miss_a_true_horizon_no_more_often_than_they_say() -> None:
    rng = np.random.default_rng(3)
    durations = np.repeat(60.0 * 2.0 ** np.arange(6), 6)
    truth = 60.0 * 2.0**2.5
    p = 1.0 / (1.0 + (durations / truth) ** 1.2)
    misses_low = misses_high = 0
    for _ in range(1500):
        bracket = monotone_bracket(durations, (rng.random(len(p)) < p) * 1.0, np.ones(len(p)), 0.5)
        misses_low += bracket.low > truth
        misses_high += bracket.high <= truth
    # One-sided 5 %, and a binomial margin of three standard errors.
    assert misses_low / 1500 <= 0.05 + 3 * 0.0057
    assert misses_high / 1500 <= 0.05 + 3 * 0.0057
