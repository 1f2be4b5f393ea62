"""The mixed model against R (lme4, glmmTMB) and exact answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from analysis.columns import Factor
from analysis.mixed import Cells, Method, fit_mixed, laplace, quadrature
from rig.core.errors import UsageError

from .conftest import read_csv


def codes(values: list[str]) -> np.ndarray:
    return Factor.of(values).codes.astype(np.int64)


def treatment(values: list[str]) -> np.ndarray:
    """Indicator columns of every value but the first."""
    factor = Factor.of(values)
    return (factor.codes[:, None] == np.arange(1, len(factor.names))).astype(float)


def of_counts(log_likelihood: float, cells: Cells) -> float:
    """R counts the ways in which the passes of a cell can be ordered; we take trials one by one."""
    n, k = cells.trials, cells.passes
    return log_likelihood + float((gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)).sum())


def cbpp(data: Path) -> Cells:
    rows = read_csv(data / "cbpp.csv")
    x = np.column_stack((np.ones(len(rows)), treatment([r["period"] for r in rows])))
    passes, trials = (np.array([float(r[name]) for r in rows]) for name in ("incidence", "size"))
    return Cells(passes, trials, x, (codes([r["herd"] for r in rows]),))


def toenail(data: Path) -> Cells:
    rows = read_csv(data / "toenail.csv")
    y = np.array([float(r["y"]) for r in rows])
    treated = np.array([r["treatment"] == "terbinafine" for r in rows], float)
    time = np.array([float(r["time"]) for r in rows])
    x = np.column_stack((np.ones(len(y)), treated, time, treated * time))
    return Cells(y, np.ones(len(y)), x, (codes([r["patientID"] for r in rows]),))


def test_laplace_on_herds_is_that_of_glmmtmb(data: Path, expected: dict[str, Any]) -> None:
    cells = cbpp(data)
    found = fit_mixed(cells, method=Method.LAPLACE)
    answer = expected["cbpp"]["laplace"]
    assert found.beta == pytest.approx(answer["beta"], abs=2e-6)
    assert found.sd[0] == pytest.approx(answer["sd"], abs=2e-6)
    assert of_counts(found.log_likelihood, cells) == pytest.approx(answer["logLik"], abs=2e-6)


def test_quadrature_on_herds_is_that_of_lme4(data: Path, expected: dict[str, Any]) -> None:
    found = fit_mixed(cbpp(data))
    answer = expected["cbpp"]["agq25"]
    assert found.method is Method.QUADRATURE
    assert found.beta == pytest.approx(answer["beta"], abs=1e-5)
    assert found.se == pytest.approx(answer["se"], abs=1e-4)
    assert found.sd[0] == pytest.approx(answer["sd"], abs=1e-5)


def test_quadrature_where_laplace_is_far_off(data: Path, expected: dict[str, Any]) -> None:
    found = fit_mixed(toenail(data), nodes=100)
    answer = expected["toenail"]["agq_converged_Q200"]
    assert found.beta == pytest.approx(answer["beta"], abs=5e-6)
    assert found.se == pytest.approx(answer["se"], abs=2e-4)
    assert found.sd[0] == pytest.approx(answer["sd"], abs=5e-6)
    assert found.log_likelihood == pytest.approx(answer["logLik"], abs=2e-6)
    far = fit_mixed(toenail(data), method=Method.LAPLACE)
    wrong = expected["toenail"]["laplace"]
    assert far.beta == pytest.approx(wrong["beta"], abs=1e-4)
    assert far.sd[0] == pytest.approx(wrong["sd"], abs=1e-4)


def test_crossed_factors_are_those_of_glmmtmb(data: Path, expected: dict[str, Any]) -> None:
    rows = read_csv(data / "verbagg.csv.gz")
    y = np.array([r["r2"] == "Y" for r in rows], float)
    anger = np.array([float(r["Anger"]) for r in rows])
    gender = np.array([r["Gender"] == "M" for r in rows], float)
    behaviour = np.array([[r["btype"] == name for name in ("scold", "shout")] for r in rows], float)
    situation = np.array([r["situ"] == "self" for r in rows], float)
    x = np.column_stack((np.ones(len(y)), anger, gender, behaviour, situation))
    # Cells of one trial each: 316 people crossed with 24 items.
    cells = Cells(y, np.ones(len(y)), x, (codes([r["id"] for r in rows]), codes([r["item"] for r in rows])))
    found = fit_mixed(cells)
    answer = expected["verbagg_crossed_laplace_glmmTMB"]
    assert found.beta == pytest.approx(answer["beta"], abs=2e-5)
    assert found.sd == pytest.approx((answer["sd_id"], answer["sd_item"]), abs=2e-5)
    assert found.log_likelihood == pytest.approx(answer["logLik"], abs=2e-4)


def test_trials_shaped_like_ours_are_those_of_glmmtmb(data: Path, expected: dict[str, Any]) -> None:
    rows = read_csv(data / "run_like.csv")
    x = np.column_stack((
        np.ones(len(rows)), treatment([r["model"] for r in rows]), [float(r["ld"]) for r in rows],
        treatment([r["tier"] for r in rows]),
    ))  # fmt: skip
    passes, trials = (np.array([float(r[name]) for r in rows]) for name in ("sum", "count"))
    cells = Cells(passes, trials, x, (codes([r["task"] for r in rows]), codes([r["site"] for r in rows])))
    found = fit_mixed(cells)
    answer = expected["run_like_laplace_glmmTMB"]
    assert found.beta == pytest.approx(list(answer["beta"].values()), abs=2e-5)
    assert found.sd == pytest.approx((answer["sd_task"], answer["sd_site"]), abs=2e-5)
    assert of_counts(found.log_likelihood, cells) == pytest.approx(answer["logLik"], abs=2e-5)


def test_matched_pairs_agree_with_the_exact_conditional_answer(data: Path, expected: dict[str, Any]) -> None:
    rows = read_csv(data / "pairs.csv")
    y = np.array([float(r["event"]) for r in rows])
    group = np.array([float(r["group"]) for r in rows])
    group -= group.min()
    cells = Cells(
        y, np.ones(len(y)), np.column_stack((np.ones(len(y)), group)), (codes([r["id"] for r in rows]),)
    )
    found = fit_mixed(cells, nodes=21)
    answer = expected["pairs_agq21"]
    assert abs(found.beta[1]) == pytest.approx(answer["slope"], abs=2e-4)
    assert found.se[1] == pytest.approx(answer["se"], abs=2e-4)
    assert found.se[1] == pytest.approx(answer["exact_conditional"]["se"], rel=1e-3)


def test_without_random_effects_it_is_ordinary_regression(expected: dict[str, Any]) -> None:
    # Collett (1991): dead of 20 tobacco budworms by log2 dose, males then females.
    dead = np.array([1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16], float)
    dose = np.tile(np.arange(6.0), 2)
    female = np.repeat([0.0, 1.0], 6)
    found = fit_mixed(Cells(dead, np.full(12, 20.0), np.column_stack((np.ones(12), female, dose))))
    assert found.method is Method.NONE
    male, change, slope = found.beta
    answer = expected["budworm_dose_p_log2"]
    assert -(male + change) / slope == pytest.approx(answer["female"]["p50"][0], rel=1e-6)
    assert -male / slope == pytest.approx(answer["male"]["p50"][0], rel=1e-6)
    jacobian = np.array([-1 / slope, -1 / slope, (male + change) / slope**2])
    assert np.sqrt(jacobian @ found.covariance @ jacobian) == pytest.approx(
        answer["female"]["p50"][1], rel=1e-4
    )


def simulated(sd: float = 0.8, seed: int = 0) -> Cells:
    rng = np.random.default_rng(seed)
    level = np.repeat(np.arange(20), 6)
    other = np.tile(np.arange(6), 20)
    x = np.column_stack((np.ones(120), rng.normal(size=120)))
    eta = x @ [0.5, -1.0] + sd * rng.normal(size=20)[level]
    return Cells(rng.binomial(5, 1 / (1 + np.exp(-eta))).astype(float), np.full(120, 5.0), x, (level, other))


@pytest.mark.parametrize("at", [[0.3, -0.8, 0.7, 0.4], [1.5, 0.2, 1.8, 0.05]])
def test_the_laplace_gradient_is_the_slope_of_its_value(at: list[float]) -> None:
    objective = laplace(simulated())
    parameters = np.array(at)
    _, gradient = objective(parameters)
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = 1e-5
        slope = (objective(parameters + step)[0] - objective(parameters - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=2e-5)


def test_the_quadrature_gradient_is_the_slope_of_its_value() -> None:
    cells = simulated()
    objective = quadrature(Cells(cells.passes, cells.trials, cells.x, cells.factors[:1]), 25)
    parameters = np.array([0.3, -0.8, 0.7])
    _, gradient = objective(parameters)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-5
        slope = (objective(parameters + step)[0] - objective(parameters - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, abs=2e-5)


def test_no_variation_between_levels_is_said_to_be_the_boundary() -> None:
    level = np.repeat(np.arange(10), 10)
    x = np.column_stack((np.ones(100), np.tile([0.0, 1.0], 50)))
    passes = np.tile([3.0, 1.0], 50)
    found = fit_mixed(Cells(passes, np.full(100, 5.0), x, (level,)))
    assert found.sd == (0.0,)
    assert np.all(found.covariance[2] == 0.0)


def test_effects_that_cannot_be_told_apart_are_refused() -> None:
    cells = simulated()
    x = np.column_stack((cells.x, cells.x[:, 1]))
    with pytest.raises(UsageError, match="told apart"):
        fit_mixed(Cells(cells.passes, cells.trials, x, cells.factors))
    with pytest.raises(UsageError, match="one random factor"):
        fit_mixed(cells, method=Method.QUADRATURE)
