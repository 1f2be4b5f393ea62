"""What skills are made of: phases of setpoints with guards, and where everything stands when one begins.

A phase is rows of setpoints with the skill's own guards; the rig runs phase after phase until one is
cut short.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray
from rig.core.command import actuator_index
from rig.core.errors import UsageError
from rig.core.watch import Guard
from rig.kinematics import JOINTS, Kinematics, Pose, Posture

BED_TICK_NS = 100_000_000
ALL = float("inf")


@dataclass(frozen=True, slots=True)
class Phase:
    """Consecutive rows of setpoints for every actuator.

    Attributes:
        rows: Shape (n, a).
        period_ns: Time between rows.
        guards: Any of them ends the skill.
        until: Any of them ends only this phase, as intended.
    """

    rows: FloatArray
    period_ns: int
    guards: tuple[Guard, ...] = ()
    until: tuple[Guard, ...] = ()

    def finer(self, before: FloatArray, period_ns: int) -> "Phase":
        """Return the same motion in shorter ticks, on a straight line between its rows.

        Args:
            before: Setpoints the first row follows, shape (a,).
            period_ns: A divisor of the phase's own period.
        """
        times = self.period_ns // period_ns
        shares = np.arange(1, times + 1)[None, :, None] / times
        starts = np.concatenate([before[None, :], self.rows[:-1]])[:, None, :]
        rows = starts + shares * (self.rows[:, None, :] - starts)
        rows[:, -1, :] = self.rows  # exactly, whatever rounding does
        return replace(self, rows=rows.reshape(-1, self.rows.shape[1]), period_ns=period_ns)


@dataclass(frozen=True, slots=True)
class Skill:
    """Phases, and what the rules are told of the intent before and while they run."""

    phases: tuple[Phase, ...]
    intents: Mapping[str, float] = field(default_factory=dict)
    retreats: bool = False  # leads away from the person: allowed while the interlock holds
    undo: float = 0.0  # how far a retreat goes back the way it came, in the moving actuator's unit
    lifts: bool = False  # a guard that ends it means: off the skin, at once


@dataclass(frozen=True, slots=True)
class Here:
    """Where everything stands when a skill begins.

    Attributes:
        setpoints: Setpoints in force, shape (a,).
        posture: How the person lies or sits, as last seen; places on the skin move with it.
        bench: The bench.
        kinematics: Of the bench's arm, None where it has none.
    """

    setpoints: FloatArray
    posture: Posture
    bench: BenchSpec
    kinematics: Kinematics | None

    def after(self, phases: Sequence[Phase]) -> "Here":
        """Return where everything stands after these phases."""
        return replace(self, setpoints=phases[-1].rows[-1]) if phases else self

    @property
    def arm(self) -> Kinematics:
        """The arm.

        Raises:
            UsageError: If the bench has none.
        """
        if self.kinematics is None:
            raise UsageError(f"bench {self.bench.name} has no arm")
        return self.kinematics

    def setpoint(self, actuator: str) -> float:
        """Return the setpoint of an actuator.

        Raises:
            UsageError: If there is no such actuator; the message lists those there are.
        """
        return float(self.setpoints[actuator_index(self.bench.actuators, actuator)])

    def intents(self, **values: float) -> dict[str, float]:
        """Return intents by channel (``mouth`` is ``intent.mouth``), those the bench has."""
        named = {f"intent.{name}": value for name, value in values.items()}
        return {name: value for name, value in named.items() if name in self.bench.intents}

    @property
    def joints(self) -> FloatArray:
        """The arm's joint angles, shape (6,)."""
        return self.setpoints[joint_columns(self.bench)]

    def place(self, name: str) -> Pose:
        """Return a named place as the person is now.

        Raises:
            UsageError: If there is no such place; the message lists those there are.
        """
        return self.arm.place(name, self.posture)

    def skin(self) -> FloatArray:
        """Return the places on the person's skin, shape (n, 3), m."""
        return np.array([self.place(name).position for name in self.arm.contacts]).reshape(-1, 3)


def joint_columns(bench: BenchSpec) -> list[int]:
    """Return the columns of the arm's joints among a bench's actuators."""
    return [actuator_index(bench.actuators, name) for name in JOINTS]
