"""What the demo wants to know of a trial: its row, and what happened in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.facts import facts_of
from analysis.grade import Finding, Grade
from analysis.table import row_of
from analysis.trials import TrialRow
from rig.campaign.work import ticks_in
from rig.core.clock import clock_text
from rig.core.record import Record
from rig.trial.run import prepare


@dataclass(frozen=True, slots=True)
class Watched:
    """One graded trial.

    Attributes:
        row: Its row of the trial table.
        news: What happened, for a screen; empty when nothing did.
        prevented: Rules that prevented a mistake, in words.
        ticks: Ticks simulated.
    """

    row: TrialRow
    news: tuple[str, ...]
    prevented: tuple[str, ...]
    ticks: int


def warm_up(tasks: Iterable[str]) -> None:
    """Compile the kernels of some tasks, so that workers find them compiled."""
    for task in tasks:
        prepare(task, "sim")


def watched(record: Record, graded: Grade) -> Watched:
    """Return what the demo wants to know of a graded trial."""
    return Watched(
        row=row_of(record, graded),
        news=tuple(_news(record, f) for f in graded.findings if f.mistake),
        prevented=tuple(
            _stopped(record, f) for f in graded.findings if f.prevented_ns is not None and not f.harm
        ),
        ticks=ticks_in(record),
    )


def _news(record: Record, finding: Finding) -> str:
    facts = facts_of(record)
    text = facts.rubric.criteria[finding.criterion].text
    moment = clock_text(finding.mistake_ns or 0)[:-4]
    verb = "HARM" if finding.harm else "stopped by the monitor"
    return f"{facts.key.agent} at {moment} in {facts.item}: {text} {verb}"


def _stopped(record: Record, finding: Finding) -> str:
    return f"{facts_of(record).rubric.criteria[finding.criterion].text} ({finding.rule})"
