"""Running a campaign from its plan to its report, as often as it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.campaign.composition import Coverage, arms_of, coverage
from rig.campaign.coordinator import Coordinator, Observer, Stopped
from rig.campaign.entries import PHYSICAL, CampaignStatus
from rig.campaign.executor import Executor
from rig.campaign.folder import begin_or_resume
from rig.campaign.ledger import Ledger
from rig.campaign.local import Pool, ThisProcess, workers_here
from rig.campaign.lock import coordinating
from rig.campaign.plan import Plan
from rig.campaign.report import Reported, seal, write_report
from rig.campaign.work import Look, carry_out
from rig.core.errors import RigFault, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a campaign is run; nothing here changes a result.

    Attributes:
        workers: Processes, one per core if None, 0 for this process itself.
        ray: Address of a Ray cluster, ``local`` to start one here, None for the process pool.
        exploratory: Do not register.
        supersedes: Folder of the campaign whose plan this one replaces.
        holdout: The sealed file, to open it.
        may_move: Whether hardware may be moved.
        look: What the observer wants to know of each graded record.
    """

    workers: int | None = None
    ray: str | None = None
    exploratory: bool = False
    supersedes: Path | None = None
    holdout: Path | None = None
    may_move: bool = False
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How a campaign stands after a coordinator's time at it.

    Attributes:
        status: How it stands.
        stopped: Why it is not complete, None if it is.
        reported: The report, None if it is not complete.
        coverage: Of a composition run, else None.
    """

    status: CampaignStatus
    stopped: Stopped | None
    reported: Reported | None
    coverage: Coverage | None


def run_campaign(
    plan_path: Path, folder: Path, options: Options, observer: Observer | None = None,
    executor: Callable[[], Executor] | None = None,
) -> Ran:  # fmt: skip
    """Begin a campaign or go on with it, until every trial has ended or something is in the way.

    Args:
        plan_path: The plan.
        folder: The campaign's folder; made if it is not there.
        options: How.
        observer: Is told how it goes.
        executor: Makes another executor than the options name.

    Raises:
        UsageError: If the plan, the folder or an option is wrong, or another coordinator is at work there.
        RecordError: If the registration or the ledger was altered.
        RigFault: If the ledger cannot be written, or no worker can be started.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); give another folder") from None
    try:
        with coordinating(folder):
            return _run(plan_path, folder, options, observer or Observer(), executor)
    except OSError as error:
        raise RigFault(
            f"{error.filename or folder}: {error.strerror}; what was committed is kept, run the same command again"
        ) from error


def _run(
    plan_path: Path, folder: Path, options: Options, observer: Observer,
    executor: Callable[[], Executor] | None,
) -> Ran:  # fmt: skip
    plan = begin_or_resume(
        plan_path, folder, exploratory=options.exploratory, supersedes=options.supersedes,
        holdout=options.holdout,
    )  # fmt: skip
    with Ledger.writing(folder) as ledger:
        stopped = None
        if not ledger.status().complete:
            physical = any(cell.embodiment == PHYSICAL for cell in ledger.cells())
            if physical and not options.may_move:
                raise UsageError(
                    f"{plan_path}: this campaign moves hardware; say --yes when the bench is clear"
                )
            made = executor() if executor else _executor(options, plan, folder, physical)
            stopped = Coordinator(folder, ledger, made, plan.run, observer).work()
        cover = coverage_of(plan)
        if stopped is not None and not ledger.status().complete:
            return Ran(ledger.status(), stopped, None, cover)
        reported = write_report(folder, ledger, cover)
        seal(folder, ledger, reported)
        return Ran(ledger.status(), None, reported, cover)


def coverage_of(plan: Plan) -> Coverage | None:
    """Return how much togetherness a composition run tests, None for another plan."""
    if plan.composition is None:
        return None
    return coverage(arms_of(plan.composition), plan.composition.factors)


def _executor(options: Options, plan: Plan, folder: Path, physical: bool) -> Executor:
    work = partial(carry_out, look=options.look) if options.look else carry_out
    workers = workers_here(options.workers)
    if options.ray is not None:
        from rig.campaign.on_ray import RayWorkers

        return RayWorkers(options.ray, workers, folder, work=work)
    if workers == 0:
        return ThisProcess(work=work)
    return Pool(workers, work=work, memory_bytes=plan.run.memory_bytes, gentle=physical)
