"""What a coordinator needs of whoever carries trials out: workers to give to, and news of them.

Executors are disposable: they know nothing of the ledger, never run a trial a second time, and say so when a
worker dies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rig.campaign.work import Job, Refused, Returned


@dataclass(frozen=True, slots=True)
class Came:
    """A worker is back with its trial."""

    worker: str
    job: Job
    result: Returned | Refused


@dataclass(frozen=True, slots=True)
class Died:
    """A worker died, and with it the trial it had; another has taken its place."""

    worker: str
    job: Job
    how: str


@dataclass(frozen=True, slots=True)
class Alive:
    """A worker is at it, and has reached this job time (seconds)."""

    worker: str
    job: Job
    job_s: float


News = Came | Died | Alive


class Executor(Protocol):
    """Carries trials out.

    Attributes:
        name: What it is, for people.
        beside: Whether trials run beside the coordinator, in processes of their own.
    """

    name: str
    beside: bool

    def free(self) -> Sequence[str]:
        """Return the workers that have started and have nothing to do."""
        ...

    def give(self, worker: str, job: Job) -> None:
        """Give a free worker a trial."""
        ...

    def wait(self, timeout_s: float) -> Sequence[News]:
        """Return what has happened, at the latest after the timeout."""
        ...

    def give_up(self, worker: str) -> None:
        """End a worker that has fallen silent; `wait` will say that it died."""
        ...

    def close(self, at_once: bool = False) -> None:
        """End every worker: idle ones only (nothing is under way), or at once, whatever they have."""
        ...
