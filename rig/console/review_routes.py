"""Labelling trials, settling disagreements, and how well that goes."""

from statistics import median
from typing import Annotated, Literal

from fastapi import APIRouter, Depends

from rig.console.access import May, Person
from rig.console.labels import Review
from rig.console.review_shapes import (
    Judgement,
    LabelWanted,
    Queue,
    QueueItem,
    Retract,
    ReviewNow,
    ReviewShape,
    Statistics,
)
from rig.console.reviewing import WANTED
from rig.console.shelf import Item, stories
from rig.console.statistics import reviewed, statistics
from rig.console.views import line_of
from rig.console.web import REFUSALS, OneItem, Parts, Shared, Somebody, needs

router = APIRouter(prefix="/api", tags=["reviews"], responses=REFUSALS)

Reviewer = Annotated[Person, Depends(needs(May.REVIEW))]
Adjudicator = Annotated[Person, Depends(needs(May.ADJUDICATE))]
Importer = Annotated[Person, Depends(needs(May.JUDGE))]
Seer = Annotated[Person, Depends(needs(May.SEE_MODEL))]
MOST_QUEUED = 200


def _shape(review: Review) -> ReviewShape:
    return ReviewShape(
        by=review.by, role=review.role, label=review.label, locked=review.locked, spent_s=review.spent_s,
        retracted=list(review.retracted),
    )  # fmt: skip


def _now(item: Item, person: Person, parts: Parts) -> ReviewNow:
    standing, sees = parts.reviews.standing(item), parts.reviews.sees_labels(person, item)
    own, blind = standing.of(person), parts.reviews.blind(person, item)
    settles = person.may(May.ADJUDICATE) and own is None and len(standing.locked) >= WANTED
    return ReviewNow(
        mine=_shape(own) if own else None, locked=len(standing.locked), wanted=WANTED,
        others=[_shape(r) for r in standing.locked if sees and (own is None or r.name != own.name)],
        judges=[_shape(r) for r in standing.judges if sees and not blind],
        adjudication=_shape(standing.adjudication) if standing.adjudication and sees else None,
        adjudicator=standing.adjudicator, conflict=sees and standing.conflict,
        may_review=person.may(May.REVIEW) and standing.adjudicator != person.name,
        may_adjudicate=settles and standing.adjudicator in ("", person.name), damaged=list(standing.damaged),
    )  # fmt: skip


@router.get("/trials/{key}/review")
def review(item: OneItem, person: Somebody, parts: Shared) -> ReviewNow:
    """Say how far the reviews of a trial are."""
    return _now(item, person, parts)


@router.post("/trials/{key}/review/open")
def begin(item: OneItem, person: Reviewer, parts: Shared) -> ReviewNow:
    """Begin a label; the time per item counts from here."""
    parts.reviews.open(item, person)
    return _now(item, person, parts)


@router.put("/trials/{key}/review")
def save(wanted: LabelWanted, item: OneItem, person: Reviewer, parts: Shared) -> ReviewNow:
    """Save a label. It can still be changed, and nobody else sees it, until it is locked."""
    parts.reviews.save(item, person, wanted.label, wanted.reason)
    return _now(item, person, parts)


@router.post("/trials/{key}/review/lock")
def lock(item: OneItem, person: Reviewer, parts: Shared) -> ReviewNow:
    """Make the label final; after that the rest of the record may be seen."""
    parts.reviews.lock(item, person)
    return _now(item, person, parts)


@router.post("/trials/{key}/review/retract")
def retract(wanted: Retract, item: OneItem, person: Reviewer, parts: Shared) -> ReviewNow:
    """Take a label back; it stays in the record, with the reason."""
    parts.reviews.retract(item, person, wanted.reason)
    return _now(item, person, parts)


@router.post("/trials/{key}/adjudication/open")
def begin_settling(item: OneItem, person: Adjudicator, parts: Shared) -> ReviewNow:
    """Begin to settle a disagreement: from here on both labels are seen, and none of one's own can be made."""
    parts.reviews.begin_adjudication(item, person)
    return _now(item, person, parts)


@router.post("/trials/{key}/adjudication")
def settle(wanted: LabelWanted, item: OneItem, person: Adjudicator, parts: Shared) -> ReviewNow:
    """Settle a disagreement with a label and a reason."""
    parts.reviews.adjudicate(item, person, wanted.label, wanted.reason)
    return _now(item, person, parts)


@router.post("/trials/{key}/judgements")
def judged(wanted: Judgement, item: OneItem, person: Importer, parts: Shared) -> ReviewNow:
    """Take in the label of a model that judges; it stands in a column of its own."""
    parts.reviews.judge(item, person, wanted.judge, wanted.label)
    return _now(item, person, parts)


@router.get("/reviews/queue")
def queue(person: Reviewer, parts: Shared) -> Queue:
    """List what is left for this person: unfinished labels, disagreements to settle, then new trials."""
    found: dict[Literal["label", "finish", "settle"], list[QueueItem]] = {
        "finish": [],
        "settle": [],
        "label": [],
    }
    done, spent = 0, []
    told = {item.key: (item, t) for item, t in stories(parts.shelf)}
    for item in parts.reviews.order(person, [item for item, _ in told.values()]):
        story = told[item.key][1]
        if story is None or "unreadable" in story or not story["complete"]:
            continue
        standing = parts.reviews.standing(item)
        own = standing.of(person)
        if own is not None and own.locked:
            done += 1
            spent += [own.spent_s] if own.spent_s is not None else []
            continue
        why: Literal["label", "finish", "settle"] = "label" if own is None else "finish"
        if own is None and len(standing.locked) >= WANTED:
            if standing.settled is not None or standing.adjudicator not in ("", person.name):
                continue
            why = "settle"
        line = line_of(item, story, parts.reviews.blind(person, item))
        found[why].append(QueueItem(line=parts.reviews.on_line(line, item, person), why=why))
    items = [item for kind in ("finish", "settle", "label") for item in found[kind]][:MOST_QUEUED]
    return Queue(items=items, done=done, median_s=median(spent) if spent else None)


@router.get("/reviews/statistics")
def measured(person: Seer, parts: Shared) -> Statistics:
    """Say how far reviewers agree, how they do on control items, and how judges compare with people."""
    return statistics(reviewed(parts.shelf, parts.reviews, parts.shelf.story))
