"""What the API takes and gives of reviews."""

from typing import Annotated, Literal

from pydantic import Field

from rig.console.labels import Label
from rig.console.shapes import Shape, TrialLine

Reason = Annotated[str, Field(max_length=1000)]


class ReviewShape(Shape):
    """One reviewer's review of one trial."""

    by: str
    role: str
    label: Label | None
    locked: bool
    spent_s: float | None
    retracted: list[str]


class ReviewNow(Shape):
    """The reviews of one trial, as far as this person may see them."""

    mine: ReviewShape | None
    locked: int
    wanted: int
    others: list[ReviewShape]
    judges: list[ReviewShape]
    adjudication: ReviewShape | None
    adjudicator: str
    conflict: bool
    may_review: bool
    may_adjudicate: bool
    damaged: list[str]


class LabelWanted(Shape):
    """A label; ``reason`` is needed where it replaces one that was locked."""

    label: Label
    reason: Reason = ""


class Retract(Shape):
    """Why a label is taken back."""

    reason: Annotated[str, Field(min_length=3, max_length=1000)]


class Judgement(Shape):
    """The label of a model that judges."""

    judge: Annotated[str, Field(min_length=1, max_length=60)]
    label: Label


class QueueItem(Shape):
    """A trial that waits for a label of this person, or for being settled."""

    line: TrialLine
    why: Literal["label", "finish", "settle"]


class Queue(Shape):
    """What is left to do."""

    items: list[QueueItem]
    done: int
    median_s: float | None = Field(description="Median time per finished item, seconds")


class Coefficient(Shape):
    """One coefficient of agreement with its interval; None where it is not defined."""

    name: str
    value: float | None
    low: float
    high: float
    undefined: int = Field(
        description="Replicates in which it was not defined, each counted as the worst case"
    )


class AgreementShape(Shape):
    """How far reviewers agree on one question."""

    question: str
    units: int
    clusters: int
    raw: float
    prevalence: dict[str, float]
    coefficients: list[Coefficient]


class ReviewerLine(Shape):
    """How one reviewer works, and how the control items came out."""

    name: str
    locked: int
    open: int
    median_s: float | None
    controls: int
    detected: int
    missable: int
    false_alarms: int
    signal_off_s: float | None


class JudgeLine(Shape):
    """How often a model that judges and the people who settled a trial differ."""

    name: str
    units: int
    conflict: float
    conflict_low: float
    conflict_high: float
    kappa: float | None
    validated: bool
    reasons: list[str]


class Statistics(Shape):
    """Agreement of reviewers, reviewers on control items, and judges beside people."""

    agreement: list[AgreementShape]
    missing: str
    reviewers: list[ReviewerLine]
    judges: list[JudgeLine]
    waiting: int
    conflicts: int
    settled: int
