import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.survival import (
    aalen_johansen,
    constant_rate,
    hazard,
    kaplan_meier,
    log_rank,
    power_law,
    weibull,
)
from rig.core.errors import UsageError

from .conftest import read_csv

# Freireich et al. 1963: weeks of remission on 6-MP (+ for censored) and on placebo.
SIX_MP = np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35], float)
SIX_MP_EVENT = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], bool)
CONTROL = np.array([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], float)
KAPLAN_MEIER = {
    6: 0.857143,
    7: 0.806723,
    10: 0.752941,
    13: 0.690196,
    16: 0.627451,
    22: 0.537815,
    23: 0.448179,
}


def test_kaplan_meier_gives_the_published_curve() -> None:
    curve = kaplan_meier(SIX_MP, SIX_MP_EVENT)
    for week, survival in KAPLAN_MEIER.items():
        assert curve.at(week) == pytest.approx(survival, abs=1e-6)
    assert curve.quantile(0.5) == 23.0
    assert kaplan_meier(CONTROL, np.ones(21, bool)).quantile(0.5) == 8.0
    assert curve.restricted_mean_s(35.0) == pytest.approx(23.28739, abs=1e-5)


def test_the_band_is_the_log_log_one() -> None:
    # R: survfit(conf.type = "log-log") at week 10: 0.5032, 0.8894.
    curve = kaplan_meier(SIX_MP, SIX_MP_EVENT)
    at = int(np.flatnonzero(curve.time_s == 10.0)[0])
    assert curve.low[at] == pytest.approx(0.5032, abs=5e-5)
    assert curve.high[at] == pytest.approx(0.8894, abs=5e-5)


def test_the_two_arms_differ_by_the_published_log_rank() -> None:
    time = np.r_[SIX_MP, CONTROL]
    event = np.r_[SIX_MP_EVENT, np.ones(21, bool)]
    assert log_rank(time, event, np.repeat([0, 1], 21)) == pytest.approx(16.79294, abs=1e-5)


def test_weibull_and_exponential_meet_their_references() -> None:
    time, event = np.r_[SIX_MP, CONTROL], np.r_[SIX_MP_EVENT, np.ones(21, bool)]
    fitted = weibull(time, event, np.repeat([0, 1], 21))
    assert fitted.shape == pytest.approx(1.365758, abs=1e-6)
    assert fitted.log_likelihood == pytest.approx(-106.579492, abs=1e-6)
    assert constant_rate(SIX_MP.sum(), int(SIX_MP_EVENT.sum())).mean_s == pytest.approx(39.8888889)


def test_competing_ends_have_the_published_incidence(data: Path, expected: dict[str, Any]) -> None:
    rows = read_csv(data / "mgus2cr.csv")
    time = np.array([float(r["t"]) for r in rows])
    cause = np.array([int(r["e"]) for r in rows])
    found = aalen_johansen(time, cause, 2)
    answer = expected["mgus2_cif"]
    for i, month in enumerate(answer["times_months"]):
        probability, se = found.at(month)
        assert probability == pytest.approx([answer["pcm"][i], answer["death"][i]], abs=1e-9)
        assert se[0] == pytest.approx(answer["pcm_se"][i], abs=1e-9)


def test_mean_times_have_the_published_chi_square_bounds() -> None:
    two = constant_rate(1600.0, 2, 0.90)
    assert two.interval.low == pytest.approx(254.137936549, rel=1e-10)
    assert two.interval.high == pytest.approx(4502.457221251, rel=1e-10)
    none = constant_rate(1000.0, 0, 0.95)
    assert none.interval.low == pytest.approx(333.808200695, rel=1e-10)
    assert none.mean_s == none.interval.high == math.inf


def test_repeated_mistakes_have_the_published_trend() -> None:
    times = np.array([5, 40, 43, 175, 389, 712, 747, 795, 1299, 1478], float)
    found = power_law((times,), np.array([1500.0]))
    assert found.b == pytest.approx(0.4835059794, rel=1e-9)
    assert found.a == pytest.approx(0.2913002686, rel=1e-9)
    assert found.mean_at_end_s == pytest.approx(310.2340124, rel=1e-9)
    assert found.b * 10 / 9 == pytest.approx(0.537229, abs=1e-6)
    assert found.b_interval.low < found.b < found.b_interval.high < 1.0


def test_a_constant_rate_has_no_trend() -> None:
    rng = np.random.default_rng(1)
    runs = tuple(np.sort(rng.uniform(0.0, 1000.0, rng.poisson(10))) for _ in range(200))
    found = power_law(runs, np.full(200, 1000.0))
    assert found.b_interval.low < 1.0 < found.b_interval.high
    assert found.mean_at_end_s == pytest.approx(100.0, rel=0.15)


times = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 2)), min_size=1, max_size=40)


@given(times)
def test_all_ways_of_ending_and_going_on_add_up_to_one(trials: list[tuple[int, int]]) -> None:
    time, cause = (np.array(column) for column in zip(*trials, strict=True))
    found = aalen_johansen(time.astype(float), cause, 2)
    going_on = kaplan_meier(time.astype(float), cause > 0).survival
    np.testing.assert_allclose(found.probability.sum(axis=0) + going_on, 1.0, atol=1e-12)


@given(times)
def test_one_cause_is_one_less_survival_in_any_order(
    trials: list[tuple[int, int]],
) -> None:
    time, cause = (np.array(column) for column in zip(*trials, strict=True))
    event = cause == 1
    found = aalen_johansen(time.astype(float), event.astype(np.int64), 1)
    curve = kaplan_meier(time.astype(float), event)
    np.testing.assert_allclose(found.probability[0], 1.0 - curve.survival, atol=1e-12)
    assert np.all(curve.low <= curve.survival + 1e-12)
    assert np.all(curve.survival <= curve.high + 1e-12)
    again = aalen_johansen(time[::-1].astype(float), event[::-1].astype(np.int64), 1)
    np.testing.assert_allclose(again.probability, found.probability, atol=1e-12)


@given(times)
def test_exposure_and_mistakes_are_neither_lost_nor_counted_twice(trials: list[tuple[int, int]]) -> None:
    time, cause = (np.array(column, float) for column in zip(*trials, strict=True))
    parts = hazard(time, cause == 1, np.array([0.0, 3.0, 7.0, 30.0]))
    assert sum(part.exposure_s for part in parts) == pytest.approx(time.sum())
    assert sum(part.events for part in parts) == np.count_nonzero(cause == 1)


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(UsageError):
        kaplan_meier(np.array([]), np.array([], bool))
    with pytest.raises(UsageError):
        kaplan_meier(np.array([math.nan]), np.array([True]))
    with pytest.raises(UsageError):
        constant_rate(0.0, 0)
    with pytest.raises(UsageError):
        weibull(np.array([1.0, 2.0]), np.array([False, False]))
    with pytest.raises(UsageError):
        power_law((np.array([5.0, 20.0]),), np.array([10.0]))
