"""A bench's devices behind one door, simulated, emulated or physical alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from rig.core.channel import Layout, Snapshot, Trace
from rig.core.command import Actuator, Command, Plan
from rig.core.watch import Guard, Watch


class Stop(StrEnum):
    """Why a stretch of ticks ended."""

    END = "end"  # the plan is used up
    GUARD = "guard"  # the skill's own guard
    WATCH = "watch"  # the safety monitor wants attention


@dataclass(frozen=True, slots=True)
class Stretch:
    """What happened over consecutive ticks: everything measured, and why it ended."""

    trace: Trace
    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One entry of a device's own log.

    Attributes:
        device: Its name on the bench.
        number: As the device numbers them: one after the other, from 0 again after the greatest.
        what: What happened to it.
        reason: Why, in its words.
        detail: A number that goes with it, e.g. the output that was wrong.
        grave: Whether it stopped moving for safety's sake.
    """

    device: str
    number: int
    what: str
    reason: str
    detail: int
    grave: bool


class Backend(Protocol):
    """A bench's devices; a context manager that leaves them safe on the way out."""

    @property
    def layout(self) -> Layout:
        """Every channel the bench measures."""
        ...

    @property
    def actuators(self) -> Sequence[Actuator]:
        """Every quantity the bench can set."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel as seen at ``t_ns``; never blocks."""
        ...

    def write(self, commands: Iterable[Command]) -> None:
        """Send setpoints that the gate has passed.

        Raises:
            RigFault: If a command is not finite, unknown, out of the hardware's range or expired.
        """
        ...

    def make_safe(self) -> None:
        """Bring every actuator to its safe state; may be called from any state, repeatedly."""
        ...


@runtime_checkable
class StretchBackend(Backend, Protocol):
    """A backend that runs many ticks in one call, on a simulated clock.

    The result must be bit-identical to running the same ticks one by one.
    """

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run the plan's rows until it ends, a guard holds, or the watch asks for attention."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """A backend whose devices keep a log of their own."""

    def reports(self) -> Sequence[Report]:
        """Return what devices have reported since the last call, oldest first."""
        ...
