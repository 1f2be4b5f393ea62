import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.firth import FirthFit, Trials, _point, fit_firth
from analysis.fit import Cells, fit
from rig.core.errors import UsageError

from .conftest import TOY_S, read_csv, toy


def by_log_duration(cells: Cells) -> FirthFit:
    x = np.column_stack([np.ones(len(cells.log_s)), -(cells.log_s - cells.centre)])
    return fit_firth(Trials(x, cells.passes, cells.trials))


@pytest.fixture(scope="module")
def endometrial(data: Path) -> FirthFit:
    """Heinze and Schemper (2002): 79 patients; no low-grade case has neovascularisation."""
    rows = read_csv(data / "endometrial.csv")
    x = np.array([[1.0, *(float(r[name]) for name in ("NV", "PI", "EH"))] for r in rows])
    return fit_firth(Trials(x, np.array([float(r["HG"]) for r in rows]), np.ones(len(rows))))


def test_separated_patients_have_the_published_coefficients(
    endometrial: FirthFit, expected: dict[str, Any]
) -> None:
    answer = expected["endometrial_firth"]
    assert endometrial.beta == pytest.approx(answer["beta"], abs=1e-6)
    assert endometrial.se == pytest.approx(answer["se"], abs=1e-6)


@pytest.mark.parametrize(("index", "name"), [(1, "NV"), (2, "PI"), (3, "EH")])
def test_separated_patients_have_the_published_profile_intervals(
    endometrial: FirthFit, expected: dict[str, Any], index: int, name: str
) -> None:
    interval = endometrial.profile(index)
    answer = expected["endometrial_firth"]["profile_ci"][name]
    assert [interval.low, interval.high] == pytest.approx(answer, abs=1e-4)


counts = st.lists(st.integers(0, 5), min_size=6, max_size=6)


@given(counts)
def test_with_duration_alone_it_is_the_fit_of_the_horizon(passes: list[int]) -> None:
    cells = toy(passes)
    one, several = fit(cells, firth=True), by_log_duration(cells)
    assert several.beta == pytest.approx([one.level, one.beta], abs=1e-6)
    v_level, cov, v_beta = one.covariance
    assert several.covariance.ravel() == pytest.approx([v_level, cov, cov, v_beta], rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_with_a_handful_of_trials_it_is_the_fit_of_the_horizon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    durations = np.sort(rng.choice(np.geomspace(30.0, 6e4, 40), rng.integers(2, 6), replace=False))
    trials = rng.integers(1, 4, len(durations)).astype(float)
    passes = rng.binomial(trials.astype(int), rng.random(len(durations))).astype(float)
    cells = Cells(np.log(durations), passes, trials)
    one, several = fit(cells, firth=True), by_log_duration(cells)
    assert several.beta == pytest.approx([one.level, one.beta], abs=1e-6)
    assert several.iterations < 40


def test_one_rate_is_the_rate_with_half_a_pass_and_half_a_failure_added() -> None:
    found = fit_firth(Trials(np.ones((1, 1)), np.array([30.0]), np.array([30.0])))
    assert found.beta[0] == pytest.approx(math.log(30.5 / 0.5), rel=1e-12)
    interval = found.profile(0)
    assert interval.low < found.beta[0] < interval.high < math.inf


@given(counts, st.integers(0, 2**32 - 1))
def test_score_and_curvature_are_the_derivatives_of_the_objective(passes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(6), np.log(TOY_S) - 2.5, rng.normal(size=6)])
    trials = Trials(x, np.array(passes, float), np.full(6, 5.0))
    beta, h = rng.normal(scale=0.5, size=3), 1e-5
    at = _point(trials, beta)
    sides = [(_point(trials, beta + d), _point(trials, beta - d)) for d in np.eye(3) * h]
    assert at.score == pytest.approx([(u.objective - v.objective) / (2 * h) for u, v in sides], abs=1e-5)
    slopes = np.array([(u.score - v.score) / (2 * h) for u, v in sides])
    np.testing.assert_allclose(at.curvature, slopes, atol=1e-5)


def test_cells_of_like_trials_are_the_trials_one_by_one() -> None:
    cells = toy([5, 5, 4, 3, 1, 0])
    x = np.column_stack([np.ones(6), cells.log_s])
    together = fit_firth(Trials(x, cells.passes, cells.trials))
    passed = np.concatenate([np.arange(5) < k for k in cells.passes]).astype(float)
    alone = fit_firth(Trials(np.repeat(x, 5, axis=0), passed, np.ones(30)))
    assert alone.beta == pytest.approx(together.beta, abs=1e-9)
    assert alone.penalised == pytest.approx(together.penalised, abs=1e-9)


def test_covariates_that_cannot_be_are_refused() -> None:
    ones = np.ones(4)
    with pytest.raises(UsageError, match="full rank"):
        Trials(np.column_stack([ones, ones]), ones, ones)
    with pytest.raises(UsageError, match=r"finite.*between 0 and trials"):
        Trials(np.array([[1.0], [math.nan]]), np.array([2.0, 0.0]), np.ones(2))
    with pytest.raises(UsageError, match="one value per row"):
        Trials(np.ones((4, 1)), np.ones(3), ones)
