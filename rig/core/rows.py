"""Stretches of a bench on wires: a plan's rows sent tick by tick, guards, a trace, and readings as devices have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from rig.core.backend import Stop, Stretch
from rig.core.channel import ByteArray, FloatArray, IntArray, Layout, Quality, Snapshot, Trace
from rig.core.command import Actuator, Command, Plan
from rig.core.errors import RigFault, UsageError
from rig.core.watch import Guard, Watch

LEASE_NS = 500_000_000
SHORTEST_LEASE_NS = 400_000_000
RENEW_NS = 100_000_000
"""Leases of what is sent, none longer than a heartbeat may be missing under QEMU; what does not change is sent again long
before its lease ends. A shorter lease than the shortest could end on the way on a busy machine."""


class Ticking(Protocol):
    """A bench on wires that goes on by ticks."""

    @property
    def layout(self) -> Layout:
        """Every channel."""
        ...

    @property
    def actuators(self) -> Sequence[Actuator]:
        """Every quantity that can be set."""
        ...

    @property
    def now_ns(self) -> int:
        """Trial time of the last tick."""
        ...

    def tick(self, t_ns: int, setpoints: FloatArray, expires_ns: int) -> Snapshot:
        """Send setpoints, let the time reach ``t_ns``, and return what is measured then."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """Room for a trace, filled row by row."""

    t_ns: IntArray
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray

    @classmethod
    def of(cls, n: int, channels: int) -> Self:
        """Return room for ``n`` rows."""
        shape = (n, channels)
        return cls(
            np.empty(n, np.int64), np.empty(shape), np.empty(shape, np.int64), np.empty(shape, np.uint8)
        )

    def put(self, k: int, s: Snapshot) -> None:
        """Make a snapshot row ``k``."""
        self.t_ns[k] = s.t_ns
        self.values[k], self.sampled_ns[k], self.quality[k] = s.values, s.sampled_ns, s.quality

    def trace(self, layout: Layout, n: int) -> Trace:
        """Return the first ``n`` rows."""
        return Trace(layout, self.t_ns, self.values, self.sampled_ns, self.quality).head(n)


def check_plan(plan: Plan, actuators: Sequence[Actuator], now_ns: int, tick_ns: int) -> None:
    """Refuse a plan of which any row could not be run.

    Raises:
        RigFault: If a setpoint or the lease is not allowed.
        UsageError: If the plan is for another time or other actuators.
    """
    if [a.name for a in plan.actuators] != [a.name for a in actuators]:
        raise UsageError("the plan is for other actuators than the bench has")
    if plan.start_ns != now_ns:
        raise UsageError(f"the plan starts at {plan.start_ns} ns; it is {now_ns} ns")
    if plan.period_ns < tick_ns:
        raise UsageError(f"period {plan.period_ns} ns is shorter than the tick, {tick_ns} ns")
    if len(plan) and plan.time_ns(len(plan) - 1) > plan.expires_ns:
        raise RigFault("the plan's last row is later than its lease")
    low, high = (np.array([getattr(a, end) for a in actuators]) for end in ("low", "high"))
    inside = (plan.setpoints >= low) & (plan.setpoints <= high)  # False for NaN
    if not np.all(inside):
        k, i = (int(x) for x in np.argwhere(~inside)[0])
        a = actuators[i]
        raise RigFault(
            f"row {k}: {a.name} {plan.setpoints[k, i]} is not within {a.low} to {a.high} {a.unit}; nothing was run"
        )


def holds(guard: Guard, snapshot: Snapshot, i: int) -> bool:
    """Return whether a guard on column ``i`` holds: a reading that is not good counts as yes."""
    good = snapshot.quality[i] == Quality.GOOD and np.isfinite(snapshot.values[i])
    return not (good and guard.below < snapshot.values[i] < guard.above)


def sensed(world: Snapshot, columns: IntArray) -> FloatArray:
    """Return what a device's sensors at these columns measure, shape (columns,); NaN where one is silent."""
    values = world.values[columns].copy()
    quality = world.quality[columns]
    values[(quality == Quality.FAULT) | (quality == Quality.STALE)] = np.nan
    return values


def run(bench: Ticking, tick_ns: int, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
    """Run a plan's rows until it ends, a guard holds, or the watch asks for attention.

    Raises:
        RigFault: If a setpoint or the lease is not allowed, or a device is SAFE or out of reach.
        UsageError: If the plan is for another time or other actuators.
    """
    check_plan(plan, bench.actuators, bench.now_ns, tick_ns)
    rows = Rows.of(len(plan), len(bench.layout))
    columns = [(bench.layout.index(g.channel), g) for g in guards]
    for k in range(len(plan)):
        snapshot, attention = _row(bench, tick_ns, plan, k, watch)
        rows.put(k, snapshot)
        held = any(holds(g, snapshot, i) for i, g in columns)
        if attention or held:
            return Stretch(rows.trace(bench.layout, k + 1), Stop.WATCH if attention else Stop.GUARD)
    return Stretch(rows.trace(bench.layout, len(plan)), Stop.END)


def _row(bench: Ticking, tick_ns: int, plan: Plan, k: int, watch: Watch) -> tuple[Snapshot, bool]:
    """Let one row's time pass, tick by tick; return the last snapshot and whether the watch asks for attention."""
    setpoints, end_ns = plan.setpoints[k].copy(), plan.time_ns(k) + plan.period_ns
    while True:
        t_ns = min(end_ns, bench.now_ns + tick_ns)
        s = bench.tick(t_ns, setpoints, plan.expires_ns)
        asks = watch.kernel(t_ns, s.values, s.sampled_ns, s.quality, watch.floats, watch.integers) != 0
        if asks or t_ns >= end_ns:
            return s, asks


class Sending:
    """What was sent last, and when: what does not change is sent again before its lease ends."""

    def __init__(self) -> None:
        self._sent: FloatArray | None = None
        self._sent_ns = 0

    def due(self, setpoints: FloatArray, now_ns: int) -> bool:
        """Return whether setpoints are to be sent now."""
        same = self._sent is not None and np.array_equal(self._sent, setpoints)
        return not same or now_ns - self._sent_ns >= RENEW_NS

    def sent(self, setpoints: FloatArray, now_ns: int) -> None:
        """Keep that they were."""
        self._sent, self._sent_ns = setpoints.copy(), now_ns

    @staticmethod
    def lease_ns(left_ns: int | None) -> int:
        """Return for how long what is sent holds, given what is left of the plan's own lease."""
        return LEASE_NS if left_ns is None else min(LEASE_NS, max(left_ns, SHORTEST_LEASE_NS))


def aged(last: Snapshot, t_ns: int) -> Snapshot:
    """Return readings as they look at ``t_ns``, when some have become stale.

    Raises:
        UsageError: If that time has passed.
    """
    if t_ns < last.t_ns:
        raise UsageError(f"{t_ns} ns has passed; it is {last.t_ns} ns")
    stale_ns = np.array([round(c.stale_after_s * 1e9) for c in last.layout])
    old = (t_ns - last.sampled_ns >= stale_ns) & (last.quality == Quality.GOOD)
    quality = np.where(old, np.uint8(Quality.STALE), last.quality)
    return Snapshot(last.layout, t_ns, last.values.copy(), last.sampled_ns.copy(), quality)


class Readings:
    """Every channel at a moment, filled by the devices."""

    def __init__(self, world: Snapshot) -> None:
        self.values: FloatArray = world.values.copy()
        self.sampled_ns: IntArray = world.sampled_ns.copy()
        self.quality: ByteArray = world.quality.copy()

    def put(self, columns: IntArray, values: FloatArray, sampled_ns: IntArray, quality: ByteArray) -> None:
        """Put a device's readings in these columns; times are of the trial."""
        self.values[columns], self.sampled_ns[columns], self.quality[columns] = values, sampled_ns, quality

    def snapshot(self, layout: Layout, t_ns: int) -> Snapshot:
        """Return them as seen at ``t_ns``; nothing is sampled before the trial or after now."""
        return Snapshot(layout, t_ns, self.values, np.clip(self.sampled_ns, 0, t_ns), self.quality)


def positions_within(
    driven: Mapping[str, float], actuators: Sequence[Actuator], else_at: FloatArray, t_ns: int
) -> list[Command]:
    """Return the commands that bring the world to where the devices drive it."""
    return [
        Command(a.name, min(max(driven.get(a.name, float(v)), a.low), a.high), t_ns)
        for a, v in zip(actuators, else_at, strict=True)
    ]
