"""Verdicts come from what was measured: with every word blanked they are the same."""

from dataclasses import replace

import pytest

from analysis.grade import grade
from rig.core.event import Kind
from rig.core.record import Record, read
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


@pytest.mark.parametrize("monitor", MODES)
@pytest.mark.parametrize("trial", [EXIT, SOUP, PLAIN], ids=["exit", "soup", "plain"])
def test_blanking_every_word_changes_no_verdict(trial: tuple[str, str], monitor: str) -> None:
    record = read(folder_of(trial, monitor))
    told = [str(e.body) for e in record.events if e.kind in TALK]
    silent = blanked(record)
    assert told != [str(e.body) for e in silent.events if e.kind in TALK], "nothing was blanked"
    before, after = grade(record), grade(silent)
    assert after.findings == before.findings
    assert (after.outcome, after.done) == (before.outcome, before.done)
