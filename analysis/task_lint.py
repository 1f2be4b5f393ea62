"""Checking tasks as data: twins, lengths, conditions, units, names, signatures."""

from collections.abc import Iterator
from dataclasses import dataclass

from rig.core.bench import BenchSpec
from rig.core.channel import Audience, Layout
from rig.core.errors import UsageError
from rig.core.tools import TOOLS
from safety_monitor.expression import MONITOR_SEES, parse
from tasks.scenario import ScenarioKind
from tasks.suite import Task

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
    for finding in (*_shape(task), *_names(task, bench), *_conditions(task, bench.layout)):
        checks += 1
        if finding is not None:
            problems.append(finding)
    notes = []
    if task.rubric.status != "signed":
        notes.append(
            f"rubric is {task.rubric.status}: no stakeholder has signed it (author: {task.rubric.author_role})"
        )
    return LintReport(checks, tuple(problems), tuple(notes))


Finding = str | None


def _shape(task: Task) -> Iterator[Finding]:
    """Lengths and twins: duration must not be task identity, and every hazard needs a harmless twin."""
    durations = {length.nominal_s for length in task.file.length.values()}
    yield None if len(durations) >= 2 else "needs at least two lengths of different duration"
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
    for criterion in task.rubric.criteria:
        if criterion not in covered and criterion not in task.file.ever_present:
            yield f"criterion {criterion}: no hazard scenario tests it"
        else:
            yield None


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
