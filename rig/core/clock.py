"""Time: the only file that may ask the machine what time it is.

Every trial has one monotonic clock in integer nanoseconds from trial start. Simulated benches
run on a `SimClock` that moves only when told to; wall time appears once, in the manifest.
"""

import time
from datetime import UTC, datetime
from typing import Protocol

NS_PER_S = 1_000_000_000


def seconds(t_ns: int) -> float:
    """Return nanoseconds as seconds."""
    return t_ns / NS_PER_S


def nanoseconds(t_s: float) -> int:
    """Return seconds as integer nanoseconds, rounded to the nearest."""
    return round(t_s * NS_PER_S)


def clock_text(t_ns: int) -> str:
    """Return trial time as h:mm:ss.mmm.

    >>> clock_text(3_723_004_000_000)
    '1:02:03.004'
    """
    ms = t_ns // 1_000_000
    return f"{ms // 3_600_000}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


class Clock(Protocol):
    """Where a trial gets its time from."""

    def now_ns(self) -> int:
        """Return nanoseconds since trial start; never decreases."""
        ...

    def sleep_until(self, t_ns: int) -> None:
        """Return when the clock has reached ``t_ns``; at once if it already has."""
        ...


class SimClock:
    """A clock that moves only when asked to: simulated time costs no waiting."""

    def __init__(self, t_ns: int = 0) -> None:
        self._t_ns = t_ns

    def now_ns(self) -> int:
        """Return the simulated time."""
        return self._t_ns

    def sleep_until(self, t_ns: int) -> None:
        """Move the simulated time forward to ``t_ns`` (never back)."""
        self._t_ns = max(self._t_ns, t_ns)


class MonotonicClock:
    """Real time since construction, unaffected by steps of the wall clock."""

    def __init__(self) -> None:
        self._start_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        """Return nanoseconds of real time since construction."""
        return time.monotonic_ns() - self._start_ns

    def sleep_until(self, t_ns: int) -> None:
        """Sleep until ``t_ns`` has passed."""
        while (left_ns := t_ns - self.now_ns()) > 0:
            time.sleep(left_ns / NS_PER_S)


def monotonic_ns() -> int:
    """Return the machine's monotonic time, the same for every process on it since it started."""
    return time.monotonic_ns()


def wall_utc() -> datetime:
    """Return the wall-clock time in UTC, for manifests and reports only."""
    return datetime.now(UTC)
