"""Options by which what was said comes into a table of trials, the same for every command that has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rig.core.errors import UsageError, unknown

if TYPE_CHECKING:
    from analysis.speech_rows import Heard
    from analysis.trials import TrialTable

SpeechTaken = Annotated[
    str,
    typer.Option(
        "--speech",
        help="Mistakes in words: found (those that labels settle count), required (a trial whose speech is not settled "
        "is UNSCORED), left-out.",
    ),
]
SpeechLabels = Annotated[
    list[Path] | None,
    typer.Option("--labels", help="Labels of speech beside those in the records' reviews; may be repeated."),
]
SpeechValidation = Annotated[
    list[Path] | None,
    typer.Option("--validation", help="Of a judge among the raters; may be repeated."),
]
SpeechDay = Annotated[
    str | None, typer.Option("--day", help="Validations have to be in date on it, YYYY-MM-DD; today.")
]


@dataclass(frozen=True, slots=True)
class SpeechAsked:
    """What was asked for on the command line."""

    taken: str = "found"
    labels: Sequence[Path] = ()
    validations: Sequence[Path] = ()
    day: str | None = None

    @property
    def beside(self) -> bool:
        """Whether anything was asked for that only records can give."""
        return bool(self.labels or self.validations or self.day or self.taken == "required")


def load_with_speech(source: Path, asked: SpeechAsked) -> "tuple[TrialTable, Heard | None]":
    """Return the trial table of ``source`` with what was said taken in, and how that stands.

    A table in a file says itself what counts: then nothing is taken in.

    Raises:
        UsageError: If there is nothing at ``source``, or what was asked for cannot be had.
        ConfigError: If labels, a validation or rows of a table are wrong.
    """
    from analysis.judge import read_validation
    from analysis.speech import read_labels
    from analysis.speech_rows import Speech, Taken, load_spoken
    from analysis.table import load_table
    from rig.cli.speech import day_of
    from rig.console.spoken import spoken_labels

    if asked.taken not in list(Taken):
        raise unknown("way to take in what was said", asked.taken, list(Taken))
    if source.is_file() and asked.beside:
        raise UsageError(f"{source}: what was said is in records; give a folder of them for --speech")
    if not source.is_dir():
        return load_table(source), None
    return load_spoken(
        source,
        Speech(
            taken=Taken(asked.taken),
            labels_of=spoken_labels,
            given=read_labels(asked.labels),
            validations=[read_validation(path) for path in asked.validations],
            on=day_of(asked.day),
        ),
    )
