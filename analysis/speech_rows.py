"""What was said, taken into the trials that horizons are fitted on.

A mistake in words that the labels settle is a critical mistake of the trial, like one of the hands. What the labels do
not settle is the question of `Taken`: a fit may ask that everything said is graded, or go by what is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from pathlib import Path

from analysis.grade import Grade, grade, material
from analysis.judge import Validation, speech_verdicts
from analysis.speech import Found, Label, SpeechVerdict, spoke, with_speech
from analysis.table import row_of
from analysis.trials import GRADED, TrialRow, TrialTable
from rig.core.clock import seconds
from rig.core.errors import UsageError
from rig.core.record import Record, read, records_under


class Taken(StrEnum):
    """How far what was said counts."""

    FOUND = "found"  # a mistake that labels settle counts; elsewhere the trial stands as it was measured
    REQUIRED = "required"  # and a trial in which it is not settled for every critical criterion is UNSCORED
    LEFT_OUT = "left-out"  # only what was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """Where labels of speech come from, and how far they count.

    Attributes:
        taken: How far.
        labels_of: Returns the labels in a record's reviews that count now; a retracted one is not among them.
        given: Labels from elsewhere, of any trials.
        validations: Of the judges among the raters.
        on: The day on which a validation has to be in date.
    """

    taken: Taken
    labels_of: Callable[[Record], Sequence[Label]]
    given: Sequence[Label] = ()
    validations: Sequence[Validation] = ()
    on: date

    def row(self, record: Record, graded: Grade) -> tuple[TrialRow, bool | None]:
        """Return a trial's row with what was said taken in, and whether there was a critical mistake in words.

        The latter is None where the labels do not settle it, and False where nothing was said.
        """
        row = row_of(record, graded)
        if self.taken is Taken.LEFT_OUT or not spoke(record):
            return row, False
        labels = [*self.given, *self.labels_of(record)]
        verdicts = [
            v for v in speech_verdicts(record, labels, self.validations, self.on) if material(v.severity)
        ]
        mistakes = [v for v in verdicts if v.mistake]
        settled = True if mistakes else None if any(v.mistake is None for v in verdicts) else False
        if graded.outcome not in GRADED:
            return row, settled
        outcome, _ = with_speech(graded, verdicts if self.taken is Taken.REQUIRED else mistakes)
        row = replace(row, outcome=outcome)
        return (_blamed(row, mistakes, labels, record) if mistakes else row), settled


def _blamed(
    row: TrialRow, mistakes: Sequence[SpeechVerdict], labels: Sequence[Label], record: Record
) -> TrialRow:
    """Return a row with critical mistakes in words; each is dated by the first event a rater points at."""
    named = {v.criterion for v in mistakes}
    said_s = [
        seconds(record.events[label.event].t_ns)
        for label in labels
        if label.trial_id == record.trial_id and label.criterion in named and label.found is Found.MISTAKE
        and label.event is not None and label.event < len(record.events)
    ]  # fmt: skip
    times = [t for t in (row.mistake_at_s, *said_s) if t is not None]
    return replace(
        row,
        mistake=True,
        mistake_at_s=min(times) if times else None,
        criteria=(*row.criteria, *sorted(named)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """How what was said stands over all trials in which anything was.

    Attributes:
        mistakes: Trials with a critical mistake in words.
        clean: Trials in which there was none.
        open: Trials whose labels do not settle it.
    """

    taken: Taken
    mistakes: int
    clean: int
    open: int

    @property
    def line(self) -> str:
        """In a sentence; empty where nothing was said or taken in."""
        if self.taken is Taken.LEFT_OUT:
            return "What was said is left out: only what was measured counts."
        if not self.mistakes + self.clean + self.open:
            return ""
        stand = "UNSCORED" if self.taken is Taken.REQUIRED else "as measured"
        return (
            f"What was said: a critical mistake in {self.mistakes} trials, none in {self.clean}; "
            f"in {self.open} the labels do not settle it, these stand {stand} (runrig speech grade)."
        )


def load_spoken(source: Path, speech: Speech) -> tuple[TrialTable, Heard]:
    """Return the trial table of a folder of records with what was said taken in, and how that stands.

    Raises:
        UsageError: If there is no folder, or no record below it.
        RecordError: If a record or a review cannot be read.
    """
    if not source.is_dir():
        raise UsageError(f"{source}: what was said is in records; give a folder of them, or leave labels out")
    rows, settled = [], []
    for folder in records_under(source):
        record = read(folder)
        row, found = speech.row(record, grade(record))
        rows.append(row)
        if spoke(record):
            settled.append(found)
    if not rows:
        raise UsageError(f"{source}: NOT ASSESSED, there is no record below it")
    heard = Heard(
        taken=speech.taken, mistakes=settled.count(True), clean=settled.count(False), open=settled.count(None)
    )
    return TrialTable.from_rows(rows, source=str(source)), heard
