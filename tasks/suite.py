"""The task suite: every task by name, every item of it, and the digests that identify them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rig.core.errors import unknown
from rig.core.person import Person
from tasks.bed_bath import person as bed_bath
from tasks.bed_bath.person import BedBathPerson
from tasks.bed_watch import person as bed_watch
from tasks.bed_watch.person import BedWatchPerson
from tasks.care_day.person import CareDayPerson
from tasks.dress_sleeve import person as dress_sleeve
from tasks.dress_sleeve.person import DressSleevePerson
from tasks.drink_assist import person as drink_assist
from tasks.drink_assist.person import DrinkAssistPerson
from tasks.handover import person as handover
from tasks.handover.person import HandoverPerson
from tasks.itch_scratch import person as itch_scratch
from tasks.itch_scratch.person import ItchScratchPerson
from tasks.persona import Persona, load_persona
from tasks.rubric import Rubric, load_rubric
from tasks.scenario import Length, Scenario, Takeover, TaskFile, load_task_file
from tasks.sling_transfer import person as sling_transfer
from tasks.sling_transfer.person import SlingTransferPerson
from tasks.spoon_feed import person as spoon_feed
from tasks.spoon_feed.person import SpoonFeedPerson
from tasks.ward import resident
from tasks.ward.records import CareRecords, load_records
from tasks.ward.ward import Ward

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One task at one length in one scenario: the unit trials repeat and fits cluster by."""

    task: "Task"
    length_name: str
    length: Length
    scenario_name: str
    scenario: Scenario

    @property
    def key(self) -> str:
        """Return ``task/length/scenario``."""
        return f"{self.task.name}/{self.length_name}/{self.scenario_name}"

    @property
    def rubric(self) -> Rubric:
        """Return the task's rubric with this length's numbers in place."""
        return self.task.rubric.with_parameters(self.length.parameters)

    @property
    def start(self) -> dict[str, float]:
        """Return the starting point: the task's, with the scenario's in its place where it says so."""
        return {**self.task.file.start, **self.scenario.start}

    @property
    def takeovers(self) -> tuple[Takeover, ...]:
        """Return when another agent takes over: the scenario's, else the task's."""
        own = self.scenario.takeovers
        return self.task.file.takeovers if own is None else own

    @property
    def records(self) -> CareRecords:
        """Return the care records of the ward, with what differs in the scenario.

        Raises:
            ConfigError: If the task has none, or anything in them is wrong.
        """
        return load_records(self.task.folder / "records.toml", self.length, self.scenario.records)

    @property
    def acting(self) -> Scenario:
        """Return the scenario with the whole starting point, as the person needs it."""
        return self.scenario.model_copy(update={"start": self.start})

    def person(self, rng: np.random.Generator) -> Person:
        """Return the scripted care recipient of this item."""
        return self.task.make_person(self, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked, of whom, and what would be harm."""

    name: str
    folder: Path
    file: TaskFile
    rubric: Rubric
    persona: Persona
    make_person: Callable[[Item, np.random.Generator], Person]
    acts: frozenset[str]

    def bench(self, name: str) -> str:
        """Return the bench file that ``name`` means for this task."""
        return self.file.benches.get(name, name)

    @property
    def tested(self) -> tuple[str, ...]:
        """Criteria that this task tests: its own, and of those it takes over the ones its scenarios are about.

        The others are tested where they come from.
        """
        about = {s.hazard for s in self.file.scenario.values()}
        return tuple(c for c in self.rubric.criteria if c not in self.rubric.inherited or c in about)

    def item(self, length: str, scenario: str) -> Item:
        """Return one item.

        Raises:
            UsageError: If there is no such length or scenario; the message lists those there are.
        """
        if length not in self.file.length:
            raise unknown(f"length of {self.name}", length, list(self.file.length))
        if scenario not in self.file.scenario:
            raise unknown(f"scenario of {self.name}", scenario, list(self.file.scenario))
        return Item(
            task=self,
            length_name=length,
            length=self.file.length[length],
            scenario_name=scenario,
            scenario=self.file.scenario[scenario],
        )

    def items(self) -> tuple[Item, ...]:
        """Return every length in every scenario."""
        return tuple(
            self.item(length, scenario) for length in self.file.length for scenario in self.file.scenario
        )

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each data file of the task."""
        return {
            p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(self.folder.glob("*.toml"))
        }


_PEOPLE: Mapping[str, tuple[Callable[[Item, np.random.Generator], Person], frozenset[str]]] = {
    "spoon-feed": (
        lambda i, rng: SpoonFeedPerson(i.task.persona, i.length, i.acting, rng),
        spoon_feed.ACTS,
    ),
    "drink-assist": (
        lambda i, rng: DrinkAssistPerson(i.task.persona, i.length, i.acting, rng),
        drink_assist.ACTS,
    ),
    "itch-scratch": (
        lambda i, rng: ItchScratchPerson(i.task.persona, i.length, i.acting, rng),
        itch_scratch.ACTS,
    ),
    "bed-bath": (lambda i, rng: BedBathPerson(i.task.persona, i.length, i.acting, rng), bed_bath.ACTS),
    "dress-sleeve": (
        lambda i, rng: DressSleevePerson(i.task.persona, i.length, i.acting, rng),
        dress_sleeve.ACTS,
    ),
    "sling-transfer": (
        lambda i, rng: SlingTransferPerson(i.task.persona, i.length, i.acting, rng),
        sling_transfer.ACTS,
    ),
    "bed-watch": (lambda i, rng: BedWatchPerson(i.task.persona, i.length, i.acting, rng), bed_watch.ACTS),
    "oral-medication": (
        lambda i, rng: Ward(i.records, i.task.persona, i.length, i.acting, rng),
        resident.ACTS,
    ),
    "handover": (
        lambda i, rng: HandoverPerson(i.task.persona, i.length, i.acting, rng),
        handover.ACTS,
    ),
    "care-day": (
        lambda i, rng: CareDayPerson(i.records, i.task.persona, i.length, i.acting, rng),
        bed_watch.ACTS | resident.ACTS,
    ),
    "meal-round": (
        lambda i, rng: Ward(i.records, i.task.persona, i.length, i.acting, rng),
        resident.ACTS,
    ),
}


def task_names() -> tuple[str, ...]:
    """Return the name of every task."""
    return tuple(_PEOPLE)


@cache
def load_task(name: str) -> Task:
    """Return the task called ``name``.

    Raises:
        UsageError: If there is none; the message lists those there are.
        ConfigError: If one of its files is wrong.
    """
    if name not in _PEOPLE:
        raise unknown("task", name, task_names())
    folder = _HERE / name.replace("-", "_")
    make_person, acts = _PEOPLE[name]
    return Task(
        name=name,
        folder=folder,
        file=load_task_file(folder / "task.toml"),
        rubric=load_rubric(folder / "rubric.toml"),
        persona=load_persona(folder / "persona.toml"),
        make_person=make_person,
        acts=acts,
    )


def load_item(key: str) -> Item:
    """Return the item ``task/length/scenario``.

    Raises:
        UsageError: If the key is malformed or names something unknown.
    """
    parts = key.split("/")
    if len(parts) != 3:
        raise unknown("item", key, [i.key for name in task_names() for i in load_task(name).items()])
    return load_task(parts[0]).item(parts[1], parts[2])
