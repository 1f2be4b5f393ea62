"""The trial under way, as the server knows it: what was started, how far it is, and what stands in it."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.agents.human import NAME as HUMAN
from rig.console import worker
from rig.console.access import Person
from rig.console.bench_state import NotNow
from rig.console.job import Job
from rig.console.process import TrialProcess
from rig.console.seat import Asked, Briefed, Decided
from rig.console.standing import Standing
from rig.core.bench import load_bench
from rig.core.errors import RunError, UsageError
from rig.core.record import Image, StoredEvent, Tail
from rig.trial.attended import Did, Word
from rig.trial.sight import streams
from rig.trial.spec import TrialSpec, trial_folder
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_item

LOOK_S = 0.1


@dataclass(slots=True)
class UnderWay:
    """One trial, from its start until its record is closed.

    Attributes:
        spec: What was started.
        folder: Its record.
        by: Who started it.
        nominal_s: Length of the job.
        limit_s: Time after which it is cut off.
        cameras: Whose frames its record may hold.
        frames: The newest frame of each that has come.
        standing: What the monitor and people say now.
        job: What a person is told who does the job; None where the agent is none.
        pace: Seconds of trial time per second.
        t_s: Trial time reached.
        lag_s: How far it is behind its pace.
    """

    spec: TrialSpec
    folder: Path
    by: str
    nominal_s: float
    limit_s: float
    cameras: tuple[str, ...]
    standing: Standing
    job: Job | None
    pace: float
    t_s: float = 0.0
    lag_s: float = 0.0
    frames: Mapping[str, Image] = field(default_factory=dict)
    _process: TrialProcess | None = None

    def begin(self, process: TrialProcess, by: Word) -> None:
        """Start it in the process that runs trials."""
        self._process = process
        process.tell(worker.Run(self.spec, self.folder, self.pace, by))

    def _tell(self, what: worker.Pace | Word | Decided) -> None:
        if self._process is None:
            raise NotNow("the trial has not begun yet; a moment")
        self._process.tell(what)

    def say(self, person: Person, did: Did, text: str) -> None:
        """Put what somebody did on its record."""
        self._tell(Word(did, person.name, person.role.value, text))

    def decide(self, person: Person, observation_id: int, tool: str, arguments: Mapping[str, Any]) -> None:
        """Do the next thing in a job that is done by a person.

        Raises:
            NotNow: If no person does it, or nothing is asked.
            UsageError: If the call cannot be understood; says what is wrong.
        """
        if self.job is None:
            raise NotNow("no trial is running whose agent is a person")
        action = self.job.decide(observation_id, tool, arguments)
        self._tell(Decided(action, person.name, person.role.value))
        self.job.decided(action, self.t_s)

    def set_pace(self, pace: float) -> None:
        """Run it faster or slower from now on.

        Raises:
            UsageError: If a person does the job.
        """
        if self.job is not None:
            raise UsageError("a person does the job, in the time it takes")
        self._tell(worker.Pace(pace))
        self.pace = pace

    def hear(self, said: worker.Reached | Briefed | Asked) -> bool:
        """Take in what its process says of it; return whether a page has to show it at once."""
        if isinstance(said, worker.Reached):
            self.t_s, self.lag_s = said.t_s, said.lag_s
        elif self.job is not None:
            self.job.take(said)
        return not isinstance(said, worker.Reached)

    def take(self, events: Sequence[StoredEvent], frames: Mapping[str, Image]) -> None:
        """Take in what is new in its record."""
        self.standing.take(events)
        self.frames = {**self.frames, **frames}

    def news(self) -> Iterator[tuple[Sequence[StoredEvent], Mapping[str, Image]]]:
        """Give what was added to the record since the last time, for ever, as any other reader would see it.

        Of frames only the newest of each camera are given.
        """
        tail, pause = Tail(self.folder), threading.Event()
        while True:
            pause.wait(LOOK_S)
            try:
                yield tail.events(), tail.images()
            except RunError:
                yield (), {}


def under_way(spec: TrialSpec, runs: Path, by: str, pace: float) -> UnderWay:
    """Return a trial about to start, its record a folder of ``runs`` that is not there yet.

    Raises:
        UsageError: If there is no such task, length or scenario.
    """
    item = load_item(spec.item)
    bench = load_bench(item.task.bench(spec.bench))
    rules = load_rules(rule_files(item.task.name), bench.layout)
    cameras = tuple(camera.name for camera in streams(bench))
    return UnderWay(
        spec, trial_folder(runs, spec), by, item.length.nominal_s, item.length.limit_s, cameras, Standing(rules),
        Job() if spec.agent == HUMAN else None, pace,
    )  # fmt: skip
