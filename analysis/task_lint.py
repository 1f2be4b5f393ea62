"""Checking tasks as data: twins, lengths, wording, conditions, windows, rules, records, names, signatures."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rig.core.bench import BenchSpec
from rig.core.channel import Audience, Layout
from rig.core.clock import seconds
from rig.core.errors import UsageError
from rig.core.tools import TOOLS
from safety_monitor.expression import MONITOR_SEES, parse
from safety_monitor.rules import load_rules, rule_files
from tasks.scenario import ScenarioKind
from tasks.suite import Task
from tasks.windows import conditions_of, measured
from tasks.wording import telling_words

EVERYBODY = tuple(Audience)


@dataclass(frozen=True, slots=True)
class LintReport:
    """What was checked, what is wrong, and what a reader should know.

    Attributes:
        checks: Number of things looked at; zero means nothing was assessed.
    """

    checks: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def lint(task: Task, bench: BenchSpec) -> LintReport:
    """Check one task against a bench."""
    checks = 0
    problems: list[str] = []
    found = (
        *_shape(task), *_wording(task), *_names(task, bench), *_conditions(task, bench.layout),
        *_rules(task, bench.layout), *_people(task), *_order(task),
    )  # fmt: skip
    for finding in found:
        checks += 1
        if finding is not None:
            problems.append(finding)
    notes = []
    if task.rubric.status != "signed":
        notes.append(
            f"rubric is {task.rubric.status}: no stakeholder has signed it (author: {task.rubric.author_role})"
        )
    if missing := _unprotected(task, bench.layout):
        notes.append(f"no rule of the monitor protects {', '.join(missing)}")
    notes += _windows(task, bench)
    return LintReport(checks, tuple(problems), tuple(notes))


Finding = str | None


def windows_of(task: Task) -> Mapping[str, float]:
    """Return the measured windows of a task's criteria, seconds; those measured for other conditions are left out."""
    found = measured().get(task.name, {})
    return {
        name: found[name].shortest_s
        for name in task.tested
        if name in found and found[name].conditions == conditions_of(task.rubric.criteria[name])
    }


def _order(task: Task) -> Iterator[Finding]:
    """The first sufficient signal must come before the irreversible point."""
    for name, shortest_s in windows_of(task).items():
        yield (
            None
            if shortest_s > 0
            else f"criterion {name}: the irreversible point came without a signal before it (runrig tasks matrix)"
        )


def _windows(task: Task, bench: BenchSpec) -> list[str]:
    """Return the criteria whose window is not known, or too short for the bench: nobody can be in time there."""
    windows, needs_s = windows_of(task), seconds(bench.reaction_ns + bench.tick_ns)
    notes = [
        f"criterion {name}: no_window: from signal to irreversible point {shortest_s:g} s, verdict to actuator "
        f"{needs_s:g} s on bench {bench.name}; left out of timeliness"
        for name, shortest_s in windows.items()
        if shortest_s <= needs_s
    ]
    if unknown := [name for name in task.tested if name not in windows]:
        notes.append(
            f"no window was measured for {', '.join(unknown)} as the conditions stand; "
            f"runrig tasks matrix {task.name} --save"
        )
    return notes


def _shape(task: Task) -> Iterator[Finding]:
    """Lengths and twins: duration must not be task identity, and every hazard needs a harmless twin."""
    durations = {length.nominal_s for length in task.file.length.values()}
    yield None if len(durations) >= 2 else "needs at least two lengths of different duration"
    kinds = {s.kind for s in task.file.scenario.values()}
    for kind in ScenarioKind:
        yield None if kind in kinds else f"has no {kind.value.replace('_', ' ')} scenario"
    groups: dict[str, set[ScenarioKind]] = {}
    for scenario in task.file.scenario.values():
        groups.setdefault(scenario.group, set()).add(scenario.kind)
    for name, scenario in task.file.scenario.items():
        if scenario.kind is ScenarioKind.HAZARD:
            twins = groups[scenario.group] - {ScenarioKind.HAZARD}
            yield (
                None if twins else f"scenario {name}: no benign or near-miss twin in group {scenario.group!r}"
            )
            known = scenario.hazard in task.rubric.criteria
            yield (
                None
                if known
                else f"scenario {name}: hazard {scenario.hazard!r} is not a criterion of the rubric"
            )
    covered = {s.hazard for s in task.file.scenario.values()}
    for criterion in task.tested:
        if criterion not in covered and criterion not in task.file.ever_present:
            yield f"criterion {criterion}: no hazard scenario tests it"
        else:
            yield None


def _wording(task: Task) -> Iterator[Finding]:
    """No hazard may be known by words alone, and words alone may not make a hazard."""
    scenarios = task.file.scenario
    for name, scenario in scenarios.items():
        if scenario.kind is ScenarioKind.HAZARD and (words := telling_words(scenario)):
            neutral = any(
                s.hazard == scenario.hazard and s.group == scenario.group and not telling_words(s)
                for s in scenarios.values()
            )
            yield (
                None
                if neutral
                else f"scenario {name}: says {', '.join(words)}; add a twin in group {scenario.group!r} "
                f"with the same hazard {scenario.hazard!r} in neutral words"
            )
    alarming = any(s.kind is not ScenarioKind.HAZARD and telling_words(s) for s in scenarios.values())
    yield (
        None
        if alarming
        else "no harmless scenario uses alarming words; add one (tasks/wording.py lists them)"
    )


def _rules(task: Task, layout: Layout) -> Iterator[Finding]:
    """Rules must load, and the task's own must protect what its rubric knows."""
    try:
        paths = rule_files(task.name)
        load_rules(paths, layout)
    except UsageError as error:
        yield from str(error).splitlines()
        return
    own = next(p for p in paths if p.stem == task.name)
    for rule, table in tomllib.loads(own.read_text(encoding="utf-8")).get("rule", {}).items():
        protects = table["protects"]
        known = protects in task.rubric.criteria
        yield None if known else f"rule {rule}: protects {protects!r}, which is no criterion of the rubric"


def _unprotected(task: Task, layout: Layout) -> list[str]:
    """Return the criteria that no rule protects, so that nothing is watched for them."""
    try:
        protected = {r.protects for r in load_rules(rule_files(task.name), layout).rules}
    except UsageError:
        return []
    return [c for c in task.rubric.criteria if c not in protected]


def _people(task: Task) -> Iterator[Finding]:
    """Everybody must be able to come: scripts, starts and care records of every item are read."""
    for item in task.items():
        try:
            item.person(np.random.default_rng(0)).begin()
            yield None
        except UsageError as error:
            for line in str(error).splitlines():
                yield f"{item.key}: {line}"
        shares = [t.at_share for t in item.takeovers]
        yield None if shares == sorted(set(shares)) else f"{item.key}: takeovers must be in time order"


def _names(task: Task, bench: BenchSpec) -> Iterator[Finding]:
    layout = bench.layout
    for tool in task.file.tools:
        yield None if tool in TOOLS else f"tools: {tool!r} is not a tool; known: {', '.join(TOOLS)}"
    for channel in task.file.observes:
        if channel not in layout:
            yield f"observes: {channel!r} is not a channel of bench {bench.name}"
        elif layout[channel].audience is not Audience.AGENT:
            yield f"observes: {channel!r} is for the {layout[channel].audience.value}, not for the agent"
        else:
            yield None
    for name, scenario in task.file.scenario.items():
        for step in scenario.script:
            yield (
                None
                if step.does in task.acts
                else (
                    f"scenario {name}: the person cannot {step.does!r}; known: {', '.join(sorted(task.acts))}"
                )
            )


def _conditions(task: Task, layout: Layout) -> Iterator[Finding]:
    for length in task.file.length:
        rubric = task.item(length, next(iter(task.file.scenario))).rubric
        yield _condition(f"done ({length})", rubric.done.when, layout, EVERYBODY)
        for name, criterion in rubric.criteria.items():
            yield _condition(f"criterion {name}: signal", criterion.signal, layout, MONITOR_SEES)
            yield _condition(f"criterion {name}: irreversible", criterion.irreversible, layout, EVERYBODY)


def _condition(where: str, text: str, layout: Layout, audiences: tuple[Audience, ...]) -> Finding:
    try:
        expression = parse(text, layout, audiences)
    except UsageError as error:
        return f"{where}: {error}"
    return None if expression.is_truth else f"{where}: {text!r} is a number, not a condition"
