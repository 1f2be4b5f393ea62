"""From one recorded mistake to a regression case: the smallest scenario that still shows it, and its twin.

The scenario is cut down one cause at a time (length, script, faults, notes, starting values, takeovers), and
each smaller one is run with the same agent, seed and monitor; what still shows the same mistake is kept. The
twin is the harmless scenario of the same group: with it the mistake must not be there, or the case tests
something else.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.facts import facts_of
from analysis.grade import Grade, grade
from rig.core.errors import RecordError, UsageError
from rig.core.record import Record, read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tasks.scenario import ScenarioKind
from tasks.suite import Item, load_item

MOST_RUNS = 40
"""Trials spent on making one case smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A regression case.

    Attributes:
        spec: How the trial is run.
        item: What is run; its scenario may be in no file yet.
        criteria: What the agent breaks in it.
        removed: What was taken away from the incident's scenario and did not matter.
        twin: Key of the harmless twin, None where its group has none.
        twin_clean: Whether the agent does not make the mistake there; None without a twin.
        runs: Trials it took.
    """

    spec: TrialSpec
    item: Item
    criteria: tuple[str, ...]
    removed: tuple[str, ...]
    twin: str | None
    twin_clean: bool | None
    runs: int


def minimise(record: Record) -> Case:
    """Return the smallest case that still shows the record's mistake.

    Raises:
        RecordError: If the record shows no mistake, or running the trial again does not show it: then
            something else has changed, and there is nothing to make smaller.
        UsageError: If its task is not here any more.
    """
    facts, graded = facts_of(record), grade(record)
    if not graded.mistake:
        raise RecordError(f"{record.folder}: shows no critical mistake; there is no incident in it")
    key = facts.key
    spec = TrialSpec(
        item=key.item, agent=key.agent, bench=key.bench, monitor=key.monitor, seed=key.seed, think=key.think,
        cameras=key.cameras,
    )  # fmt: skip
    item, wanted = load_item(key.item), frozenset(graded.violated)
    search = _Search(spec, wanted)
    if not search.shows(item):
        raise RecordError(
            f"{record.folder}: the same trial run now does not show {', '.join(sorted(wanted))}: the agent, the "
            "rules or the program have changed since; compare `runrig campaign diff` of the two configurations"
        )
    removed: list[str] = []
    shrunk = True
    while shrunk and search.runs < MOST_RUNS:
        shrunk = False
        for what, smaller in _smaller(item):
            if search.runs >= MOST_RUNS:
                break
            if search.shows(smaller):
                item, shrunk = smaller, True
                removed.append(what)
                break
    twin = _twin(item)
    clean = None if twin is None else not search.shows(twin)
    return Case(spec=replace(spec, item=item.key), item=item, criteria=tuple(sorted(wanted)), removed=tuple(removed),
                twin=twin.key if twin else None, twin_clean=clean, runs=search.runs)  # fmt: skip


class _Search:
    """Runs items and says whether the agent still makes the mistakes asked for."""

    def __init__(self, spec: TrialSpec, wanted: frozenset[str]) -> None:
        self._spec, self._wanted = spec, wanted
        self.runs = 0

    def shows(self, item: Item) -> bool:
        self.runs += 1
        with TemporaryDirectory(prefix="runrig-incident-") as folder:
            try:
                run_trial(replace(self._spec, item=item.key), Path(folder) / "trial", item=item)
            except UsageError:
                return False  # what was taken away was needed for it to be a scenario at all
            return bool(self._wanted & set(_graded(Path(folder) / "trial").violated))


def _graded(folder: Path) -> Grade:
    return grade(read(folder))


def _smaller(item: Item) -> Iterator[tuple[str, Item]]:
    """Yield everything that is smaller by one cause, the largest cut first."""
    shorter = [
        name for name, length in item.task.file.length.items() if length.nominal_s < item.length.nominal_s
    ]
    for name in sorted(shorter, key=lambda n: item.task.file.length[n].nominal_s):
        yield (
            f"length {item.length_name}",
            replace(item, length_name=name, length=item.task.file.length[name]),
        )
    scenario = item.scenario
    for field in ("script", "faults", "notes", "takeovers"):
        parts: tuple[Any, ...] = getattr(scenario, field) or ()
        for k, part in enumerate(parts):
            left = (*parts[:k], *parts[k + 1 :])
            words = f"{field}: {getattr(part, 'does', None) or part}"
            yield words, replace(item, scenario=scenario.model_copy(update={field: left}))
    for name in scenario.start:
        left_start = {n: v for n, v in scenario.start.items() if n != name}
        yield f"start: {name}", replace(item, scenario=scenario.model_copy(update={"start": left_start}))


def _twin(item: Item) -> Item | None:
    for kind in (ScenarioKind.BENIGN, ScenarioKind.NEAR_MISS):
        for name, scenario in item.task.file.scenario.items():
            if scenario.group == item.scenario.group and scenario.kind is kind:
                return item.task.item(item.length_name, name)
    return None


def write_case(record: Record, case: Case, out: Path) -> Path:
    """Write the incident's bundle: the record, the case, its twin, and what they do not show.

    Raises:
        UsageError: If the bundle is there already.
    """
    folder = out / record.trial_id[:12]
    if folder.exists():
        raise UsageError(f"{folder}: this incident has its bundle already")
    folder.mkdir(parents=True)
    # In one file, so that nobody counts it as a trial of its own.
    shutil.make_archive(str(folder / "record"), "tar", record.folder)
    (folder / "case.json").write_text(json.dumps(case_values(record, case), indent=1, sort_keys=True) + "\n")
    (folder / "limitations.md").write_text(_limitations(record, case))
    return folder


def case_values(record: Record, case: Case) -> Mapping[str, Any]:
    """Return the case as strict JSON values."""
    facts = facts_of(record)
    return {
        "format": "runrig.incident/1",
        "trial_id": record.trial_id,
        "head": record.head,
        "from_item": facts.item,
        "criteria": list(case.criteria),
        "agent": case.spec.agent,
        "monitor": case.spec.monitor,
        "seed": case.spec.seed,
        "bench": case.spec.bench,
        "item": case.item.key,
        "scenario": case.item.scenario.model_dump(mode="json", exclude_defaults=True),
        "removed": list(case.removed),
        "twin": case.twin,
        "twin_clean": case.twin_clean,
        "runs": case.runs,
    }


def _limitations(record: Record, case: Case) -> str:
    facts = facts_of(record)
    twin = "There is no harmless twin in its group: what the case tests is not shown by a comparison."
    if case.twin is not None:
        clean = (
            "does not make the mistake"
            if case.twin_clean
            else "MAKES IT TOO: the case is about something else"
        )
        twin = f"In the harmless twin `{case.twin}` the agent {clean}."
    removed = "".join(f"- {words}\n" for words in case.removed) or "- nothing could be taken away\n"
    return (
        f"# What this case shows, and what it does not\n\n"
        f"Agent {case.spec.agent} broke {', '.join(case.criteria)} in {facts.item} (seed {case.spec.seed}, monitor "
        f"{case.spec.monitor}, {facts.embodiment} bench). The case `{case.item.key}` still shows it.\n\n"
        f"Taken away without effect:\n\n{removed}\n{twin}\n\n"
        f"It was found by {case.runs} runs on a simulated bench with one seed. It is one way to the mistake, not "
        "every way; that it passes later shows that this way is closed. It says nothing about how often the mistake "
        "happens, nor about hardware.\n"
    )


def replays(folder: Path) -> tuple[bool, bool | None]:
    """Run a case and its twin again: whether the mistake is there, and whether the twin is clean.

    Raises:
        UsageError: If the folder holds no case.
    """
    path = folder / "case.json"
    if not path.is_file():
        raise UsageError(f"{folder}: holds no incident case (no case.json)")
    said = json.loads(path.read_text())
    task, length, _ = str(said["item"]).split("/")
    item = load_item(str(said["item"]))
    scenario = item.scenario.model_validate(said["scenario"])
    spec = TrialSpec(
        item=item.key, agent=said["agent"], bench=said["bench"], monitor=said["monitor"], seed=said["seed"]
    )
    search = _Search(spec, frozenset(said["criteria"]))
    there = search.shows(replace(item, scenario=scenario))
    twin = said["twin"]
    return there, None if twin is None else not search.shows(
        load_item(f"{task}/{length}/{twin.split('/')[-1]}")
    )
