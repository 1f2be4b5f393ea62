"""Rule files to rule sets: the rules of a task, checked whole before any may watch anything."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from rig.core.channel import Layout
from rig.core.errors import unknown
from safety_monitor.limits import Limit, constants, limit_files, load_limits
from safety_monitor.predictions import constants_of, load_predictions, prediction_files
from safety_monitor.rule import ACTUATING, Response, Rule, RuleSet
from safety_monitor.rule_file import also, read_rules

__all__ = ["ACTUATING", "Response", "Rule", "RuleSet", "load_rules", "rule_files"]


PARTS = ("common", "at-face")
"""Rule files that belong to several tasks and are no task's own."""


def rule_files(task: str) -> tuple[Path, ...]:
    """Return the rule files of a task: those common to all, then its own, then those it names in ``also``.

    Raises:
        UsageError: If the task has none; the message lists the tasks that have.
        ConfigError: If a file names another that is not there.
    """
    folder = Path(str(files("safety_monitor") / "rules"))
    if task in PARTS or not (folder / f"{task}.toml").is_file():
        known = sorted(p.stem for p in folder.glob("*.toml") if p.stem not in PARTS)
        raise unknown("task with rules", task, known)
    found = [folder / "common.toml"]
    waiting = [folder / f"{task}.toml"]
    while waiting:
        path = waiting.pop(0)
        if path not in found:
            found.append(path)
            waiting += [path.with_name(f"{name}.toml") for name in also(path)]
    return tuple(found)


def load_rules(
    paths: Sequence[Path], layout: Layout, *, limit_paths: Sequence[Path] | None = None
) -> RuleSet:
    """Return the rules of ``paths``, checked against ``layout``.

    Args:
        paths: Rule files, in order.
        layout: The channels of the bench.
        limit_paths: Files of limits; by default those that come with the project.

    Raises:
        ConfigError: If anything in the files cannot be; all mistakes of a file at once.
    """
    limits = load_limits(limit_files() if limit_paths is None else limit_paths)
    predictions = load_predictions(prediction_files())
    rules, order = read_rules(paths, layout, {**constants(limits), **constants_of(predictions)})
    return RuleSet(rules, order, layout, _digest(rules, order, limits, layout))


def _digest(
    rules: Sequence[Rule], order: Sequence[Response], limits: Mapping[str, Limit], layout: Layout
) -> str:
    """Hash what the rules mean and do, whatever the files' spelling."""
    said = [
        [r.id, repr(r.violated), r.timing, r.response, r.when_unknown, r.protects, r.severity, r.status]
        for r in rules
    ]
    text = json.dumps([said, list(order), [repr(x) for x in limits.values()], layout.digest()])
    return hashlib.sha256(text.encode()).hexdigest()
