"""Predicting before the irreversible point: how far ahead, and how sure one has to be.

The filter itself is the grammar's ``ahead`` (`safety_monitor.nodes.Ahead`); here are its update, in
one place for the vectorised evaluation and the tests, and the calibration of kappa: the largest
number of deviations that keeps within a budget of interruptions on harmless trials, with a
guarantee that holds for whatever distribution the trials have (split conformal prediction).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.core.errors import UsageError


@dataclass(slots=True)
class Filter:
    """A Kalman filter of value and slope at irregular times.

    Attributes:
        noise: Standard deviation of one sample.
        walk: How far the slope may have walked after one second, one deviation.
    """

    noise: float
    walk: float
    samples: int = 0
    stamp_ns: int = 0
    value: float = math.nan
    slope: float = math.nan
    p00: float = math.nan
    p01: float = math.nan
    p11: float = math.nan

    def take(self, value: float, stamp_ns: int) -> None:
        """Take a sample; one that is not newer than the last is no news and is left out."""
        if self.samples and stamp_ns <= self.stamp_ns:
            return
        dt = (stamp_ns - self.stamp_ns) / 1e9
        r2, q = self.noise * self.noise, self.walk * self.walk
        if self.samples == 0:
            self.value = value
        elif self.samples == 1:
            self.slope, self.value = (value - self.value) / dt, value
            self.p00, self.p01, self.p11 = r2, r2 / dt, 2.0 * r2 / (dt * dt)
        else:
            ahead = self.value + dt * self.slope
            p00 = self.p00 + 2.0 * dt * self.p01 + dt * dt * self.p11 + q * dt * dt * dt / 3.0
            p01 = self.p01 + dt * self.p11 + 0.5 * q * dt * dt
            p11 = self.p11 + q * dt
            k0, k1, news = p00 / (p00 + r2), p01 / (p00 + r2), value - ahead
            self.value, self.slope = ahead + k0 * news, self.slope + k1 * news
            self.p00, self.p01, self.p11 = (1.0 - k0) * p00, (1.0 - k0) * p01, p11 - k1 * p01
        self.samples, self.stamp_ns = min(self.samples + 1, 2), stamp_ns

    def mean(self, at_ns: int) -> float:
        """Return the expected value at a time, NaN until there are two samples."""
        return self.value + (at_ns - self.stamp_ns) / 1e9 * self.slope

    def deviation(self, at_ns: int) -> float:
        """Return the standard deviation of the value at a time, NaN until there are two samples."""
        h, q = (at_ns - self.stamp_ns) / 1e9, self.walk * self.walk
        return math.sqrt(self.p00 + 2.0 * h * self.p01 + h * h * self.p11 + q * h * h * h / 3.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated kappa.

    Attributes:
        kappa: Deviations to add to the predicted mean.
        runs: Harmless trials it rests on.
        allowed: Probability of an interruption per harmless trial that was asked for.
        guaranteed: Upper bound on that probability for one more such trial; at most ``allowed``.
    """

    kappa: float
    runs: int
    allowed: float
    guaranteed: float


def calibrate(least_kappas: Sequence[float], allowed: float) -> Calibration:
    """Return the largest kappa that interrupts a further harmless trial with at most ``allowed`` probability.

    Args:
        least_kappas: For each held-out harmless trial the least kappa that would have interrupted
            it: the minimum over the trial of (limit - predicted mean) / predicted deviation.
        allowed: Probability of an interruption per trial, for example the budget per hour times
            the hours a trial lasts.

    Raises:
        UsageError: If there are too few trials to promise so little; the message says how many are
            needed. Trials must be exchangeable with those to come: of one task, persona mix and bench.
    """
    if not 0 < allowed < 1:
        raise UsageError(f"a probability of interruption between 0 and 1 is wanted, not {allowed:g}")
    if any(math.isnan(k) for k in least_kappas):
        raise UsageError("a trial without a single prediction cannot calibrate anything")
    n = len(least_kappas)
    rank = math.floor(allowed * (n + 1))
    if rank < 1:
        needed = math.ceil(1 / allowed) - 1
        raise UsageError(
            f"{n} harmless trials cannot promise {allowed:g} per trial; at least {needed} are needed"
        )
    return Calibration(sorted(least_kappas)[rank - 1], n, allowed, rank / (n + 1))
