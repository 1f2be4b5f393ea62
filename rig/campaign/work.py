"""What a worker does with one trial: run it, grade it from its record, say how it ended."""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from analysis.grade import Grade, grade
from rig.campaign.entries import Finished, State
from rig.core.errors import CannotArm, RecordError, RigFault, RunError, UsageError
from rig.core.event import Kind
from rig.core.record import Record, read, records_under, recover
from rig.trial.run import run_trial
from rig.trial.spec import Ticket, TrialSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One trial to be carried out.

    Attributes:
        spec: The trial.
        folder: Where its record goes; its parent is there, it is not.
        ticket: Its place in the campaign.
        physical: Whether it moves something real.
    """

    spec: TrialSpec
    folder: Path
    ticket: Ticket
    physical: bool = False


@dataclass(frozen=True, slots=True)
class Returned:
    """A trial that came to its end; ``seen`` is what the campaign's observer wanted to know of it."""

    ended: Finished
    seen: object = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A trial that could not be carried out as things stand, and has had no effect.

    Attributes:
        why: What is in the way.
        exit_code: What the command line makes of it.
        started: Whether a record was begun; it is torn.
    """

    why: str
    exit_code: int
    started: bool = False


INTERRUPTION = "interrupted"
"""Cause of a trial that a person cut short; a simulated one is run again."""

Look = Callable[[Record, Grade], object]
Beat = Callable[[float], None]
"""Told the job time reached, now and then."""


def carry_out(job: Job, beat: Beat, look: Look | None = None) -> Returned | Refused:
    """Run one trial; nothing it does to itself gets out of here as an exception, except an interruption."""
    try:
        run_trial(job.spec, job.folder, lambda job_s, _: beat(job_s), job.ticket)
    except (UsageError, CannotArm) as error:
        if not _begun(job.folder):
            return Refused(str(error), error.exit_code)
        return Returned(closed(job, type(error).__name__, str(error)))
    except (RunError, Exception) as error:
        if _disk_is_full(error) and not job.physical:
            return Refused(str(error), RigFault.exit_code, started=True)
        return Returned(closed(job, type(error).__name__, f"{type(error).__name__}: {error}"))
    except KeyboardInterrupt:
        return Returned(closed(job, INTERRUPTION, "stopped by a person"))
    return graded(job, look)


def graded(job: Job, look: Look | None = None) -> Returned:
    """Return how a trial ended whose record is complete.

    Raises:
        RecordError: If the record cannot be read, or is another trial's.
    """
    record = read(job.folder)
    if record.trial_id != job.ticket.trial_id:
        raise RecordError(
            f"{job.folder}: holds the record of trial {record.trial_id}, not {job.ticket.trial_id}"
        )
    found = grade(record)
    aborted = found.ending in ("aborted", "unknown")
    cause = next(
        (str(e.body["what"]) for e in reversed(record.of_kind(Kind.FAULT)) if "what" in e.body), "fault"
    )
    ended = Finished(
        trial_id=record.trial_id, state=State.ABORTED if aborted else State.DONE, outcome=found.outcome.value,
        cause=cause if aborted else "", reason=found.reason, seq=record.events[-1].seq, head=record.head,
        done=found.done, harm=found.harm, mistake=found.mistake, mistake_at_s=found.mistake_at_s,
        criteria=found.violated, elapsed_s=found.elapsed_s, ticks=ticks_in(record),
    )  # fmt: skip
    return Returned(ended, None if look is None else look(record, found))


def closed(job: Job, cause: str, reason: str) -> Finished:
    """Return how a trial ended that was cut short, its record made whole as far as it goes.

    A physical trial whose record does not say how it ended is INDETERMINATE.
    """
    complete = False
    if _begun(job.folder):
        try:
            complete = read(job.folder).complete
            if not complete:
                recover(job.folder)
            record = read(job.folder)
        except RunError as error:
            reason = f"{reason}; its record cannot be made whole: {error}"
        else:
            state = State.ABORTED if complete or not job.physical else State.INDETERMINATE
            return Finished(
                trial_id=job.ticket.trial_id, state=state, outcome=state.value.upper(), cause=cause, reason=reason,
                seq=record.events[-1].seq, head=record.head, elapsed_s=record.events[-1].t_ns / 1e9,
                ticks=ticks_in(record),
            )  # fmt: skip
    state = State.INDETERMINATE if job.physical else State.ABORTED
    return Finished(
        trial_id=job.ticket.trial_id, state=state, outcome=state.value.upper(), cause=cause, reason=reason
    )


def _begun(folder: Path) -> bool:
    return folder.is_dir() and any(records_under(folder))


def ticks_in(record: Record) -> int:
    """Return how many ticks a closed record says there were."""
    counts = record.events[-1].body.get("counts")
    return int(str(counts.get("ticks", 0))) if isinstance(counts, dict) else 0


def _disk_is_full(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        seen = seen.__cause__
    return False
