import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.fit import Cells, Estimator, Separation, expit, fit, logit
from analysis.intervals import fieller_horizon, profile_beta, profile_horizon, slope_deviance, slope_is_shown
from rig.core.errors import UsageError

from .conftest import TOY_S, read_csv, toy

# Published or certified elsewhere; the numbers are facts and may be shipped.
REGULAR = {"alpha": 7.44262297, "beta": 2.61539093, "t50": 17.2136369}


def test_maximum_likelihood_gives_the_reference_answer() -> None:
    fitted = fit(toy([5, 5, 4, 3, 1, 0]))
    assert fitted.estimator is Estimator.MAXIMUM_LIKELIHOOD
    assert fitted.alpha == pytest.approx(REGULAR["alpha"], rel=1e-8)
    assert fitted.beta == pytest.approx(REGULAR["beta"], rel=1e-8)
    assert fitted.t_s(0.5) == pytest.approx(REGULAR["t50"], rel=1e-8)


def test_standard_errors_agree_with_r_to_the_digits_its_iteration_gives() -> None:
    fitted = fit(toy([5, 5, 4, 3, 1, 0]))
    assert fitted.se_log_t(0.5) == pytest.approx(0.231735273, rel=2e-5)
    assert fitted.log_t(0.8) == pytest.approx(2.31564947, rel=1e-8)
    assert fitted.se_log_t(0.8) == pytest.approx(0.294435735, rel=3e-5)


def test_firth_takes_over_where_passes_and_failures_do_not_overlap() -> None:
    fitted = fit(toy([5, 5, 5, 0, 0, 0]))
    assert fitted.estimator is Estimator.FIRTH
    assert fitted.alpha == pytest.approx(16.0847598, rel=1e-7)
    assert fitted.beta == pytest.approx(6.63011521, rel=1e-7)
    assert fitted.t_s(0.5) == pytest.approx(math.sqrt(8 * 16), rel=1e-9)
    assert fitted.t_s(0.8) == pytest.approx(9.17905808, rel=1e-7)


def test_firth_on_regular_trials_gives_the_reference_answer() -> None:
    fitted = fit(toy([5, 5, 4, 3, 1, 0]), firth=True)
    assert fitted.alpha == pytest.approx(6.04787367, rel=1e-6)
    assert fitted.t_s(0.5) == pytest.approx(17.1873421, rel=1e-7)


def test_firth_on_nothing_but_passes_is_flat() -> None:
    fitted = fit(toy([5] * 6))
    assert fitted.alpha == pytest.approx(math.log(31.0), rel=1e-9)
    assert fitted.beta == pytest.approx(0.0, abs=1e-9)


def test_beetles_have_the_published_dose(expected: dict[str, Any]) -> None:
    # Bliss (1935): 8 log doses; the dose is already a logarithm, and mortality rises with it.
    dose = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
    trials = np.array([59, 60, 62, 56, 63, 59, 62, 60], float)
    dead = np.array([6, 13, 18, 28, 52, 53, 61, 60], float)
    fitted = fit(Cells(dose, dead, trials))
    answer = expected["beetles_logit"]
    assert [fitted.alpha, -fitted.beta] == pytest.approx(answer["beta"], rel=1e-6)
    assert fitted.log_t(0.5) == pytest.approx(answer["ld50"][0], rel=1e-7)
    assert fitted.se_log_t(0.5) == pytest.approx(answer["ld50"][1], rel=1e-4)


def test_the_profile_interval_of_the_slope_is_where_the_deviance_is_critical() -> None:
    cells = toy([5, 5, 4, 3, 1, 0])
    interval = profile_beta(cells, fit(cells))
    # R interpolates the profile: its interval is good to three digits.
    assert interval.low == pytest.approx(1.211261, rel=1e-3)
    assert interval.high == pytest.approx(5.10757683, rel=1e-3)


def test_a_separated_slope_has_no_upper_end_but_its_horizon_has_both() -> None:
    cells = toy([5, 5, 5, 0, 0, 0])
    fitted = fit(cells)
    assert profile_beta(cells, fitted).high == math.inf
    interval = profile_horizon(cells, fitted, 0.5)
    assert 4.0 < interval.low <= 8.1
    assert 15.9 <= interval.high < 32.0


def test_horizon_intervals_are_open_exactly_where_the_slope_is_uncertain() -> None:
    flat = toy([3, 4, 3, 3, 3, 2])
    fitted = fit(flat)
    assert not slope_is_shown(flat, 0.95)
    assert profile_horizon(flat, fitted, 0.5).high == math.inf
    assert fieller_horizon(fitted, 0.5).high == math.inf
    steep = toy([5, 5, 4, 3, 1, 0])
    assert slope_is_shown(steep, 0.95)
    assert math.isfinite(profile_horizon(steep, fit(steep), 0.5).high)
    assert math.isfinite(fieller_horizon(fit(steep), 0.5).high)


@pytest.mark.parametrize(
    ("passes", "separation"),
    [
        ([5, 5, 4, 3, 1, 0], Separation.NONE),
        ([5, 5, 5, 0, 0, 0], Separation.FALLING),
        ([5, 5, 5, 2, 0, 0], Separation.FALLING),
        ([0, 0, 2, 5, 5, 5], Separation.RISING),
        ([5] * 6, Separation.ALL_PASS),
        ([0] * 6, Separation.ALL_FAIL),
    ],
)
def test_separation_is_seen(passes: list[int], separation: Separation) -> None:
    assert toy(passes).separation is separation


def test_one_duration_has_no_slope() -> None:
    cells = Cells(np.log([60.0]), np.array([3.0]), np.array([5.0]))
    assert cells.separation is Separation.ONE_DURATION
    with pytest.raises(UsageError, match="two durations"):
        fit(cells)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_that_cannot_be_is_refused(bad: float) -> None:
    with pytest.raises(UsageError, match="finite and above 0"):
        Cells.of(np.array([60.0, bad]), np.array([True, False]))


counts = st.lists(st.integers(0, 5), min_size=6, max_size=6)


@given(counts, st.floats(1e-3, 1e5))
def test_the_horizon_scales_with_the_unit_of_time(passes: list[int], factor: float) -> None:
    cells = toy(passes)
    assume(cells.separation is Separation.NONE)
    fitted, other = fit(cells), fit(toy(passes, durations_s=TOY_S * factor))
    assume(abs(fitted.beta) > 1e-6)
    assert other.log_t(0.5) - math.log(factor) == pytest.approx(
        fitted.log_t(0.5), abs=1e-6 / abs(fitted.beta)
    )
    assert other.beta == pytest.approx(fitted.beta, rel=1e-7, abs=1e-9)


@given(counts, st.integers(2, 50))
def test_weights_of_any_scale_give_the_same_curve(passes: list[int], scale: int) -> None:
    cells = toy(passes)
    assume(cells.separation is Separation.NONE)
    scaled = Cells(cells.log_s, cells.passes * scale, cells.trials * scale)
    assert fit(scaled).beta == pytest.approx(fit(cells).beta, rel=1e-7, abs=1e-9)


@given(counts)
def test_at_the_maximum_the_fitted_passes_are_the_observed_ones(passes: list[int]) -> None:
    cells = toy(passes)
    assume(cells.separation is Separation.NONE)
    fitted = fit(cells)
    p = fitted.p(cells.duration_s)
    assert (cells.trials * p).sum() == pytest.approx(cells.passes.sum(), rel=1e-8)
    assert (cells.trials * p) @ cells.log_s == pytest.approx(cells.passes @ cells.log_s, rel=1e-8, abs=1e-8)


@given(counts)
def test_every_set_of_trials_with_two_durations_can_be_fitted(passes: list[int]) -> None:
    fitted = fit(toy(passes))
    assert math.isfinite(fitted.level)
    assert math.isfinite(fitted.beta)


@given(counts)
def test_the_slope_deviance_is_not_negative_and_zero_for_equal_rates(passes: list[int]) -> None:
    assert slope_deviance(toy(passes)) >= 0.0
    assert slope_deviance(toy([passes[0]] * 6)) == pytest.approx(0.0, abs=1e-9)


@given(st.floats(1e-9, 1 - 1e-9))
def test_logit_and_expit_undo_each_other(q: float) -> None:
    assert float(expit(np.array(logit(q)))) == pytest.approx(q, rel=1e-9)


def test_the_certified_optimum_of_published_runs_is_met(data: Path, expected: dict[str, Any]) -> None:
    """Interval arithmetic puts the intercept of one published fit in [5.5826910, 5.5826911]."""
    rows = read_csv(data / "metr_th11_two_agents.csv")
    sizes = Counter(r["task_family"] for r in rows)
    for agent, name in (("gpt54", "GPT-5.4"), ("mythos", "Claude Mythos Preview (early)")):
        runs = np.array([float(r[f"{agent}_runs"]) for r in rows])
        passes = np.array([float(r[f"{agent}_successes"]) for r in rows])
        # From the family sizes: the column of the file is rounded to six digits.
        weight = np.array([1.0 / math.sqrt(sizes[r["task_family"]]) for r in rows]) / runs
        weight /= (weight * runs).sum()
        minutes = np.array([float(r["human_minutes"]) for r in rows])
        order = np.argsort(minutes, kind="stable")
        cells = Cells(
            np.log(minutes[order]), (weight * passes)[order], (weight * runs)[order]
        )  # repeated durations are allowed where the cells are only fitted
        fitted = fit(cells, ridge=1e-5 * math.log(2.0) ** 2)
        answer = expected["metr_th11_two_agents"][name]
        assert fitted.alpha == pytest.approx(answer["intercept"], abs=1e-7)
        assert -fitted.beta * math.log(2.0) == pytest.approx(answer["slope"], abs=1e-7)
        assert fitted.t_s(0.5) == pytest.approx(answer["t50_min"], rel=2e-7)
        assert fitted.t_s(0.8) == pytest.approx(answer["t80_min"], rel=1e-6)
        assert fitted.t_s(0.5) == pytest.approx(answer["published"]["t50_min"], rel=2e-4)


@pytest.mark.parametrize("seed", range(40))
def test_firth_converges_quickly_however_few_trials_carry_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    durations = np.sort(rng.choice(np.geomspace(30.0, 6e4, 40), rng.integers(2, 6), replace=False))
    trials = rng.integers(1, 4, len(durations)).astype(float)
    passes = rng.binomial(trials.astype(int), rng.random(len(durations))).astype(float)
    assert fit(Cells(np.log(durations), passes, trials), firth=True).iterations < 40


def test_all_passes_on_uneven_durations_have_a_firth_fit() -> None:
    # Scoring alone came nearer by a tenth a step here and gave up.
    cells = Cells(np.log([1800.0, 3600.0, 28800.0]), np.array([2.0, 1.0, 1.0]), np.array([2.0, 1.0, 1.0]))
    found = fit(cells)
    assert found.level == pytest.approx(1.70669336, abs=1e-7) and found.beta == pytest.approx(
        0.28884246, abs=1e-7
    )
