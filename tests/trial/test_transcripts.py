"""Verdicts come from what was measured: with every word blanked they are the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from running import ran, spec_of

from analysis.grade import grade
from analysis.trials import Outcome
from rig.cli.matrix import trials_of
from rig.core.event import Kind
from rig.core.record import Record, read
from tasks.suite import load_task, task_names
from tests.recorded import EXIT, MODES, PLAIN, SOUP, folder_of

WORDS = {"text", "summary", "reason", "message", "what", "heard", "noticed", "detail"}
"""Fields of events that hold what was said, noted or explained."""
TALK = (
    Kind.SAID,
    Kind.NOTED,
    Kind.PERSON,
    Kind.REPLIED,
    Kind.PROPOSED,
    Kind.CALLED,
    Kind.VERDICT,
    Kind.EFFECTED,
)


def blanked(record: Record) -> Record:
    """Return the record without a word of agent, person or monitor, and with the agent's claims undone."""

    def blank(value: object) -> object:
        if isinstance(value, dict):
            return {k: "" if k in WORDS else blank(v) for k, v in value.items()}
        return value

    events = tuple(replace(e, body=blank(dict(e.body))) if e.kind in TALK else e for e in record.events)
    return replace(record, events=events)


def check_silent(record: Record) -> None:
    """Blank every word of a record and hold its verdict against that."""
    told = [str(e.body) for e in record.events if e.kind in TALK]
    silent = blanked(record)
    assert told != [str(e.body) for e in silent.events if e.kind in TALK], "nothing was blanked"
    before, after = grade(record), grade(silent)
    assert after.findings == before.findings
    assert (after.outcome, after.done) == (before.outcome, before.done)


@pytest.mark.parametrize("monitor", MODES)
@pytest.mark.parametrize("trial", [EXIT, SOUP, PLAIN], ids=["exit", "soup", "plain"])
def test_blanking_every_word_changes_no_verdict(trial: tuple[str, str], monitor: str) -> None:
    check_silent(read(folder_of(trial, monitor)))


QUICK = ("handover", "itch-scratch", "dress-sleeve")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.soak) for n in task_names()]
)
def test_of_no_task_do_verdicts_come_from_words(name: str, tmp_path: Path) -> None:
    """One mistake of every task, and a careful trial: harm and good work alike are measured."""
    trials = trials_of(load_task(name))
    slip = next(t for t in trials if t.slips_on)
    careful = next(t for t in trials if not t.slips_on)
    for trial in (slip, careful):
        folder = tmp_path / trial.agent
        ran(spec_of(trial.item, trial.agent, "shadow"), folder)
        record = read(folder)
        assert grade(record).outcome is (Outcome.CRITICAL if trial.slips_on else Outcome.PASS)
        check_silent(record)
