"""Work that costs nothing, for tests of whoever hands it out; importable by name in a worker process."""

import errno
import hashlib
import os
import signal
from pathlib import Path

from rig.campaign.entries import Finished, State
from rig.campaign.work import Beat, Job, Refused, Returned
from rig.core.errors import RecorderFault


def ended(job: Job) -> Finished:
    """Return an end that depends on the trial alone."""
    head = hashlib.sha256(job.ticket.trial_id.encode()).hexdigest()
    mistake = head[0] in "01"
    return Finished(
        trial_id=job.ticket.trial_id, state=State.DONE, outcome="CRITICAL" if mistake else "PASS", reason="x", seq=3,
        head=head, done=True, harm=mistake, mistake=mistake, mistake_at_s=1.0 if mistake else None, elapsed_s=1800.0,
        ticks=7,
    )  # fmt: skip


def instant(job: Job, beat: Beat) -> Returned:
    beat(900.0)
    return Returned(ended(job))


def first_time(job: Job, name: str) -> bool:
    """Return whether this happens to the trial for the first time; the note outlives the process."""
    note = job.folder.parents[2] / f"{name}-{job.ticket.trial_id}"
    if note.exists():
        return False
    note.touch()
    return True


def troubled(job: Job, beat: Beat) -> Returned | Refused:
    """Do by seed: 1 die once, 2 die always, 3 fall silent once, 4 raise, 5 run out of memory."""
    match job.spec.seed:
        case 1 if first_time(job, "died"):
            os.kill(os.getpid(), signal.SIGKILL)
        case 2:
            os.kill(os.getpid(), signal.SIGKILL)
        case 3 if first_time(job, "silent"):
            os.kill(os.getpid(), signal.SIGSTOP)
        case 4:
            raise ValueError("a fault of the program")
        case 5:
            bytearray(8 << 30)
    return instant(job, beat)


def dies(job: Job, beat: Beat) -> Returned:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def full_disk_at_seed_2(job: Job, beat: Beat) -> Returned | Refused:
    if job.spec.seed == 2 and first_time(job, "full"):
        job.folder.mkdir()
        (job.folder / "events.jsonl").write_bytes(b"torn")
        return Refused("no space left", 3, started=True)
    return instant(job, beat)


def run_trial_on_full_disk(*_: object) -> None:
    raise RecorderFault("events.jsonl: cannot be made durable") from OSError(errno.ENOSPC, "No space left")


def exists(path: Path, beat: Beat) -> bool:
    return path.exists()
