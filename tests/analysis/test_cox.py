import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.cox import Ties, _point, cox
from analysis.survival import log_rank
from rig.core.errors import UsageError

from .conftest import read_csv

Arms = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def gehan(data: Path) -> Arms:
    """Freireich et al. 1963: weeks of remission on 6-MP (1) and on placebo (0)."""
    rows = read_csv(data / "gehan.csv")
    return (
        np.array([float(r["time"]) for r in rows]),
        np.array([r["cens"] == "1" for r in rows]),
        np.array([float(r["treat"] == "6-MP") for r in rows]),
    )


@pytest.mark.parametrize("ties", Ties)
def test_remission_has_the_published_hazard_ratio_for_every_treatment_of_ties(
    gehan: Arms, expected: dict[str, Any], ties: Ties
) -> None:
    fitted = cox(*gehan, ties)
    answer = expected["gehan"]["cox"][ties.name.lower()]
    assert [fitted.beta[0], fitted.se[0]] == pytest.approx(answer, abs=1e-8)
    ratio, interval = fitted.hazard_ratio(0)
    assert ratio == pytest.approx(math.exp(answer[0]), rel=1e-7)
    assert interval.low < ratio < interval.high < 1.0


def test_the_score_test_of_exact_ties_is_the_published_log_rank(
    gehan: Arms, expected: dict[str, Any]
) -> None:
    time, event, group = gehan
    chi2 = expected["gehan"]["logrank_chi2"]
    assert log_rank(time, event, group.astype(np.int64)) == pytest.approx(chi2, abs=1e-6)
    assert cox(*gehan, Ties.EXACT).score_chi2 == pytest.approx(chi2, abs=1e-6)


trials = st.lists(st.tuples(st.integers(1, 6), st.booleans(), st.booleans()), min_size=4, max_size=25)


@given(trials)
def test_the_score_test_of_exact_ties_is_the_log_rank_test(rows: list[tuple[int, bool, bool]]) -> None:
    time, event, group = (np.array(column) for column in zip(*rows, strict=True))
    assume(event.any() and 0 < group.sum() < len(group))
    at = _point(time.astype(float), event, group[:, None].astype(float), np.zeros(1), Ties.EXACT)
    assume(at.information[0, 0] > 1e-9)
    chi2 = at.score[0] ** 2 / at.information[0, 0]
    assert chi2 == pytest.approx(log_rank(time.astype(float), event, group.astype(int)), rel=1e-9, abs=1e-12)


@given(trials, st.sampled_from(Ties), st.integers(0, 2**32 - 1))
def test_slope_and_curvature_are_the_derivatives_of_the_likelihood(
    rows: list[tuple[int, bool, bool]], ties: Ties, seed: int
) -> None:
    time, event, _ = (np.array(column) for column in zip(*rows, strict=True))
    rng = np.random.default_rng(seed)
    x, beta, h = rng.normal(size=(len(time), 2)), rng.normal(scale=0.5, size=2), 1e-5
    at = _point(time.astype(float), event, x, beta, ties)
    sides = [
        [_point(time.astype(float), event, x, beta + s * d, ties) for s in (1, -1)] for d in np.eye(2) * h
    ]
    slope = [(u.log_likelihood - v.log_likelihood) / (2 * h) for u, v in sides]
    assert at.score == pytest.approx(slope, abs=1e-5)
    curvature = np.array([(u.score - v.score) / (2 * h) for u, v in sides])
    np.testing.assert_allclose(at.information, -curvature, atol=1e-5)


def test_exact_ties_are_the_sum_over_every_choice() -> None:
    rng = np.random.default_rng(3)
    x, beta = rng.normal(size=(7, 1)), np.array([0.8])
    time = np.array([2.0, 2, 2, 3, 4, 5, 6])
    event = np.array([1, 1, 1, 0, 0, 0, 0], bool)
    r = np.exp(x[:, 0] * 0.8)
    total = sum(math.prod(r[list(choice)]) for choice in combinations(range(7), 3))
    found = _point(time, event, x, beta, Ties.EXACT).log_likelihood
    assert found == pytest.approx(math.log(math.prod(r[:3]) / total), rel=1e-12)


def planted(n: int = 400) -> Arms:
    rng = np.random.default_rng(11)
    x = np.column_stack([rng.integers(0, 2, n), rng.normal(50.0, 10.0, n)])
    time = rng.exponential(100.0 / np.exp(0.7 * x[:, 0] - 0.05 * (x[:, 1] - 50.0)))
    return np.minimum(time, 150.0), time < 150.0, x


def test_several_planted_effects_are_found_and_ties_do_not_matter_where_there_are_none() -> None:
    time, event, x = planted()
    fits = [cox(time, event, x, ties) for ties in Ties]
    for fitted in fits:
        assert np.all(np.abs(fitted.beta - [0.7, -0.05]) < 3 * fitted.se)
        assert fitted.beta == pytest.approx(fits[0].beta, abs=1e-8)
        assert fitted.log_likelihood > fitted.flat_log_likelihood


@pytest.mark.parametrize("ties", Ties)
def test_only_the_order_of_times_and_the_differences_of_covariates_matter(gehan: Arms, ties: Ties) -> None:
    time, event, group = gehan
    fitted, other = cox(time, event, group, ties), cox(np.log1p(time), event, 1000.0 + 2.0 * group, ties)
    assert other.beta * 2.0 == pytest.approx(fitted.beta, abs=1e-8)
    order = np.random.default_rng(0).permutation(len(time))
    again = cox(time[order], event[order], group[order], ties)
    assert again.beta == pytest.approx(fitted.beta, abs=1e-9)


def test_what_cannot_be_estimated_is_refused() -> None:
    time, group = np.arange(1.0, 9.0), np.repeat([0.0, 1.0], 4)
    every = np.ones(8, bool)
    with pytest.raises(UsageError, match="no finite estimate"):
        cox(time, group == 0.0, group)
    with pytest.raises(UsageError, match="without any mistake"):
        cox(time, ~every, group)
    with pytest.raises(UsageError, match="constant"):
        cox(time, every, np.ones(8))
    with pytest.raises(UsageError, match="finite and not negative; every covariate"):
        cox(-time, every, group * math.nan)
    with pytest.raises(UsageError, match="one value"):
        cox(time, every, group[:3])
    with pytest.raises(UsageError, match="had the same covariates"):
        cox(time, time == 8.0, group)
