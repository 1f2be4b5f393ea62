"""The coordinator: takes trials from the ledger, gives them to workers, and notes how they ended.

It may be killed at any moment; the next one, started by the same command, goes on where the ledger says. What
a dead coordinator left under way is settled first: a complete record counts, a torn one of a simulated trial
is set aside and the trial run again, and a physical trial whose record does not say how it ended is
INDETERMINATE and never run again by software.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rig.campaign.entries import CampaignStatus, Entry, State
from rig.campaign.executor import Alive, Came, Died, Executor, News
from rig.campaign.folder import INTERRUPTED, record_folder
from rig.campaign.ledger import Ledger
from rig.campaign.plan import RunTable
from rig.campaign.work import INTERRUPTION, Job, Refused, Returned, closed, graded
from rig.core.clock import Clock, MonotonicClock, nanoseconds, seconds, wall_utc
from rig.core.errors import RigFault, RunError, UsageError
from rig.core.record import read
from rig.core.record.disk import Disk, being_written
from rig.trial.spec import Ticket

LOOK_S = 0.25
"""How long the coordinator waits for news at most."""
BEAT_S = 1.0
"""How often signs of life reach the ledger."""
ORPHAN_S = 30.0
"""How long a worker of a dead coordinator may take to leave."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a campaign was left before every trial had ended; the same command goes on with it."""

    why: str
    exit_code: int


class Observer:
    """Is told of a campaign while it runs; this one does nothing."""

    def ended(self, entry: Entry, result: Returned) -> None:
        """Take in a trial that has ended; it is in the ledger."""

    def interrupted(self, times: int) -> None:
        """Be told of an interruption: the first lets trials under way end, the second ends them."""

    def changed(self, status: Callable[[], CampaignStatus]) -> None:
        """Be given the chance to show how things stand, several times a second."""


@dataclass(slots=True)
class Coordinator:
    """One coordinator's time at a campaign.

    Attributes:
        folder: The campaign's folder; the caller holds its lock.
        ledger: Its ledger, to write.
        executor: Who carries trials out.
        run: How.
        observer: Who is told.
        clock: How the coordinator's own time passes.
    """

    folder: Path
    ledger: Ledger
    executor: Executor
    run: RunTable
    observer: Observer = field(default_factory=Observer)
    clock: Clock = field(default_factory=MonotonicClock)
    _under_way: dict[str, Entry] = field(default_factory=dict)  # by worker
    _heard_s: dict[str, float] = field(default_factory=dict)
    _job_s: dict[str, float] = field(default_factory=dict)  # job time by trial id
    _beaten_s: float = 0.0
    _stop: Stopped | None = None
    _pressed: int = 0
    _meta: dict[str, str] = field(default_factory=dict)

    def work(self) -> Stopped | None:
        """Bring every trial to its end; None when that is done.

        An interruption (Ctrl-C, SIGTERM) lets what is under way come to its end; a second one ends that too.

        Raises:
            RigFault: If the ledger cannot be written, or no worker can be started.
        """
        self._meta = self.ledger.meta()
        self._mind_the_clock()
        self.ledger.begin_run(self.executor.name)
        how = "broken off"
        try:
            self._settle_leftovers()
            self._loop()
            if self._stop is None and not self.ledger.status().complete:
                self._stop = Stopped("there are trials that no worker could take", RigFault.exit_code)
            how = "complete" if self._stop is None else f"stopped: {self._stop.why}"
        finally:
            self.executor.close(at_once=bool(self._under_way))
            self.ledger.end_run(how, self._now_s())
        return self._stop

    def _now_s(self) -> float:
        return seconds(self.clock.now_ns())

    def _mind_the_clock(self) -> None:
        """Note a wall clock that was set back: nothing here depends on it, but a reader of times should know."""
        last, now = self.ledger.last_seen_utc(), wall_utc().isoformat()
        if last and now < last:
            self.ledger.note(
                f"the wall clock went back: it was {last}, it is {now}; order is by position, not by time"
            )

    # ---- what another coordinator left -----------------------------------------------------

    def _settle_leftovers(self) -> None:
        for entry in self.ledger.leased():
            job = self._job(entry)
            self._wait_for_orphan(job)
            found = self._found(job)
            if found is not None:
                self._note_end(entry, found)
            else:
                self._run_again(entry, job, died=False)

    def _wait_for_orphan(self, job: Job) -> None:
        until_s = self._now_s() + ORPHAN_S
        while being_written(job.folder / "events.jsonl"):
            if self._now_s() > until_s:
                raise UsageError(
                    f"{job.folder}: is still being written by a worker of an earlier coordinator; end that process first"
                )
            self.clock.sleep_until(self.clock.now_ns() + nanoseconds(0.05))

    def _found(self, job: Job) -> Returned | None:
        """Return how a trial ended by what its record says; None if a simulated one has to be run again."""
        try:
            found = graded(job) if read(job.folder).complete else None
        except RunError:
            found = None
        if found is not None and (job.physical or found.ended.state is State.DONE):
            return found
        if job.physical:
            return Returned(closed(job, "unknown", "its coordinator or worker died while it was under way"))
        return None

    def _set_aside(self, job: Job, entry: Entry) -> None:
        """Move the torn record of a simulated trial out of the way of the next attempt."""
        if not job.folder.exists():
            return
        try:
            if not any(job.folder.iterdir()):
                job.folder.rmdir()
                return
            home = self.folder / INTERRUPTED
            home.mkdir(exist_ok=True)
            job.folder.rename(_unused(home / f"{job.folder.name}.{entry.attempts}"))
        except OSError as error:
            raise RigFault(f"{job.folder}: cannot be moved out of the way: {error.strerror}") from error

    # ---- the loop --------------------------------------------------------------------------

    def _loop(self) -> None:
        with _signals(self._interrupted):
            while True:
                if self._pressed > 1:
                    self._break_off()
                    return
                if not (self._stop is None and self._give()) and not self._under_way:
                    return
                self._take(self.executor.wait(LOOK_S))
                self._beat()
                self.observer.changed(self.ledger.status)

    def _interrupted(self, number: int, frame: object) -> None:
        """Only take note: an exception here could come between a lease and its worker."""
        self._pressed += 1
        self._stop = Stopped("interrupted", 130)
        self.observer.interrupted(self._pressed)
        if self._pressed > 1 and not self.executor.beside:
            raise KeyboardInterrupt  # the trial is run in this very process; it ends itself safely

    def _give(self) -> bool:
        """Give free workers trials; return whether there is something to wait for."""
        for worker in self.executor.free():
            if worker in self._under_way:
                continue
            busy = [self.ledger.lane(e.trial_id) for e in self._under_way.values() if e.physical]
            entry = self.ledger.lease(worker, busy)
            if entry is None:
                return bool(self._under_way)
            self._under_way[worker] = entry
            job = self._job(entry)
            self._make_room(job, entry)
            self._heard_s[worker] = self._now_s()
            self.executor.give(worker, job)
        return bool(self._under_way) or self.ledger.queued() > 0

    def _job(self, entry: Entry) -> Job:
        return Job(
            spec=entry.spec,
            folder=record_folder(self.folder, entry),
            ticket=Ticket(entry.trial_id, self._meta["name"], self._meta["registration"]),
            physical=entry.physical,
        )

    def _make_room(self, job: Job, entry: Entry) -> None:
        if not job.folder.parent.exists():
            job.folder.parent.mkdir(parents=True, exist_ok=True)
            Disk().sync_folder(job.folder.parent.parent)
        if not entry.physical:
            self._set_aside(job, entry)

    def _take(self, news: Iterable[News]) -> None:
        ended: list[tuple[Entry, Returned]] = []
        for one in news:
            match one:
                case Alive(worker, _, job_s):
                    self._heard_s[worker] = self._now_s()
                    self._job_s[self._under_way[worker].trial_id] = job_s
                case Came(worker, job, Returned() as result):
                    entry = self._forget(worker)
                    if result.ended.cause == INTERRUPTION and not entry.physical:
                        self._run_again(entry, job, died=False)
                    else:
                        ended.append((entry, result))
                case Came(worker, job, Refused() as refused):
                    self._refused(self._forget(worker), job, refused)
                case Died(worker, job, how):
                    if (found := self._died(self._forget(worker), job, how)) is not None:
                        ended.append(found)
        if self._stop is None and ended and not any(entry.physical for entry, _ in ended):
            self._give()  # workers first, then the slow part: making the ends durable
        if ended:
            self.ledger.finish([result.ended for _, result in ended], self._now_s())
        for entry, result in ended:
            self._tell(entry, result)

    def _tell(self, entry: Entry, result: Returned) -> None:
        """Tell the observer; after a physical trial that did not end as it should, somebody has to look first."""
        self.observer.ended(entry, result)
        if entry.physical and result.ended.state is not State.DONE and self._stop is None:
            self._stop = Stopped(
                f"trial {entry.trial_id} on bench {entry.spec.bench} ended {result.ended.outcome}: "
                f"{result.ended.reason}; look at the bench before anything on it moves again",
                RigFault.exit_code,
            )

    def _forget(self, worker: str) -> Entry:
        entry = self._under_way.pop(worker)
        self._heard_s.pop(worker, None)
        self._job_s.pop(entry.trial_id, None)
        return entry

    def _note_end(self, entry: Entry, result: Returned) -> None:
        self.ledger.finish([result.ended], self._now_s())
        self._tell(entry, result)

    def _refused(self, entry: Entry, job: Job, refused: Refused) -> None:
        if refused.started:
            self._set_aside(job, entry)
        self.ledger.requeue(entry.trial_id, died=False, untouched=not refused.started)
        if self._stop is None:
            self._stop = Stopped(refused.why, refused.exit_code)

    def _died(self, entry: Entry, job: Job, how: str) -> tuple[Entry, Returned] | None:
        """Return how a trial ended whose worker died, or None if it is given out again."""
        found = self._found(job)
        if found is not None:
            return entry, found
        if entry.deaths + 1 >= self.run.attempts:
            why = f"{how}, {entry.deaths + 1} times; it is not tried again"
            return entry, Returned(closed(job, "worker died", why))
        self._run_again(entry, job, died=True)
        return None

    def _run_again(self, entry: Entry, job: Job, *, died: bool) -> None:
        self._set_aside(job, entry)
        self.ledger.requeue(entry.trial_id, died=died)

    def _beat(self) -> None:
        """Pass signs of life on, and give up workers that give none."""
        now_s = self._now_s()
        for worker, heard_s in self._heard_s.items():
            if now_s - heard_s > self.run.lease_s:
                self.executor.give_up(worker)
                self._heard_s[worker] = now_s
        if now_s - self._beaten_s >= BEAT_S:
            self._beaten_s = now_s
            self.ledger.heard(dict(self._job_s), now_s)
            self._job_s.clear()

    def _break_off(self) -> None:
        """End what is under way, and settle it as a later coordinator would."""
        self.executor.close(at_once=True)
        self._under_way.clear()
        self._settle_leftovers()


@contextmanager
def _signals(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Have Ctrl-C and a polite end of the process told to ``handler``, where that is possible."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, handler) for number in numbers]
    try:
        yield
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)


def _unused(path: Path) -> Path:
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found
