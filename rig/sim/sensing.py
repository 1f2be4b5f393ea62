"""The sensor model, compiled: from the true world to what each channel shows, and when.

A channel samples at multiples of its period. A sample becomes visible `latency` later, with noise
that depends on seed, channel and sample number only: it is the same however the ticks are cut into
stretches. Values that the sensor cannot report are out of range; noise alone never makes them so.
"""

import math

import numpy as np
from numba import njit

from rig.core.channel import Quality
from rig.sim.faults import DEAD, DRIFT, LATENCY, NAN, NOISE, SATURATED, SPIKE, STUCK, SWAPPED, UNIT

_GOOD, _STALE = int(Quality.GOOD), int(Quality.STALE)
_OUT_OF_RANGE, _FAULT = int(Quality.OUT_OF_RANGE), int(Quality.FAULT)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit
def _mixed(x):
    # The finaliser of SplitMix64: every input bit reaches every output bit.
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit
def uniform(salt, k, stream):
    """Return a number in (0, 1] that depends on the arguments only."""
    x = _mixed(_mixed(salt + np.uint64(k) * _GOLDEN) + np.uint64(stream) * _GOLDEN)
    return (float(x >> np.uint64(11)) + 1.0) * 2.0**-53


@njit
def normal(salt, k):
    """Return a standard normal number that depends on the arguments only."""
    radius = math.sqrt(-2.0 * math.log(uniform(salt, k, 1)))
    return radius * math.cos(2.0 * math.pi * uniform(salt, k, 2))


@njit
def _active(fault, f, c, t_ns):
    return fault[f, 1] == c and fault[f, 2] <= t_ns < fault[f, 3]


@njit
def fault_active(senses, code, c, t_ns):
    """Return whether a fault of this kind is in force on channel ``c``."""
    fault = senses.fault
    for f in range(fault.shape[0]):
        if fault[f, 0] == code and _active(fault, f, c, t_ns):
            return True
    return False


@njit
def _true_value(senses, world, c, t_ns):
    fault = senses.fault
    for f in range(fault.shape[0]):
        if fault[f, 0] == SWAPPED and _active(fault, f, c, t_ns):
            return world[senses.source[int(fault[f, 4])]]
    return world[senses.source[c]]


@njit
def _added_latency_ns(senses, c, t_ns):
    added, fault = 0, senses.fault
    for f in range(fault.shape[0]):
        if fault[f, 0] == LATENCY and _active(fault, f, c, t_ns):
            added += int(fault[f, 4])
    return added


@njit
def _show(senses, c, k, x, t_ns):
    """Make sample ``k`` of true value ``x`` the one channel ``c`` shows."""
    fault, salt = senses.fault, senses.salt[c]
    deviation, stuck, full_scale = senses.noise[c], False, 0.0
    for f in range(fault.shape[0]):
        if not _active(fault, f, c, t_ns):
            continue
        kind, a, b = int(fault[f, 0]), fault[f, 4], fault[f, 5]
        if kind == DEAD:
            return
        if kind == STUCK:
            stuck = True
            if not math.isnan(a):
                x = a
            elif not math.isnan(senses.values[c]):
                x = senses.values[c]
        elif kind == DRIFT:
            x += a * (t_ns - fault[f, 2]) * 1e-9
        elif kind == UNIT:
            x = x * a + b
        elif kind == SPIKE:
            if uniform(salt, k, 3) <= b:
                x += a
        elif kind == NOISE:
            deviation = a * max(senses.noise[c], senses.resolution[c])
        elif kind == SATURATED:
            full_scale = -1.0 if a < 0.0 else 1.0
        elif kind == NAN:
            x = math.nan
    low, high = senses.low[c], senses.high[c]
    shown = x
    if not stuck:
        if deviation > 0.0:
            shown += deviation * normal(salt, k)
        if senses.resolution[c] > 0.0:
            shown = np.rint(shown / senses.resolution[c]) * senses.resolution[c] + 0.0  # no minus zero
    quality = _GOOD
    if math.isnan(shown):
        quality = _FAULT
    elif full_scale != 0.0:
        shown = high if full_scale > 0.0 else low
    elif low <= x <= high:
        shown = min(max(shown, low), high)
    else:
        quality = _OUT_OF_RANGE
    senses.values[c] = shown
    senses.sampled_ns[c] = k * senses.period_ns[c]
    senses.first_quality[c] = quality
    senses.last[c] = k


@njit
def _sense_delayed(senses, world, c, t_ns):
    period_ns, line, depth = senses.period_ns[c], senses.line[c], senses.delay.shape[1]
    newest = t_ns // period_ns
    if newest > senses.taken[c]:
        x = _true_value(senses, world, c, t_ns)
        for k in range(max(senses.taken[c] + 1, newest - depth + 1), newest + 1):
            senses.delay[line, k % depth] = x
        senses.taken[c] = newest
    k = (t_ns - senses.latency_ns[c] - _added_latency_ns(senses, c, t_ns)) // period_ns
    if k > senses.last[c]:
        _show(senses, c, k, senses.delay[line, k % depth], t_ns)


@njit
def first_look(senses, world):
    """Show the first sample of every channel, as if the world had always been as it is."""
    for c in range(senses.source.shape[0]):
        x = _true_value(senses, world, c, 0)
        if senses.line[c] >= 0:
            senses.delay[senses.line[c], :] = x
        senses.due_ns[c] = senses.period_ns[c]
        senses.taken[c] = 0
        _show(senses, c, 0, x, 0)
        senses.quality[c] = senses.first_quality[c]


@njit
def sense(senses, world, t_ns):
    """Bring every channel up to the time ``t_ns``, at which the world is as given."""
    for c in range(senses.source.shape[0]):
        if senses.line[c] >= 0:
            _sense_delayed(senses, world, c, t_ns)
        elif t_ns >= senses.due_ns[c]:
            k = t_ns // senses.period_ns[c]
            senses.due_ns[c] = (k + 1) * senses.period_ns[c]
            _show(senses, c, k, _true_value(senses, world, c, t_ns), t_ns)
        quality = senses.first_quality[c]
        if quality < _STALE and t_ns - senses.sampled_ns[c] >= senses.stale_ns[c]:
            quality = _STALE
        senses.quality[c] = quality
