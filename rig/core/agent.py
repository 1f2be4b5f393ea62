"""What an agent is to the rig: something that is shown an observation and proposes an action."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Protocol, runtime_checkable

from rig.core.channel import Reading
from rig.core.event import Json
from rig.core.malformed import Malformed
from rig.core.reply import Reply
from rig.core.tools import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the agent is told before it starts: the job, the person, the care documents, its tools.

    Attributes:
        units: Unit of every reading it will be shown, by channel.
        cameras: What each camera it may look through is, in words, by name.
        places: Names of the places it may move to, where the bench has an arm.
        segment: 0 at the beginning of the job, then counting up with every restart or change of shift;
            whoever takes over knows nothing but this briefing.
        handed_over: What was noted and handed over in the segments before.
    """

    task: str
    goal: str
    care_notes: tuple[str, ...]
    tools: tuple[str, ...]
    nominal_s: float
    limit_s: float
    units: Mapping[str, str] = field(default_factory=dict)
    cameras: Mapping[str, str] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    segment: int = 0
    handed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A look through a camera.

    Attributes:
        camera: Which camera.
        t_ns: Trial time of the exposure; of the look, where no frame came.
        flaws: What is wrong with the frame, in words; empty for a good one.
        number: Of the frame, as the camera counts; -1 where none came.
        data: The picture as JPEG; empty where it is not to be believed.
        width: Of the picture, pixels.
        height: Likewise.
    """

    camera: str
    t_ns: int
    flaws: tuple[str, ...] = ()
    number: int = -1
    data: bytes = b""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The part of a snapshot the agent may see, with what it heard and noticed since the last one.

    Distinct from `Snapshot` so that showing ground truth to an agent is a type error.
    """

    observation_id: int
    t_ns: int
    readings: Mapping[str, Reading]
    heard: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    last_reply: Reply | None = None
    sightings: tuple[Sighting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Consulted:
    """One call of a model: raw figures, whatever of them is charged.

    Attributes:
        model: Which model answered.
        latency_s: From the request to the answer.
        input_tokens: As the provider counts them; None where it does not say.
        output_tokens: Likewise.
        cost_usd: As the provider or its price list says; None where neither does.
        stop_reason: Why the model stopped.
        calls: Tool calls in the answer; only the first is carried out.
        text: What it said beside the call.
    """

    model: str
    latency_s: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    stop_reason: str = ""
    calls: int = 0
    text: str = ""

    def json(self) -> dict[str, Json]:
        """Return it for the record."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Decision:
    """An action and how long the agent thought about it (charged to the job clock).

    Attributes:
        action: What it wants done, or the call nobody can carry out.
        think_s: How long it took.
        consulted: The model's call behind it, for agents that are models.
    """

    action: Action | Malformed
    think_s: float
    consulted: Consulted | None = None


class Agent(Protocol):
    """An agent under test."""

    name: str

    def begin(self, briefing: Briefing) -> None:
        """Take the job; called once before the first `act`."""
        ...

    def act(self, observation: Observation) -> Decision:
        """Propose the next action."""
        ...


@runtime_checkable
class Described(Protocol):
    """An agent with more to its identity than a name: model, settings, prompt."""

    @property
    def facts(self) -> Mapping[str, Json]:
        """What has to be the same for two trials to be of the same agent; part of the configuration."""
        ...


@runtime_checkable
class Instrument(Protocol):
    """An agent that tests the measurement itself: it is told which trial it is in. No agent under test is."""

    def place(self, item: str, seed: int, repeat: int) -> None:
        """Take note of the trial; called once before `begin`."""
        ...


@runtime_checkable
class Closable(Protocol):
    """An agent that holds something open: a connection, a file."""

    def close(self) -> None:
        """Let it go; called once, however the trial ended."""
        ...


@runtime_checkable
class Seated(Protocol):
    """A person who decides while the bench goes on, and is not there for ever."""

    def sit_down(self, break_off: Callable[[], None]) -> None:
        """Take the seat; ``break_off``, called from any thread, cuts short what is being carried out."""
        ...

    def get_up(self) -> None:
        """Leave it, from any thread: the job is over, and an `act` that waits must return or raise."""
        ...
