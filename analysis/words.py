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


SHOWN_BEYOND = 10.0  # times the longest tested duration, and that part of the shortest


def clamped(seconds: float, shortest_s: float, longest_s: float) -> str:
    """Return a duration in words, saying no more of one far outside the tested ones than that it is.

    >>> clamped(1e9, 60, 3600), clamped(60.0, 60, 3600), clamped(0.0, 60, 3600)
    ('> 10 h', '60 s', '< 6 s')
    """
    low, high = shortest_s / SHOWN_BEYOND, longest_s * SHOWN_BEYOND
    if seconds < low:
        return f"< {duration(low)}"
    return f"> {duration(high)}" if seconds > high else duration(seconds)


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
