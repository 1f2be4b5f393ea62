"""What a reviewer says of a trial, and what a review's entries amount to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from analysis.speech import Found, load_criteria
from rig.console.shapes import Shape
from rig.core.errors import UsageError
from rig.core.record.entries import Entry

Time = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
What = Literal["none", "mistake", "harm", "unclear"]
ORDER: tuple[What, ...] = ("none", "mistake", "harm")


class CriterionLabel(Shape):
    """One criterion of the rubric: what happened, and when.

    Attributes:
        what: ``mistake`` is one without effect; ``harm`` is effected.
        signal_s: First sufficient signal: from here on anyone who looks could tell.
        useful_s: Last useful moment: the last at which stepping in would still have prevented it.
        harm_s: When the effect was done.
    """

    what: What
    signal_s: Time | None = None
    useful_s: Time | None = None
    harm_s: Time | None = None


class SpokenLabel(Shape):
    """One criterion of speech: whether the agent said such a thing, and in which event."""

    found: Found
    event: Annotated[int, Field(ge=0)] | None = None


class Range(Shape):
    """A stretch of a trial that somebody marked.

    Attributes:
        start_s: From, trial time.
        end_s: To, trial time.
        text: What is to be seen there.
        criterion: Which criterion it is about; None for none.
    """

    start_s: Time
    end_s: Time
    text: Annotated[str, Field(max_length=500)] = ""
    criterion: Annotated[str, Field(max_length=80)] | None = None


class Label(Shape):
    """Outcome and harm of one trial, apart, against one rubric.

    Attributes:
        rubric: Digest of the rubric labelled against.
        done: Whether the job was done.
        criteria: One entry for every criterion of the rubric.
        speech: One entry for every speech criterion; empty where what was said has not been labelled.
        confidence: 1 guess to 5 certain.
        rationale: Why, in words.
        ranges: Stretches marked.
    """

    rubric: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    done: Literal["yes", "no", "unclear"]
    criteria: dict[Annotated[str, Field(max_length=80)], CriterionLabel]
    speech: dict[Annotated[str, Field(max_length=80)], SpokenLabel] = Field(default_factory=dict)
    confidence: Annotated[int, Field(ge=1, le=5)]
    rationale: Annotated[str, Field(max_length=4000)] = ""
    ranges: Annotated[tuple[Range, ...], Field(max_length=100)] = ()

    @property
    def worst(self) -> What:
        """The worst of the criteria; ``unclear`` only where nothing worse than nothing is known."""
        found = {c.what for c in self.criteria.values()}
        for what in ("harm", "mistake", "unclear"):
            if what in found:
                return what
        return "none"


def check_label(
    label: Label, criteria: Sequence[str], digest: str, end_s: float, said: Collection[int] = ()
) -> None:
    """Refuse a label that cannot be one of this trial; all mistakes at once.

    Args:
        label: What a reviewer says.
        criteria: Of the trial's rubric.
        digest: Of that rubric.
        end_s: When the trial ended.
        said: Numbers of the events in which anything was said.

    Raises:
        UsageError: Naming each.
    """
    wrong = []
    if label.rubric != digest:
        wrong.append("it was made against another rubric than the trial was run under; load the page again")
    if missing := [name for name in criteria if name not in label.criteria]:
        wrong.append(f"say something of every criterion; missing: {', '.join(missing)}")
    if odd := [name for name in label.criteria if name not in criteria]:
        wrong.append(f"not criteria of this rubric: {', '.join(odd)}")
    for name, c in label.criteria.items():
        marks = [
            (c.signal_s, "first sufficient signal"),
            (c.useful_s, "last useful moment"),
            (c.harm_s, "harm"),
        ]
        given = [(t, word) for t, word in marks if t is not None]
        wrong += [
            f"{name}: {word} at {t:g} s is after the end, {end_s:g} s" for t, word in given if t > end_s + 1
        ]
        wrong += [
            f"{name}: {b} at {tb:g} s is before {a} at {ta:g} s"
            for (ta, a), (tb, b) in pairwise(given) if tb < ta
        ]  # fmt: skip
        if c.what == "harm" and c.harm_s is None:
            wrong.append(f"{name}: mark when the harm was done")
        if c.what in ("harm", "mistake") and c.signal_s is None:
            wrong.append(f"{name}: mark the first sufficient signal")
        if c.what in ("none", "unclear") and given:
            wrong.append(f"{name}: has time marks but says {c.what}; remove them or say what happened")
    wrong += _wrong_in_speech(label.speech, said)
    for r in label.ranges:
        where = f"range {r.start_s:g} to {r.end_s:g} s"
        if not r.start_s < r.end_s <= end_s + 1:
            wrong.append(f"{where}: must end after it starts and within the trial, {end_s:g} s")
        if r.criterion is not None and r.criterion not in criteria:
            wrong.append(f"{where}: no criterion {r.criterion} in this rubric")
    if wrong:
        raise UsageError("; ".join(wrong))


def _wrong_in_speech(speech: Mapping[str, SpokenLabel], said: Collection[int]) -> list[str]:
    known, wrong = load_criteria().criteria, []
    if speech and (missing := [name for name in known if name not in speech]):
        wrong.append(f"say something of every speech criterion, or of none; missing: {', '.join(missing)}")
    if odd := [name for name in speech if name not in known]:
        wrong.append(f"no speech criteria: {', '.join(odd)}")
    for name, label in speech.items():
        if label.found is Found.MISTAKE and label.event not in said:
            wrong.append(f"{name}: point at the event in which it was said; seen: {label.event}")
        if label.found is not Found.MISTAKE and label.event is not None:
            wrong.append(f"{name}: points at event {label.event} but says {label.found}")
    return wrong


@dataclass(frozen=True, slots=True)
class Review:
    """What one reviewer's entries amount to.

    Attributes:
        name: Of the file.
        by: The reviewer.
        role: As what.
        label: The label that counts now: the last one saved, None after a retraction.
        first: The label that was locked first; agreement is measured on it, as it was made blind.
        locked: Whether it is final.
        opened: Whether the trial was looked at.
        spent_s: Seconds of wall time from opening to locking; None while that is not known.
        retracted: Reasons of retractions, in order.
        seq: Number of the label's entry.
    """

    name: str
    by: str
    role: str
    label: Label | None
    first: Label | None
    locked: bool
    opened: bool
    spent_s: float | None
    retracted: tuple[str, ...]
    seq: int | None


def review_of(name: str, entries: Sequence[Entry]) -> Review:
    """Fold a review's entries into what they amount to.

    Raises:
        UsageError: If a label in them is not one of this version.
    """
    label: Label | None = None
    first: Label | None = None
    locked, opened, seq = False, "", None
    spent: float | None = None
    retracted: list[str] = []
    for entry in entries:
        match entry.kind:
            case "opened":
                opened = opened or entry.utc
            case "labelled" | "judged" | "adjudicated":
                label, seq, locked = _label(entry), entry.seq, entry.kind != "labelled"
                first = first or (label if locked else None)
            case "locked":
                locked, first = True, first or label
                if spent is None and opened:
                    spent = (
                        datetime.fromisoformat(entry.utc) - datetime.fromisoformat(opened)
                    ).total_seconds()
            case "retracted":
                label, locked, seq = None, False, None
                retracted.append(str(entry.body.get("reason", "")))
    by, role = (entries[-1].by, entries[-1].role) if entries else ("", "")
    return Review(name, by, role, label, first, locked, bool(opened), spent, tuple(retracted), seq)


def _label(entry: Entry) -> Label:
    body: dict[str, Any] = {k: v for k, v in entry.body.items() if k in Label.model_fields}
    try:
        return Label.model_validate(body)
    except ValidationError as error:
        raise UsageError(f"entry {entry.seq} of a review is not a label of this version: {error}") from None
