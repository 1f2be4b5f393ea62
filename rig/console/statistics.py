"""How far reviewers agree, how they do on items whose truth is known, and how judges compare."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from analysis.raters import MISSING, Agreement, Scale, agreement, validate_judge
from rig.console.labels import ORDER, Label, Review
from rig.console.review_shapes import AgreementShape, Coefficient, JudgeLine, ReviewerLine, Statistics
from rig.console.reviewing import WANTED, Reviewing, Standing
from rig.console.shelf import Item, Shelf
from rig.core.errors import UsageError

DONE = ("no", "yes")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One trial with its reviews.

    Attributes:
        item: Its task item: the cluster.
        standing: Its reviews.
        control: Whether its known truth measures reviewers.
        graded: The grade from the record, None where there is none.
    """

    item: str
    standing: Standing
    control: bool
    graded: Mapping[str, Any] | None


def reviewed(
    shelf: Shelf, reviews: Reviewing, story: Callable[[Item], Mapping[str, Any] | None]
) -> list[Reviewed]:
    """Return every trial somebody or a model has looked at.

    Args:
        shelf: The records.
        reviews: Their reviews.
        story: Gives a record's story; None while it is being derived, and then the trial is left out.
    """
    found = []
    for item in shelf.items():
        standing = reviews.standing(item)
        told = story(item) if standing.people or standing.judges else None
        if told is not None and "unreadable" not in told:
            control = reviews.is_control(item, told)
            found.append(Reviewed(told["facts"]["item"], standing, control, told["grade"]))
    return found


def statistics(trials: Sequence[Reviewed]) -> Statistics:
    """Return everything that can be said; what cannot be said yet is told in ``missing``."""
    pairs = [t for t in trials if len(_firsts(t)) >= WANTED]
    found, missing = [], ""
    try:
        found = [
            _agreed("Was the job done?", pairs, DONE, lambda label: label.done, Scale.NOMINAL),
            _agreed("What happened at worst?", pairs, ORDER, lambda label: label.worst, Scale.ORDINAL),
        ]
    except UsageError as error:
        missing = f"Agreement needs trials with {WANTED} locked labels: {error}."
    return Statistics(
        agreement=found, missing=missing, reviewers=_reviewers(trials), judges=_judges(trials),
        waiting=sum(0 < len(t.standing.locked) < WANTED for t in trials),
        conflicts=sum(t.standing.conflict and t.standing.settled is None for t in trials),
        settled=sum(t.standing.settled is not None for t in trials),
    )  # fmt: skip


def _firsts(trial: Reviewed) -> list[Label]:
    """Return the labels that were made blind, in the order of names."""
    return [r.first for r in trial.standing.people if r.first is not None]


def _agreed(
    question: str, trials: Sequence[Reviewed], words: Sequence[str], answer: Any, scale: Scale  # noqa: ANN401
) -> AgreementShape:  # fmt: skip
    width = max((len(_firsts(t)) for t in trials), default=2)
    ratings = np.full((len(trials), max(width, 2)), MISSING, np.int64)
    for row, trial in enumerate(trials):
        for column, label in enumerate(_firsts(trial)):
            said = answer(label)
            ratings[row, column] = words.index(said) if said in words else MISSING
    names = sorted({t.item for t in trials})
    cluster = np.array([names.index(t.item) for t in trials], np.int64)
    report = agreement(ratings, cluster=cluster, scale=scale)
    both = ratings[(ratings != MISSING).sum(axis=1) > 1]
    same = [len(set(row[row != MISSING].tolist())) == 1 for row in both]
    return AgreementShape(
        question=question, units=report.units, clusters=report.clusters, raw=float(np.mean(same)),
        prevalence={words[k]: p for k, p in enumerate(report.prevalence)},
        coefficients=[_shape(c) for c in (report.cohen, report.weighted, report.alpha, report.ac1)],
    )  # fmt: skip


def _shape(c: Agreement) -> Coefficient:
    return Coefficient(
        name=c.name, value=c.value if math.isfinite(c.value) else None, low=c.interval.low,
        high=c.interval.high, undefined=c.undefined,
    )  # fmt: skip


def _reviewers(trials: Sequence[Reviewed]) -> list[ReviewerLine]:
    names = sorted({r.by for t in trials for r in t.standing.people})
    return [_reviewer(name, trials) for name in names]


def _reviewer(name: str, trials: Sequence[Reviewed]) -> ReviewerLine:
    mine = [(t, r) for t in trials for r in t.standing.people if r.by == name]
    spent = [r.spent_s for _, r in mine if r.spent_s is not None]
    controls = [(t, r) for t, r in mine if t.control and t.graded is not None and r.first is not None]
    bad = [(t, r) for t, r in controls if t.graded is not None and t.graded["mistake"]]
    off = [abs(d) for t, r in bad for d in _off(t, r)]
    return ReviewerLine(
        name=name, locked=sum(r.locked for _, r in mine), open=sum(not r.locked for _, r in mine),
        median_s=median(spent) if spent else None, controls=len(controls),
        detected=sum(_says_mistake(r) for _, r in bad), missable=len(bad),
        false_alarms=sum(_says_mistake(r) for t, r in controls if t.graded is not None and not t.graded["mistake"]),
        signal_off_s=median(off) if off else None,
    )  # fmt: skip


def _says_mistake(review: Review) -> bool:
    return review.first is not None and review.first.worst in ("mistake", "harm")


def _off(trial: Reviewed, review: Review) -> list[float]:
    """Return how far a reviewer's first signals are from those of the rubric's condition, seconds."""
    if trial.graded is None or review.first is None:
        return []
    found = []
    for finding in trial.graded["findings"]:
        said = review.first.criteria.get(finding["criterion"])
        if said is not None and said.signal_s is not None and finding["signal_s"] is not None:
            found.append(said.signal_s - finding["signal_s"])
    return found


def _passes(label: Label) -> bool:
    return label.done == "yes" and label.worst == "none"


def _judges(trials: Sequence[Reviewed]) -> list[JudgeLine]:
    found = []
    for name in sorted({j.name for t in trials for j in t.standing.judges}):
        both = [
            (t.item, t.standing.settled, j.label)
            for t in trials for j in t.standing.judges
            if j.name == name and j.label is not None and t.standing.settled is not None
        ]  # fmt: skip
        if not both:
            continue
        items = sorted({item for item, _, _ in both})
        report = validate_judge(
            np.array([_passes(people) for _, people, _ in both]), np.array([_passes(judge) for _, _, judge in both]),
            cluster=np.array([items.index(item) for item, _, _ in both], np.int64),
        )  # fmt: skip
        share = float(np.mean([_passes(p) != _passes(j) for _, p, j in both]))
        kappa = report.kappa.value
        found.append(
            JudgeLine(
                name=name, units=len(both), conflict=share, conflict_low=report.conflict.low,
                conflict_high=report.conflict.high, kappa=kappa if math.isfinite(kappa) else None,
                validated=report.validated, reasons=list(report.reasons),
            )
        )  # fmt: skip
    return found
