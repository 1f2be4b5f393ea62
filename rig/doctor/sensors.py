"""Can the channels be believed? Pure functions from a trace to checks."""

import numpy as np

from rig.core.channel import Quality, Trace
from rig.doctor.report import Check, judged, listed

ENOUGH = 20
"""Distinct samples from which silence of a noisy sensor means that it is stuck."""
NOISY = 0.5
"""Noise below this share of the resolution may not show: such a sensor cannot be told stuck by it."""


def plausible(trace: Trace, sensors: tuple[str, ...]) -> Check:
    """Return whether the newest reading of every sensor is fresh, finite and within its range."""
    newest = trace.row(len(trace) - 1)
    bad = [f"{name} ({newest[name].quality.name.lower()})" for name in sensors if not newest[name].good]
    return judged(
        "plausible", "Every channel fresh and in range", not bad, f"{len(sensors) - len(bad)} of {len(sensors)} good"
        + (f"; not: {listed(bad)}" if bad else ""), "all", "check cable, power and mounting of what is named",
    )  # fmt: skip


def stuck(trace: Trace, sensors: tuple[str, ...]) -> Check:
    """Return whether every sensor that has noise shows some: one that shows none is frozen."""
    told, frozen = 0, []
    for name in sensors:
        channel, i = trace.layout[name], trace.layout.index(name)
        if channel.noise < NOISY * channel.resolution or channel.noise == 0.0:
            continue
        fresh = np.flatnonzero(np.diff(trace.sampled_ns[:, i], prepend=-1) > 0)
        fresh = fresh[trace.quality[fresh, i] == Quality.GOOD]
        if len(fresh) < ENOUGH:
            continue
        told += 1
        values = trace.values[fresh, i]
        if np.ptp(values) == 0.0 and channel.low < values[0] < channel.high:
            frozen.append(name)
    return judged(
        "stuck", "No sensor frozen", told > 0 and not frozen, f"{told} noisy channels watched"
        + (f"; frozen: {listed(frozen)}" if frozen else ", all alive" if told else ""),
        f"noise in at least {ENOUGH} samples of each", "power the sensor off and on; if it stays frozen, replace it",
    )  # fmt: skip


def weighed(measured_n: float, mass_kg: float, tolerance_n: float) -> Check:
    """Return whether a known mass weighs what it should (standard gravity)."""
    expected_n = mass_kg * 9.80665
    error_n = abs(measured_n - expected_n)
    return judged(
        "known_mass", "A known mass weighs what it should", error_n <= tolerance_n,
        f"{mass_kg * 1000:.0f} g read as {measured_n:.2f} N", f"{expected_n:.2f} N within {tolerance_n:.2f} N",
        "tare the force sensor with nothing on the spoon; if it stays wrong, calibrate it", float(measured_n),
    )  # fmt: skip
