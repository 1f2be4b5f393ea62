"""Phases in finer ticks: the same motion, for a world that may not be run in long ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rig.trial.phases import Phase

MS = 1_000_000


@given(st.integers(1, 20), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_finer_rows_lie_between_and_end_on_the_coarse_ones(n: int, times: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, rows = rng.normal(size=3), rng.normal(size=(n, 3))
    fine = Phase(rows, times * MS).finer(before, MS)
    assert fine.period_ns == MS and fine.rows.shape == (n * times, 3)
    assert np.array_equal(fine.rows[times - 1 :: times], rows)
    coarse = np.abs(np.diff(np.concatenate([before[None], rows]), axis=0)).max()
    assert np.abs(np.diff(np.concatenate([before[None], fine.rows]), axis=0)).max() <= coarse / times + 1e-12
