"""The trial under way, as the server knows it: what was started, how far it is, and what stands in it."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rig.agents.human import NAME as HUMAN
from rig.console.job import Job
from rig.console.standing import Standing
from rig.core.bench import load_bench
from rig.core.errors import RunError
from rig.core.record import Image, StoredEvent, Tail
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
