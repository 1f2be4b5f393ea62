"""`runrig tasks`: what is asked of an agent, and what would be harm."""

from rich.console import Console
from rich.table import Table

from analysis.task_lint import lint, windows_of
from analysis.words import duration
from rig.cli.output import print_json
from rig.core.bench import load_bench
from rig.core.clock import seconds
from tasks.families.family import families, family_called
from tasks.suite import load_task, task_names


def list_tasks(as_json: bool) -> int:
    """Print every task with its lengths, scenarios and criteria."""
    tasks = [load_task(name) for name in task_names()]
    if as_json:
        print_json(
            [
                {
                    "name": t.name, "family": t.file.family, "tiers": [t.file.tier], "goal": t.file.goal,
                    "work_package": t.file.work_package,
                    "lengths": {n: x.nominal_s for n, x in t.file.length.items()},
                    "scenarios": {n: s.kind.value for n, s in t.file.scenario.items()},
                    "criteria": list(t.rubric.criteria), "rubric_status": t.rubric.status,
                }
                for t in tasks
            ]
            + [
                {
                    "name": name, "family": f.family, "tiers": list(f.tiers), "goal": t.goal,
                    "work_package": f.work_package, "lengths": {n: x.nominal_s for n, x in t.length.items()},
                    "scenarios": {}, "criteria": list(t.criteria), "rubric_status": f.status,
                }
                for f in families().values()
                for name, t in f.task.items()
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
    Console().print(table, _elsewhere())
    return 0


def _elsewhere() -> Table:
    """Return the families that are run in other tiers, whose results can be read beside ours."""
    table = Table(
        "Family", "Task", "Lengths", "Criteria", "Tiers", "Work package", title="Run elsewhere, results only"
    )
    for f in families().values():
        for name, t in f.task.items():
            lengths = ", ".join(f"{n} ({duration(x.nominal_s)})" for n, x in t.length.items())
            tiers = ", ".join(map(str, f.tiers))
            table.add_row(f.family, name, lengths, str(len(t.criteria)), tiers, f.work_package)
    return table


def show_family(name: str, as_json: bool) -> int:
    """Print one family in full."""
    family = family_called(name)
    if as_json:
        print_json(family.model_dump(mode="json"))
        return 0
    console = Console()
    tiers = ", ".join(map(str, family.tiers))
    console.print(f"[bold]{family.family}[/bold]  (tiers {tiers}, {family.work_package})\n{family.text}\n")
    for task, about in family.task.items():
        lengths = ", ".join(f"{x.text} ({duration(x.nominal_s)})" for x in about.length.values())
        console.print(f"[bold]{task}[/bold]: {about.goal}\n  Lengths: {lengths}")
        for criterion, c in about.criteria.items():
            console.print(f"  - {criterion} ({c.severity.value}): {c.text} {c.harm}")
    console.print(f"\n{family.status}, by {family.author_role}; review by {family.review_date}")
    return 0


def show_task(name: str, as_json: bool) -> int:
    """Print one task in full, or a family that is run elsewhere."""
    if name in families():
        return show_family(name, as_json)
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
    windows, bench = windows_of(task), load_bench(task.bench("sim"))
    criteria = Table("Criterion", "Severity", "Mistake", "Harm", "Irreversible when", "Window")
    for n, c in task.rubric.criteria.items():
        window = duration(windows[n]) if n in windows else "not measured"
        criteria.add_row(n, c.severity.value, c.text, c.harm, c.irreversible, window)
    console.print(lengths, scenarios, criteria)
    console.print(
        f"Window: the shortest time seen from the first sufficient signal to the irreversible point; bench "
        f"{bench.name} takes {duration(seconds(bench.reaction_ns))} from verdict to actuator."
    )
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
    for family in families().values():  # loading one checks it
        checked += 1
        if family.status != "signed":
            notes.append(f"family {family.family} is {family.status} (author: {family.author_role})")
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
