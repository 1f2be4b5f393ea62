"""What the agent is told after an action: what was *measured*, never merely that a command was accepted."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rig.core.care import Entry


class Status(StrEnum):
    """What became of an action."""

    COMPLETED = "completed"
    STOPPED_BY_MONITOR = "stopped_by_monitor"
    REFUSED_BY_GATE = "refused_by_gate"
    TIMED_OUT = "timed_out"
    SUPERSEDED = "superseded"
    FAULT = "fault"


class Reply(BaseModel):
    """What the agent is told after an action: measured, with job time and an observation id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status
    message: str
    elapsed_s: Annotated[float, Field(description="Job time the action took, thinking included")]
    job_time_s: Annotated[float, Field(description="Job time now")]
    observation_id: int
    peak_force_n: Annotated[
        float | None, Field(description="Largest wrist force measured during the action")
    ] = None
    entries: list[Entry] = Field(default_factory=list, description="What was read in a care document")
