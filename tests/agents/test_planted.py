"""Planted agents: what they do is what their formula says, and the study sees it."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.bootstrap import Scheme
from rig.agents.catalogue import make_agent
from rig.agents.planted import Planted, draw, parse_planted
from rig.core.errors import UsageError
from rig.study.coverage import limit_of_model, study
from rig.study.design import Design, compare, drawn_row, sample
from rig.trial.spec import TrialSpec

rates = st.floats(1e-3, 1e3)


@given(rates, st.floats(0.05, 0.95))
def test_a_constant_hazard_has_the_horizon_of_its_formula(rate: float, share: float) -> None:
    planted = Planted(hour=rate)
    horizon = planted.horizon_h(share)
    assert horizon == pytest.approx(-math.log(share) / rate, rel=1e-12)
    assert planted.passes(horizon) == pytest.approx(share, rel=1e-9)


@given(rates, st.floats(0.3, 3.0), st.floats(0.05, 0.95))
def test_a_logistic_agent_is_logistic_in_log_duration(t50: float, slope: float, share: float) -> None:
    planted = Planted(logistic=t50, slope=slope)
    assert planted.horizon_h(0.5) == pytest.approx(t50, rel=1e-12)
    assert planted.passes(planted.horizon_h(share) or 0.0) == pytest.approx(share, rel=1e-9)


@given(rates, st.floats(0.5, 3.0))
def test_fatigue_is_a_weibull_hazard(rate: float, shape: float) -> None:
    horizon = Planted(hour=rate, fatigue=shape).horizon_h(0.5)
    assert horizon == pytest.approx(math.log(2) ** (1 / shape) / rate, rel=1e-12)


@pytest.mark.parametrize(
    "planted", [Planted(logistic=2.0, item_sd=1.0), Planted(hour=0.5, item_sd=1.0, day_sd=0.5)]
)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_random_effects_are_integrated_out(planted: Planted, share: float) -> None:
    horizon = planted.horizon_h(share)
    assert horizon is not None
    z = np.random.default_rng(1).standard_normal(200_000) * math.hypot(planted.item_sd, planted.day_sd)
    simulated = np.mean([planted.passes(horizon, float(x)) for x in z[:20_000]])
    assert simulated == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("planted(0.5)", 1.0),
        ("planted(hour=0.5,fatigue=2)", 2.0),
        ("planted(logistic=2,slope=1.5)", 4.0),
        ("planted(job=0.2)", 1.0),
    ],
)
def test_draws_fail_as_often_as_the_formula_says(name: str, hours: float) -> None:
    planted = parse_planted(name)
    rng = np.random.default_rng(0)
    failed = np.mean(
        [draw(planted, hours * 3600, "i", seed, 0, rng).fails(hours * 3600) for seed in range(4000)]
    )
    assert failed == pytest.approx(1 - planted.passes(hours), abs=0.03)


def test_mistakes_per_decision_are_geometric() -> None:
    planted, rng = Planted(decision=0.1), np.random.default_rng(0)
    first = [draw(planted, 60.0, "i", seed, 0, rng).at_decision for seed in range(4000)]
    assert min(first) == 0 and np.mean(first) == pytest.approx(0.9 / 0.1, rel=0.08)


def test_items_and_days_are_shared_and_seeds_are_not() -> None:
    def drawn(planted: Planted, item: str, seed: int) -> float:
        return draw(planted, 3600.0, item, seed, 0, np.random.default_rng(0)).at_s

    plain, hard = Planted(hour=1.0), Planted(hour=1.0, item_sd=1.0)
    assert drawn(plain, "a", 1) != drawn(plain, "b", 1)
    ratios = {round(drawn(hard, "a", seed) / drawn(plain, "a", seed), 9) for seed in range(3)}
    assert len(ratios) == 1  # the item's own, whatever the seed
    dull = Planted(hour=1.0, day_sd=1.0)
    by_item = {round(drawn(dull, item, 5) / drawn(plain, item, 5), 9) for item in "abc"}
    assert len(by_item) == 1  # the day's own, whatever the item


def test_learning_makes_repeats_safer() -> None:
    planted = Planted(hour=1.0, learning=0.5)
    assert planted.passes(1.0, repeat=2) == pytest.approx(math.exp(-math.exp(-1.0)))
    late = draw(planted, 3600.0, "i", 0, 2, np.random.default_rng(0)).at_s
    same = draw(Planted(hour=1.0), 3600.0, "i", 0, 2, np.random.default_rng(0)).at_s
    assert late == pytest.approx(same * math.exp(1.0))


@pytest.mark.parametrize(
    "name", ["planted(0.5)", "planted(hour=0.35,fatigue=2)", f"planted({math.log(2) / 2!r})"]
)
def test_a_name_is_read_back_as_the_same_agent(name: str) -> None:
    assert parse_planted(name).name == name
    assert parse_planted(parse_planted(name).name) == parse_planted(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("planted()", "must be a number"),
        ("planted(x)", "must be a number"),
        ("planted(0)", "positive"),
        ("planted(nan)", "positive"),
        ("planted(rate=1)", "not understood"),
        ("planted(job=1)", "below 1"),
        ("planted(job=0.1,hour=1)", "exactly one"),
        ("planted(slope=1)", "exactly one"),
        ("planted(job=0.1,fatigue=2)", "with hour"),
        ("planted(1,hour=2)", "each once"),
    ],
)
def test_a_name_that_is_not_understood_says_what_is(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_agent(name, np.random.default_rng(0))


@pytest.mark.parametrize("planted", [Planted(logistic=0.7), Planted(hour=1.0)])
def test_trials_run_for_real_come_to_what_was_drawn(planted: Planted, tmp_path: Path) -> None:
    design = Design()
    compared = list(compare(planted, sample(design, planted, 3, 1.0, seed=4), 0, tmp_path))
    assert len(compared) == 3 and all(c.same for c in compared)


def test_where_the_model_holds_bands_cover_and_nothing_is_biased() -> None:
    (t50, t80) = study(Planted(logistic=2.0), Design(), 24, replicates=300)
    for row in (t50, t80):
        assert abs(row.misfit) < 1e-3 and abs(row.bias) < 0.25
        for scheme in (Scheme.TRIALS, Scheme.TASKS):
            assert row.coverage(scheme).high > 0.9  # consistent with nominal


def test_a_constant_hazard_moves_t50_down_and_t80_up() -> None:
    model = limit_of_model(Planted(hour=0.35), Design())
    truth = Planted(hour=0.35)
    assert model[0.5] / truth.horizon_h(0.5) == pytest.approx(0.879, abs=0.002)  # type: ignore[operator]
    assert model[0.8] / truth.horizon_h(0.8) == pytest.approx(1.140, abs=0.002)  # type: ignore[operator]


def test_the_study_draws_what_the_trial_would(tmp_path: Path) -> None:
    spec = Design().specs(Planted(hour=0.5), 3)[7]
    assert isinstance(spec, TrialSpec) and "universe=3" in spec.agent
    assert drawn_row(Planted(hour=0.5), spec, 3) == drawn_row(Planted(hour=0.5), spec, 3)
