"""From a folder of records to a trial table."""

from pathlib import Path

from analysis.facts import facts_of
from analysis.grade import Grade, grade
from analysis.trial_files import read_trials
from analysis.trials import TrialRow, TrialTable
from rig.core.errors import UsageError
from rig.core.record import Record, read, records_under


def row_of(record: Record, graded: Grade) -> TrialRow:
    """Return the trial table's row of one graded record."""
    facts = facts_of(record)
    return TrialRow(
        trial_id=record.trial_id,
        agent=facts.key.agent,
        family=facts.family,
        task=facts.task,
        item=facts.item,
        site=facts.site,
        tier=facts.tier,
        embodiment=facts.embodiment,
        monitor=facts.key.monitor,
        duration_s=facts.nominal_s,
        elapsed_s=graded.elapsed_s,
        outcome=graded.outcome,
        done=graded.done,
        harm=graded.harm,
        mistake=graded.mistake,
        mistake_at_s=graded.mistake_at_s,
        criteria=graded.violated,
        seed=facts.key.seed,
        config_digest=facts.comparable,
        record=str(record.folder),
    )


def load_table(source: Path) -> TrialTable:
    """Return the trial table of a folder of records, or of a table file.

    Raises:
        UsageError: If there is nothing at ``source``, or no record below it.
        ConfigError: If rows of a table are wrong; all of them are listed.
        RecordError: If a record cannot be read.
    """
    if source.is_file():
        return read_trials(source)
    if not source.is_dir():
        raise UsageError(
            f"{source}: no such file or folder; give a folder of records, or a table (csv, jsonl)"
        )
    rows = []
    for folder in records_under(source):
        record = read(folder)
        rows.append(row_of(record, grade(record)))
    if not rows:
        raise UsageError(f"{source}: NOT ASSESSED, there is no record below it")
    return TrialTable.from_rows(rows, source=str(source))
