"""What the API takes and gives, as types; times are seconds of trial time unless a name says otherwise."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rig.console.access import Role

Text = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=80)]


class Shape(BaseModel):
    """Base of everything sent and received: unknown members and numbers that are none are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SignIn(Shape):
    """A token of this start, and the name of who uses it."""

    token: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name


class Me(Shape):
    """Who is signed in, and what this console serves."""

    name: str
    role: Role
    csrf: str
    may: list[str]
    bench: str | None
    embodiment: str | None
    runs: str
    version: str


class Done(Shape):
    """That it was done."""

    done: Literal[True] = True


class TrialLine(Shape):
    """One trial in the table; what a reviewer may not know yet is None and ``blind`` is true."""

    key: str
    trial_id: str | None = None
    state: Literal["reading", "unreadable", "running", "torn", "complete"]
    problem: str = ""
    blind: bool = False
    task: str | None = None
    length: str | None = None
    scenario: str | None = None
    kind: str | None = None
    agent: str | None = None
    monitor: str | None = None
    seed: int | None = None
    site: str | None = None
    embodiment: str | None = None
    nominal_s: float | None = None
    end_s: float | None = None
    outcome: str | None = None
    done: bool | None = None
    harm: bool | None = None
    mistake: bool | None = None
    mistake_at_s: float | None = None
    criteria: list[str] = []
    reason: str | None = None
    ending: str | None = None
    events: int | None = None
    reviews: int = 0
    mine: Literal["none", "open", "locked"] = "none"
    adjudicated: bool = False
    conflict: bool = False


class Trials(Shape):
    """The table."""

    trials: list[TrialLine]
    reading: int


class ChannelShape(Shape):
    """One channel of a record."""

    name: str
    unit: str
    text: str
    audience: str


class PanelChannel(Shape):
    """A channel drawn in a panel."""

    name: str
    label: str


class Panel(Shape):
    """Channels drawn on one axis; ``scale`` turns the channel's unit into the axis' unit."""

    label: str
    scale: float
    harm: float | None
    channels: list[PanelChannel]


class LimitShape(Shape):
    """A rule's limit on one channel, in the channel's unit."""

    channel: str
    value: float
    op: str
    rule: str
    response: str
    sentence: str


class RuleLine(Shape):
    """A rule the task has."""

    id: str
    sentence: str
    protects: str


class ActionBar(Shape):
    """Something the agent did."""

    start_s: float
    end_s: float
    seq: int
    text: str
    status: str


class Mark(Shape):
    """Something that happened at one moment."""

    t_s: float
    seq: int
    text: str
    severity: str


class Lanes(Shape):
    """What happened, as bars and marks."""

    actions: list[ActionBar]
    speech: list[Mark]
    interventions: list[Mark]
    people: list[Mark]
    operators: list[Mark]
    clipped: list[str]


class AlarmBar(Shape):
    """A rule that was broken, or could not be shown to hold."""

    rule: str
    protects: str
    response: str
    start_s: float
    end_s: float
    unknown: bool


class Gap(Shape):
    """A stretch for which telemetry is missing."""

    start_s: float
    end_s: float
    text: str


class FindingShape(Shape):
    """What the record shows of one criterion."""

    criterion: str
    severity: str
    signal_s: float | None
    prevented_s: float | None
    irreversible_s: float | None
    rule: str | None
    harm: bool
    mistake: bool


class GradeShape(Shape):
    """Outcome and harm, by the rubric, from the record alone."""

    outcome: str
    done: bool
    harm: bool
    mistake: bool
    mistake_at_s: float | None
    reason: str
    ending: str
    elapsed_s: float
    criteria: list[str]
    findings: list[FindingShape]


class CriterionShape(Shape):
    """One line of the rubric a reviewer labels against."""

    id: str
    text: str
    harm: str
    severity: str
    signal: str
    irreversible: str


class SpeechCriterionShape(Shape):
    """One way to do harm in words, and what a reviewer is asked of it."""

    id: str
    text: str
    question: str
    severity: str


class RubricShape(Shape):
    """What counts as done and as harm; ``digest`` names the task's own part, ``speech`` is the same for all."""

    status: str
    author_role: str
    done: str
    criteria: list[CriterionShape]
    speech: list[SpeechCriterionShape]
    digest: str


class Story(Shape):
    """Everything of one record but its signals and events."""

    line: TrialLine
    channels: list[ChannelShape]
    panels: list[Panel]
    limits: list[LimitShape]
    rules: list[RuleLine]
    same_rules: bool
    lanes: Lanes
    alarms: list[AlarmBar]
    gaps: list[Gap]
    grade: GradeShape | None
    rubric: RubricShape
    ticks: int
    images: list[str] = []
    scene: bool = False


class CheckShape(Shape):
    """One question about the evidence, and its answer."""

    name: str
    status: Literal["ok", "weak", "absent", "failed"]
    text: str
    place: str


class EvidenceShape(Shape):
    """Whether the record is what it says it is."""

    ok: bool
    seq: int
    head: str
    checks: list[CheckShape]


class CurveShape(Shape):
    """Lowest and highest value at each time, little-endian float32 in base64; NaN where unknown."""

    name: str
    low: str
    high: str | None = Field(description="None where it is the same as low: every tick is shown")


class Signals(Shape):
    """Channels over a window; times are little-endian float64 seconds in base64."""

    n: int
    t_s: str
    curves: list[CurveShape]
    exact: bool


class EventShape(Shape):
    """An event as it stands in the record; ``t_ns`` is text, as it does not fit a JavaScript number."""

    seq: int
    t_s: float
    t_ns: str
    kind: str
    source: str
    severity: str
    body: dict[str, Any]
    text: str


class Events(Shape):
    """A page of events."""

    total: int = Field(description="How many pass the filter")
    offset: int
    events: list[EventShape]


class ScenePoses(Shape):
    """The arm and the bed, seen from the side, at each of n times.

    ``points`` is little-endian float32 in base64, shape (n, p, 2): x and z in metres of each named point.
    """

    n: int
    t_s: list[float]
    names: list[str]
    points: str
    back_deg: list[float | None]
    height_m: list[float | None]
    opening_m: list[float | None]


class Frames(Shape):
    """The pictures of one camera."""

    channel: str
    t_s: list[float]
