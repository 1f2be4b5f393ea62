"""Campaigns: many trials on the cores of this machine, each exactly once, in a fixed order.

Workers are spawned processes that share nothing but the folder of records; results come back in the
order in which trials end, and the caller sorts them by what identifies them.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import TypeVar

from rig.core.errors import RigFault, UsageError
from rig.trial.spec import TrialSpec

Result = TypeVar("Result")


def workers_here(wanted: int | None) -> int:
    """Return the number of worker processes: as wanted, else one per usable core."""
    if wanted is not None:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    specs: Sequence[TrialSpec], work: Callable[[TrialSpec], Result], workers: int
) -> Iterator[tuple[TrialSpec, Result]]:
    """Run ``work`` once for every trial and yield results as they come.

    Args:
        specs: The trials, no two alike.
        work: Runs one trial; must be importable by name in a new process.
        workers: Processes.

    Raises:
        UsageError: If there is no trial, or one is listed twice.
        RigFault: If a worker process dies.
    """
    if not specs:
        raise UsageError("a campaign of no trials assesses nothing")
    if len(set(specs)) != len(specs):
        raise UsageError("a trial is listed twice; give repeats their own number")
    if workers <= 1:
        for spec in specs:
            yield spec, work(spec)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_leave_ctrl_c_to_the_parent) as pool:
        waiting: dict[Future[Result], TrialSpec] = {pool.submit(work, spec): spec for spec in specs}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except (KeyboardInterrupt, GeneratorExit):
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        except RuntimeError as error:
            raise RigFault(
                f"a worker process died: {error}; the records of finished trials are whole"
            ) from None


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
