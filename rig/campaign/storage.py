"""The ledger's file: its tables, its rows as values, and what SQLite's complaints mean."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rig.campaign.entries import Entry, Finished, State
from rig.core.errors import RecordError, RigFault, UsageError
from rig.trial.spec import FITTED, TrialSpec

FILE: Final = "ledger.sqlite"
SCHEMA_VERSION: Final = "2"

TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cell (
    id INTEGER PRIMARY KEY, item TEXT NOT NULL, agent TEXT NOT NULL, bench TEXT NOT NULL, monitor TEXT NOT NULL,
    think TEXT NOT NULL, arm TEXT NOT NULL, sealed INTEGER NOT NULL, site TEXT NOT NULL, embodiment TEXT NOT NULL,
    family TEXT NOT NULL, tier INTEGER NOT NULL, nominal_s REAL NOT NULL, configuration TEXT NOT NULL,
    comparable TEXT NOT NULL, cameras TEXT NOT NULL);
CREATE TABLE trial (
    position INTEGER PRIMARY KEY, id BLOB NOT NULL, cell INTEGER NOT NULL REFERENCES cell, seed INTEGER NOT NULL,
    repeat INTEGER NOT NULL, lane INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0, worker TEXT, beat REAL, job_s REAL, outcome TEXT, cause TEXT, reason TEXT,
    seq INTEGER, head BLOB, done INTEGER, harm INTEGER, mistake INTEGER, mistake_at_s REAL, criteria TEXT,
    elapsed_s REAL, ticks INTEGER);
CREATE TABLE tally (
    state TEXT NOT NULL, outcome TEXT NOT NULL, cause TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (state, outcome, cause)) WITHOUT ROWID;
CREATE TABLE run (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, executor TEXT NOT NULL, began_utc TEXT NOT NULL,
    seen_utc TEXT NOT NULL, elapsed_s REAL NOT NULL, finished INTEGER NOT NULL, how TEXT NOT NULL);
CREATE TABLE note (id INTEGER PRIMARY KEY, utc TEXT NOT NULL, text TEXT NOT NULL);
"""
INDEXES: Final = """
CREATE UNIQUE INDEX trial_id ON trial (id);
CREATE INDEX queued ON trial (lane, position) WHERE state = 'queued';
CREATE INDEX leased ON trial (position) WHERE state = 'leased';
INSERT INTO tally SELECT state, '', '', count(*) FROM trial GROUP BY state;
CREATE TRIGGER counted AFTER UPDATE OF state ON trial BEGIN
    UPDATE tally SET n = n - 1
        WHERE state = old.state AND outcome = ifnull(old.outcome, '') AND cause = ifnull(old.cause, '');
    INSERT INTO tally VALUES (new.state, ifnull(new.outcome, ''), ifnull(new.cause, ''), 1)
        ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER terminal BEFORE UPDATE ON trial WHEN old.state IN ('done', 'aborted', 'indeterminate') BEGIN
    SELECT raise(ABORT, 'a trial that has ended is never changed');
END;
"""
ENTRY: Final = """
SELECT t.position, t.id, c.item, c.agent, c.bench, c.monitor, c.think, t.seed, t.repeat, c.arm, c.sealed, c.embodiment,
    c.configuration, t.state, t.attempts, t.deaths, t.outcome, t.cause, t.reason, t.seq, t.head, t.done, t.harm,
    t.mistake, t.mistake_at_s, t.criteria, t.elapsed_s, t.ticks, t.worker, t.beat, t.job_s, c.cameras
FROM trial t JOIN cell c ON c.id = t.cell"""


BEFORE_CAMERAS: Final = f"CREATE TEMP VIEW cell AS SELECT *, '{FITTED}' AS cameras FROM main.cell"
"""What a ledger of schema 1 lacks: its cells could only have cameras as fitted."""

QUEUED_LANES: Final = """
WITH RECURSIVE found (lane) AS (
    SELECT min(lane) FROM trial WHERE state = 'queued'
    UNION ALL
    SELECT (SELECT min(lane) FROM trial WHERE state = 'queued' AND lane > found.lane) FROM found
    WHERE found.lane IS NOT NULL)
SELECT lane FROM found WHERE lane IS NOT NULL"""


def connected(folder: Path, mode: str) -> sqlite3.Connection:
    """Open the ledger in a folder; ``mode`` is ``rw`` or ``ro``.

    Raises:
        UsageError: If there is none.
        RecordError: If it is damaged or of another version.
    """
    path = folder / FILE
    if not path.is_file():
        raise UsageError(
            f"{folder}: no campaign here (there is no {FILE}); start one with runrig campaign run"
        )
    with speaking(path):
        db = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=30
        )
        try:
            found = db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        except sqlite3.Error:
            db.close()
            raise
    if found == ("1",):
        db.execute(BEFORE_CAMERAS)
    elif found != (SCHEMA_VERSION,):
        db.close()
        raise RecordError(f"{path}: ledger schema {found!r}; this program reads schema {SCHEMA_VERSION}")
    return db


@contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Turn what SQLite says into advice.

    Raises:
        RigFault: If the disk does not take it.
        RecordError: If the file is no ledger.
    """
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.OperationalError as error:
        raise RigFault(
            f"{path}: {error}; what was committed is kept: free some space if the disk is full, then run the same "
            f"command again"
        ) from error
    except sqlite3.DatabaseError as error:
        raise RecordError(f"{path}: damaged, or not a ledger: {error}") from error


def spec_of(row: Sequence[Any]) -> TrialSpec:
    """Return the trial of a row of `ENTRY`."""
    return TrialSpec(
        item=row[2], agent=row[3], bench=row[4], monitor=row[5], think=row[6], seed=row[7], repeat=row[8],
        cameras=row[31],
    )  # fmt: skip


def entry_of(row: Sequence[Any]) -> Entry:
    """Return a row of `ENTRY` as a value."""
    name, state = bytes(row[1]).hex(), State(row[13])
    ended = None
    if row[16] is not None:
        ended = Finished(
            trial_id=name, state=state, outcome=row[16], cause=row[17], reason=row[18], seq=row[19],
            head=bytes(row[20]).hex(), done=bool(row[21]), harm=bool(row[22]), mistake=bool(row[23]),
            mistake_at_s=row[24], criteria=tuple(filter(None, row[25].split(";"))), elapsed_s=row[26], ticks=row[27],
        )  # fmt: skip
    return Entry(
        position=row[0], trial_id=name, spec=spec_of(row), arm=row[9], sealed=bool(row[10]), embodiment=row[11],
        configuration=row[12], state=state, attempts=row[14], deaths=row[15], ended=ended,
    )  # fmt: skip
