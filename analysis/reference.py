"""The resampling of `analysis.kernels` in plain numpy, slow and easy to check.

It reads the same random numbers in the same order and fits with `analysis.fit.fit`, so that both must
agree replicate by replicate; the tests hold them to it.
"""

import math

import numpy as np

from analysis import kernels
from analysis.bootstrap import Items, Replicates, Scheme
from analysis.columns import IntArray
from analysis.counter import stream_key, uniforms
from analysis.fit import Cells, LogisticFit, Separation, fit

BLOCK = 4096
KINDS = {
    Separation.NONE: kernels.FITTED,
    Separation.FALLING: kernels.SEPARATED,
    Separation.RISING: kernels.RISING_SEPARATED,
    Separation.ALL_PASS: kernels.ALL_PASS,
    Separation.ALL_FAIL: kernels.ALL_FAIL,
    Separation.ONE_DURATION: kernels.ONE_DURATION,
}


class Draws:
    """The uniform numbers of one replicate, one after the other."""

    def __init__(self, key: int, replicate: int) -> None:
        self._key, self._replicate, self._used = key, replicate, 0
        self._block = np.empty(0)

    def uniform(self) -> float:
        """Return the next number on [0, 1)."""
        if self._used % BLOCK == 0:
            self._block = uniforms(self._key, self._replicate, BLOCK, self._used)
        self._used += 1
        return float(self._block[(self._used - 1) % BLOCK])

    def binomial(self, n: int, p: float) -> int:
        """Return how many of ``n`` trials pass with probability ``p`` each."""
        if n == 0 or p == 0.0 or p == 1.0:
            return n if p == 1.0 else 0
        if n <= kernels.BERNOULLI_DRAWS:
            return sum(self.uniform() < p for _ in range(n))
        counts = np.arange(n + 1)
        log_n = np.array([math.lgamma(k + 1.0) for k in range(n + 1)])
        log_mass = log_n[n] - log_n[counts] - log_n[n - counts]
        mass = np.exp(log_mass + counts * math.log(p) + (n - counts) * math.log1p(-p))
        mode = min(n, int((n + 1) * p))
        # Outwards from the mode: above, below, above, ... until one side is used up.
        order = sorted(range(n + 1), key=lambda k: 2 * (mode - k) if k <= mode else 2 * (k - mode) - 1)
        reached = np.cumsum(mass[order])
        return int(order[min(int(np.searchsorted(reached, self.uniform(), side="right")), n)])


def resample(items: Items, fitted: LogisticFit, scheme: Scheme, *, replicates: int, seed: int) -> Replicates:
    """Do what `analysis.bootstrap.resample` does, without a penalty."""
    if scheme is Scheme.TRIALS and np.ptp(items.weight) == 0.0:
        items = items.by_duration()
    log_s, cell = np.unique(items.log_s, return_inverse=True)
    key = stream_key(seed, "bootstrap", scheme)
    estimates, kinds = np.zeros((replicates, 4)), np.zeros(replicates, np.int8)
    for replicate in range(replicates):
        passes, trials = _counts(items, scheme, Draws(key, replicate))
        cell_trials = np.bincount(cell, items.weight * trials, len(log_s)).astype(np.float64)
        cell_passes = np.bincount(cell, items.weight * passes, len(log_s)).astype(np.float64)
        used = cell_trials > 0
        cells = Cells(log_s[used], cell_passes[used], cell_trials[used])
        kinds[replicate] = KINDS[cells.separation]
        level = slope = 0.0
        if cells.separation in (Separation.NONE, Separation.FALLING):
            again = fit(cells)
            level, slope = again.level + again.beta * (again.centre - fitted.centre), -again.beta
        mean = cells.centre - fitted.centre
        estimates[replicate] = level, slope, mean, cell_passes.sum() / cell_trials.sum()
    return Replicates(scheme, fitted.centre, estimates, kinds)


def _counts(items: Items, scheme: Scheme, draws: Draws) -> tuple[IntArray, IntArray]:
    """Return passed and drawn trials of each item in one replicate."""
    passes, trials = items.passes, items.trials
    size, total = len(trials), int(trials.sum())
    if scheme is Scheme.TRIALS:
        owner = np.repeat(np.arange(2 * size), np.stack((passes, trials - passes), axis=1).ravel())
        cells = owner[[int(draws.uniform() * total) for _ in range(total)]]
        drawn = np.bincount(cells, minlength=2 * size).reshape(size, 2)
        return drawn[:, 0], drawn.sum(axis=1)
    first = items.first if scheme is Scheme.FAMILIES else np.array([0, size])
    copies = np.full(size, 1 if scheme is Scheme.TRIALS_WITHIN_TASKS else 0)
    for _ in range(len(first) - 1 if scheme is not Scheme.TRIALS_WITHIN_TASKS else 0):
        family = int(draws.uniform() * (len(first) - 1)) if len(first) > 2 else 0
        low, high = first[family], first[family + 1]
        for _ in range(high - low):
            copies[low + int(draws.uniform() * (high - low))] += 1
    drawn_trials = copies * trials
    if scheme is Scheme.TASKS:
        return copies * passes, drawn_trials
    drawn_passes = [
        draws.binomial(int(n), k / t) for n, k, t in zip(drawn_trials, passes, trials, strict=True)
    ]
    return np.array(drawn_passes, np.int64), drawn_trials
