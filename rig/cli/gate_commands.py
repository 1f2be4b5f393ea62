"""The commands of `runrig gate`; `runrig gate DIR` alone decides."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup


class DecidesByDefault(TyperGroup):
    """A group in which anything that is no command of it is the folder to decide on."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer keeps its own click
        """Put ``decide`` in front of arguments that name no command."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["decide", *args]
        return list(super().parse_args(ctx, args))


commands = typer.Typer(
    cls=DecidesByDefault,
    no_args_is_help=True,
    help="Go or no-go: separate gates on registered evidence. `runrig gate DIR` decides and writes the dossier.",
)

Folder = Annotated[
    Path, typer.Argument(help="The records, with their registered policy.", show_default=False)
]
PolicyFile = Annotated[Path | None, typer.Option(help="The policy; by default the registered one.")]
Candidate = Annotated[Path | None, typer.Option(help="What would be released; by default what is installed.")]
AsEvaluated = Annotated[
    bool, typer.Option("--as-evaluated", help="Judge what was evaluated, not what is installed.")
]
Baseline = Annotated[Path | None, typer.Option(help="What is released now, to state what changed.")]
AsOf = Annotated[str | None, typer.Option(help="Time of reading; by default now.")]
Trusted = Annotated[Path | None, typer.Option(help="File of key ids that are trusted.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output: strict JSON.")]


@commands.command("decide")
def gate_decide(
    folder: Folder,
    policy: PolicyFile = None,
    candidate: Candidate = None,
    as_evaluated: AsEvaluated = False,
    baseline: Baseline = None,
    as_of: AsOf = None,
    trusted: Trusted = None,
    as_json: Json = False,
) -> int:
    """Judge every gate and write the dossier; exit 1 for NO-GO."""
    from rig.cli.gate import Asked, run_gate

    asked = Asked(
        folder=folder,
        policy=policy,
        candidate=candidate,
        baseline=baseline,
        as_of=as_of,
        trusted=trusted,
        as_evaluated=as_evaluated,
    )
    return run_gate(asked, as_json)


@commands.command("status")
def gate_status(
    folder: Folder,
    candidate: Candidate = None,
    as_evaluated: AsEvaluated = False,
    as_of: AsOf = None,
    trusted: Trusted = None,
    as_json: Json = False,
) -> int:
    """Say what still holds, what must be measured again (cheapest first), and who has signed."""
    from rig.cli.gate import Asked, show_status

    return show_status(
        Asked(
            folder=folder,
            policy=None,
            candidate=candidate,
            as_of=as_of,
            trusted=trusted,
            as_evaluated=as_evaluated,
        ),
        as_json,
    )


@commands.command("register")
def gate_register(
    policy: Annotated[Path, typer.Argument(help="The policy (TOML).", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where the records will be.", show_default=False)],
    as_json: Json = False,
) -> int:
    """Sign a policy, before the first trial."""
    from rig.cli.gate import register_policy

    return register_policy(policy, out, as_json)


@commands.command("sign")
def gate_sign(
    folder: Folder,
    role: Annotated[str, typer.Option(help="The role in which you sign.", show_default=False)],
    no_go: Annotated[bool, typer.Option("--no-go", help="Sign against the release.")] = False,
    as_json: Json = False,
) -> int:
    """Approve the dossier that lies there, or object to it."""
    from rig.cli.gate import sign_dossier

    return sign_dossier(folder, role, "no-go" if no_go else "go", as_json)


@commands.command("measure")
def gate_measure(
    folder: Folder,
    bench: Annotated[str, typer.Option(help="Bench to measure.")] = "sim",
    stops: Annotated[int, typer.Option(help="Stops to measure.", min=1)] = 100,
) -> int:
    """Measure from signal to standstill, for the latency gate."""
    from rig.cli.gate_work import measure

    return measure(folder, bench, stops)


@commands.command("drill")
def gate_drill(
    folder: Folder,
    bench: Annotated[str, typer.Option(help="Bench to drill on.")] = "sim",
    item: Annotated[str, typer.Option(help="What is being done when the controller is killed.")] = (
        "spoon-feed/12-bites/plain"
    ),
    only: Annotated[list[str] | None, typer.Option(help="Only these drills.")] = None,
    as_json: Json = False,
) -> int:
    """Let things fail on purpose, and measure how long until safe and until work goes on."""
    from rig.cli.gate_work import drill

    return drill(folder, bench, item, only, as_json)


@commands.command("reviewers")
def gate_reviewers(
    folder: Folder,
    reviewed: Annotated[
        Path | None, typer.Option(help="Runs that were reviewed in the console; by default the same folder.")
    ] = None,
) -> int:
    """Take over how the reviewers did on trials whose truth is known, for the review burden."""
    from rig.cli.gate_reviewers import reviewers

    return reviewers(folder, reviewed or folder)


@commands.command("invariants")
def gate_invariants(as_json: Json = False) -> int:
    """Check what must hold whatever any model says, and show what enforces it; exit 1 if one does not."""
    from rig.cli.gate_work import invariants

    return invariants(as_json)


HoldoutFolder = Annotated[Path, typer.Argument(help="Folder with holdout.toml.", show_default=False)]
holdout_commands = typer.Typer(
    no_args_is_help=True, help="The sealed set: how it is asked, and what burns it."
)
commands.add_typer(holdout_commands, name="holdout")


@holdout_commands.command("status")
def holdout_status(folder: HoldoutFolder, as_json: Json = False) -> int:
    """Say who asked the sealed set how often, and whether it still counts; exit 1 if it is burnt."""
    from rig.cli.gate_holdout import status

    return status(folder, as_json)


@holdout_commands.command("ask")
def holdout_ask(
    folder: HoldoutFolder,
    records: Annotated[Path, typer.Option(help="Records of the sealed trials, policy registered.")],
    role: Annotated[str, typer.Option(help="The role in which you ask.", show_default=False)],
) -> int:
    """Ask once: pass or fail of the gates over the sealed trials, nothing finer. It costs one of the budget."""
    from rig.cli.gate_holdout import ask

    return ask(folder, records, role)


@holdout_commands.command("scan")
def holdout_scan(
    folder: HoldoutFolder,
    paths: Annotated[list[Path], typer.Argument(help="Where the set must not have leaked to.")],
    sealed: Annotated[Path | None, typer.Option(help="The sealed file itself.")] = None,
) -> int:
    """Look for the set's canary; found anywhere, the set is burnt."""
    from rig.cli.gate_holdout import scan

    return scan(folder, paths, sealed)


@commands.command("candidate")
def gate_candidate(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="The file to write.", show_default=False)],
    agent: Annotated[str | None, typer.Option(help="Agent; by default the policy's.")] = None,
) -> int:
    """Write down what is installed now, to be compared with later."""
    from rig.cli.gate import freeze_candidate

    return freeze_candidate(folder, agent, out)
