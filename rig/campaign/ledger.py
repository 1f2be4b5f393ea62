"""The ledger: one SQLite file that says of every trial where it stands. It is the truth; executors are not.

One process writes it, the coordinator, which holds a lock on the campaign for as long as it lives (see
`rig.campaign.lock`); anybody may read at the same time (write-ahead log). What is committed is on the medium.
Every operation costs O(log n): the next trial comes from a partial index over what is queued, and a status
from counts that triggers keep.
"""

import contextlib
import os
import socket
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rig.campaign.entries import PHYSICAL, CampaignStatus, Entry, Finished, Lease, State
from rig.campaign.grid import Cell, Trials
from rig.campaign.lock import is_coordinated
from rig.campaign.storage import (
    ENTRY,
    FILE,
    INDEXES,
    QUEUED_LANES,
    SCHEMA_VERSION,
    TABLES,
    connected,
    entry_of,
    speaking,
    spec_of,
)
from rig.core.clock import wall_utc
from rig.core.errors import RigFault, UsageError
from rig.core.record import Anchor
from rig.trial.spec import TrialSpec


class Ledger:
    """A campaign's ledger; a context manager. `create` once, then `writing` or `reading`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder, self._db = folder, connection
        self._run = 0

    @staticmethod
    def create(folder: Path, meta: Mapping[str, str], trials: Trials) -> None:
        """Make the ledger of a campaign, whole or not at all.

        Args:
            folder: The campaign's folder.
            meta: Facts by name: ``name``, ``registration`` (empty if exploratory), ``plan_sha256``, ...
            trials: Every trial, in the order of execution.

        Raises:
            UsageError: If two trials are the same.
            RigFault: If the disk does not take it.
        """
        draft = folder / f".{FILE}"
        draft.unlink(missing_ok=True)
        lanes = _lanes(trials.cells)
        with speaking(draft):
            db = sqlite3.connect(draft, isolation_level=None)
            try:
                db.executescript(TABLES)
                db.execute("BEGIN")
                db.executemany("INSERT INTO meta VALUES (?, ?)", [("schema", SCHEMA_VERSION), *meta.items()])
                db.executemany(
                    f"INSERT INTO cell VALUES ({', '.join('?' * 16)})",
                    [
                        (n, c.spec.item, c.spec.agent, c.spec.bench, c.spec.monitor, c.spec.think, c.arm, c.sealed,
                         c.site, c.embodiment, c.family, c.tier, c.nominal_s, c.configuration, c.comparable,
                         c.spec.cameras)
                        for n, c in enumerate(trials.cells)
                    ],
                )  # fmt: skip
                db.executemany(
                    "INSERT INTO trial (position, id, cell, seed, repeat, lane, state) VALUES (?, ?, ?, ?, ?, ?, 'queued')",
                    (
                        (position, bytes.fromhex(name), cell, seed, repeat, lanes[cell])
                        for position, (name, cell, seed, repeat) in enumerate(trials)
                    ),
                )
                db.execute("COMMIT")
                db.executescript(INDEXES)
            except sqlite3.IntegrityError:
                raise UsageError(f"{folder}: two trials of the plan are the same") from None
            finally:
                db.close()
            fd = os.open(draft, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
            draft.replace(folder / FILE)

    @classmethod
    def writing(cls, folder: Path) -> Self:
        """Open the ledger to write; the caller is the coordinator (see `coordinating`).

        Raises:
            UsageError: If there is none.
            RecordError: If it is damaged or of another version.
        """
        made = cls(folder, connected(folder, "rw"))
        with speaking(folder / FILE):
            made._db.execute("PRAGMA journal_mode = WAL")
        return made

    @classmethod
    def reading(cls, folder: Path) -> Self:
        """Open the ledger to read, also while a coordinator is at work.

        Raises:
            UsageError: If there is none.
            RecordError: If it is damaged or of another version.
        """
        return cls(folder, connected(folder, "ro"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    # ---- reading --------------------------------------------------------------------------

    def meta(self) -> dict[str, str]:
        """Return the facts the ledger was made with."""
        return dict(self._db.execute("SELECT name, value FROM meta"))

    def status(self) -> CampaignStatus:
        """Return how the campaign stands; costs the same for ten trials and for a million."""
        meta = self.meta()
        states: dict[State, int] = {}
        outcomes: dict[str, int] = {}
        causes: dict[str, int] = {}
        for state, outcome, cause, n in self._db.execute("SELECT * FROM tally WHERE n > 0"):
            states[State(state)] = states.get(State(state), 0) + n
            for name, counts in ((outcome, outcomes), (cause, causes)):
                if name:
                    counts[name] = counts.get(name, 0) + n
        now_s = wall_utc().timestamp()
        leased = self._db.execute(f"{ENTRY} WHERE t.state = 'leased' ORDER BY t.position").fetchall()
        leases = tuple(
            Lease(
                trial_id=bytes(row[1]).hex(), spec=spec_of(row), worker=row[28] or "",
                lag_s=max(0.0, now_s - (row[29] or now_s)), job_s=row[30] or 0.0,
            )
            for row in leased
        )  # fmt: skip
        last = self._db.execute(
            "SELECT executor, elapsed_s, finished FROM run ORDER BY id DESC LIMIT 1"
        ).fetchone()
        executor, run_s, run_done = last or ("", 0.0, 0)
        return CampaignStatus(
            folder=self.folder, name=meta["name"], registration=meta["registration"],
            trials=sum(states.values()), states=states, outcomes=outcomes, causes=causes, leases=leases,
            running=is_coordinated(self.folder), executor=executor, run_s=run_s, run_done=run_done,
        )  # fmt: skip

    def entries(self, after: int = -1, limit: int = -1) -> Iterator[Entry]:
        """Yield trials in the order of execution.

        Args:
            after: Begin behind this position.
            limit: At most so many; all if negative.
        """
        query = f"{ENTRY} WHERE t.position > ? ORDER BY t.position LIMIT ?"
        return (entry_of(row) for row in self._db.execute(query, (after, limit)))

    def entry(self, trial_id: str) -> Entry | None:
        """Return one trial, None if it is not of this campaign."""
        try:
            name = bytes.fromhex(trial_id)
        except ValueError:
            return None
        row = self._db.execute(f"{ENTRY} WHERE t.id = ?", (name,)).fetchone()
        return entry_of(row) if row else None

    def anchors(self, trial_id: str) -> tuple[Anchor, ...]:
        """Return what the ledger vouches for of a trial's record, for `rig.core.record.verify`."""
        found = self.entry(trial_id)
        if found is None or found.ended is None or not found.ended.head:
            return ()
        return (Anchor(trial_id, found.ended.seq, found.ended.head, f"campaign ledger {self.folder / FILE}"),)

    def cells(self) -> tuple[Cell, ...]:
        """Return the cells the campaign was registered with, by number."""
        rows = self._db.execute(
            "SELECT item, agent, bench, monitor, think, arm, sealed, site, embodiment, family, tier, nominal_s, "
            "configuration, comparable, cameras FROM cell ORDER BY id"
        )
        return tuple(
            Cell(
                spec=TrialSpec(
                    item=r[0], agent=r[1], bench=r[2], monitor=r[3], seed=0, think=r[4], cameras=r[14]
                ),
                arm=r[5], sealed=bool(r[6]), site=r[7], embodiment=r[8], family=r[9], tier=r[10], nominal_s=r[11],
                configuration=r[12], comparable=r[13],
            )
            for r in rows
        )  # fmt: skip

    def notes(self) -> tuple[tuple[str, str], ...]:
        """Return what coordinators wrote down: (UTC, text)."""
        return tuple(self._db.execute("SELECT utc, text FROM note ORDER BY id"))

    def last_seen_utc(self) -> str:
        """Return the latest wall-clock time any coordinator wrote down, empty if none did."""
        (found,) = self._db.execute("SELECT ifnull(max(seen_utc), '') FROM run").fetchone()
        return str(found)

    # ---- writing: the coordinator only -------------------------------------------------------

    def begin_run(self, executor: str) -> None:
        """Note that a coordinator has taken over."""
        now = wall_utc().isoformat()
        with self._changing():
            cursor = self._db.execute(
                "INSERT INTO run (host, pid, executor, began_utc, seen_utc, elapsed_s, finished, how) "
                "VALUES (?, ?, ?, ?, ?, 0, 0, 'at work')",
                (socket.gethostname(), os.getpid(), executor, now, now),
            )
            self._run = int(cursor.lastrowid or 0)

    def note(self, text: str) -> None:
        """Write down something a reader of the campaign should know."""
        with self._changing():
            self._db.execute("INSERT INTO note (utc, text) VALUES (?, ?)", (wall_utc().isoformat(), text))

    def lease(self, worker: str, busy_lanes: Sequence[int] = ()) -> Entry | None:
        """Give the next queued trial to a worker, None if there is none it could have.

        Args:
            worker: Who takes it.
            busy_lanes: Physical benches in use; each takes one trial at a time.
        """
        lanes = [int(lane) for (lane,) in self._db.execute(QUEUED_LANES)]
        found = [
            self._db.execute(
                "SELECT min(position) FROM trial WHERE state = 'queued' AND lane = ?", (lane,)
            ).fetchone()[0]
            for lane in lanes
            if lane not in busy_lanes
        ]
        position = min((p for p in found if p is not None), default=None)
        if position is None:
            return None
        # A lease that a power cut undoes is of a trial that is still queued: only a physical one must last.
        lane = int(self._db.execute("SELECT lane FROM trial WHERE position = ?", (position,)).fetchone()[0])
        with self._changing(durable=lane > 0):
            self._db.execute(
                "UPDATE trial SET state = 'leased', worker = ?, beat = ?, job_s = 0, attempts = attempts + 1 "
                "WHERE position = ?",
                (worker, wall_utc().timestamp(), position),
            )
        return entry_of(self._db.execute(f"{ENTRY} WHERE t.position = ?", (position,)).fetchone())

    def queued(self) -> int:
        """Return how many trials wait to be given out."""
        (n,) = self._db.execute("SELECT ifnull(sum(n), 0) FROM tally WHERE state = 'queued'").fetchone()
        return int(n)

    def lane(self, trial_id: str) -> int:
        """Return the lane of a trial: 0, or the number of its physical bench."""
        row = self._db.execute("SELECT lane FROM trial WHERE id = ?", (bytes.fromhex(trial_id),)).fetchone()
        return int(row[0])

    def leased(self) -> tuple[Entry, ...]:
        """Return the trials given out and not come back."""
        return tuple(
            entry_of(r) for r in self._db.execute(f"{ENTRY} WHERE t.state = 'leased' ORDER BY t.position")
        )

    def requeue(self, trial_id: str, *, died: bool, untouched: bool = False) -> None:
        """Take a trial back, to be given out again.

        Args:
            trial_id: Which trial.
            died: Whether its worker died over it.
            untouched: Whether the worker itself said that it had not begun; needed for a physical trial.

        Raises:
            RigFault: If it is a physical one that was begun: software never moves hardware a second time.
        """
        found = self.entry(trial_id)
        if found is None or (found.physical and not untouched):
            raise RigFault(f"trial {trial_id}: a physical trial is never run again by software")
        with self._changing(durable=False):
            self._db.execute(
                "UPDATE trial SET state = 'queued', worker = NULL, beat = NULL, job_s = NULL, deaths = deaths + ? "
                "WHERE id = ? AND state = 'leased'",
                (int(died), bytes.fromhex(trial_id)),
            )

    def heard(self, beats: Mapping[str, float], elapsed_s: float) -> None:
        """Note signs of life: job time by trial id, and how long this coordinator has been at work."""
        now = wall_utc()
        with self._changing(durable=False):
            self._db.executemany(
                "UPDATE trial SET beat = ?, job_s = ? WHERE id = ? AND state = 'leased'",
                [(now.timestamp(), job_s, bytes.fromhex(name)) for name, job_s in beats.items()],
            )
            self._db.execute(
                "UPDATE run SET seen_utc = ?, elapsed_s = ? WHERE id = ?",
                (now.isoformat(), elapsed_s, self._run),
            )

    def finish(self, ended: Sequence[Finished], elapsed_s: float) -> None:
        """Note how trials ended; durable, all of them, when this returns.

        Raises:
            RigFault: If the disk does not take it, or a trial was not under way.
        """
        with self._changing():
            for one in ended:
                changed = self._db.execute(
                    "UPDATE trial SET state = ?, outcome = ?, cause = ?, reason = ?, seq = ?, head = ?, done = ?, "
                    "harm = ?, mistake = ?, mistake_at_s = ?, criteria = ?, elapsed_s = ?, ticks = ?, worker = NULL, "
                    "beat = NULL, job_s = NULL WHERE id = ? AND state = 'leased'",
                    (
                        one.state, one.outcome, one.cause, one.reason, one.seq, bytes.fromhex(one.head), one.done,
                        one.harm, one.mistake, one.mistake_at_s, ";".join(one.criteria), one.elapsed_s, one.ticks,
                        bytes.fromhex(one.trial_id),
                    ),
                ).rowcount  # fmt: skip
                if changed != 1:
                    raise RigFault(f"trial {one.trial_id} was not under way; its end is not counted twice")
            self._db.execute(
                "UPDATE run SET finished = finished + ?, elapsed_s = ?, seen_utc = ? WHERE id = ?",
                (len(ended), elapsed_s, wall_utc().isoformat(), self._run),
            )

    def end_run(self, how: str, elapsed_s: float) -> None:
        """Note how this coordinator ended, and fold the write-ahead log into the one file."""
        with self._changing():
            self._db.execute(
                "UPDATE run SET how = ?, elapsed_s = ?, seen_utc = ? WHERE id = ?",
                (how, elapsed_s, wall_utc().isoformat(), self._run),
            )
        with speaking(self.folder / FILE):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with contextlib.suppress(sqlite3.OperationalError):  # somebody is reading: then the log stays
                self._db.execute("PRAGMA journal_mode = DELETE")

    @contextmanager
    def _changing(self, *, durable: bool = True) -> Iterator[None]:
        """One transaction, all or nothing; one that is not durable may be undone by a power cut, not by a kill."""
        with speaking(self.folder / FILE):
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _lanes(cells: Sequence[Cell]) -> list[int]:
    """Return the lane of each cell: 0 for what may run beside itself, a number of its own per physical bench."""
    benches = sorted({c.site for c in cells if c.embodiment == PHYSICAL})
    return [benches.index(c.site) + 1 if c.embodiment == PHYSICAL else 0 for c in cells]
