"""`runrig tasks matrix`: every mistake made by its agent, and by no other."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.mistake_matrix import Matrix, Planned, Seen, matrix_of, on_guard, planned, seen_in
from rig.agents.mistakes import SLIPS
from rig.cli.output import print_json
from rig.cli.workers import over_workers
from rig.core.bench import load_bench
from rig.core.record import Record, read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec
from safety_monitor.rules import load_rules, rule_files
from tasks import windows
from tasks.suite import Task, load_task, task_names


def run_one(trial: Planned, seed: int) -> Seen:
    """Run one trial in shadow and return what it showed; records are not kept.

    A slip that did its harm is made once more with the monitor on guard.
    """
    with tempfile.TemporaryDirectory(prefix="runrig-matrix-") as folder:

        def record(monitor: str) -> Record:
            spec = TrialSpec(item=trial.item, agent=trial.agent, bench="sim", monitor=monitor, seed=seed)
            return read(run_trial(spec, Path(folder) / monitor).folder)

        alone = record("shadow")
        seen = seen_in(alone, trial.item, trial.agent, seed)
        if trial.slips_on not in seen.harmed:
            return seen
        return replace(seen, on_guard=on_guard(alone, record("guard"), trial.slips_on))


def trials_of(task: Task) -> tuple[Planned, ...]:
    """Return the trials of a task's matrix, where its slips need to be made."""
    slips = SLIPS.get(task.name, {})
    return planned(task, {c: (s.length, s.scenario) for c, s in slips.items()})


def brings_of(task: Task) -> dict[str, tuple[str, ...]]:
    """Return, by criterion, those that cannot but be broken with it."""
    return {c: s.brings for c, s in SLIPS.get(task.name, {}).items() if s.brings}


def show_matrix(tasks: Sequence[str], seeds: int, workers: int, save: bool, as_json: bool) -> int:
    """Run and print the matrix of some tasks, or of all; exit 1 where anything is wrong.

    Raises:
        UsageError: If a task is unknown, or the windows cannot be saved.
    """
    console = Console()
    found: list[Matrix] = []
    for name in tasks or task_names():
        task = load_task(name)
        todo = [(trial, seed) for trial in trials_of(task) for seed in range(1, seeds + 1)]
        matrix = matrix_of(task, over_workers(run_one, todo, workers), brings_of(task))
        found.append(matrix)
        if save:
            windows.save(name, windows_in(task, matrix))
        if not as_json:
            _print(console, task, matrix, len(todo))
    if as_json:
        print_json([_plain(m) for m in found])
    return 1 if any(m.problems for m in found) else 0


def windows_in(task: Task, matrix: Matrix) -> dict[str, windows.Window]:
    """Return the windows a matrix shows, as they are saved; zero where harm came without a signal before it."""
    late = {problem.split(":")[0] for problem in matrix.problems if "without a signal before it" in problem}
    shortest = {**matrix.windows_s, **dict.fromkeys(late, 0.0)}
    return {
        c: windows.Window(shortest_s=shortest[c], conditions=windows.conditions_of(task.rubric.criteria[c]))
        for c in matrix.criteria
        if c in shortest
    }


def _print(console: Console, task: Task, matrix: Matrix, trials: int) -> None:
    table = Table(
        "Criterion", *matrix.agents, title=f"{task.name}: harm done, of trials ({trials} in shadow)"
    )
    for criterion in matrix.criteria:
        cells = [matrix.cells[criterion, agent] for agent in matrix.agents]
        table.add_row(criterion, *(f"{hits}/{of}" if hits else "." for hits, of in cells))
    console.print(table)
    for criterion, others in brings_of(task).items():
        console.print(f"Who slips on {criterion} cannot but break {', '.join(others)} too.")
    times = Table(
        "Criterion", "Signal to irreversible", "Rules answer within", "Bench reacts within", "On guard"
    )
    bench = load_bench(task.bench("sim"))
    rules = load_rules(rule_files(task.name), bench.layout).rules
    for criterion in matrix.criteria:
        shortest = matrix.windows_s.get(criterion)
        answers = [r.response_ns / 1e9 for r in rules if r.protects == criterion]
        times.add_row(
            criterion,
            "not seen" if shortest is None else f"{shortest:.3f} s",
            ", ".join(f"{a:g} s" for a in sorted(answers)) or "no rule",
            f"{bench.reaction_ns / 1e9:g} s",
            ", ".join(f"{what.value} {n}" for what, n in matrix.on_guard[criterion].items()) or "not tried",
        )
    console.print(times)
    for problem in matrix.problems:
        console.print(f"[red]wrong[/red]  {problem}")


def _plain(matrix: Matrix) -> dict[str, object]:
    return {
        "task": matrix.task,
        "cells": {
            criterion: {agent: list(matrix.cells[criterion, agent]) for agent in matrix.agents}
            for criterion in matrix.criteria
        },
        "windows_s": dict(matrix.windows_s),
        "on_guard": {c: dict(counts) for c, counts in matrix.on_guard.items()},
        "problems": list(matrix.problems),
    }
