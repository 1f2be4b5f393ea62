"""Carrying trials out on a Ray cluster: many machines, the same results bit for bit.

Nothing is ever tried again by Ray itself (no restarts, no retries): whether a trial is run again is the
coordinator's business. A physical bench is a custom resource ``bench:NAME`` of capacity 1 on the node it hangs
on, so two trials never share it. Records are written to the campaign's folder where a node sees it, and else
shipped back and checked against their hashes before they count.
"""

import importlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rig.campaign.executor import Alive, Came, Died, News
from rig.campaign.local import BEAT_S
from rig.campaign.work import Beat, Job, Refused, Returned
from rig.core.clock import MonotonicClock, seconds
from rig.core.errors import RigFault, UsageError
from rig.core.record import Anchor, verify
from rig.core.record.disk import Disk, write_file

TOKEN: Final = ".shared"
INCOMING: Final = ".incoming"
Work = Callable[[Job, Beat], Returned | Refused]
Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A result with the record's files, where the node does not see the campaign's folder."""

    result: Returned | Refused
    files: Files


class Carrier:
    """What runs on a node: one trial at a time, and an answer to whether it is still at it."""

    def __init__(self, work: Work, token: tuple[Path, str]) -> None:
        self._work, self._token, self._reached = work, token, 0.0

    def run(self, job: Job) -> Shipped:
        """Carry a trial out; ship its record back unless it is where it belongs already."""
        self._reached = 0.0
        path, token = self._token
        if path.is_file() and path.read_text() == token:
            return Shipped(self._work(job, self._note), {})
        with tempfile.TemporaryDirectory() as home:
            here = replace(job, folder=Path(home) / job.folder.name)
            result = self._work(here, self._note)
            files = {p.name: p.read_bytes() for p in sorted(here.folder.glob("*")) if p.is_file()}
            return Shipped(result, files)

    def reached(self) -> float:
        """Return the job time reached."""
        return self._reached

    def _note(self, job_s: float) -> None:
        self._reached = job_s


@dataclass(slots=True)
class _Slot:
    actor: Any
    job: Job | None = None
    ref: Any = None
    asked: Any = None
    bench: str = ""


class RayWorkers:
    """Workers on a Ray cluster."""

    beside = True

    def __init__(
        self, address: str, workers: int, folder: Path, *, work: Work, shared: bool = True
    ) -> None:  # fmt: skip
        """Connect, or start a cluster here.

        Args:
            address: Of the cluster, or ``local``.
            workers: Trials at a time.
            folder: The campaign's folder.
            work: Carries one trial out.
            shared: Whether nodes may look for the campaign's folder on storage they share.

        Raises:
            UsageError: If Ray is not installed, or there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing here calls home
        try:
            self._ray = importlib.import_module("ray")
        except ImportError:
            raise UsageError("Ray needs the optional extra: pip install 'runrig[ray]'") from None
        workers = max(workers, 1)
        self.name, self._folder = f"ray, {workers} at a time", folder
        token = uuid.uuid4().hex if shared else ""
        if shared:
            (folder / TOKEN).write_text(token)
        self._connect(address, workers)
        self._arguments = work, ((folder / TOKEN).resolve(), token or "nowhere")
        self._slots = {f"ray-{n + 1}": _Slot(self._make("")) for n in range(max(workers, 1))}
        self._clock, self._asked_s = MonotonicClock(), 0.0

    def _connect(self, address: str, workers: int) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == "local":
            options |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
        else:
            options |= {"address": address}
        variables = {
            n: os.environ[n]
            for n in ("PYTHONPATH", "XDG_CONFIG_HOME", "RUNRIG_SIGNING_KEY")
            if n in os.environ
        }
        variables |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        try:
            self._ray.init(**options, runtime_env={"env_vars": variables})
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise UsageError(f"--ray {address}: cannot be reached or started: {error}") from None

    def _make(self, bench: str) -> Any:  # noqa: ANN401 (Ray's handles have no type)
        """Return a new worker; one of a physical bench is placed where that bench is."""
        where = {"resources": {f"bench:{bench}": 1}} if bench else {}
        once = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "max_concurrency": 2}
        return self._ray.remote(Carrier).options(**once, **where).remote(*self._arguments)

    def free(self) -> Sequence[str]:
        """Return the slots that have nothing to do."""
        return [name for name, slot in self._slots.items() if slot.job is None]

    def give(self, worker: str, job: Job) -> None:
        """Give a free slot a trial; a physical one goes to the node its bench hangs on."""
        slot = self._slots[worker]
        bench = job.spec.bench if job.physical else ""
        if slot.bench != bench:
            self._ray.kill(slot.actor)
            slot.actor, slot.bench = self._make(bench), bench
        slot.job, slot.ref, slot.asked = job, slot.actor.run.remote(job), None

    def wait(self, timeout_s: float) -> list[News]:
        """Return what has happened, at the latest after the timeout."""
        busy = {slot.ref: name for name, slot in self._slots.items() if slot.job is not None}
        news = self._signs_of_life()
        if not busy:
            return news
        ready, _ = self._ray.wait(list(busy), num_returns=1, timeout=timeout_s)
        more, _ = self._ray.wait(list(busy), num_returns=len(busy), timeout=0)
        for ref in dict.fromkeys([*ready, *more]):
            name = busy[ref]
            slot = self._slots[name]
            job, slot.job = slot.job, None
            if job is None:
                continue
            try:
                shipped = self._ray.get(ref)
                self._unpack(job, shipped)
            except self._ray.exceptions.RayActorError as error:
                news.append(self._died(name, job, f"the Ray worker died: {str(error).splitlines()[0]}"))
            except self._ray.exceptions.RayError as error:
                news.append(self._died(name, job, f"the Ray worker failed: {str(error).splitlines()[0]}"))
            else:
                news.append(Came(name, job, shipped.result))
        return news

    def _died(self, name: str, job: Job, how: str) -> Died:
        slot = self._slots[name]
        self._ray.kill(slot.actor)
        slot.actor, slot.bench = self._make(""), ""
        return Died(name, job, how)

    def _signs_of_life(self) -> list[News]:
        """Ask busy workers how far they are once a second, and take the answers to the last question."""
        now_s = seconds(self._clock.now_ns())
        if now_s - self._asked_s < BEAT_S:
            return []
        self._asked_s = now_s
        news: list[News] = []
        for name, slot in self._slots.items():
            if slot.job is None:
                continue
            if slot.asked is not None:
                answered, _ = self._ray.wait([slot.asked], timeout=0)
                if not answered:
                    continue
                try:
                    news.append(Alive(name, slot.job, float(self._ray.get(slot.asked))))
                except self._ray.exceptions.RayError:
                    continue  # `run` fails too, and is where it is looked at
            slot.asked = slot.actor.reached.remote()
        return news

    def _unpack(self, job: Job, shipped: Shipped) -> None:
        """Put a shipped record where it belongs, once it is shown to be whole and the one spoken of.

        Raises:
            RigFault: If it is not.
        """
        if not shipped.files or not isinstance(shipped.result, Returned):
            return
        draft = self._folder / INCOMING / job.folder.name
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, data in shipped.files.items():
            write_file(Disk(), draft / Path(name).name, data)
        ended = shipped.result.ended
        if ended.head:
            anchor = Anchor(ended.trial_id, ended.seq, ended.head, "the worker that shipped it")
            found = verify(draft, anchors=[anchor], require=["anchored"])
            if not found.ok:
                raise RigFault("\n".join((f"{draft}: a record was damaged on its way:", *found.lines())))
        draft.rename(job.folder)
        Disk().sync_folder(job.folder.parent)

    def give_up(self, worker: str) -> None:
        """End a worker on the spot."""
        self._ray.kill(self._slots[worker].actor)

    def close(self, at_once: bool = False) -> None:
        """End every worker and leave the cluster; one that was started here ends with it."""
        for slot in self._slots.values():
            self._ray.kill(slot.actor)
        self._ray.shutdown()
        (self._folder / TOKEN).unlink(missing_ok=True)
        shutil.rmtree(self._folder / INCOMING, ignore_errors=True)
