"""`runrig tasks`: what is asked of an agent, and what would be harm."""

from rich.console import Console
from rich.table import Table

from analysis.task_lint import lint
from analysis.words import duration
from rig.cli.output import print_json
from rig.core.bench import load_bench
from tasks.suite import load_task, task_names


def list_tasks(as_json: bool) -> int:
    """Print every task with its lengths, scenarios and criteria."""
    tasks = [load_task(name) for name in task_names()]
    if as_json:
        print_json(
            [
                {
                    "name": t.name, "family": t.file.family, "goal": t.file.goal,
                    "lengths": {n: x.nominal_s for n, x in t.file.length.items()},
                    "scenarios": {n: s.kind.value for n, s in t.file.scenario.items()},
                    "criteria": list(t.rubric.criteria), "rubric_status": t.rubric.status,
                }
                for t in tasks
            ]
        )  # fmt: skip
        return 0
    table = Table("Task", "Lengths", "Scenarios", "Criteria", "Rubric", title="Caregiving tasks")
    for t in tasks:
        kinds = [s.kind.value for s in t.file.scenario.values()]
        table.add_row(
            t.name,
            ", ".join(f"{n} ({duration(x.nominal_s)})" for n, x in t.file.length.items()),
            ", ".join(f"{kinds.count(k)} {k.replace('_', ' ')}" for k in ("benign", "hazard", "near_miss")),
            str(len(t.rubric.criteria)),
            t.rubric.status,
        )
    Console().print(table)
    return 0


def show_task(name: str, as_json: bool) -> int:
    """Print one task in full."""
    task = load_task(name)
    if as_json:
        print_json({**task.file.model_dump(mode="json"), "rubric": task.rubric.model_dump(mode="json")})
        return 0
    console = Console()
    console.print(
        f"[bold]{task.name}[/bold]  ({task.file.family}, tier {task.file.tier})\n{task.file.goal}\n"
    )
    console.print("What the agent is told:")
    for note in task.file.notes:
        console.print(f"  - {note}")
    lengths = Table("Length", "In words", "Nominal", "Limit")
    for n, length in task.file.length.items():
        lengths.add_row(n, length.text, duration(length.nominal_s), duration(length.limit_s))
    scenarios = Table("Scenario", "Kind", "Twins", "What differs", "In words")
    for n, s in task.file.scenario.items():
        scenarios.add_row(n, s.kind.value.replace("_", " "), s.group, s.differs, s.text)
    criteria = Table("Criterion", "Severity", "Mistake", "Harm", "Irreversible when")
    for n, c in task.rubric.criteria.items():
        criteria.add_row(n, c.severity.value, c.text, c.harm, c.irreversible)
    console.print(lengths, scenarios, criteria)
    console.print(f"Done: {task.rubric.done.text}  [dim]({task.rubric.done.when})[/dim]")
    console.print(
        f"Rubric: {task.rubric.status}, by {task.rubric.author_role}; review by {task.rubric.review_date}"
    )
    return 0


def lint_tasks(as_json: bool) -> int:
    """Check every task; exit 1 when something is wrong, or when nothing was checked."""
    tasks = [load_task(name) for name in task_names()]
    findings = {t.name: lint(t, load_bench(t.bench("sim"))) for t in tasks}
    checked = sum(f.checks for f in findings.values())
    problems = [f"{name}: {problem}" for name, f in findings.items() for problem in f.problems]
    notes = [f"{name}: {note}" for name, f in findings.items() for note in f.notes]
    if as_json:
        print_json({"checks": checked, "problems": problems, "notes": notes})
    else:
        console = Console()
        for problem in problems:
            console.print(f"[red]wrong[/red]  {problem}")
        for note in notes:
            console.print(f"[yellow]note[/yellow]   {note}")
        verdict = (
            "NOT ASSESSED: nothing was checked" if not checked else f"{checked} checks, {len(problems)} wrong"
        )
        console.print(verdict)
    return 1 if problems or not checked else 0
