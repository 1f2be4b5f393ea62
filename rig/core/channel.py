"""Channels and what is measured on them: readings, snapshots and traces.

A snapshot is every channel at one tick; a trace is many ticks as arrays. Both carry, beside
the value, when each value was sampled and whether it can be believed: staleness is data.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

from rig.core.errors import UsageError, unknown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ByteArray = NDArray[np.uint8]


class Quality(IntEnum):
    """Whether a reading can be believed, worst last."""

    GOOD = 0
    STALE = 1
    OUT_OF_RANGE = 2
    FAULT = 3


class Audience(StrEnum):
    """Who may see a channel: the separation between agent, monitor and oracle is in the data."""

    AGENT = "agent"  # the agent's and everybody else's
    MONITOR = "monitor"  # the monitor's own sensors; not shown to the agent
    ORACLE = "oracle"  # fixture and ground truth; shown to neither agent nor monitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One named quantity.

    Attributes:
        name: Dotted name, for example ``spoon.force``.
        unit: SI unit symbol of every value on the channel (``degC`` for temperature, ``1`` for none).
        low: Smallest value the sensor can report, inclusive.
        high: Largest value the sensor can report, inclusive.
        period_s: Seconds between two samples.
        stale_after_s: Age in seconds from which a value is stale.
        audience: Who may see it.
        resolution: Smallest step of the value in its unit; 0 for continuous.
        noise: Standard deviation of the sensor's noise, in the unit.
        latency_s: Seconds between the world and the sample that shows it.
        text: What it measures, in words for people.
    """

    name: str
    unit: str
    low: float
    high: float
    period_s: float
    stale_after_s: float
    audience: Audience = Audience.AGENT
    resolution: float = 0.0
    noise: float = 0.0
    latency_s: float = 0.0
    text: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high:  # also refuses NaN
            raise UsageError(
                f"channel {self.name}: low {self.low} must be below high {self.high} {self.unit}"
            )
        if not 0 < self.period_s <= self.stale_after_s:
            raise UsageError(
                f"channel {self.name}: period {self.period_s} s must be positive and at most "
                f"the age limit {self.stale_after_s} s"
            )
        if not (self.resolution >= 0 and self.noise >= 0 and self.latency_s >= 0):
            raise UsageError(f"channel {self.name}: resolution, noise and latency must not be negative")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value in the channel's unit, when it was sampled, and whether it can be believed."""

    value: float
    t_ns: int
    quality: Quality

    @property
    def good(self) -> bool:
        """True when the value may be acted on."""
        return self.quality is Quality.GOOD and math.isfinite(self.value)


class Layout:
    """An ordered, immutable set of channels; gives each its column."""

    __slots__ = ("_index", "channels", "names")

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.names = tuple(c.name for c in self.channels)
        self._index = {name: i for i, name in enumerate(self.names)}
        if len(self._index) != len(self.channels):
            twice = sorted({n for n in self.names if self.names.count(n) > 1})
            raise UsageError(f"channels named twice: {', '.join(twice)}")

    def __len__(self) -> int:
        return len(self.channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.channels == other.channels

    def __hash__(self) -> int:
        return hash(self.channels)

    def __getitem__(self, name: str) -> Channel:
        return self.channels[self.index(name)]

    def index(self, name: str) -> int:
        """Return the column of ``name``.

        Raises:
            UsageError: If there is no such channel; the message lists those there are.
        """
        try:
            return self._index[name]
        except KeyError:
            raise unknown("channel", name, self.names) from None

    def seen_by(self, *audiences: Audience) -> tuple[str, ...]:
        """Return the names of the channels these audiences may see."""
        return tuple(c.name for c in self.channels if c.audience in audiences)

    def digest(self) -> str:
        """Return a SHA-256 over every attribute of every channel, in order."""
        text = json.dumps([asdict(c) for c in self.channels], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every channel at one tick, ground truth included; never handed to an agent.

    Attributes:
        layout: The channels, c of them.
        t_ns: Trial time of the tick.
        values: Shape (c,), each in its channel's unit.
        sampled_ns: Shape (c,), trial time at which each value was sampled.
        quality: Shape (c,), `Quality` codes.
    """

    layout: Layout
    t_ns: int
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray

    def __getitem__(self, name: str) -> Reading:
        i = self.layout.index(name)
        return Reading(float(self.values[i]), int(self.sampled_ns[i]), Quality(int(self.quality[i])))

    def value(self, name: str) -> float:
        """Return the value on ``name``, NaN unless it is good."""
        reading = self[name]
        return reading.value if reading.good else math.nan


@dataclass(frozen=True, slots=True)
class Trace:
    """Consecutive ticks of one layout, as arrays.

    Attributes:
        layout: The channels, c of them.
        t_ns: Shape (n,), strictly increasing trial time of each tick.
        values: Shape (n, c).
        sampled_ns: Shape (n, c).
        quality: Shape (n, c), `Quality` codes.
    """

    layout: Layout
    t_ns: IntArray
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray

    def __len__(self) -> int:
        return len(self.t_ns)

    def column(self, name: str) -> FloatArray:
        """Return the values of one channel, shape (n,); NaN where the reading is not good."""
        i = self.layout.index(name)
        values: FloatArray = np.where(self.quality[:, i] == Quality.GOOD, self.values[:, i], np.nan)
        return values

    def row(self, k: int) -> Snapshot:
        """Return tick ``k`` as a snapshot (a copy: later ticks do not change it)."""
        return Snapshot(
            self.layout,
            int(self.t_ns[k]),
            self.values[k].copy(),
            self.sampled_ns[k].copy(),
            self.quality[k].copy(),
        )

    def head(self, n: int) -> "Trace":
        """Return the first ``n`` ticks."""
        return Trace(self.layout, self.t_ns[:n], self.values[:n], self.sampled_ns[:n], self.quality[:n])


def joined(traces: Sequence[Trace], layout: Layout) -> Trace:
    """Return traces of one layout put end to end."""
    c = len(layout)
    if not traces:
        return Trace(
            layout,
            np.empty(0, np.int64),
            np.empty((0, c)),
            np.empty((0, c), np.int64),
            np.empty((0, c), np.uint8),
        )
    return Trace(
        layout,
        np.concatenate([t.t_ns for t in traces]),
        np.concatenate([t.values for t in traces]),
        np.concatenate([t.sampled_ns for t in traces]),
        np.concatenate([t.quality for t in traces]),
    )
