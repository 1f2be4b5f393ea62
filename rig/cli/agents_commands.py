"""The commands about agents; each imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(
    no_args_is_help=True, help="Agents: who can do the jobs, with which tools, and how well we measure them."
)


@commands.command("list")
def agents_list(as_json: Annotated[bool, typer.Option("--json", help="Strict JSON.")] = False) -> int:
    """List the agents and how they are asked for."""
    from rig.cli.agents import list_agents

    return list_agents(as_json)


@commands.command("tools")
def agents_tools(
    task: Annotated[str, typer.Argument(help="Name of the task.", show_default=False)],
    skin: Annotated[str, typer.Option("--for", help="openai, form, or people.")] = "people",
) -> int:
    """Show the tools an agent has in a task, as models are told of them."""
    from rig.cli.agents import show_tools

    return show_tools(task, skin)


@commands.command("serve")
def agents_serve(
    port: Annotated[int, typer.Option(help="Loopback port; 0 for any.", min=0, max=65535)] = 8012,
) -> int:
    """Serve the small offline language model to OpenAI-style clients on this machine, until Ctrl-C."""
    from rig.cli.agents import serve_small_model

    return serve_small_model(port)


@commands.command("nominal")
def agents_nominal(
    records: Annotated[Path, typer.Argument(help="A folder of records.", show_default=False)],
    agent: Annotated[str, typer.Option(help="Whose trials are a carer's.")] = "human",
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON.")] = False,
) -> int:
    """Say how long people took for each job, beside what its task states; exit 1 where these disagree."""
    from rig.cli.agents import show_nominal

    return show_nominal(records, agent, as_json)


@commands.command("study")
def agents_study(
    campaigns: Annotated[int, typer.Option(help="Campaigns of each agent.", min=2)] = 40,
    replicates: Annotated[int, typer.Option(help="Bootstrap replicates of each band.", min=100)] = 1000,
    real: Annotated[
        int, typer.Option(help="Trials to run for real, to compare with the drawn ones.", min=0)
    ] = 6,
    agent: Annotated[
        list[str] | None, typer.Option(help="Planted agent, may be repeated; by default seven kinds.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Keep the records of the real trials here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Strict JSON.")] = False,
) -> int:
    """Plant true horizons, run campaigns, and say how often the reported bands cover the truth.

    30 tasks x 5 trials each. The outcome of a planted trial is known before it is run; a sample is run through the
    whole pipeline to show that it comes to the same. A larger study: --campaigns 1000 --real 60.
    """
    from rig.cli.agents import run_study

    return run_study(campaigns, replicates, real, agent or [], out, as_json)
