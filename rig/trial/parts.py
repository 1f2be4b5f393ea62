"""What a rig is put together from, and the few words its parts share."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rig.core.backend import StretchBackend
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot, Trace
from rig.core.event import Event
from rig.core.person import Person
from rig.core.record import Image
from rig.kinematics import Kinematics
from rig.trial.sight import Sight
from safety_monitor.gate import Envelope
from safety_monitor.monitor import Monitor


class Mode(StrEnum):
    """What the monitor's verdicts do: are recorded, or are enforced."""

    SHADOW = "shadow"
    GUARD = "guard"


class Why(StrEnum):
    """Why an advance came to its end."""

    END = "end"
    GUARD = "guard"
    MONITOR = "monitor"
    GATE = "gate"
    TIME = "time"
    SUPERSEDED = "superseded"  # the agent called stop, or for help, meanwhile


class Recorder(Protocol):
    """The part of a record writer the rig needs."""

    def append(self, event: Event) -> int:
        """Make an event durable."""
        ...

    def telemetry(self, trace: Trace) -> None:
        """Take dense rows."""
        ...

    def image(self, image: Image) -> bool:
        """Take a camera frame; return False if it was dropped."""
        ...


class Manikin(StretchBackend, Protocol):
    """A stretch backend with a scripted body and the controller's intents."""

    def set_body(self, values: Mapping[str, float]) -> None:
        """Set what the person does."""
        ...

    def set_intent(self, values: Mapping[str, float]) -> None:
        """Tell the rules what the controller is about to do."""
        ...

    def why_not_slow(self) -> str | None:
        """Return why the world may not be run in long ticks now, None when it may."""
        ...

    def place(
        self,
        *,
        actuators: Mapping[str, float] | None = None,
        body: Mapping[str, float] | None = None,
        hidden: Mapping[str, float] | None = None,
    ) -> Snapshot:
        """Start at time zero with everything at rest at these values."""
        ...

    @property
    def starts(self) -> tuple[str, ...]:
        """What a start may name beside actuators and body inputs."""
        ...

    @property
    def setpoints(self) -> FloatArray:
        """The setpoints in force."""
        ...


@dataclass(slots=True)
class Parts:
    """What a rig is put together from."""

    bench: BenchSpec
    backend: Manikin
    person: Person
    monitor: Monitor
    envelope: Envelope
    arm: Kinematics | None
    recorder: Recorder
    mode: Mode
    slow_tick_ns: int
    limit_ns: int
    observes: tuple[str, ...]
    tools: tuple[str, ...]
    sight: Sight | None = None
