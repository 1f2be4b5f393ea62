import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bounds import exact_upper
from analysis.columns import Factor
from analysis.failures import (
    CAVEAT,
    anytime_upper,
    correlation_within,
    design_effect,
    effective_upper,
    failure_bounds,
)
from rig.core.errors import UsageError


def factor(values: list[int]) -> Factor:
    return Factor.of([str(v) for v in values])


def test_thirty_items_of_five_clean_trials_give_three_different_bounds() -> None:
    bounds = failure_bounds(
        np.zeros(150, bool), item=factor(list(range(30)) * 5), site=factor([0] * 75 + [1] * 75)
    )
    trial, item, site = bounds.by_unit
    assert (trial.units, item.units, site.units) == (150, 30, 2)
    assert trial.upper == pytest.approx(0.01977, abs=5e-6)
    assert item.upper == pytest.approx(0.09503, abs=5e-6)
    assert site.upper == pytest.approx(1.0 - 0.05**0.5)
    assert bounds.correlation is None
    assert bounds.caveat == CAVEAT


@pytest.mark.parametrize(
    ("trials", "size", "correlation", "upper"),
    [
        (600, 5, 0.5, 0.014867039),
        (600, 5, 1.0, 0.024655401),
        (150, 5, 0.2, 0.035310303),
        (150, 5, 1.0, 0.095033853),
    ],
)
def test_the_design_effect_gives_the_reference_bounds(
    trials: int, size: int, correlation: float, upper: float
) -> None:
    assert effective_upper(0, trials, design_effect(size, correlation)) == pytest.approx(upper, abs=1e-9)


def test_a_cluster_fails_when_any_of_its_trials_does() -> None:
    failed = np.zeros(10, bool)
    failed[[0, 5]] = True
    bounds = failure_bounds(failed, item=factor(list(range(5)) * 2), site=factor([0] * 10))
    assert [unit.failed for unit in bounds.by_unit] == [2, 1, 1]
    assert bounds.by_unit[2].upper == 1.0


def test_correlation_is_one_when_items_always_agree_and_none_when_unknowable() -> None:
    items = factor([0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert correlation_within(np.array([1, 1, 1, 0, 0, 0, 0, 0, 0], bool), items) == pytest.approx(1.0)
    assert correlation_within(np.zeros(9, bool), items) is None
    assert correlation_within(np.array([1, 0, 0, 1, 0, 0, 1, 0, 0], bool), items) == 0.0
    assert correlation_within(np.array([1, 0], bool), factor([0, 1])) is None


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_looking_at_any_time_is_never_cheaper_than_looking_once(counts: tuple[int, int]) -> None:
    failures, trials = counts
    assert exact_upper(failures, trials) <= anytime_upper(failures, trials) + 1e-9 <= 1.0 + 1e-9


@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_looking_after_every_trial_misses_no_more_often_than_promised(rate: float) -> None:
    rng = np.random.default_rng(4)
    horizon, missed = 400, 0
    table = {}
    for _ in range(400):
        failures = np.cumsum(rng.random(horizon) < rate)
        for n in range(1, horizon + 1):
            key = (int(failures[n - 1]), n)
            if key not in table:
                table[key] = anytime_upper(*key)
            if table[key] < rate:
                missed += 1
                break
    assert missed / 400 <= 0.05 + 3 * 0.011


def test_columns_must_match_and_not_be_empty() -> None:
    with pytest.raises(UsageError):
        failure_bounds(np.zeros(0, bool), item=factor([]), site=factor([]))
    with pytest.raises(UsageError):
        failure_bounds(np.zeros(2, bool), item=factor([0]), site=factor([0, 0]))
