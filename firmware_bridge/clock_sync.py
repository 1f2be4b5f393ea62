"""Between the node's clock and the host's: four time stamps, the best of each second, a line through them.

The exchange with the shortest round trip of a second was queued least, so it says most about the
offset; half its round trip bounds what the path's asymmetry can hide (NTP, RFC 5905 section 8).
"""

import math
from dataclasses import dataclass

WINDOW_NS = 1_000_000_000
KEPT = 32
DECAY = 0.93
"""Weight of a window against the next younger one: a half-life of about ten seconds."""
DRIFT_PRIOR = 0.01
"""No clock of a node is off by more: a crystal has 1e-4, a resistor-capacitor oscillator 1e-2."""
OUTLIER_SIGMAS = 5.0
FLOOR_NS = 1_000.0  # the node's clock counts microseconds


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange: host sends, node receives, node sends, host receives."""

    host_sent_ns: int
    node_received_us: int
    node_sent_us: int
    host_received_ns: int

    @property
    def round_trip_ns(self) -> int:
        """Time on the wire both ways."""
        return self.host_received_ns - self.host_sent_ns - 1000 * (self.node_sent_us - self.node_received_us)

    @property
    def node_ns(self) -> float:
        """The node's time at the middle of the exchange."""
        return 500.0 * (self.node_received_us + self.node_sent_us)

    @property
    def offset_ns(self) -> float:
        """Host minus node at the middle of the exchange."""
        return (self.host_sent_ns + self.host_received_ns) / 2 - self.node_ns


@dataclass(frozen=True, slots=True)
class ClockMap:
    """A line from node time to host time, and how wrong it may be.

    Attributes:
        origin_ns: Node time about which the line is written.
        offset_ns: Host minus node at the origin.
        drift: Host nanoseconds gained on the node for each nanosecond.
        uncertainty_ns: Half the best round trip plus the spread about the line.
    """

    origin_ns: float
    offset_ns: float
    drift: float
    uncertainty_ns: float

    def host_ns(self, node_us: int) -> int:
        """Return host time of a node time."""
        node_ns = 1000.0 * node_us
        return round(node_ns + self.offset_ns + self.drift * (node_ns - self.origin_ns))

    def node_us(self, host_ns: int) -> int:
        """Return node time of a host time, rounded down."""
        above = host_ns - self.offset_ns - self.origin_ns
        return math.floor((self.origin_ns + above / (1 + self.drift)) / 1000)


class ClockSync:
    """Collects exchanges; `clock` is the newest map, None before the first exchange."""

    def __init__(self) -> None:
        self.raw: list[Exchange] = []
        self.rejected = 0
        self.clock: ClockMap | None = None
        self._best: list[Exchange] = []

    def add(self, exchange: Exchange) -> None:
        """Take an exchange in; one whose times run backwards is counted and not used."""
        self.raw.append(exchange)
        if exchange.round_trip_ns < 0 or self._outlier(exchange):
            self.rejected += 1
            return
        newest = self._best[-1] if self._best else None
        if newest is None or exchange.host_sent_ns // WINDOW_NS != newest.host_sent_ns // WINDOW_NS:
            self._best = [*self._best[1 - KEPT :], exchange]
        elif exchange.round_trip_ns < newest.round_trip_ns:
            self._best[-1] = exchange
        self.clock = fit(self._best)

    def _outlier(self, exchange: Exchange) -> bool:
        if self.clock is None or len(self._best) < 3:
            return False
        expected = self.clock.host_ns(round(exchange.node_ns / 1000)) - exchange.node_ns
        allowed = OUTLIER_SIGMAS * self.clock.uncertainty_ns + exchange.round_trip_ns / 2
        return abs(exchange.offset_ns - expected) > allowed


def fit(exchanges: list[Exchange]) -> ClockMap:
    """Return the line through exchanges, younger ones counting more; one gives an offset alone."""
    n = len(exchanges)
    weights = [DECAY ** (n - 1 - i) for i in range(n)]
    total = sum(weights)
    origin = sum(w * e.node_ns for w, e in zip(weights, exchanges, strict=True)) / total
    offset = sum(w * e.offset_ns for w, e in zip(weights, exchanges, strict=True)) / total
    across = [(w, e.node_ns - origin, e.offset_ns - offset) for w, e in zip(weights, exchanges, strict=True)]
    spread = sum(w * x * x for w, x, _ in across)
    # Two far-off exchanges a second apart look like a drift of per cents: a drift is believed as far as the
    # exchanges' own doubt, half their round trips, allows (a ridge with `DRIFT_PRIOR` as its scale).
    doubt = sum(w * e.round_trip_ns for w, e in zip(weights, exchanges, strict=True)) / total / 2
    ridge = (doubt / DRIFT_PRIOR) ** 2
    drift = sum(w * x * y for w, x, y in across) / (spread + ridge) if n > 1 and spread > 0 else 0.0
    residual = math.sqrt(sum(w * (y - drift * x) ** 2 for w, x, y in across) / total)
    half = min(e.round_trip_ns for e in exchanges) / 2
    return ClockMap(origin, offset, drift, half + residual + FLOOR_NS)
