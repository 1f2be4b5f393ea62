"""Carrying trials out on this machine: a pool of spawned processes, or this process itself.

Spawned, because a forked copy of a process with threads and compiled code in it is not safe to go on in. A
worker that dies takes one trial with it and nothing else. Workers leave when the coordinator does.
"""

import contextlib
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from rig.campaign.executor import Alive, Came, Died, News
from rig.campaign.work import Beat, Job, Refused, Returned, carry_out
from rig.core.errors import RigFault, UsageError
from rig.trial.spec import TrialSpec

Task = TypeVar("Task")
Result = TypeVar("Result")
BEAT_S = 1.0
MOST_FAILED_STARTS = 8
PATIENCE_S = 10.0
"""How long a worker that was asked to leave may take."""


def workers_here(wanted: int | None) -> int:
    """Return the number of worker processes: as wanted, else one per usable core."""
    if wanted is not None:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(slots=True)
class _Worker(Generic[Task]):
    process: BaseProcess
    pipe: Connection
    task: Task | None = None
    ready: bool = False  # has started and said so


@dataclass(frozen=True, slots=True)
class Raised:
    """What the work raised instead of returning; the worker lives on."""

    kind: str
    text: str


@dataclass(slots=True)
class Processes(Generic[Task, Result]):
    """Spawned processes that each do one task at a time.

    Attributes:
        work: Does one task; importable by name in a new process.
        count: How many processes.
        memory_bytes: What each may allocate.
        gentle: Whether a process whose coordinator has gone is interrupted (so that it leaves a bench
            safe and a record closed) instead of ended on the spot.
    """

    work: Callable[[Task, Beat], Result]
    count: int
    memory_bytes: int | None = None
    gentle: bool = False
    _workers: dict[str, _Worker[Task]] = field(default_factory=dict)
    _made: int = 0
    _failed_starts: int = 0  # in a row

    def __post_init__(self) -> None:
        for _ in range(self.count):
            self._spawn()

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._made += 1
        name = f"worker-{self._made}"
        process = context.Process(
            target=_worker, args=(theirs, self.work, self.memory_bytes, self.gentle), name=name
        )
        process.start()
        theirs.close()
        self._workers[name] = _Worker(process, ours)

    def free(self) -> Sequence[str]:
        """Return the processes that have started and have nothing to do."""
        return [name for name, worker in self._workers.items() if worker.ready and worker.task is None]

    def give(self, worker: str, task: Task) -> None:
        """Give a free process a task."""
        found = self._workers[worker]
        found.task = task
        with contextlib.suppress(BrokenPipeError):  # dead already; its sentinel will say so
            found.pipe.send(task)

    def pids(self) -> dict[str, int]:
        """Return the process ids by worker."""
        return {name: worker.process.pid or 0 for name, worker in self._workers.items()}

    def wait(self, timeout_s: float) -> list[tuple[str, Task, Result | Raised | float | None, str]]:
        """Return (worker, task, what came, how it died): a float is a sign of life, None a death."""
        ready = set(wait([w.pipe for w in self._workers.values()], timeout_s))
        news: list[tuple[str, Task, Result | Raised | float | None, str]] = []
        for name, worker in list(self._workers.items()):
            if worker.pipe not in ready:
                continue
            try:
                what = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.join(PATIENCE_S)
                self._workers.pop(name).pipe.close()
                if worker.task is not None:
                    news.append((name, worker.task, None, _how(worker.process.exitcode)))
                self._mind_failed_start(worker)
                self._spawn()
                continue
            worker.ready, self._failed_starts = True, 0
            if what is None or worker.task is None:
                continue
            task = worker.task
            if not isinstance(what, float):
                worker.task = None
            news.append((name, task, what, ""))
        return news

    def _mind_failed_start(self, worker: _Worker[Task]) -> None:
        """Count a process that died before it was ready; give up when none comes up any more.

        Raises:
            RigFault: With how the last one died.
        """
        self._failed_starts += not worker.ready
        if self._failed_starts >= MOST_FAILED_STARTS:
            raise RigFault(f"no worker process can be started: {_how(worker.process.exitcode)}")

    def give_up(self, worker: str) -> None:
        """End a process on the spot."""
        self._workers[worker].process.kill()

    def close(self, at_once: bool = False) -> None:
        """End every process: the idle ones by asking, all of them by signal if at once."""
        for worker in self._workers.values():
            with contextlib.suppress(BrokenPipeError, OSError):
                if at_once and worker.task is not None:
                    worker.process.terminate() if self.gentle else worker.process.kill()
                worker.pipe.send(None)
        for worker in self._workers.values():
            worker.process.join(PATIENCE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.pipe.close()
        self._workers.clear()


def _how(code: int | None) -> str:
    if code is None:
        return "the worker process does not answer"
    if code >= 0:
        return f"the worker process left with exit code {code}"
    name = signal.Signals(-code).name
    hint = "; the machine may have run out of memory" if -code == signal.SIGKILL else ""
    return f"the worker process was ended by {name}{hint}"


def _worker(
    pipe: Connection, work: Callable[[Task, Beat], Result], memory_bytes: int | None, gentle: bool
) -> None:
    """Do tasks until told to leave, or the coordinator is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the coordinator's business
    if gentle:
        signal.signal(signal.SIGTERM, _interrupt)
    if memory_bytes is not None:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    parent = multiprocessing.parent_process()
    lock, reached = threading.Lock(), [0.0]
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent, gentle), daemon=True).start()

    def send(what: object) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            pipe.send(what)

    def beat(job_s: float) -> None:
        reached[0] = job_s

    stop = threading.Event()

    def beating() -> None:
        while not stop.wait(BEAT_S):
            send(reached[0])

    threading.Thread(target=beating, daemon=True).start()
    send(None)  # ready
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task is None:
            stop.set()
            return
        reached[0] = 0.0
        try:
            result: object = work(task, beat)
        except Exception as error:
            result = Raised(type(error).__name__, str(error))
        send(result)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _leave_with(parent: BaseProcess, gentle: bool) -> None:
    """Wait for the coordinator's end, however it comes, and leave too."""
    parent.join()
    if gentle:
        os.kill(os.getpid(), signal.SIGTERM)  # interrupts the trial: safe bench, closed record
    else:
        os._exit(1)


class Pool:
    """The default executor: one spawned process per worker."""

    beside = True

    def __init__(
        self, workers: int, *, work: Callable[[Job, Beat], Returned | Refused] = carry_out,
        memory_bytes: int | None = None, gentle: bool = False,
    ) -> None:  # fmt: skip
        self.name = f"pool of {workers}"
        self._processes = Processes(work, workers, memory_bytes, gentle)
        self.free, self.give = self._processes.free, self._processes.give
        self.give_up, self.close, self.pids = (
            self._processes.give_up, self._processes.close, self._processes.pids,
        )  # fmt: skip

    def wait(self, timeout_s: float) -> list[News]:
        """Return what has happened, at the latest after the timeout."""
        news: list[News] = []
        for worker, job, what, how in self._processes.wait(timeout_s):
            match what:
                case None:
                    news.append(Died(worker, job, how))
                case float():
                    news.append(Alive(worker, job, what))
                case Raised():
                    news.append(Died(worker, job, f"the worker failed: {what.kind}: {what.text}"))
                case _:
                    news.append(Came(worker, job, what))
        return news


class ThisProcess:
    """Carries trials out one by one in the coordinator itself: no start-up, and no protection either."""

    name = "this process"
    beside = False

    def __init__(self, *, work: Callable[[Job, Beat], Returned | Refused] = carry_out) -> None:
        self._work, self._job = work, None  # type: tuple[Callable[[Job, Beat], Returned | Refused], Job | None]

    def free(self) -> Sequence[str]:
        """Return the one worker, when it has nothing to do."""
        return [] if self._job else ["coordinator"]

    def give(self, worker: str, job: Job) -> None:
        """Take a trial; it is run in `wait`."""
        self._job = job

    def wait(self, timeout_s: float) -> list[News]:
        """Run the trial."""
        if self._job is None:
            return []
        job = self._job
        try:
            return [Came("coordinator", job, self._work(job, lambda _: None))]
        finally:
            self._job = None

    def give_up(self, worker: str) -> None:
        """Do nothing: while the worker is silent, so is the coordinator."""

    def close(self, at_once: bool = False) -> None:
        """Do nothing: nothing is under way."""


class _Plainly(Generic[Result]):
    """Work that has no use for beats."""

    def __init__(self, work: Callable[[TrialSpec], Result]) -> None:
        self._work = work

    def __call__(self, spec: TrialSpec, beat: Beat) -> Result:
        return self._work(spec)


def run_all(
    specs: Sequence[TrialSpec], work: Callable[[TrialSpec], Result], workers: int
) -> Iterator[tuple[TrialSpec, Result]]:
    """Run ``work`` once for every trial and yield results as they come: for studies that keep no ledger.

    Args:
        specs: The trials, no two alike.
        work: Runs one trial; must be importable by name in a new process.
        workers: Processes.

    Raises:
        UsageError: If there is no trial, or one is listed twice.
        RigFault: If a worker process dies or the work raises.
    """
    if not specs:
        raise UsageError("a campaign of no trials assesses nothing")
    if len(set(specs)) != len(specs):
        raise UsageError("a trial is listed twice; give repeats their own number")
    if workers <= 1:
        for spec in specs:
            yield spec, work(spec)
        return
    processes: Processes[TrialSpec, Result] = Processes(_Plainly(work), min(workers, len(specs)))
    left, done = list(reversed(specs)), 0
    try:
        while done < len(specs):
            for name in processes.free():
                if left:
                    processes.give(name, left.pop())
            for _, spec, what, how in processes.wait(1.0):
                if what is None or isinstance(what, Raised):
                    why = how if what is None else f"{what.kind}: {what.text}"
                    raise RigFault(f"{spec.agent} on {spec.item}, seed {spec.seed}: {why}")
                if not isinstance(what, float):
                    done += 1
                    yield spec, what
    finally:
        processes.close(at_once=done < len(specs))
