"""Fits above a guess floor, against published ones and against the truth they were drawn from."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.findings import Refusal
from analysis.fit import Cells, fit
from analysis.floor import fit_above_floor
from analysis.sensitivity import sensitivities
from analysis.trials import TrialTable
from rig.core.errors import UsageError

from .conftest import campaign, read_csv, toy

FLOOR = 0.001  # of the published mock AIME fits


def aime(data: Path, model: str) -> Cells:
    scores = read_csv(data / "mock_aime_scores.csv")
    minutes = np.array([float(r["minutes"]) for r in scores])
    durations, cell = np.unique(minutes, return_inverse=True)
    passes = np.bincount(cell, [float(r[model]) / 100.0 for r in scores])
    return Cells(np.log(durations), passes, np.bincount(cell).astype(float))


def test_published_mock_aime_fits_are_met(data: Path) -> None:
    """70 models; 3 published ones lie on the edge of their optimiser's box and have no maximum inside it."""
    losses = horizons = 0
    refused = []
    for answer in read_csv(data / "mock_aime_published_horizons.csv"):
        try:
            fitted = fit_above_floor(aime(data, answer["model"]), FLOOR)
        except UsageError as error:
            refused.append((answer["model"], str(error)))
            continue
        losses += abs(-fitted.log_likelihood - float(answer["loss"])) < 2e-4
        horizons += math.isclose(fitted.t_s(0.5), float(answer["horizon"]), rel_tol=1e-3)
        # Where theirs stopped short of the maximum, ours is the better fit.
        assert -fitted.log_likelihood <= float(answer["loss"]) + 6e-5
    assert (losses, horizons) == (67, 58)
    assert [model for model, _ in refused] == ["sagemaker/meta-llama/Llama-2-70b-chat-hf"]
    assert "all trials failed" in refused[0][1]


def test_no_floor_is_the_plain_fit() -> None:
    cells = toy([5, 5, 4, 3, 1, 0])
    assert fit_above_floor(cells, 0.0) == fit(cells)


@given(st.floats(0.01, 0.5), st.floats(0.5, 2.0), st.floats(-1.0, 1.0))
def test_expected_passes_give_the_curve_they_were_expected_from(
    floor: float, slope: float, level: float
) -> None:
    log_s = np.linspace(-4.0, 4.0, 25)
    p = floor + (1.0 - floor) / (1.0 + np.exp(-(level - slope * log_s)))
    fitted = fit_above_floor(Cells(log_s, 100.0 * p, np.full(25, 100.0)), floor)
    assert fitted.beta == pytest.approx(slope, rel=1e-6)
    assert fitted.log_t(0.5) == pytest.approx(level / slope, abs=1e-6)


def test_its_covariance_is_the_curvature_of_its_likelihood() -> None:
    """With expected counts the expected information is the observed one; taken here by differences."""
    log_s, floor = np.linspace(-3.0, 3.0, 13), 0.25
    trials = np.full(13, 40.0)
    p = floor + (1.0 - floor) / (1.0 + np.exp(-(0.3 - 0.9 * log_s)))
    cells = Cells(log_s, trials * p, trials)
    fitted = fit_above_floor(cells, floor)

    def height(level: float, beta: float) -> float:
        q = floor + (1.0 - floor) / (1.0 + np.exp(-(level - beta * (log_s - fitted.centre))))
        return float(np.sum(cells.passes * np.log(q) + (trials - cells.passes) * np.log1p(-q)))

    at, h = (fitted.level, fitted.beta), 1e-3
    hessian = np.empty((2, 2))
    for i, d in enumerate(np.eye(2) * h):
        for j, e in enumerate(np.eye(2) * h):
            corners = [
                height(*(np.array(at) + s * d + t * e)) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            hessian[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
    covariance = np.linalg.inv(-hessian)
    v_level, cov, v_beta = fitted.covariance
    assert np.allclose(covariance, [[v_level, cov], [cov, v_beta]], rtol=1e-4)


@pytest.mark.parametrize("passes", [[0, 0, 0, 0, 0, 0], [5, 5, 5, 5, 5, 5], [5, 5, 5, 0, 0, 0]])
def test_no_maximum_is_refused(passes: list[int]) -> None:
    with pytest.raises(UsageError, match="no maximum inside"):
        fit_above_floor(toy(passes), 0.25)


@pytest.mark.parametrize("floor", [-0.1, 1.0, math.nan])
def test_a_floor_is_a_probability_below_one(floor: float) -> None:
    with pytest.raises(UsageError, match="guess floor"):
        fit_above_floor(toy([5, 5, 4, 3, 1, 0]), floor)


def test_the_table_of_choices_holds_the_floor_only_where_asked() -> None:
    passes = {60.0 * 2.0**k: [count] for k, count in enumerate((10, 10, 9, 6, 4, 3))}
    table = TrialTable.from_rows(campaign(passes, trials=10))
    (without,) = sensitivities(table)
    (found,) = sensitivities(table, guess_floor=0.25)
    assert found.variants[:-1] == without.variants
    floored = found.variants[-1]
    assert floored.choice == "above a guess floor of 25 %"
    assert floored.t50_s is not None and found.variants[0].t50_s is not None
    assert floored.t50_s < found.variants[0].t50_s  # lucky guesses no longer lengthen it


def test_an_agent_like_a_guesser_gets_no_horizon_above_the_floor() -> None:
    passes = {60.0 * 2.0**k: [count] for k, count in enumerate((17, 14, 13, 11, 9, 6, 5, 3))}
    table = TrialTable.from_rows(campaign(passes, trials=40))
    (found,) = sensitivities(table, guess_floor=0.49)
    floored = found.variants[-1]
    assert floored.t50_s is None
    assert floored.refusal is Refusal.GUESSING
