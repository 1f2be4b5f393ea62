"""What the API takes and gives of what-ifs and of a running campaign."""

from typing import Annotated, Any, Literal

from pydantic import Field

from rig.console.shapes import AlarmBar, Shape


class RuleNumber(Shape):
    """One number in a rule that may be changed."""

    slot: str
    place: int
    text: str
    named: str


class RuleNumbers(Shape):
    """The numbers of one rule."""

    rule: str
    numbers: list[RuleNumber]


class NumberWanted(Shape):
    """Another value for one number."""

    slot: Annotated[str, Field(max_length=60)]
    place: Annotated[int, Field(ge=0, le=50)]
    text: Annotated[str, Field(min_length=1, max_length=40)]


class WhatIfWanted(Shape):
    """A rule with other numbers, over this record or over all of its task."""

    rule: Annotated[str, Field(max_length=80)]
    numbers: Annotated[list[NumberWanted], Field(min_length=1, max_length=20)]
    campaign: bool = False


class MovedAlarm(Shape):
    """An alarm that comes at another time."""

    rule: str
    recorded_s: float
    instead_s: float


class WhatIfTrial(Shape):
    """What the other rules would have said of one record."""

    key: str
    same: int
    gained: list[AlarmBar]
    lost: list[AlarmBar]
    moved: list[MovedAlarm]
    problem: str = ""


class WhatIfNow(Shape):
    """How far a what-if is."""

    job: str
    state: Literal["working", "done"]
    trials: int
    done: int
    found: list[WhatIfTrial]


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


class CampaignNow(Shape):
    """A campaign as it stands: from its ledger where there is one, and from the records."""

    name: str
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
