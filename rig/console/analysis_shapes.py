"""What the API takes and gives of what-ifs."""

from typing import Annotated, Literal

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
