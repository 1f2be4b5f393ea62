"""A wire that misbehaves to order, one direction of it: seeded, without a port or a clock.

Every fault happens with its own probability, counted in `FaultyWire.done`, so that a test can tell
that what it claims to survive did occur.
"""

import heapq
from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np

from rig.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFaults:
    """Probabilities of each fault, per frame (``garble``: per byte), and the delays in seconds.

    Attributes:
        drop: The frame never arrives.
        garble: A byte changes.
        duplicate: The frame arrives twice.
        delay: The frame arrives up to ``delay_s`` late, those behind it do not: so they change order.
        split: The frame arrives in two pieces, up to ``split_s`` apart.
        latency_s: What every frame takes.
    """

    drop: float = 0.0
    garble: float = 0.0
    duplicate: float = 0.0
    delay: float = 0.0
    split: float = 0.0
    delay_s: float = 0.05
    split_s: float = 0.002
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            limit = np.inf if name.endswith("_s") else 1.0
            if not 0 <= value <= limit:
                raise UsageError(f"wire fault {name}: {value} must be from 0 to {limit}")


class FaultyWire:
    """Carries bytes one way with faults."""

    def __init__(self, faults: WireFaults, rng: np.random.Generator) -> None:
        self.faults = faults
        self.done: Counter[str] = Counter()
        self.cut = False
        self._rng = rng
        self._order = 0
        self._waiting: list[tuple[int, int, bytes]] = []
        self._part = b""

    def put(self, data: bytes, now_ns: int) -> None:
        """Send bytes in."""
        *whole, self._part = (self._part + data).split(b"\0")
        for body in whole:
            if body:
                self._carry(b"\0" + body + b"\0", now_ns)

    def take(self, now_ns: int) -> bytes:
        """Return the bytes that have arrived by ``now_ns``."""
        out = []
        while self._waiting and self._waiting[0][0] <= now_ns:
            out.append(heapq.heappop(self._waiting)[2])
        return b"".join(out)

    def _happens(self, name: str, probability: float) -> bool:
        if self._rng.random() >= probability:
            return False
        self.done[name] += 1
        return True

    def _carry(self, frame: bytes, now_ns: int) -> None:
        f = self.faults
        if self.cut or self._happens("drop", f.drop):
            return
        due_ns = now_ns + round(f.latency_s * 1e9)
        for _ in range(2 if self._happens("duplicate", f.duplicate) else 1):
            late_ns = 0
            if self._happens("delay", f.delay):
                late_ns = round(self._rng.random() * f.delay_s * 1e9)
            self._arrive(self._garbled(frame), due_ns + late_ns)

    def _garbled(self, frame: bytes) -> bytes:
        hit = np.flatnonzero(self._rng.random(len(frame)) < self.faults.garble)
        if not len(hit):
            return frame
        self.done["garble"] += len(hit)
        changed = bytearray(frame)
        for i in hit:
            changed[i] ^= int(self._rng.integers(1, 256))
        return bytes(changed)

    def _arrive(self, frame: bytes, due_ns: int) -> None:
        pieces = [(due_ns, frame)]
        if self._happens("split", self.faults.split):
            at = int(self._rng.integers(1, len(frame)))
            later_ns = due_ns + round(self._rng.random() * self.faults.split_s * 1e9)
            pieces = [(due_ns, frame[:at]), (later_ns, frame[at:])]
        for t_ns, piece in pieces:
            self._order += 1
            heapq.heappush(self._waiting, (t_ns, self._order, piece))


class FaultyWires:
    """Both directions of one wire, for the end that the host holds; faults and cut may change any time."""

    def __init__(self, rng: np.random.Generator, faults: WireFaults | None = None) -> None:
        self.to_node, self.to_host = (FaultyWire(faults or WireFaults(), r) for r in rng.spawn(2))

    def set(self, faults: WireFaults, *, cut: bool = False) -> None:
        """Let this be wrong from now on."""
        for wire in (self.to_node, self.to_host):
            wire.faults, wire.cut = faults, cut

    def outbound(self, data: bytes, now_ns: int) -> bytes:
        """Return what reaches the node now, of what is sent now and what was under way."""
        self.to_node.put(data, now_ns)
        return self.to_node.take(now_ns)

    def inbound(self, data: bytes, now_ns: int) -> bytes:
        """Return what reaches the host now."""
        self.to_host.put(data, now_ns)
        return self.to_host.take(now_ns)
