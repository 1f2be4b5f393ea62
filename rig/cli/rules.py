"""`runrig rules`: the safety rules for people to read and to check, and which of them records exercise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.coverage import Coverage, coverage_of
from rig.cli.output import print_json
from rig.core.bench import load_bench
from rig.core.channel import Layout
from rig.core.errors import UsageError
from safety_monitor.describe import as_json, check_rules, explain_rule, show_rule
from safety_monitor.examples import Script, examples
from safety_monitor.rule import RuleSet
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_task, task_names


def layout_of(task: str, bench: str) -> Layout:
    """Return the channels of the bench that ``bench`` means for a task."""
    return load_bench(load_task(task).bench(bench)).layout


def rules_of(task: str, layout: Layout) -> RuleSet:
    """Return the rules that watch a task.

    Raises:
        UsageError: If there is no such task.
        ConfigError: If one of its rule files is wrong.
    """
    return load_rules(rule_files(load_task(task).name), layout)


def list_all(task: str | None, bench: str, as_json_: bool) -> int:
    """Print the rules of one task or of all."""
    sets = {name: rules_of(name, layout_of(name, bench)) for name in ([task] if task else task_names())}
    if as_json_:
        print_json(
            {
                name: {
                    "digest": s.digest, "order": [r.value for r in s.order], "rules": [as_json(r) for r in s.rules],
                }
                for name, s in sets.items()
            }
        )  # fmt: skip
        return 0
    console = Console()
    for name, ruleset in sets.items():
        console.rule(f"{name}: {len(ruleset.rules)} rules")
        for rule in ruleset.rules:
            console.print(f"[bold]{rule.id}[/bold]  against {rule.protects}; if broken: {rule.response}")
            console.print(Padding(Text(rule.sentence), (0, 0, 0, 4)))
        wins = " before ".join(r.value for r in ruleset.order)
        console.print(f"Where rules ask for different things: {wins}. Digest {ruleset.digest[:12]}.\n")
    return 0


def show_one(task: str, rule: str, bench: str, as_json_: bool) -> int:
    """Print the read-back of one rule."""
    layout = layout_of(task, bench)
    found = rules_of(task, layout)[rule]
    if as_json_:
        print_json(as_json(found))
    else:
        print(show_rule(found, layout))  # noqa: T201
    return 0


def explain_one(task: str, rule: str, bench: str, as_json_: bool) -> int:
    """Print one rule with examples beside its boundary; exit 1 where no example breaks it."""
    layout = layout_of(task, bench)
    found = rules_of(task, layout)[rule]
    pairs = examples(found, layout, np.random.default_rng(7), 3)
    if as_json_:
        shown = [
            {"broken": _script(b), "only_just_not_broken": _script(c)}
            for b, c in zip(pairs.broken, pairs.clean, strict=True)
        ]
        print_json({**as_json(found), "examples": shown})
    else:
        print(explain_rule(found, layout))  # noqa: T201
    return 0 if pairs.broken else 1


def _script(script: Script) -> list[dict[str, Any]]:
    """Return the phases of an example: how long, and what each channel reads (null: too old to believe)."""
    return [
        {
            "lasts_s": float(span) / 1e9,
            "readings": {c.name: float(v) for c, v in zip(script.channels, levels, strict=True)},
        }
        for span, levels in zip(script.spans_ns, script.levels, strict=True)
    ]


def check_files(files: Sequence[Path], bench: str, as_json_: bool) -> int:
    """Check rule files together without using them; exit 1 when something is wrong or there are no rules."""
    if missing := [str(f) for f in files if not f.is_file()]:
        raise UsageError(f"no such file: {', '.join(missing)}")
    found = check_rules(files, load_bench(bench).layout)
    if as_json_:
        print_json({"ok": found.ok, "rules": found.rules, "mistakes": found.mistakes, "digest": found.digest})
    else:
        print(found.text())  # noqa: T201
    return 0 if found.ok else 1


def show_coverage(folder: Path, require_all: bool, as_json_: bool) -> int:
    """Print rules registered against rules exercised; exit 1 when nothing was assessed."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; give a folder of records")
    found = coverage_of(folder)
    if as_json_:
        print_json(found.json())
    else:
        _print_coverage(Console(), found)
    return 0 if found.assessed and not (require_all and found.never) else 1


def _print_coverage(console: Console, found: Coverage) -> None:
    for name, task in found.tasks.items():
        if task.other_rules:
            console.print(
                f"{name}: {task.other_rules} records were made under other rules and are not counted"
            )
        if not task.records:
            continue
        exercised = len(task.registered) - len(task.never)
        table = Table(
            "Rule", "Broken", "Not known", "Interventions",
            title=f"{name}: {exercised} of {len(task.registered)} rules exercised by {task.records} records",
        )  # fmt: skip
        for rule in task.registered:
            counts = (task.broken[rule], task.unknown[rule], task.stopped[rule])
            table.add_row(rule, *map(str, counts), style="" if task.broken[rule] else "yellow")
        console.print(table)
    if not found.assessed:
        console.print("NOT ASSESSED: there is no record made under the rules registered here")
    elif found.never:
        console.print("Never exercised: " + ", ".join(f"{task} {rule}" for task, rule in found.never))
