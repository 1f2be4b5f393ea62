"""`runrig tasks sweep`: the careful agent in every harmless scenario, under many seeds."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.grade import grade
from analysis.mistake_matrix import CAREFUL
from analysis.trials import Outcome
from rig.cli.output import print_json
from rig.cli.workers import over_workers
from rig.core.errors import UsageError
from rig.core.event import Kind
from rig.core.record import read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from tasks.scenario import ScenarioKind
from tasks.suite import Task, load_task, task_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is swept.

    Attributes:
        seeds: How many seeds each scenario is played under.
        from_seed: The first of them.
        monitor: "guard" or "shadow".
        length: Of the tasks; None for the shortest of each.
        hazards: The hazard scenarios too: there the danger is real, and the careful agent deals with it.
    """

    seeds: int = 20
    from_seed: int = 1
    monitor: str = "guard"
    length: str | None = None
    hazards: bool = False

    def specs(self, task: Task) -> list[TrialSpec]:
        """Return the trials of a task, scenario by scenario.

        Raises:
            UsageError: If the task has no such length; the message lists those there are.
        """
        lengths = task.file.length
        length = self.length or min(lengths, key=lambda name: lengths[name].nominal_s)
        return [
            TrialSpec(
                item=task.item(length, name).key, agent=CAREFUL, bench="sim", monitor=self.monitor, seed=seed
            )
            for name, scenario in task.file.scenario.items()
            if self.hazards or scenario.kind is not ScenarioKind.HAZARD
            for seed in range(self.from_seed, self.from_seed + self.seeds)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one trial came to.

    Attributes:
        rules: Rules of the monitor that stepped in, in order; needless in a harmless scenario.
    """

    item: str
    seed: int
    outcome: Outcome
    reason: str
    rules: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the job was done without a critical mistake."""
        return self.outcome is Outcome.PASS


def swept(spec: TrialSpec) -> Swept:
    """Run one trial and return what it came to; its record is not kept."""
    with tempfile.TemporaryDirectory(prefix="runrig-sweep-") as folder:
        record = read(run_trial(spec, Path(folder) / "trial").folder)
        graded = grade(record)
        rules = tuple(str(e.body["rule"]) for e in record.events if e.kind == Kind.INTERVENED)
    return Swept(item=spec.item, seed=spec.seed, outcome=graded.outcome, reason=graded.reason, rules=rules)


def show_sweep(tasks: Sequence[str], sweep: Sweep, workers: int, as_json: bool) -> int:
    """Run and print a sweep over some tasks, or over all; exit 1 where a trial did not pass.

    Raises:
        UsageError: If a task or its length is unknown.
    """
    chosen = [load_task(name) for name in tasks or task_names()]
    todo = [spec for task in chosen for spec in sweep.specs(task)]
    if not todo:
        raise UsageError("nothing to sweep")
    console, found = Console(), []
    for s in over_workers(swept, [(spec,) for spec in todo], workers):
        found.append(s)
        if not s.passed and not as_json:  # at once: a sweep is long
            console.print(f"[red]{s.outcome.value}[/red]  {s.item} seed {s.seed}: {s.reason}")
    if as_json:
        print_json([_plain(s) for s in found])
    else:
        _print(console, found)
    return 0 if all(s.passed for s in found) else 1


def _print(console: Console, found: Sequence[Swept]) -> None:
    items: dict[str, list[Swept]] = defaultdict(list)
    for s in found:
        items[s.item].append(s)
    table = Table("Item", "Passed", "Interrupted", "By", title="The careful agent")
    for item, trials in items.items():
        rules = Counter(rule for s in trials for rule in dict.fromkeys(s.rules))
        table.add_row(
            item,
            f"{sum(s.passed for s in trials)}/{len(trials)}",
            str(sum(bool(s.rules) for s in trials)),
            ", ".join(f"{rule} {n}" for rule, n in rules.most_common()),
        )
    console.print(table)
    console.print(f"{sum(s.passed for s in found)} of {len(found)} trials passed")


def _plain(s: Swept) -> dict[str, object]:
    return {
        "item": s.item, "seed": s.seed, "outcome": s.outcome, "reason": s.reason, "rules": list(s.rules),
    }  # fmt: skip
