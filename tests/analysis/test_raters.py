import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.raters import MISSING, Scale, agreement, validate_judge
from rig.core.errors import UsageError

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability": four observers, twelve units.
_ = MISSING
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]).T  # fmt: skip
CODED = np.where(_ == OBSERVERS, _, OBSERVERS - 1)


def table(counts: list[list[int]]) -> np.ndarray:
    return np.array([[i, j] for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)])


def each_alone(ratings: np.ndarray) -> np.ndarray:
    return np.arange(len(ratings))


@pytest.mark.parametrize(
    ("scale", "alpha"), [(Scale.NOMINAL, 0.743), (Scale.ORDINAL, 0.815), (Scale.INTERVAL, 0.849)]
)
def test_krippendorffs_example_has_his_alpha(scale: Scale, alpha: float) -> None:
    found = agreement(CODED, cluster=each_alone(CODED), scale=scale)
    assert found.alpha.value == pytest.approx(alpha, abs=5e-4)
    assert found.units == 11  # the unit seen by one observer says nothing


def test_cohens_kappa_of_a_textbook_table() -> None:
    ratings = table([[20, 5], [10, 15]])
    assert agreement(ratings, cluster=each_alone(ratings)).cohen.value == pytest.approx(0.4)


def test_weighted_kappa_forgives_near_misses() -> None:
    near, far = table([[10, 3, 0], [3, 10, 3], [0, 3, 10]]), table([[10, 0, 3], [3, 10, 3], [3, 0, 10]])
    found_near, found_far = (agreement(r, cluster=each_alone(r)) for r in (near, far))
    assert found_near.weighted.value > found_far.weighted.value
    # By hand for the first: squared distances seen 12/42, expected 2 * var with equal margins (13, 16, 13).
    p = np.array([13, 16, 13]) / 42
    expected = sum(p[i] * p[j] * (i - j) ** 2 for i in range(3) for j in range(3))
    assert found_near.weighted.value == pytest.approx(1 - (12 / 42) / expected)


def test_ac1_stays_high_where_kappa_collapses() -> None:
    ratings = table([[118, 5], [2, 0]])
    found = agreement(ratings, cluster=each_alone(ratings))
    assert found.cohen.value < 0.0
    assert found.ac1.value == pytest.approx(0.9408, abs=5e-5)  # Gwet (2008), formula by hand
    assert found.prevalence == pytest.approx((243 / 250, 7 / 250))


def test_with_two_raters_and_many_units_nominal_alpha_is_nearly_scotts_pi() -> None:
    ratings = table([[200, 50], [100, 150]])
    share = np.array([550, 450]) / 1000
    scott = (0.7 - (share**2).sum()) / (1 - (share**2).sum())
    assert agreement(ratings, cluster=each_alone(ratings)).alpha.value == pytest.approx(scott, abs=2e-3)


ratings_of_two = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30)


@given(ratings_of_two)
def test_raters_may_be_swapped(pairs: list[tuple[int, int]]) -> None:
    ratings = np.array(pairs)
    one, other = (agreement(r, cluster=each_alone(ratings)) for r in (ratings, ratings[:, ::-1]))
    for name in ("cohen", "weighted", "alpha", "ac1"):
        a, b = getattr(one, name).value, getattr(other, name).value
        assert a == pytest.approx(b, nan_ok=True, abs=1e-12)
        assert math.isnan(a) or a <= 1.0 + 1e-12


def test_copies_within_clusters_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(0)
    people = rng.integers(0, 2, 40)
    ratings = np.stack((people, np.where(rng.random(40) < 0.8, people, 1 - people)), axis=1)
    single = agreement(ratings, cluster=np.arange(40)).cohen.interval
    copied = agreement(np.repeat(ratings, 10, axis=0), cluster=np.repeat(np.arange(40), 10)).cohen.interval
    naive = agreement(np.repeat(ratings, 10, axis=0), cluster=np.arange(400)).cohen.interval
    assert copied.high - copied.low == pytest.approx(single.high - single.low, rel=0.05)
    assert naive.high - naive.low < 0.5 * (single.high - single.low)


def test_one_category_only_is_undefined_and_never_agreement() -> None:
    found = agreement(np.zeros((20, 2), np.int64), cluster=np.arange(20))
    assert math.isnan(found.cohen.value)
    assert found.cohen.undefined > 0
    assert found.cohen.interval.low == -1.0


def test_shapes_and_lonely_raters_are_refused() -> None:
    with pytest.raises(UsageError):
        agreement(np.zeros((3, 1), np.int64), cluster=np.arange(3))
    with pytest.raises(UsageError, match="no unit"):
        agreement(np.array([[0, MISSING], [MISSING, 1]]), cluster=np.arange(2))


def judged(error: float, n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    people = rng.random(n) < 0.6
    return people, np.where(rng.random(n) < error, ~people, people), np.arange(n) // 5


def test_a_good_judge_is_validated_and_its_errors_are_corrected() -> None:
    people, judge, cluster = judged(0.05)
    found = validate_judge(people, judge, cluster=cluster, judged_rate=0.05 + 0.9 * 0.3)
    assert found.validated, found.reasons
    assert sum(found.confusion) == 300
    assert found.corrected_pass_rate is not None
    assert 0.3 in found.corrected_pass_rate


@pytest.mark.parametrize("seed", range(5))
def test_a_random_judge_is_not_validated(seed: int) -> None:
    people, judge, cluster = judged(0.5, seed=seed)
    found = validate_judge(people, judge, cluster=cluster)
    assert not found.validated
    assert any("kappa" in reason for reason in found.reasons)


@pytest.mark.parametrize("verdict", [True, False])
def test_a_judge_that_always_says_the_same_is_not_validated(verdict: bool) -> None:
    people, _, cluster = judged(0.0)
    found = validate_judge(people, np.full(len(people), verdict), cluster=cluster)
    assert not found.validated
    assert found.corrected_pass_rate is None


def test_a_perfect_judge_on_few_clusters_is_not_validated() -> None:
    people, judge, cluster = judged(0.0, n=30)
    found = validate_judge(people, judge, cluster=cluster)
    assert found.reasons == ("only 6 clusters: at least 10 are needed",)
