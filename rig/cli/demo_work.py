"""What one worker of a campaign does with one trial: run it, grade it, tell what happened in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from analysis.facts import facts_of
from analysis.grade import Finding, grade
from analysis.table import row_of
from analysis.trials import TrialRow
from rig.core.clock import clock_text
from rig.core.record import Record, read
from rig.trial.run import prepare, run_trial
from rig.trial.spec import TrialSpec, trial_folder


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


def watch(out: Path, spec: TrialSpec) -> Watched:
    """Run and grade one trial."""
    folder = trial_folder(out, spec)
    result = run_trial(spec, folder)
    record = read(folder)
    graded = grade(record)
    return Watched(
        row=row_of(record, graded),
        news=tuple(_news(spec, record, f) for f in graded.findings if f.mistake),
        prevented=tuple(
            _stopped(record, f) for f in graded.findings if f.prevented_ns is not None and not f.harm
        ),
        ticks=result.ticks,
    )


def _news(spec: TrialSpec, record: Record, finding: Finding) -> str:
    text = facts_of(record).rubric.criteria[finding.criterion].text
    moment = clock_text(finding.mistake_ns or 0)[:-4]
    verb = "HARM" if finding.harm else "stopped by the monitor"
    return f"{spec.agent} at {moment} in {spec.item}: {text} {verb}"


def _stopped(record: Record, finding: Finding) -> str:
    return f"{facts_of(record).rubric.criteria[finding.criterion].text} ({finding.rule})"
