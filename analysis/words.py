"""Numbers in the words people read."""

import math


def duration(seconds: float) -> str:
    """Return a duration with two or three significant digits and the unit a person would choose.

    >>> [duration(s) for s in (0.5, 42, 600, 5025, 9 * 3600, 123456, math.inf, 0)]
    ['0.5 s', '42 s', '10 min', '83.8 min', '9 h', '34.3 h', 'unbounded', '0 s']
    """
    if math.isnan(seconds):
        return "unknown"
    if math.isinf(seconds):
        return "unbounded"
    if seconds < 90:
        return f"{seconds:.3g} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.3g} min"
    if seconds < 1000 * 3600:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds / 3600:,.0f} h" if seconds < 3.6e10 else f"{seconds / 3600:.1e} h"


def span(low: str, high: str) -> str:
    """Return a range of two durations in words, with the unit once where both have it.

    >>> span("25 min", "60 min"), span("60 s", "2 h"), span("5 min", "5 min")
    ('25–60 min', '60 s to 2 h', '5 min')
    """
    if low == high:
        return low
    value, _, unit = low.rpartition(" ")
    return f"{value}–{high}" if value and high.endswith(f" {unit}") else f"{low} to {high}"


def percent(rate: float) -> str:
    """Return a probability as a percentage.

    >>> percent(0.0951), percent(1.0), percent(0.00498)
    ('9.5 %', '100 %', '0.50 %')
    """
    value = 100 * rate
    if value in (0.0, 100.0) or value >= 99.95:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 1 else f"{value:.2f} %"
