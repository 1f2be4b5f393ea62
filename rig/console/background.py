"""What takes a while and is asked for again: what-ifs in a process of their own, the running estimate."""

import multiprocessing
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from analysis.export import to_json
from analysis.horizon import HorizonOptions
from analysis.live import RunningEstimate
from analysis.trials import Outcome, TrialRow
from rig.console import whatif
from rig.console.shelf import Item
from rig.core.errors import RunError

Told = Sequence[tuple[Item, Mapping[str, Any] | None]]
LOT = 4
MOST_JOBS = 20


@dataclass(slots=True)
class Job:
    """One what-if under way."""

    trials: int
    lots: list[Future[list[dict[str, Any]]]]


@dataclass(slots=True)
class Desk:
    """The what-ifs of one console, and the process that works on them."""

    jobs: "OrderedDict[str, Job]" = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    pool: ProcessPoolExecutor | None = None

    def start(self, items: list[Item], text: str) -> str:
        """Begin a what-if over records; return its name."""
        with self.lock:
            if self.pool is None:
                self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
            lots = [[item.folder for item in items[k : k + LOT]] for k in range(0, len(items), LOT)]
            job = Job(len(items), [self.pool.submit(whatif.over_records, lot, text) for lot in lots])
            name = secrets.token_hex(8)
            self.jobs[name] = job
            while len(self.jobs) > MOST_JOBS:
                for lot in self.jobs.popitem(last=False)[1].lots:
                    lot.cancel()
            return name

    def close(self) -> None:
        """Drop what is not done."""
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A report on some trials, or why there is none."""

    of: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(slots=True)
class Estimates:
    """Running estimates, one per set of records; estimated anew only when trials came in."""

    known: dict[str, Estimate] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self, name: str, told: Told) -> tuple[Mapping[str, Any], str]:
        """Return the report on graded trials of the set of this name, and why there is none."""
        rows = [r for item, story in told if story and (r := row_of(item, story)) is not None]
        of = tuple(sorted(f"{r.trial_id} {r.outcome}" for r in rows))
        with self.lock:
            if self.known.get(name, Estimate()).of != of:
                self.known[name] = _estimated(of, rows)
            found = self.known.get(name, Estimate())
            return found.report, found.problem


def _estimated(of: tuple[str, ...], rows: Sequence[TrialRow]) -> Estimate:
    running = RunningEstimate("this folder of runs", HorizonOptions())
    try:
        for row in {r.trial_id: r for r in rows}.values():
            running.add(row)
        return Estimate(of, to_json(running.report()) if rows else {})
    except RunError as error:
        return Estimate(of, {}, str(error))


def row_of(item: Item, told: Mapping[str, Any]) -> TrialRow | None:
    """Return a record's row of the trial table, None while it is not graded."""
    graded = told.get("grade")
    if graded is None:
        return None
    facts = told["facts"]
    return TrialRow(
        trial_id=told["trial_id"], agent=facts["key"]["agent"], family=facts["family"], task=facts["task"],
        item=facts["item"], site=facts["site"], tier=facts["tier"], embodiment=facts["embodiment"],
        monitor=facts["key"]["monitor"], duration_s=facts["nominal_s"], elapsed_s=graded["elapsed_s"],
        outcome=Outcome(graded["outcome"]), done=graded["done"], harm=graded["harm"], mistake=graded["mistake"],
        mistake_at_s=graded["mistake_at_s"], criteria=tuple(graded["criteria"]), seed=facts["key"]["seed"],
        config_digest=facts["comparable"], record=item.folder.name,
    )  # fmt: skip
