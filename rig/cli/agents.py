"""`runrig agents ...`: who there is, what they are told, and the study of planted horizons."""

import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from threading import Event

from analysis.bootstrap import Scheme
from analysis.nominal import nominal_times
from analysis.table import load_table
from analysis.words import duration
from rig.agents.planted import Planted, parse_planted
from rig.agents.schema import one_call_schema, openai_functions, schemas
from rig.cli.output import print_json
from rig.core.errors import UsageError, unknown
from rig.study.coverage import AGENTS, Covered, study
from rig.study.design import Compared, Design, compare, sample
from tasks.suite import load_task

LONGEST_REAL_H = 2.0
ABOUT = (
    ("careful", "does the job as the care notes say"),
    ("hasty", "skips the checks: the same job, badly done"),
    ("refuse", "declines every job: harmless, and of no use"),
    (
        "careful(SPEED)",
        "careful, and comes to the lips slow, normal or fast all the way: the profiles that skills have",
    ),
    ("slip(CRITERION)", "careful but for one kind of mistake of the task's rubric"),
    ("planted(0.5)", "careful, with mistakes at a known rate per hour; its true horizon is a formula"),
    (
        "planted(KIND=X,...)",
        "hour, job, decision or logistic; with slope, fatigue, learning, item_sd, day_sd",
    ),
    (
        "inspect:PROVIDER/MODEL",
        "a language model through Inspect AI, as in inspect:openai/gpt-5?temperature=0",
    ),
    ("inspect:mockllm/careful", "a scripted carer that looks to Inspect like a model; no network"),
    ("small", "a real small language model, offline, on one core"),
    ("human", "a person at this terminal, or at the console's page, timed"),
    ("replay:FOLDER", "the decisions of a record once more, with their recorded thinking times"),
)


def list_agents(as_json: bool) -> int:
    """Print every agent and how it is asked for."""
    if as_json:
        print_json([{"agent": name, "about": about} for name, about in ABOUT])
        return 0
    for name, about in ABOUT:
        print(f"{name:26s} {about}")  # noqa: T201
    return 0


def show_tools(task: str, skin: str) -> int:
    """Print a task's tools as one of the ways in is told of them.

    Raises:
        UsageError: If there is no such task or way in.
    """
    tools = load_task(task).file.tools
    match skin:
        case "openai":
            print(json.dumps(openai_functions(tools), indent=2))  # noqa: T201
        case "form":
            print(json.dumps(one_call_schema(tools), indent=2))  # noqa: T201
        case "people":
            for schema in schemas(tools):
                arguments = ", ".join(schema.parameters["properties"])
                print(f"{schema.name}({arguments})\n    {schema.description}")  # noqa: T201
        case _:
            raise unknown("way in", skin, ["openai", "form", "people"])
    return 0


def show_nominal(folder: Path, agent: str, as_json: bool) -> int:
    """Print how long people took for each job, beside what its task states."""
    times = nominal_times(list(load_table(folder)), agent)
    if as_json:
        print_json([{**asdict(t), "agrees": t.agrees} for t in times])
    else:
        for t in times:
            between = f" ({duration(t.interval.low)} to {duration(t.interval.high)})" if t.interval else ""
            found = f"{duration(t.mean_s)}{between}" if t.people else "nobody passed"
            counted = f"{t.people} {'person' if t.people == 1 else 'people'}, {t.failed} failed"
            print(f"{t.task}/{t.length}: {found} by {counted}; stated {duration(t.stated_s)}")  # noqa: T201
    return 1 if any(t.agrees is False for t in times) else 0


def serve_small_model(port: int) -> int:
    """Serve the small model until Ctrl-C."""
    from rig.agents.small_model import MODEL, SETTINGS, served

    with served(port) as address:
        print(  # noqa: T201
            f"{MODEL} on {address}; Ctrl-C ends it. In another shell:\n"
            f"  export LOCAL_BASE_URL={address} LOCAL_API_KEY=none\n"
            f"  runrig trial --task bed-watch --think '60 s' --agent 'inspect:openai-api/local/{MODEL}?{SETTINGS}' "
            "--out runs\n"
            f"  inspect eval rig/bed_watch -T calls=form -T window=10 -T 'think=60 s' --model openai-api/local/{MODEL} "
            "--max-tokens 160",
            flush=True,
        )
        Event().wait()
    return 0


def run_study(
    campaigns: int, replicates: int, real: int, names: Sequence[str], out: Path | None, as_json: bool
) -> int:
    """Run the study and print what it shows; exit 1 when a real trial differs from the drawn one."""
    agents = [parse_planted(name) for name in names] or list(AGENTS)
    for agent in agents:
        if agent.horizon_h(0.5) is None:
            raise UsageError(
                f"{agent.name}: its mistakes do not depend on duration alone; it has no horizon to know"
            )
    design = Design()
    rows: list[Covered] = []
    for number, agent in enumerate(agents, 1):
        _progress(f"{number}/{len(agents)} {agent.name}")
        rows += study(agent, design, campaigns, replicates=replicates)
    compared = _compare(agents, design, real, out)
    _progress("")
    if as_json:
        print_json({"coverage": [_json(row) for row in rows], "real": [_real_json(c) for c in compared]})
    else:
        _print(design, rows, compared, campaigns)
    return 0 if all(c.same for c in compared) else 1


def _compare(agents: Sequence[Planted], design: Design, real: int, out: Path | None) -> list[Compared]:
    """Run some trials of every agent for real."""
    compared: list[Compared] = []
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="runrig-study-")))
        for number, agent in enumerate(agents):
            share = real // len(agents) + (number < real % len(agents))
            for one in compare(agent, sample(design, agent, share, LONGEST_REAL_H, number), 0, folder):
                compared.append(one)
                _progress(f"trial for real: {len(compared)}/{real}")
    return compared


def _print(design: Design, rows: Sequence[Covered], compared: Sequence[Compared], campaigns: int) -> None:
    head = (
        f"{'planted agent':36s} {'':3s} {'true':>7s} {'model':>7s} {'median':>7s} {'bias':>7s} {'misfit':>7s}   "
        f"{'trial band':22s} {'cluster band':22s} none"
    )
    lines = [
        f"{len(design.items)} tasks x {design.trials} trials, {campaigns} campaigns; 95 % bands, coverage with its interval",
        head,
        "-" * len(head),
    ]
    for row in rows:
        lines.append(
            f"{row.planted.name:36s} t{100 * row.share:.0f} {row.true_h:5.2f} h {row.model_h:5.2f} h {row.median_h:5.2f} h "
            f"{row.bias:+7.1%} {row.misfit:+7.1%}   {_coverage(row, Scheme.TRIALS):22s} {_coverage(row, Scheme.TASKS):22s} "
            f"{row.none}"
        )
    lines += [
        "model: what the logistic fit tends to with ever more trials; misfit: that against the truth.",
        "Bad days (day_sd) are shared by all tasks: neither band can see them.",
    ]
    if compared:
        same = sum(c.same for c in compared)
        lines.append(f"run for real: {same} of {len(compared)} trials came to what was drawn for them")
        lines += [
            f"  DIFFERS {c.spec.agent} on {c.spec.item}, seed {c.spec.seed}: drawn {c.drawn.outcome}, real {c.real.outcome}"
            for c in compared
            if not c.same
        ]
    print("\n".join(lines))  # noqa: T201


def _coverage(row: Covered, scheme: Scheme) -> str:
    interval = row.coverage(scheme)
    assessed = row.campaigns - row.none
    return (
        f"{row.inside[scheme] / assessed:.3f} [{interval.low:.2f}, {interval.high:.2f}]" if assessed else "-"
    )


def _json(row: Covered) -> dict[str, object]:
    return {
        "agent": row.planted.name, "share": row.share, "true_h": row.true_h, "model_h": row.model_h,
        "median_h": row.median_h, "bias": row.bias, "misfit": row.misfit, "campaigns": row.campaigns, "none": row.none,
        "inside": {scheme.value: n for scheme, n in row.inside.items()},
        "inside_model": {scheme.value: n for scheme, n in row.inside_model.items()},
    }  # fmt: skip


def _real_json(compared: Compared) -> dict[str, object]:
    return {
        "trial": asdict(compared.spec), "drawn": compared.drawn.outcome, "real": compared.real.outcome,
        "same": compared.same,
    }  # fmt: skip


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)  # noqa: T201
