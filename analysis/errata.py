"""Corrections of published trials: they change the fits and are listed, never deleted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from analysis.trials import Outcome, TrialRow, TrialTable
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, load_validated


class Erratum(Table):
    """One correction.

    Attributes:
        day: When it was made.
        trial: Which trial it is about.
        action: ``retract`` takes the trial out of every fit; ``regrade`` replaces its verdict.
        reason: For readers.
        outcome: New verdict, with ``done``, ``harm`` and ``mistake``; for ``regrade`` only.
    """

    day: date = Field(alias="date")
    trial: str = Field(min_length=1)
    action: Literal["retract", "regrade"]
    reason: str = Field(min_length=10)
    outcome: Outcome | None = None
    done: bool | None = None
    harm: bool | None = None
    mistake: bool | None = None

    @model_validator(mode="after")
    def _verdict_where_needed(self) -> Self:
        verdict = (self.outcome, self.done, self.harm, self.mistake)
        if self.action == "regrade" and None in verdict:
            raise ValueError("a regrade needs outcome, done, harm and mistake")
        if self.action == "retract" and verdict != (None, None, None, None):
            raise ValueError("a retraction has no new verdict")
        return self

    @property
    def quarter(self) -> str:
        """The quarter it belongs to, e.g. 2026-Q4."""
        return f"{self.day.year}-Q{(self.day.month + 2) // 3}"


class ErrataFile(Table):
    """A TOML file of ``[[erratum]]`` tables."""

    erratum: tuple[Erratum, ...] = ()


def load_errata(path: Path) -> tuple[Erratum, ...]:
    """Return the corrections in a file, by date and, within a day, in their order.

    Raises:
        ConfigError: With every mistake in the file.
    """
    return tuple(sorted(load_validated(path, ErrataFile).erratum, key=lambda erratum: erratum.day))


def apply_errata(table: TrialTable, errata: Sequence[Erratum]) -> TrialTable:
    """Return the table as corrected; a retracted trial stays in it as UNSCORED.

    Raises:
        ConfigError: If a correction is about a trial that is not there, or its verdict contradicts itself.
    """
    corrections = {erratum.trial: erratum for erratum in errata}  # the last one counts
    unknown = sorted(set(corrections) - set(table.trial_id))
    if unknown:
        raise ConfigError(table.source, [f"erratum for trial {name!r}: no such trial" for name in unknown])
    rows = [
        corrected(row, corrections[row.trial_id]) if row.trial_id in corrections else row for row in table
    ]
    return TrialTable.from_rows(rows, table.source)


def corrected(row: TrialRow, erratum: Erratum) -> TrialRow:
    """Return one row as corrected."""
    if erratum.action == "retract":
        return replace(row, outcome=Outcome.UNSCORED)
    return replace(
        row,
        outcome=erratum.outcome or row.outcome,
        done=bool(erratum.done),
        harm=bool(erratum.harm),
        mistake=bool(erratum.mistake),
        mistake_at_s=row.mistake_at_s if erratum.mistake else None,
    )
