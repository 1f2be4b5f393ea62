"""The sensor model, compiled: from the true world to what each channel shows, and when.

A channel samples at multiples of its period. A sample becomes visible `latency` later, with noise
that depends on seed, channel and sample number only: it is the same however the ticks are cut into
stretches. Values that the sensor cannot report are out of range; noise alone never makes them so.
"""

import math

import numpy as np

from rig.core.channel import FloatArray, IntArray, Quality
from rig.sim.faults import DEAD, DRIFT, LATENCY, MISSED, NAN, NOISE, SATURATED, SPIKE, STUCK, SWAPPED, UNIT
from rig.sim.native import compiled
from rig.sim.state import Records, Senses

_GOOD, _STALE = int(Quality.GOOD), int(Quality.STALE)
_OUT_OF_RANGE, _FAULT = int(Quality.OUT_OF_RANGE), int(Quality.FAULT)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _mixed(x: np.uint64) -> np.uint64:
    # The finaliser of SplitMix64: every input bit reaches every output bit.
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def uniform(salt: np.uint64, k: int, stream: int) -> float:
    """Return a number in (0, 1] that depends on the arguments only."""
    x = _mixed(_mixed(salt + np.uint64(k) * _GOLDEN) + np.uint64(stream) * _GOLDEN)
    return (float(x >> np.uint64(11)) + 1.0) * 2.0**-53


@compiled
def normal(salt: np.uint64, k: int) -> float:
    """Return a standard normal number that depends on the arguments only (Box-Muller)."""
    radius = math.sqrt(-2.0 * math.log(uniform(salt, k, 1)))
    return radius * math.cos(2.0 * math.pi * uniform(salt, k, 2))


@compiled
def fault_active(faults: Records, kind: int, c: int, t_ns: int) -> bool:
    """Return whether a fault of this kind is in force on channel ``c``."""
    for f in range(faults.shape[0]):
        fault = faults[f]
        if fault.kind == kind and fault.channel == c and fault.start_ns <= t_ns < fault.end_ns:
            return True
    return False


@compiled
def _true_value(channels: Records, faults: Records, vector: FloatArray, c: int, t_ns: int) -> float:
    for f in range(faults.shape[0]):
        fault = faults[f]
        if fault.kind == SWAPPED and fault.channel == c and fault.start_ns <= t_ns < fault.end_ns:
            return float(vector[channels[int(fault.a)].source])
    return float(vector[channels[c].source])


@compiled
def _added_latency_ns(faults: Records, c: int, t_ns: int) -> int:
    added = 0
    for f in range(faults.shape[0]):
        fault = faults[f]
        if fault.kind == LATENCY and fault.channel == c and fault.start_ns <= t_ns < fault.end_ns:
            added += int(fault.a)
    return added


@compiled
def _faulted(
    channels: Records, faults: Records, c: int, k: int, x: float, before: float, t_ns: int
) -> tuple[float, float, bool, bool]:
    """Return the value as faults distort it, its noise, and whether it is exact, or dead."""
    channel = channels[c]
    deviation, exact, dead = channel.noise, False, False
    for f in range(faults.shape[0]):
        fault = faults[f]
        if fault.channel != c or not fault.start_ns <= t_ns < fault.end_ns:
            continue
        if fault.kind == DEAD:
            dead = True
        elif fault.kind == STUCK:
            exact = True
            if not math.isnan(fault.a):
                x = fault.a
            elif not math.isnan(before):
                x = before
        elif fault.kind == DRIFT:
            x += fault.a * (t_ns - fault.start_ns) * 1e-9
        elif fault.kind == UNIT:
            x = x * fault.a + fault.b
        elif fault.kind == SPIKE:
            if uniform(channel.salt, k, 3) <= fault.b:
                x += fault.a
        elif fault.kind == MISSED:
            dead = dead or uniform(channel.salt, k, 4) <= fault.b
        elif fault.kind == NOISE:
            deviation = fault.a * max(channel.noise, channel.resolution)
        elif fault.kind == SATURATED:
            exact = True
            x = channel.low if fault.a < 0.0 else channel.high
        elif fault.kind == NAN:
            x = math.nan
    return x, deviation, exact, dead


@compiled
def _show(
    channels: Records, values: FloatArray, sampled_ns: IntArray, c: int, k: int, x: float,
    deviation: float, exact: bool,
) -> None:  # fmt: skip
    """Make sample ``k`` the one channel ``c`` shows: ``x``, with noise and resolution unless exact."""
    channel, shown = channels[c], x
    if not exact:
        if deviation > 0.0:
            shown += deviation * normal(channel.salt, k)
        if channel.resolution > 0.0:
            shown = np.rint(shown / channel.resolution) * channel.resolution + 0.0  # no minus zero
    if channel.low <= x <= channel.high:
        shown = min(max(shown, channel.low), channel.high)
        channel.quality = _GOOD
    else:
        channel.quality = _FAULT if math.isnan(x) else _OUT_OF_RANGE
    channel.last = k
    values[c] = shown
    sampled_ns[c] = k * channel.period_ns


@compiled
def _queue(channels: Records, delay: FloatArray, c: int, x: float, t_ns: int) -> None:
    """Put the samples that fall due by ``t_ns`` into the channel's delay line."""
    channel, depth = channels[c], delay.shape[1]
    newest = t_ns // channel.period_ns
    for k in range(max(channel.taken + 1, newest - depth + 1), newest + 1):
        delay[channel.line, k % depth] = x
    channel.taken = newest
    channel.due_ns = (newest + 1) * channel.period_ns


# Here arrays are taken out of their group once and handed on one by one: taking them out again for
# every sample would cost more than the sensor model itself.
@compiled
def sense(senses: Senses, vector: FloatArray, t_ns: int) -> None:
    """Bring every channel up to the time ``t_ns``, at which the world is as given."""
    channels, faults, delay = senses.channels, senses.faults, senses.delay
    values, sampled_ns, quality = senses.values, senses.sampled_ns, senses.quality
    faulty = faults.shape[0] > 0
    for c in range(channels.shape[0]):
        channel = channels[c]
        k, x = channel.last, 0.0
        if channel.given:
            k = -1  # it shows what it was last given, and grows old
        elif channel.line >= 0:
            late_ns = channel.latency_ns
            if faulty:
                late_ns += _added_latency_ns(faults, c, t_ns)
            if t_ns >= channel.due_ns:
                _queue(channels, delay, c, _true_value(channels, faults, vector, c, t_ns), t_ns)
            if k < 0 or t_ns >= (k + 1) * channel.period_ns + late_ns:
                k = max((t_ns - late_ns) // channel.period_ns, 0)  # before time zero all was as then
                x = delay[channel.line, k % delay.shape[1]]
        elif t_ns >= channel.due_ns:
            k = t_ns // channel.period_ns
            channel.due_ns = (k + 1) * channel.period_ns
            x = _true_value(channels, faults, vector, c, t_ns)
        if k > channel.last:
            deviation, exact, dead = channel.noise, False, False
            if faulty:
                x, deviation, exact, dead = _faulted(channels, faults, c, k, x, values[c], t_ns)
            if not dead:
                _show(channels, values, sampled_ns, c, k, x, deviation, exact)
        old = t_ns - sampled_ns[c] >= channel.stale_ns and channel.quality == _GOOD
        quality[c] = _STALE if old else channel.quality
