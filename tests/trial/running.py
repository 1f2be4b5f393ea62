"""Running trials in tests: one call, graded from the record."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis.grade import Finding, Grade, grade
from rig.agents import scripted
from rig.agents.care import Care
from rig.core.agent import Agent
from rig.core.event import Kind
from rig.core.record import Record, StoredEvent, read
from rig.trial import run
from rig.trial.spec import TrialSpec


@dataclass(frozen=True)
class Ran:
    """A finished trial."""

    record: Record
    grade: Grade

    def events(self, kind: Kind) -> list[StoredEvent]:
        return [e for e in self.record.events if e.kind == kind]

    def finding(self, criterion: str) -> Finding:
        return next(f for f in self.grade.findings if f.criterion == criterion)


def spec_of(item: str, agent: str = "careful", monitor: str = "guard", seed: int = 1) -> TrialSpec:
    return TrialSpec(item=item, agent=agent, bench="sim", monitor=monitor, seed=seed)


def ran(spec: TrialSpec, folder: Path) -> Ran:
    run.run_trial(spec, folder)
    record = read(folder)
    return Ran(record, grade(record))


def with_agent(make: Callable[[np.random.Generator], Agent]) -> Callable[[str, np.random.Generator], Agent]:
    """Return a stand-in for `make_agent` that always makes this agent."""
    return lambda name, rng: make(rng)


def habit(care: Care) -> Callable[[str, np.random.Generator], Agent]:
    return with_agent(lambda rng: scripted.ScriptedAgent("careful", care, rng))
