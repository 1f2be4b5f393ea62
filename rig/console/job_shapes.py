"""What the API says of a job that a person does at the page, and what a decision is."""

from typing import Annotated, Any, Literal

from pydantic import Field

from rig.console.shapes import Shape


class ToolForm(Shape):
    """A tool as every agent is offered it: arguments are a JSON Schema."""

    name: str
    text: str
    parameters: dict[str, Any]


class Seen(Shape):
    """What one sensor says."""

    name: str
    value: float | None
    unit: str
    age_s: float
    quality: str


class Look(Shape):
    """A look through a camera."""

    camera: str
    text: str = Field(description="What is wrong with it, or how old it is")
    picture: int | None = Field(description="Its number among the pictures; None where there is none to see")


class ToldLine(Shape):
    """One thing in the course of the job."""

    t_s: float
    who: Literal["you", "rig", "heard", "noticed"]
    text: str


class EntryRead(Shape):
    """An entry of a care document that was read, as acts may have to rest on it."""

    id: str
    document: str
    text: str
    evidence: dict[str, Any] = Field(description="As a tool's argument wants it")


class JobNow(Shape):
    """The job of the trial under way, for the person who does it: what any agent is told, and nothing else."""

    version: int
    item: str
    goal: str
    notes: list[str]
    handed_over: list[str]
    cameras: dict[str, str]
    places: list[str] = Field(description="Where the tool may be moved")
    tools: list[ToolForm]
    nominal_s: float
    limit_s: float
    job_time_s: float
    observation_id: int | None = Field(description="What a decision must be on; None before the first")
    waits: bool = Field(description="Whether a decision is waited for")
    thinking_s: float
    doing: str
    seen: list[Seen]
    looks: list[Look]
    lines: list[ToldLine]
    read: list[EntryRead]


class Decide(Shape):
    """A decision: one call of one tool."""

    observation_id: Annotated[int, Field(ge=0, le=10**9)]
    tool: Annotated[str, Field(min_length=1, max_length=100)]
    arguments: dict[Annotated[str, Field(max_length=100)], Any] = Field(default_factory=dict, max_length=40)
