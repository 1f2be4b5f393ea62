"""What is sent to actuators: setpoints with an expiry, and plans of many setpoints.

A `Command` is one setpoint. A `Plan` is what a skill wants over the next ticks: one row of
setpoints per tick. The gate decides on every row before any of it may reach a backend.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.core.channel import FloatArray
from rig.core.errors import RigFault, UsageError, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Actuator:
    """One quantity that can be set.

    Attributes:
        name: Dotted name, for example ``arm.elbow``.
        unit: SI unit symbol of its setpoint.
        low: Smallest setpoint the hardware takes, inclusive.
        high: Largest setpoint the hardware takes, inclusive.
        rate: Largest change of the setpoint the hardware follows, unit per second.
    """

    name: str
    unit: str
    low: float
    high: float
    rate: float
    text: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high:  # also refuses NaN
            raise UsageError(
                f"actuator {self.name}: low {self.low} must be below high {self.high} {self.unit}"
            )
        if not self.rate > 0:
            raise UsageError(f"actuator {self.name}: rate {self.rate} must be positive")


@dataclass(frozen=True, slots=True)
class Command:
    """A setpoint for one actuator, in its unit, void after ``expires_ns``."""

    actuator: str
    value: float
    expires_ns: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Setpoints for every actuator over consecutive ticks.

    Attributes:
        actuators: The actuators, a of them, in column order.
        start_ns: Trial time of the first row.
        period_ns: Time between two rows.
        setpoints: Shape (n, a), each in its actuator's unit.
        expires_ns: Lease: rows later than this are void.
    """

    actuators: tuple[Actuator, ...]
    start_ns: int
    period_ns: int
    setpoints: FloatArray
    expires_ns: int

    def __len__(self) -> int:
        return len(self.setpoints)

    def time_ns(self, k: int) -> int:
        """Return the trial time of row ``k``."""
        return self.start_ns + k * self.period_ns

    def commands(self, k: int) -> tuple[Command, ...]:
        """Return row ``k`` as commands."""
        return tuple(
            Command(a.name, float(v), self.expires_ns)
            for a, v in zip(self.actuators, self.setpoints[k], strict=True)
        )

    def part(self, start: int, end: int) -> "Plan":
        """Return rows ``start`` to before ``end``, under the same lease."""
        rows = self.setpoints[start:end]
        return Plan(self.actuators, self.time_ns(start), self.period_ns, rows, self.expires_ns)


def steady(
    actuators: Sequence[Actuator], setpoints: FloatArray, start_ns: int, period_ns: int, n: int
) -> Plan:
    """Return a plan that keeps one row of ``setpoints`` for ``n`` ticks, with a lease as long."""
    rows = np.repeat(np.asarray(setpoints, dtype=np.float64)[None, :], n, axis=0)
    return Plan(tuple(actuators), start_ns, period_ns, rows, start_ns + n * period_ns)


def actuator_index(actuators: Sequence[Actuator], name: str) -> int:
    """Return the column of actuator ``name``.

    Raises:
        UsageError: If there is none; the message lists those there are.
    """
    for i, actuator in enumerate(actuators):
        if actuator.name == name:
            return i
    raise unknown("actuator", name, [a.name for a in actuators])


def must_be_fit(commands: Sequence[Command], actuators: Sequence[Actuator], now_ns: int, whose: str) -> None:
    """Refuse all commands if a device may not be sent one of them.

    Args:
        commands: What is to be sent.
        actuators: What can be set.
        now_ns: The time their expiry is against.
        whose: Who has these actuators, for the message: ``node``, ``arm``, ``bench``.

    Raises:
        RigFault: If one is unknown, not finite, out of the hardware's range or expired.
    """
    known = {a.name: a for a in actuators}
    for command in commands:
        a = known.get(command.actuator)
        if a is None:
            raise RigFault(f"unknown actuator {command.actuator!r}; the {whose} has: {', '.join(known)}")
        if not a.low <= command.value <= a.high:  # also refuses NaN
            raise RigFault(
                f"{a.name}: setpoint {command.value} is outside the hardware's {a.low} to {a.high} {a.unit}"
            )
        if command.expires_ns <= now_ns:
            raise RigFault(f"{a.name}: command expired {(now_ns - command.expires_ns) / 1e6:.1f} ms ago")
