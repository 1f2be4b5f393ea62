"""What the API says of the bench, and what it takes to run it."""

from typing import Annotated, Literal

from pydantic import Field

from rig.console.shapes import Shape

Version = Annotated[int, Field(ge=0, le=2**53, description="Version of the state the page acts on")]


class CheckLine(Shape):
    """One line of the preflight."""

    name: str
    title: str
    light: Literal["green", "red", "not_needed"]
    measured: str
    allowed: str
    todo: str


class Preflight(Shape):
    """The latest examination of the bench, and who signed it."""

    digest: str | None = None
    examined_utc: str | None = None
    ok: bool = False
    checks: list[CheckLine]
    by_hand: dict[str, str]
    signed_by: str | None = None
    expires_utc: str | None = None
    stands: bool = False


class AlarmNow(Shape):
    """A rule that does not hold now, in words."""

    rule: str
    response: str
    text: str
    since_s: float
    unknown: bool


class PromptNow(Shape):
    """Something a person at the bench is asked to do."""

    seq: int
    t_s: float
    text: str
    urgent: bool


class CameraNow(Shape):
    """A camera of the trial under way, and its newest frame; None before the first."""

    name: str
    number: int | None = None
    t_s: float | None = Field(default=None, description="When the rig had it")
    exposed_s: float | None = None


class TrialNow(Shape):
    """The trial under way."""

    key: str
    item: str
    agent: str
    monitor: str
    seed: int
    by: str
    nominal_s: float
    limit_s: float
    t_s: float
    pace: float | None = Field(description="None: as fast as it goes")
    interlock: str
    doing: str
    rendered: bool = Field(description="Whether every frame is drawn, not only those the agent looks at")
    cameras: list[CameraNow]
    alarms: list[AlarmNow]
    prompts: list[PromptNow]


class LastTrial(Shape):
    """The trial before."""

    key: str
    ending: str
    reason: str


class StopNow(Shape):
    """Who stopped the bench, and how soon it was safe."""

    by: str
    role: str
    utc: str
    safe_after_s: float | None


class Gauges(Shape):
    """How the console itself is."""

    link: str
    lag_s: float
    disk_free_bytes: int
    disk_hours: float
    clock_drift_s: float


class StationNow(Shape):
    """The bench: the truth, whatever a page showed before."""

    state: Literal["idle", "armed", "running", "stopped"]
    version: int
    busy: str
    ready: list[str] = Field(description="Tasks a trial of which begins at once")
    unfit: dict[str, str] = Field(description="Tasks this bench cannot bear, and why")
    problem: str
    bench: str
    embodiment: str
    text: str
    preflight: Preflight
    control: str | None
    mine: bool
    asking: str | None
    trial: TrialNow | None
    last: LastTrial | None
    stop: StopNow | None
    gauges: Gauges


class StopState(Shape):
    """What everybody may know: whether the bench runs."""

    state: str
    bench: str
    stop: StopNow | None


class Act(Shape):
    """A change of the bench, on the state the page shows."""

    version: Version


class Arm(Act):
    """Which task to be ready for first."""

    first: Annotated[str, Field(max_length=80)] = ""


class Sign(Shape):
    """A name under a preflight."""

    digest: Annotated[str, Field(max_length=100)]
    confirmed: Annotated[list[Annotated[str, Field(max_length=40)]], Field(max_length=20)]


class Start(Act):
    """Which trial to start."""

    item: Annotated[str, Field(max_length=200)]
    agent: Annotated[str, Field(min_length=1, max_length=200)]
    monitor: Literal["guard", "shadow"] = "guard"
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    repeat: Annotated[int, Field(ge=0, le=100_000)] = 0
    pace: Annotated[float, Field(gt=0, le=1000)] | None = 1.0
    cameras: Literal["fitted", "rendered"] = "fitted"


class Reset(Act):
    """What is needed to leave the stopped state."""

    cause: Annotated[str, Field(min_length=1, max_length=500)]
    looked: bool


class NoteText(Shape):
    """A note for the record of the trial under way."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]


class Acknowledge(Shape):
    """That a prompt was answered."""

    seq: Annotated[int, Field(ge=0, le=10**9)]


class PaceWanted(Shape):
    """Seconds of trial time per second; None for as fast as it goes."""

    pace: Annotated[float, Field(gt=0, le=1000)] | None


class StopDone(Shape):
    """That the bench was stopped."""

    safe_after_s: float | None = Field(
        description="From the request to the actuators being safe; None: not heard"
    )


class TaskChoice(Shape):
    """A task that may be run here."""

    name: str
    goal: str
    lengths: list[str]
    scenarios: list[str]
    drawable: bool = Field(
        description="Whether what its face camera sees can be drawn and read, frame by frame"
    )


class Choices(Shape):
    """What may be started."""

    tasks: list[TaskChoice]
    agents: list[str]


class AuditLine(Shape):
    """One thing somebody did at the console."""

    seq: int
    utc: str
    what: str
    by: str
    role: str
    result: str


class AuditPage(Shape):
    """The latest of what people did."""

    total: int
    entries: list[AuditLine]
