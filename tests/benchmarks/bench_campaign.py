"""What a campaign costs beside its trials: the ledger at a million rows, the coordinator, the executors.

    python tests/benchmarks/bench_campaign.py ledger [--rows 1000000]
    python tests/benchmarks/bench_campaign.py overhead [--trials 10000]
    python tests/benchmarks/bench_campaign.py speedup [--trials 40] [--repeats 3]

`ledger` generates one and times its operations; `overhead` runs trials that cost nothing through a pool of one
and says what each thousand of them took; `speedup` runs real short trials on 1 and 2 workers and on Ray,
interleaved, and takes the least of several (the machine may be shared).
"""

import argparse
import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from rig.campaign.coordinator import Observer
from rig.campaign.entries import CampaignStatus, Entry, Finished, State
from rig.campaign.executor import Executor
from rig.campaign.grid import Trials, lay_out
from rig.campaign.ledger import Ledger
from rig.campaign.local import Pool, ThisProcess
from rig.campaign.on_ray import RayWorkers
from rig.campaign.plan import Plan
from rig.campaign.running import Options, run_campaign
from rig.campaign.storage import FILE
from rig.campaign.work import Beat, Job, Returned, carry_out

PLAN = """
name = "bench"
text = "For timing."
[order]
randomise = true
[[grid]]
agents = ["refuse"]
items = ["bed-watch/30-min/quiet"]
monitors = ["guard"]
seeds = {{ first = {first}, count = {count} }}
"""


def ended(trial_id: str) -> Finished:
    head = hashlib.sha256(trial_id.encode()).hexdigest()
    return Finished(
        trial_id=trial_id, state=State.DONE, outcome="PASS", reason="done, and no critical mistake", seq=30,
        head=head, done=True, elapsed_s=1800.0, ticks=1800,
    )  # fmt: skip


def instant(job: Job, beat: Beat) -> Returned:
    return Returned(ended(job.ticket.trial_id))


def least_ms(work: Callable[[], object], repeats: int) -> float:
    """Return the least of several times: on a shared machine everything above it is somebody else's."""
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took) * 1e3


def plan_of(count: int, first: int = 0) -> Plan:
    import tomllib

    return Plan.model_validate(tomllib.loads(PLAN.format(first=first, count=count)))


def ledger(rows: int) -> None:
    for n in sorted({1000, 10_000, 100_000, rows}):
        with tempfile.TemporaryDirectory() as home:
            one_ledger(n, Path(home))


def generated(n: int, folder: Path) -> None:
    """Make a ledger of ``n`` queued trials with made-up ids, as fast as SQLite can."""
    Ledger.create(folder, {"name": "bench", "registration": "", "plan_sha256": "", "grid_sha256": ""}, few())
    with contextlib.closing(sqlite3.connect(folder / FILE)) as db:
        db.execute(
            "WITH RECURSIVE k (n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM k WHERE n < ?) INSERT INTO trial "
            "(position, id, cell, seed, repeat, lane, state) SELECT n, randomblob(16), 0, n, 0, 0, 'queued' FROM k",
            (n - 1,),
        )
        db.execute("UPDATE tally SET n = ?", (n,))
        db.commit()


def few() -> Trials:
    return lay_out(plan_of(10), "bench")


def one_ledger(n: int, folder: Path) -> None:
    start = time.perf_counter()
    generated(n, folder)
    made_s = time.perf_counter() - start
    with Ledger.reading(folder) as book:
        ids = [entry.trial_id for entry in book.entries(limit=50)]
    with Ledger.writing(folder) as book:
        book.begin_run("bench")

        def one() -> None:
            entry = book.lease("w")
            assert entry is not None
            book.finish([ended(entry.trial_id)], 1.0)

        turn_ms = least_ms(one, 200)
        find_ms = least_ms(lambda: [book.entry(name) for name in ids], 20) / len(ids)
    status_ms = least_ms(lambda: status_once(folder), 20)
    size = (folder / "ledger.sqlite").stat().st_size / n
    print(
        f"{n:>9,} rows: generated in {made_s:6.1f} s, {size:4.0f} B a row; lease + finish {turn_ms:.2f} ms; "
        f"find {find_ms:.3f} ms; status {status_ms:.2f} ms",
        flush=True,
    )


def status_once(folder: Path) -> CampaignStatus:
    with Ledger.reading(folder) as book:
        return book.status()


class Stamps(Observer):
    def __init__(self) -> None:
        self.times: list[float] = []
        self.cpu_s: list[float] = []  # of the coordinator, which another load does not stretch

    def ended(self, entry: Entry, result: Returned) -> None:
        self.times.append(time.perf_counter())
        self.cpu_s.append(time.process_time())


def campaign(trials: int, out: Path, make: Callable[[], Executor], first: int = 0) -> Stamps:
    """Run one and return when each trial ended."""
    plan = out.with_suffix(".toml")
    plan.write_text(PLAN.format(first=first, count=trials))
    seen = Stamps()
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(out)
    ran = run_campaign(plan, out, Options(exploratory=True), seen, executor=make)
    assert ran.stopped is None and ran.status.complete
    return seen


def overhead(trials: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        for name, make in (
            ("this process", lambda: ThisProcess(work=instant)),
            ("pool of 1", lambda: Pool(1, work=instant)),
        ):
            seen = campaign(trials, Path(home) / "out", make)
            ms, cpu_ms = np.diff(seen.times) * 1e3, np.diff(seen.cpu_s) * 1e3
            tenths = [f"{part.mean():.2f}" for part in np.array_split(cpu_ms, 10)]
            print(
                f"{name}: {trials} trials that cost nothing: least {ms.min():.2f} ms, median {np.median(ms):.2f} ms a trial "
                f"(load {os.getloadavg()[0]:.0f}); the coordinator's processor time {cpu_ms.mean():.2f} ms a trial, by "
                f"tenths of the campaign {' '.join(tenths)}",
                flush=True,
            )


def speedup(trials: int, repeats: int) -> None:
    """Rates are from the first end to the last, so that starting up does not count."""
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out"
        ways: dict[str, Callable[[], Executor]] = {
            "this process": lambda: ThisProcess(),
            "pool of 1": lambda: Pool(1),
            "pool of 2": lambda: Pool(2),
            "ray, 2": partial(RayWorkers, "local", 2, out, work=carry_out),
        }
        least: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeats):
            for name, make in ways.items():
                seen = campaign(trials, out, make)
                least[name].append((seen.times[-1] - seen.times[2]) / (trials - 3) * 1e3)
                print(
                    f"  {name}: {least[name][-1]:.0f} ms a trial; load {os.getloadavg()[0]:.1f}", flush=True
                )
    best = {name: min(times) for name, times in least.items()}
    print(", ".join(f"{name} {ms:.0f} ms" for name, ms in best.items()))
    print(
        f"2 workers over 1: {best['pool of 1'] / best['pool of 2']:.2f}; Ray over the pool, 2 each: "
        f"{best['pool of 2'] / best['ray, 2']:.2f}; pool of 1 over this process: "
        f"{best['this process'] / best['pool of 1']:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["ledger", "overhead", "speedup"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    if args.what == "ledger":
        ledger(args.rows)
    elif args.what == "overhead":
        overhead(args.trials or 10_000)
    else:
        speedup(args.trials or 40, args.repeats)


if __name__ == "__main__":
    main()
