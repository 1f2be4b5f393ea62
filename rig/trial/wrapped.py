"""A backend around another one: what it does not do otherwise, it lets through."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from rig.core.backend import Report, Reporting, Stretch
from rig.core.channel import FloatArray, Layout, Snapshot
from rig.core.command import Actuator, Command, Plan
from rig.core.watch import Guard, Watch
from rig.trial.parts import Manikin


class Wrapped:
    """A backend that passes everything on; whoever opened the inner one closes it."""

    def __init__(self, backend: Manikin) -> None:
        self._backend = backend

    @property
    def layout(self) -> Layout:
        """Every channel the bench measures."""
        return self._backend.layout

    @property
    def actuators(self) -> Sequence[Actuator]:
        """Every quantity the bench can set."""
        return self._backend.actuators

    @property
    def setpoints(self) -> FloatArray:
        """The setpoints in force."""
        return self._backend.setpoints

    @property
    def starts(self) -> tuple[str, ...]:
        """What a start may name beside actuators and body inputs."""
        return self._backend.starts

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run a plan."""
        return self._backend.stretch(plan, watch, guards)

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel."""
        return self._backend.read(t_ns)

    def write(self, commands: Iterable[Command]) -> None:
        """Send setpoints that the gate has passed."""
        self._backend.write(commands)

    def make_safe(self) -> None:
        """Bring every actuator to its safe state."""
        self._backend.make_safe()

    def reports(self) -> Sequence[Report]:
        """Return what devices have reported since the last call; nothing where none keeps a log."""
        return self._backend.reports() if isinstance(self._backend, Reporting) else ()

    def set_body(self, values: Mapping[str, float]) -> None:
        """Set what the person does."""
        self._backend.set_body(values)

    def set_intent(self, values: Mapping[str, float]) -> None:
        """Tell the rules what the controller is about to do."""
        self._backend.set_intent(values)

    def place(
        self, *, actuators: Mapping[str, float] | None = None, body: Mapping[str, float] | None = None,
        hidden: Mapping[str, float] | None = None,
    ) -> Snapshot:  # fmt: skip
        """Start at time zero with everything at rest at these values."""
        return self._backend.place(actuators=actuators, body=body, hidden=hidden)

    def why_not_slow(self) -> str | None:
        """Return why the world may not be run in long ticks now."""
        return self._backend.why_not_slow()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._backend.make_safe()
