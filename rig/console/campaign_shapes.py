"""What the API takes and gives of campaigns: how they stand, and what may be started."""

from typing import Annotated, Any, Literal

from pydantic import Field

from rig.console.shapes import Shape


class HorizonLine(Shape):
    """One horizon of one agent; a bound of None is unbounded, a time of None is not to be had."""

    agent: str
    family: str | None
    definition: str
    embodiment: str
    name: str
    t_s: float | None
    bands: list[dict[str, Any]]


class EstimateLine(Shape):
    """What the trials so far say of one agent."""

    agent: str
    family: str | None
    definition: str
    trials: int
    passes: int
    items: int
    statement: str
    refusal: str | None
    flags: list[str]


class CampaignLine(Shape):
    """One campaign of this runs folder."""

    key: str
    name: str
    running: bool
    trials: int
    ended: int
    registered: bool
    problem: str = Field(description="Last words of a campaign started here that ended badly")


class PlanLine(Shape):
    """A plan that may be started; ``problem`` says why not."""

    name: str
    text: str
    trials: int
    job_s: float
    missing: list[str] = Field(description="What it would have to say before it could be registered")
    begun: bool
    problem: str


class Campaigns(Shape):
    """The campaigns here, and the plans."""

    campaigns: list[CampaignLine]
    plans: list[PlanLine]


class CampaignStart(Shape):
    """Which plan to run, and how; nothing here changes a result."""

    plan: Annotated[str, Field(min_length=1, max_length=120)]
    exploratory: bool = False
    workers: Annotated[int, Field(ge=1, le=512)] | None = None


class CampaignStop(Shape):
    """Whether the trials under way are cut off too."""

    how: Literal["after the trials under way", "at once"] = "after the trials under way"


class CampaignNow(Shape):
    """A campaign as it stands: from its ledger where there is one, and from the records."""

    key: str | None = Field(description="None: all trials of the runs folder")
    name: str
    registered: bool
    under_way: list[str]
    running: bool
    states: dict[str, int]
    outcomes: dict[str, int]
    trials: int
    ended: int
    eta_s: float | None
    problem: str
    horizons: list[HorizonLine]
    estimates: list[EstimateLine]
    longest_s: float | None
