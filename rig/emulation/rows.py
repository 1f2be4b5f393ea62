"""What a stretch of an emulated bench is made of: a plan's rows, guards, a trace, and readings as a device has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from rig.core.channel import ByteArray, FloatArray, IntArray, Layout, Quality, Snapshot, Trace
from rig.core.command import Actuator, Plan
from rig.core.errors import RigFault, UsageError
from rig.core.watch import Guard


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
