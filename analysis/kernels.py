# ruff: noqa: ANN001, ANN201, ANN202 (types are in the compiled signatures)
"""Fused resampling and refitting, compiled: one call draws and fits every replicate.

Trials of one item share a duration and are exchangeable, so a resampled data set is a vector of counts:
how often each item was drawn and how many of its trials passed. Counts are drawn, added up by distinct
duration and fitted by Newton steps started at the estimate from the whole data, without building a
resampled data set. `analysis.reference` does the same in plain numpy.
"""

import math

import numpy as np
from numba import njit

from analysis.counter import GOLDEN, MIX_1, MIX_2, SHIFT_11, SHIFT_27, SHIFT_30, SHIFT_31, TO_UNIT

# Schemes.
TRIALS, TASKS, TASKS_THEN_TRIALS, TRIALS_WITHIN_TASKS = range(4)
# What a replicate turned out to be.
FITTED, SEPARATED, ALL_PASS, ALL_FAIL, ONE_DURATION, RISING_SEPARATED, NOT_CONVERGED = range(7)

DIRECT_DRAWS = 20_000  # above this many trials, counts are drawn by conditional binomials
BERNOULLI_DRAWS = 24  # up to this many trials a binomial is a sum of single draws


@njit("u8(u8)", cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> SHIFT_30)) * MIX_1
    z = (z ^ (z >> SHIFT_27)) * MIX_2
    return z ^ (z >> SHIFT_31)


@njit("f8(u8[:])", cache=True, nogil=True)
def _uniform(state):  # type: ignore[no-untyped-def]
    state[0] += GOLDEN
    return np.float64(_mix(state[0]) >> SHIFT_11) * TO_UNIT


@njit("i8(u8[:], i8, f8)", cache=True, nogil=True)
def _binomial(state, n, p):  # type: ignore[no-untyped-def]
    """Draw exactly: single draws when few, else inversion outwards from the mode."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if n <= BERNOULLI_DRAWS:
        total = 0
        for _ in range(n):
            if _uniform(state) < p:
                total += 1
        return total
    odds = p / (1.0 - p)
    mode = min(n, int((n + 1) * p))
    log_mass = math.lgamma(n + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(n - mode + 1.0)
    mass = math.exp(log_mass + mode * math.log(p) + (n - mode) * math.log1p(-p))
    u = _uniform(state) - mass
    low, high, mass_low, mass_high = mode, mode, mass, mass
    result = mode
    while u >= 0.0 and (low > 0 or high < n):
        if high < n:
            mass_high *= odds * (n - high) / (high + 1.0)
            high += 1
            u -= mass_high
            if u < 0.0:
                result = high
                break
        if low > 0:
            mass_low *= low / (odds * (n - low + 1.0))
            low -= 1
            u -= mass_low
            if u < 0.0:
                result = low
                break
        if mass_high == 0.0 and mass_low == 0.0:
            break  # rounding left a sliver of u; the mode is as good as any
    return result


@njit("void(u8[:], i8, i8[:], i8[:], i8[:], i8[:])", cache=True, nogil=True)
def _draw_trials(state, total, owner, passes, drawn_passes, drawn_trials):  # type: ignore[no-untyped-def]
    """Draw as many trials as there are, with replacement. ``owner`` maps a trial to cell 2i or 2i+1."""
    items = len(passes)
    drawn_passes[:] = 0
    drawn_trials[:] = 0
    if len(owner) == total:
        for _ in range(total):
            cell = owner[int(_uniform(state) * total)]
            drawn_trials[cell >> 1] += 1
            drawn_passes[cell >> 1] += 1 - (cell & 1)
        return
    # Too many trials to draw one by one: ``owner`` then holds the number of trials of each item.
    left, mass = total, float(total)
    for i in range(items):
        count = _binomial(state, left, owner[i] / mass)
        drawn_trials[i] = count
        drawn_passes[i] = _binomial(state, count, passes[i] / owner[i])
        left -= count
        mass -= owner[i]


@njit("void(u8[:], i8[:], i8[:])", cache=True, nogil=True)
def _draw_items(state, first, copies):  # type: ignore[no-untyped-def]
    """Draw families, then items within each drawn family; ``first`` bounds the items of each family."""
    families = len(first) - 1
    copies[:] = 0
    for _ in range(families):
        family = int(_uniform(state) * families) if families > 1 else 0
        size = first[family + 1] - first[family]
        for _ in range(size):
            copies[first[family] + int(_uniform(state) * size)] += 1


@njit("i8(f8[:], f8[:])", cache=True, nogil=True)
def _classify(passes, trials):  # type: ignore[no-untyped-def]
    """Say what kind of replicate this is; cells are in order of duration."""
    used, first_pass, last_pass, first_fail, last_fail = 0, -1, -1, -1, -1
    for g in range(len(trials)):
        if trials[g] > 0.0:
            used += 1
            if passes[g] > 0.0:
                last_pass = g
                if first_pass < 0:
                    first_pass = g
            if passes[g] < trials[g]:
                last_fail = g
                if first_fail < 0:
                    first_fail = g
    if first_fail < 0:
        return ALL_PASS
    if first_pass < 0:
        return ALL_FAIL
    if used == 1:
        return ONE_DURATION
    if last_pass <= first_fail:
        return SEPARATED
    if last_fail <= first_pass:
        return RISING_SEPARATED
    return FITTED


@njit("b1(f8[:], f8[:], f8[:], f8, b1, f8, i8, f8[:], f8[:,:])", cache=True, nogil=True)
def _refit(z, passes, trials, ridge, firth, cap, limit, theta, scratch):  # type: ignore[no-untyped-def]
    """Refine ``theta`` (level, slope) in place by capped scoring steps; return whether it converged."""
    reach = max(abs(z[0]), abs(z[-1]))
    p, w = scratch[0], scratch[1]
    previous = np.inf
    for _ in range(limit):
        total = moment = 0.0
        for g in range(len(z)):
            p[g] = 1.0 / (1.0 + math.exp(-(theta[0] + theta[1] * z[g])))
            w[g] = trials[g] * p[g] * (1.0 - p[g])
            total += w[g]
            moment += w[g] * z[g]
        # About the mean of the information, where level and slope do not cancel each other's digits.
        mean = moment / total
        spread = 0.0
        for g in range(len(z)):
            spread += w[g] * (z[g] - mean) ** 2
        score = score_slope = 0.0
        for g in range(len(z)):
            r = passes[g] - trials[g] * p[g]
            if firth:
                r += w[g] * (1.0 / total + (z[g] - mean) ** 2 / spread) * (0.5 - p[g])
            score += r
            score_slope += r * (z[g] - mean)
        d1 = (score_slope - ridge * theta[1]) / (spread + ridge)
        d0 = score / total - mean * d1
        change = abs(d0) + abs(d1) * reach
        if not change < 1e12:  # also where the information vanished
            return False
        scale = min(1.0, cap / change) if change > 0.0 else 1.0
        theta[0] += scale * d0
        theta[1] += scale * d1
        if change < 1e-9 or (change < 1e-6 and change >= previous):  # or rounding is all that is left
            return True
        previous = change
    return False


@njit("i8(f8[:], f8[:], f8[:], f8, f8[:], f8[:], f8[:,:])", cache=True, nogil=True)
def _estimate(z, passes, trials, ridge, start, theta, scratch):  # type: ignore[no-untyped-def]
    kind = _classify(passes, trials)
    if kind in (ALL_PASS, ALL_FAIL, ONE_DURATION):
        return kind
    if ridge == 0.0 and kind == RISING_SEPARATED:
        return kind
    firth = ridge == 0.0 and kind == SEPARATED
    theta[:] = start
    if not firth and _refit(z, passes, trials, ridge, firth, 2.0, 60, theta, scratch):
        return FITTED
    # From a flat curve, in steps short enough that each one must raise the likelihood.
    rate = (passes.sum() + 0.5) / (trials.sum() + 1.0)
    theta[0] = math.log(rate / (1.0 - rate))
    theta[1] = 0.0
    if _refit(z, passes, trials, ridge, firth, 0.6, 2000, theta, scratch):
        return kind if ridge == 0.0 else FITTED
    return NOT_CONVERGED


@njit(
    "void(f8[:], i8[:], i8[:], i8[:], f8[:], i8[:], i8[:], i8, f8, f8[:], u8, f8[:,:], i1[:])",
    cache=True,
    nogil=True,
)
def resample(  # type: ignore[no-untyped-def]
    z,
    cell,
    passes,
    trials,
    weight,
    first,
    owner,
    scheme,
    ridge,
    start,
    key,
    estimates,
    kinds,
):
    """Fill ``estimates`` (level, slope, mean z, pass rate), shape (b, 4), and ``kinds``, shape (b,)."""
    items, cells = len(passes), len(z)
    total = trials.sum()
    drawn_passes, drawn_trials = np.empty(items, np.int64), np.empty(items, np.int64)
    copies = np.empty(items, np.int64)
    cell_passes, cell_trials = np.empty(cells), np.empty(cells)
    scratch = np.empty((2, cells))
    theta, state = np.empty(2), np.empty(1, np.uint64)
    for b in range(len(kinds)):
        state[0] = _mix(key + np.uint64(b) * GOLDEN)
        if scheme == TRIALS:
            _draw_trials(state, total, owner, passes, drawn_passes, drawn_trials)
        else:
            if scheme == TRIALS_WITHIN_TASKS:
                copies[:] = 1
            else:
                _draw_items(state, first, copies)
            for i in range(items):
                drawn_trials[i] = copies[i] * trials[i]
                drawn_passes[i] = copies[i] * passes[i]
                if scheme != TASKS:
                    drawn_passes[i] = _binomial(state, drawn_trials[i], passes[i] / trials[i])
        cell_passes[:] = 0.0
        cell_trials[:] = 0.0
        for i in range(items):
            cell_passes[cell[i]] += weight[i] * drawn_passes[i]
            cell_trials[cell[i]] += weight[i] * drawn_trials[i]
        theta[:] = start
        kinds[b] = _estimate(z, cell_passes, cell_trials, ridge, start, theta, scratch)
        size = cell_trials.sum()
        estimates[b, 0], estimates[b, 1] = theta[0], theta[1]
        estimates[b, 2] = (cell_trials * z).sum() / size
        estimates[b, 3] = cell_passes.sum() / size
