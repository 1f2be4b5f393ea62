import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import kernels, reference
from analysis.bootstrap import Items, Scheme, quantile, quantile_error, resample
from analysis.counter import stream_key, uniforms
from analysis.fit import fit
from rig.core.errors import UsageError

from .conftest import TOY_S, items, read_csv


def families() -> Items:
    trials = items([5, 5, 4, 3, 1, 0, 5, 2], trials=5, durations_s=np.r_[TOY_S, 6.0, 20.0])
    return Items(trials.log_s, trials.passes, trials.trials, trials.weight, np.array([0, 3, 6, 8]))


@pytest.mark.parametrize("scheme", list(Scheme))
def test_compiled_replicates_are_those_of_plain_numpy(scheme: Scheme) -> None:
    trials = families()
    fitted = fit(trials.cells)
    fast = resample(trials, fitted, scheme, replicates=300, seed=5)
    slow = reference.resample(trials, fitted, scheme, replicates=300, seed=5)
    np.testing.assert_array_equal(fast.kinds, slow.kinds)
    np.testing.assert_allclose(fast.log_t(0.5), slow.log_t(0.5), rtol=1e-6)
    np.testing.assert_allclose(fast.log_t(0.8), slow.log_t(0.8), rtol=1e-6)


def test_weighted_replicates_are_those_of_plain_numpy() -> None:
    plain = families()
    weighted = Items(plain.log_s, plain.passes, plain.trials, np.linspace(0.4, 1.6, 8), plain.first)
    fitted = fit(weighted.cells)
    for scheme in Scheme:
        fast = resample(weighted, fitted, scheme, replicates=100, seed=2)
        slow = reference.resample(weighted, fitted, scheme, replicates=100, seed=2)
        np.testing.assert_array_equal(fast.kinds, slow.kinds)
        np.testing.assert_allclose(fast.log_t(0.5), slow.log_t(0.5), rtol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    trials = items([5, 5, 4, 3, 1, 0])
    fitted = fit(trials.cells)
    runs = [resample(trials, fitted, Scheme.TRIALS, replicates=200, seed=seed) for seed in (1, 1, 2)]
    assert runs[0].estimates.tobytes() == runs[1].estimates.tobytes()
    assert runs[0].estimates.tobytes() != runs[2].estimates.tobytes()


def test_more_replicates_begin_with_the_same_ones() -> None:
    trials = items([5, 5, 4, 3, 1, 0])
    fitted = fit(trials.cells)
    few, many = (resample(trials, fitted, Scheme.TASKS, replicates=n, seed=1) for n in (100, 400))
    np.testing.assert_array_equal(few.estimates, many.estimates[:100])


def test_agents_tried_on_the_same_items_are_resampled_together() -> None:
    strong, weak = items([5, 5, 5, 4, 2, 1]), items([5, 4, 3, 1, 0, 1])
    drawn = [
        resample(each, fit(each.cells), Scheme.TASKS, replicates=500, seed=1).estimates[:, 2]
        + fit(each.cells).centre
        for each in (strong, weak)
    ]
    np.testing.assert_allclose(drawn[0], drawn[1], atol=1e-12)


def test_nothing_but_passes_lies_above_and_nothing_but_failures_below() -> None:
    trials = items([5, 5, 5, 5, 5, 4])
    drawn = resample(trials, fit(trials.cells), Scheme.TRIALS, replicates=1000, seed=0)
    band = drawn.band(0.5, 0.95)
    all_pass = np.count_nonzero(drawn.kinds == kernels.ALL_PASS)
    assert all_pass == pytest.approx(1000 * (29 / 30) ** 30, abs=80)
    assert band.above >= all_pass
    assert band.high_s == math.inf
    assert band.mc_high_s == math.inf
    fails = items([1, 0, 0, 0, 0, 0])
    drawn = resample(fails, fit(fails.cells), Scheme.TRIALS, replicates=1000, seed=0)
    band = drawn.band(0.5, 0.95)
    assert band.below >= np.count_nonzero(drawn.kinds == kernels.ALL_FAIL) > 300
    assert band.low_s == 0.0


def test_a_curve_that_rises_counts_on_the_side_of_its_pass_rate() -> None:
    for passes, side in (([4, 4, 4, 5, 5, 5], math.inf), ([0, 0, 1, 1, 1, 0], -math.inf)):
        trials = items(passes)
        drawn = resample(trials, fit(trials.cells), Scheme.TRIALS, replicates=300, seed=0)
        rising = (drawn.kinds == kernels.FITTED) & (drawn.estimates[:, 1] >= 0)
        assert rising.any()
        assert set(drawn.log_t(0.5)[rising]) == {side}


def test_huge_counts_are_drawn_without_one_by_one_and_agree_with_theory() -> None:
    trials = items([p * 40_000 for p in (5, 5, 4, 3, 1, 0)], trials=200_000)
    fitted = fit(trials.cells)
    drawn = resample(trials, fitted, Scheme.TRIALS, replicates=2000, seed=0)
    log_t = drawn.log_t(0.5)
    assert np.all(drawn.kinds == kernels.FITTED)
    # The delta method is exact at this size; the SD of 2,000 draws is good to 1.6 %.
    assert log_t.std() == pytest.approx(fitted.se_log_t(0.5), rel=0.06)
    assert log_t.mean() == pytest.approx(fitted.log_t(0.5), abs=4 * fitted.se_log_t(0.5) / math.sqrt(2000))


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (24, 0.9), (25, 0.5), (1000, 0.02), (100_000, 0.7)])
def test_binomials_have_the_binomial_distribution(n: int, p: float) -> None:
    state = np.array([stream_key(1, "test")], np.uint64)
    drawn = np.array([kernels._binomial(state, n, p) for _ in range(4000)])
    spread = math.sqrt(n * p * (1 - p))
    assert drawn.mean() == pytest.approx(n * p, abs=4.5 * spread / math.sqrt(4000))
    # Discrete Kolmogorov-Smirnov distance; the critical value for 4,000 draws at 1e-6 is 0.043.
    values = np.unique(drawn)
    empirical = np.searchsorted(np.sort(drawn), values, side="right") / 4000
    assert np.max(np.abs(empirical - stats.binom.cdf(values, n, p))) < 0.043


def test_uniform_numbers_are_pure_functions_of_seed_replicate_and_position() -> None:
    key = stream_key(7, "a")
    whole = uniforms(key, 3, 100)
    np.testing.assert_array_equal(whole[40:], uniforms(key, 3, 60, start=40))
    assert stats.kstest(np.concatenate([uniforms(key, b, 50) for b in range(200)]), "uniform").pvalue > 1e-4
    # Golden values: a change of generator would silently change every published band.
    assert stream_key(0, "bootstrap", "trials") == 0x2686492500A8FF2E
    first = [float.fromhex("0x1.c4415072f63b9p-1"), float.fromhex("0x1.b9e279aa86e58p-2")]
    assert uniforms(0, 0, 2).tolist() == first  # SplitMix64 of seed 0, as published


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=40), st.floats(0.01, 0.99))
def test_finite_quantiles_are_numpys(values: list[float], probability: float) -> None:
    ordered = np.sort(np.array(values))
    assert quantile(ordered, probability) == pytest.approx(np.quantile(ordered, probability), abs=1e-12)


def test_the_error_of_a_bound_is_its_spread_over_repeated_analyses() -> None:
    trials = items([5, 5, 4, 3, 1, 0, 5, 4, 4, 2, 1], durations_s=np.r_[TOY_S, 3.0, 7.0, 13.0, 25.0, 40.0])
    fitted = fit(trials.cells)
    bands = [
        resample(trials, fitted, Scheme.TRIALS, replicates=1000, seed=s).band(0.5, 0.95) for s in range(80)
    ]
    for bounds, errors in (
        ([b.low_s for b in bands], [b.mc_low_s for b in bands]),
        ([b.high_s for b in bands], [b.mc_high_s for b in bands]),
    ):
        # The SD of 80 values is itself good to 8 %.
        assert np.mean(errors) == pytest.approx(np.std(bounds, ddof=1), rel=0.3)


@settings(max_examples=20)
@given(st.integers(1, 60), st.floats(0.05, 0.95))
def test_quantile_errors_are_never_negative(count: int, probability: float) -> None:
    assert quantile_error(np.arange(float(count)), probability) >= 0.0


def test_fewer_than_two_replicates_are_refused() -> None:
    trials = items([5, 5, 4, 3, 1, 0])
    with pytest.raises(UsageError, match="at least 2"):
        resample(trials, fit(trials.cells), Scheme.TRIALS, replicates=1, seed=0)


def published(data: Path, agent: str) -> Items:
    rows = sorted(read_csv(data / "metr_th11_two_agents.csv"), key=lambda r: (r["task_family"], r["task_id"]))
    runs = np.array([int(r[f"{agent}_runs"]) for r in rows])
    family = np.array([r["task_family"] for r in rows])
    first = np.flatnonzero(np.r_[True, family[1:] != family[:-1]])
    sizes = np.diff(np.r_[first, len(rows)])
    weight = 1.0 / np.sqrt(np.repeat(sizes, sizes)) / runs
    return Items(
        np.log([60.0 * float(r["human_minutes"]) for r in rows]),
        np.array([int(r[f"{agent}_successes"]) for r in rows]),
        runs,
        weight * runs.sum() / (weight * runs).sum(),
        np.r_[first, len(rows)].astype(np.int64),
    )


@pytest.mark.parametrize(("agent", "name"), [("gpt54", "GPT-5.4_h"), ("mythos", "Mythos_h")])
def test_published_bands_are_met_within_their_own_error(
    data: Path, expected: dict[str, Any], agent: str, name: str
) -> None:
    trials = published(data, agent)
    ridge = 1e-5 * math.log(2.0) ** 2 * trials.trials.sum()
    fitted = fit(trials.cells, ridge=ridge)
    band = resample(trials, fitted, Scheme.FAMILIES, replicates=10_000, seed=1, ridge=ridge).band(0.5, 0.95)
    answer = expected["metr_th11_two_agents"]["bootstrap_f_t_r"][name]
    # Means over 300 analyses of 1,000 replicates, with the spread of one of them.
    for bound, (mean, spread) in ((band.low_s, answer["q025"]), (band.high_s, answer["q975"])):
        assert bound / 3600.0 == pytest.approx(mean, abs=1.5 * spread)
    note = {"GPT-5.4_h": (3.0536, 13.5347), "Mythos_h": (8.3978, 73.9470)}[name]
    assert band.low_s / 3600.0 == pytest.approx(note[0], abs=4 * answer["q025"][1])
    assert band.high_s / 3600.0 == pytest.approx(note[1], abs=4 * answer["q975"][1])


def test_bands_over_tasks_cover_where_bands_within_tasks_do_not() -> None:
    """Items of one length differ in difficulty (SD 1 in log odds); the true median horizon is an hour."""
    rng = np.random.default_rng(11)
    log_s = np.linspace(math.log(120.0), math.log(28_800.0), 30)
    inside = dict.fromkeys((Scheme.TASKS, Scheme.TRIALS_WITHIN_TASKS), 0)
    for seed in range(300):
        eta = math.log(3600.0) - log_s + rng.normal(0.0, 1.0, 30)
        passes = rng.binomial(5, 1.0 / (1.0 + np.exp(-eta)))
        trials = Items(log_s, passes, np.full(30, 5), np.ones(30), np.array([0, 30]))
        fitted = fit(trials.cells)
        for scheme in inside:
            band = resample(trials, fitted, scheme, replicates=400, seed=seed).band(0.5, 0.95)
            inside[scheme] += band.low_s <= 3600.0 <= band.high_s
    # Nominal 95 %; the binomial standard error of 300 data sets is 1.3 %.
    assert inside[Scheme.TASKS] / 300 > 0.88
    assert inside[Scheme.TRIALS_WITHIN_TASKS] / 300 < 0.85
