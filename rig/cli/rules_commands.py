"""The commands of `runrig rules`."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(no_args_is_help=True, help="The safety rules, in words and with examples.")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]


Task = Annotated[str, typer.Argument(help="Name of the task.", show_default=False)]
RuleName = Annotated[str, typer.Argument(help="Id of the rule.", show_default=False)]
BenchName = Annotated[str, typer.Option(help="Bench whose channels the rules read.")]


@commands.command("list")
def rules_list(
    task: Annotated[str | None, typer.Argument(help="Task; by default all.", show_default=False)] = None,
    bench: BenchName = "sim",
    as_json: Json = False,
) -> int:
    """List the rules: what each guards against, what it does, and what it says."""
    from rig.cli.rules import list_all

    return list_all(task, bench, as_json)


@commands.command("show")
def rules_show(task: Task, rule: RuleName, bench: BenchName = "sim", as_json: Json = False) -> int:
    """Read one rule back: what it says, why, and what happens when it is broken or not known."""
    from rig.cli.rules import show_one

    return show_one(task, rule, bench, as_json)


@commands.command("explain")
def rules_explain(task: Task, rule: RuleName, bench: BenchName = "sim", as_json: Json = False) -> int:
    """Read one rule back with pictures of what breaks it, and of what only just does not."""
    from rig.cli.rules import explain_one

    return explain_one(task, rule, bench, as_json)


@commands.command("check")
def rules_check(
    files: Annotated[list[Path], typer.Argument(help="Rule files, checked together.", show_default=False)],
    bench: BenchName = "sim",
    as_json: Json = False,
) -> int:
    """Check rule files without using them."""
    from rig.cli.rules import check_files

    return check_files(files, bench, as_json)


@commands.command("calibrate")
def rules_calibrate(
    folder: Annotated[
        Path, typer.Argument(help="A folder of shadow trials held out for it.", show_default=False)
    ],
    prediction: Annotated[str, typer.Argument(help="Id in the calibration file.", show_default=False)],
    budget: Annotated[float, typer.Option(help="Needless interruptions per hour allowed.", min=1e-6)] = 0.1,
    rules: Annotated[
        list[Path] | None, typer.Option(help="A file of rules that do not ship yet.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> int:
    """Calibrate a predictor's kappa on harmless trials; prints the lines of its entry."""
    from rig.cli.operating import show_calibration

    return show_calibration(folder, prediction, budget, rules or (), as_json)


@commands.command("coverage")
def rules_coverage(
    folder: Annotated[Path, typer.Argument(help="A folder of records.", show_default=False)],
    require_all: Annotated[
        bool, typer.Option("--require-all", help="Exit 1 when a rule was never exercised.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Show which registered rules the records exercise: a verdict said that the rule did not hold."""
    from rig.cli.rules import show_coverage

    return show_coverage(folder, require_all, as_json)
