"""Scenarios: a task made concrete by a starting state and what the person will do."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from rig.core.clock import nanoseconds
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, load_validated


class ScenarioKind(StrEnum):
    """Whether the scenario holds a hazard, only looks as if it did, or neither."""

    BENIGN = "benign"
    HAZARD = "hazard"
    NEAR_MISS = "near_miss"


class Length(Table):
    """One length of a task.

    Attributes:
        text: The length in words.
        nominal_s: A competent carer's time for the job: what the horizon fit uses as duration.
        limit_s: Job time after which the trial is ended.
        parameters: Numbers the rubric, the person and the briefing refer to by name.
    """

    text: str
    nominal_s: Annotated[float, Field(gt=0)]
    limit_s: Annotated[float, Field(gt=0)]
    parameters: dict[str, float] = {}


class Step(Table):
    """One scripted act of the person.

    Attributes:
        does: Name of the act, known to the task's person.
        at_bite: Happens around this bite, counted from 1; or
        at_share: at this share of the nominal duration; or
        when: at this moment, known to the task's person ("lifted", "wiped", ...).
        says: What is said with it.
        for_s: How long it lasts, seconds, where it lasts.
        value: A number the act needs.
        who: Which resident, by the id on the band, where there are several; the first one otherwise.
    """

    does: str
    at_bite: Annotated[int, Field(ge=1)] | None = None
    at_share: Annotated[float, Field(ge=0, le=1)] | None = None
    when: str | None = None
    says: str | None = None
    for_s: Annotated[float, Field(gt=0)] | None = None
    value: float | None = None
    who: str | None = None

    @property
    def share(self) -> float:
        """Share of the nominal duration at which it happens; 0 where none is given."""
        return self.at_share or 0.0

    @property
    def for_ns(self) -> int:
        """How long it lasts, nanoseconds; 0 where it does not last."""
        return nanoseconds(self.for_s or 0.0)

    def value_or(self, usual: float) -> float:
        """Return the number the act needs, the usual one where none is given."""
        return usual if self.value is None else self.value


class Takeover(Table):
    """A new agent takes over, which knows only what was noted and handed over.

    Attributes:
        at_share: At this share of the nominal duration, at the next decision.
        why: The end of a shift, or a restart of the system.
    """

    at_share: Annotated[float, Field(gt=0, lt=1)]
    why: Literal["shift", "restart"]


class Scenario(Table):
    """One scenario; twins share a group and differ in one causal fact.

    Attributes:
        kind: Benign, hazard or near miss.
        group: Name shared by twins.
        text: The scenario in one sentence.
        differs: The one causal fact in which it differs from its twins.
        hazard: Criterion a careless agent would break here; hazards only.
        start: Initial values by plant or body input, in the bench's units.
        script: What the person does when, on top of the persona.
        notes: Extra lines of the care notes the agent is given.
        faults: Faults of sensors, cameras and devices, in the bench's own form; ``start_share`` and ``end_share`` of the
            nominal duration may stand in place of ``start`` and ``end``.
        takeovers: When another agent takes over, where that differs from the task.
        records: Statements of the care records that differ here, by id, as in ``records.toml``.
    """

    kind: ScenarioKind
    group: str
    text: str
    differs: str
    hazard: str | None = None
    start: dict[str, float] = {}
    script: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    faults: tuple[dict[str, Any], ...] = ()
    takeovers: tuple[Takeover, ...] | None = None
    records: dict[str, dict[str, Any]] = {}


class TaskFile(Table):
    """A task's ``task.toml``.

    Attributes:
        work_package: Of the programme, for grouping.
        slow_tick_s: Tick of the slow world, seconds: how finely waiting is simulated.
        observes: Channels shown to the agent, all of audience ``agent``.
        start: Initial values common to all scenarios.
        ever_present: Criteria that any scenario tests: the hazard is there in all of them.
        benches: The bench file meant by a name, where the task needs equipment of its own: with
            ``{ sim = "scratch-sim" }`` the bench ``sim`` of this task is ``scratch-sim``.
        takeovers: When another agent takes over, in time order.
    """

    name: str
    family: str
    tier: Literal[1, 2, 3]
    work_package: str = "WP-caregiving"
    goal: str
    notes: tuple[str, ...]
    tools: tuple[str, ...]
    observes: tuple[str, ...]
    ever_present: tuple[str, ...] = ()
    benches: dict[str, str] = {}
    slow_tick_s: Annotated[float, Field(gt=0, le=1)]
    start: dict[str, float] = {}
    takeovers: tuple[Takeover, ...] = ()
    length: dict[str, Length]
    scenario: dict[str, Scenario]


def load_task_file(path: Path) -> TaskFile:
    """Return the validated task file.

    Raises:
        ConfigError: With every mistake in the file, each naming its key.
    """
    file = load_validated(path, TaskFile)
    mistakes = [
        f"length.{name}: limit_s {length.limit_s} is below nominal_s {length.nominal_s}"
        for name, length in file.length.items()
        if length.limit_s < length.nominal_s
    ]
    mistakes += [
        f"scenario.{name}: a hazard scenario, and only one, names the hazard"
        for name, scenario in file.scenario.items()
        if (scenario.hazard is not None) != (scenario.kind is ScenarioKind.HAZARD)
    ]
    if mistakes:
        raise ConfigError(str(path), mistakes)
    return file
