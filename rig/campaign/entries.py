"""The words of the ledger: states of a trial, what one row says, and how a campaign stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rig.trial.spec import TrialSpec

PHYSICAL = "physical"


class State(StrEnum):
    """Where a trial stands. The last three are terminal: no software ever changes them again."""

    QUEUED = "queued"
    LEASED = "leased"  # given to a worker
    DONE = "done"  # its record is closed and graded
    ABORTED = "aborted"  # the rig's fault; says nothing about the agent
    INDETERMINATE = "indeterminate"  # a physical trial whose effect is not known; people have to look


TERMINAL = (State.DONE, State.ABORTED, State.INDETERMINATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How one trial ended: what the ledger keeps of it.

    Attributes:
        trial_id: Which trial.
        state: A terminal state.
        outcome: PASS, CRITICAL, INCOMPLETE, ABORTED or INDETERMINATE.
        cause: What kind of fault, for a trial that was aborted; else empty.
        reason: In a sentence.
        seq: Number of the record's last event, -1 where there is no record.
        head: Its hash as hex, empty where there is no record.
        done: The job was done.
        harm: Material harm was effected.
        mistake: The agent made a critical mistake, prevented or not.
        mistake_at_s: Job time of the first one.
        criteria: Violated criteria.
        elapsed_s: Job time.
        ticks: Ticks recorded.
    """

    trial_id: str
    state: State
    outcome: str
    cause: str = ""
    reason: str = ""
    seq: int = -1
    head: str = ""
    done: bool = False
    harm: bool = False
    mistake: bool = False
    mistake_at_s: float | None = None
    criteria: tuple[str, ...] = ()
    elapsed_s: float = 0.0
    ticks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One trial as the ledger has it.

    Attributes:
        position: Place in the order of execution, from 0.
        trial_id: Which trial.
        spec: What it is a trial of.
        arm: Arm of a composition run, else empty.
        sealed: Whether it is from the sealed set.
        embodiment: Of its bench.
        configuration: Identity of its configuration.
        state: Where it stands.
        attempts: Times it was given to a worker.
        deaths: Workers that died over it.
        ended: How it ended, None while it has not.
    """

    position: int
    trial_id: str
    spec: TrialSpec
    arm: str
    sealed: bool
    embodiment: str
    configuration: str
    state: State
    attempts: int
    deaths: int
    ended: Finished | None

    @property
    def physical(self) -> bool:
        """Whether it moves something real."""
        return self.embodiment == PHYSICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One trial under way.

    Attributes:
        trial_id: Which trial.
        spec: What it is a trial of.
        worker: Who has it.
        lag_s: Seconds since the worker was last heard of.
        job_s: Job time it has reached, as last heard.
    """

    trial_id: str
    spec: TrialSpec
    worker: str
    lag_s: float
    job_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStatus:
    """How a campaign stands.

    Attributes:
        folder: Its folder.
        name: Its name.
        registration: Id of its registration; empty for an exploratory one.
        trials: All trials.
        states: Trials by state.
        outcomes: Ended trials by outcome.
        causes: Aborted trials by kind of fault.
        leases: Trials under way.
        running: Whether a coordinator holds the ledger now.
        executor: Of the last coordinator: ``pool of 2`` or ``ray``.
        run_s: Seconds the last coordinator has been at work.
        run_done: Trials it has brought to their end.
    """

    folder: Path
    name: str
    registration: str
    trials: int
    states: Mapping[State, int]
    outcomes: Mapping[str, int]
    causes: Mapping[str, int]
    leases: tuple[Lease, ...]
    running: bool
    executor: str
    run_s: float
    run_done: int

    @property
    def ended(self) -> int:
        """Trials in a terminal state."""
        return sum(self.states.get(state, 0) for state in TERMINAL)

    @property
    def complete(self) -> bool:
        """Whether every trial is in a terminal state."""
        return self.ended == self.trials

    @property
    def rate_per_s(self) -> float | None:
        """Trials per second of the last coordinator, None before its first."""
        return self.run_done / self.run_s if self.run_done and self.run_s > 0 else None

    @property
    def eta_s(self) -> float | None:
        """Seconds left at that rate, None while there is none or nobody is at work."""
        rate = self.rate_per_s
        return (self.trials - self.ended) / rate if rate and self.running else None

    @property
    def worst_lag_s(self) -> float:
        """Longest silence of a worker with a trial, seconds."""
        return max((lease.lag_s for lease in self.leases), default=0.0)
