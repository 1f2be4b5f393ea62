"""How timely the monitor is in closed loop, with and without its predicting rules, task by task.

``python -m tests.benchmarks.bench_timeliness --out DIR [TASK ...] [--seeds N] [--calm N] [--for SECONDS]``

Every hazard is met by the agent that slips on it (``slip(CRITERION)``), every benign and near-miss twin by the
careful one; each trial is run twice, once with the monitor watching and once with it stepping in, and scored
by `analysis.timeliness`. "Before" is the rule set less the rules that look ahead (`predicts`), on the hazards of
the criteria these guard; for all others, and where nothing was interrupted, it makes no difference. Records stay
in DIR, and the same command goes on where it stopped: ``--for`` starts no trial after so many seconds.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

import safety_monitor.rules as rules_module
from analysis.mistake_matrix import slip
from analysis.timeliness import Timeliness, timeliness
from rig.cli.matrix import trials_of
from rig.cli.timeliness import per_hour_in_words, rate_in_words, spread_in_words
from rig.core.bench import load_bench
from rig.core.errors import RecordError, UsageError
from rig.core.record import read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec, trial_folder
from safety_monitor.nodes import Ahead, Stiffness, walk
from safety_monitor.rule import Rule
from safety_monitor.rules import load_rules, rule_files
from safety_monitor.timeliness import Report, Timing
from tasks.suite import load_task, task_names

BEFORE, AFTER = "before", "after"


def predicts(rule: Rule) -> bool:
    """Return whether a rule looks ahead: by a stopping distance, a reach, or a filter."""
    return rule.template == "distance" or any(
        isinstance(node, Ahead | Stiffness) for node in walk(rule.violated)
    )


def predicting(task: str) -> tuple[Rule, ...]:
    """Return a task's predicting rules."""
    layout = load_bench(load_task(task).bench("sim")).layout
    return tuple(r for r in load_rules(rule_files(task), layout).rules if predicts(r))


@contextmanager
def rules_without(names: frozenset[str]) -> Iterator[None]:
    """Let everything in this process load the shipped rules less some of them."""
    if not names:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "rules"
        shutil.copytree(Path(rules_module.__file__).parent / "rules", copy)
        for path in copy.glob("*.toml"):
            kept, keep = [], True
            for line in path.read_text().splitlines(keepends=True):
                if line.startswith("["):
                    keep = line.strip()[len("[rule.") : -1] not in names
                kept += [line] if keep else []
            path.write_text("".join(kept))
        with patch.object(rules_module, "files", lambda _: Path(folder)):
            yield


def planned(task: str, seeds: int, calm: int) -> list[TrialSpec]:
    """Return the trials of a task: hazards ``seeds`` times, harmless scenarios ``calm`` times, in both modes."""
    return [
        TrialSpec(item=t.item, agent=t.agent, bench="sim", monitor=monitor, seed=seed)
        for seed in range(1, max(seeds, calm) + 1)
        for t in dict.fromkeys(trials_of(load_task(task)))
        if seed <= (calm if t.agent == "careful" else seeds)
        for monitor in ("shadow", "guard")
    ]


def run_missing(out: Path, specs: list[TrialSpec], until: float) -> int:
    """Run what is not there yet; return how many trials are left."""
    left = 0
    for spec in specs:
        folder = trial_folder(out, spec)
        if folder.exists() and read(folder).complete:
            continue
        if time.time() > until:
            left += 1
            continue
        shutil.rmtree(folder, ignore_errors=True)
        run_trial(spec, folder)
    return left


def run_and_score(
    out: Path, task: str, specs: list[TrialSpec], dropped: frozenset[str], until: float
) -> tuple[int, Timeliness | str]:
    """Run and score a task under one condition; return how many trials are left, and the scores or why none."""
    with rules_without(dropped):
        left = run_missing(out, specs, until)
        try:
            return left, timeliness(out)
        except (RecordError, UsageError) as error:  # nothing there yet, or nothing to score
            return left, str(error)


def row(task: str, condition: str, r: Report, needless: str) -> list[str]:
    """Return a line of the table."""
    others = ", ".join(
        f"{n} {kind.value}" for kind, n in sorted(r.classes.items()) if kind is not Timing.TIMELY
    )
    hours, per_hour = f"{r.per_hour.hours:.3g}", per_hour_in_words(r.per_hour)
    return [
        task,
        condition,
        rate_in_words(r.timely),
        others,
        spread_in_words(r.lead),
        hours,
        per_hour,
        needless,
    ]


def rows(task: str, condition: str, found: Timeliness, guarded: frozenset[str]) -> Iterator[list[str]]:
    """Yield a task's lines: the criteria guarded by predicting rules, then, with all rules, the whole."""
    for name in sorted(guarded):
        if (part := found.by["criterion"].get(name)) and part.classes:
            yield row(f"{task}, {name}", condition, part, "")
    if condition == AFTER:
        needless = ", ".join(f"{n} x {rule}" for rule, n in found.needless.items())
        yield row(task, condition, found.whole, needless)


def exceptions(found: Timeliness) -> Iterator[str]:
    """Yield, for every hazard that was not met in time, where and by how much."""
    for m in found.met:
        s, h = m.scored, m.scored.hazard
        if s.timing is not Timing.TIMELY:
            rule = "no alarm" if s.alarm is None else f"{s.alarm.rule} at {s.alarm.start_s:.3f} s"
            yield (
                f"{s.timing.value}: {h.name} in {m.facts.item}, seed {m.facts.key.seed}: {rule}; signal "
                f"{_at(h.signal_s)}, last useful {_at(h.last_useful_s)}, irreversible {_at(h.irreversible_s)}"
            )
    for n in found.not_met:
        yield f"not met: {n.criterion} in {n.facts.item}, seed {n.facts.key.seed}: {n.after_rule} came before"
    for facts, criterion in found.induced:
        yield f"INDUCED: {criterion} in {facts.item}, {facts.key.agent}, seed {facts.key.seed}"


def _at(t_s: float | None) -> str:
    return "none" if t_s is None else f"{t_s:.3f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", help="by default all")
    parser.add_argument("--out", type=Path, required=True, help="where records are kept")
    parser.add_argument("--seeds", type=int, default=3, help="trials of each hazard")
    parser.add_argument("--calm", type=int, default=3, help="trials of each harmless scenario")
    parser.add_argument(
        "--for", type=float, default=float("inf"), dest="for_s", help="seconds to start trials in"
    )
    args = parser.parse_args()
    until, left, console = time.time() + args.for_s, 0, Console(width=200, soft_wrap=True)
    table = Table("Task", "Rules", "Timely", "Not timely", "Lead", "Hours", "Needless per hour", "By rule")
    remarks: list[str] = []
    for task in args.tasks or task_names():
        ahead = predicting(task)
        names, guarded = frozenset(r.id for r in ahead), frozenset(r.protects for r in ahead)
        remarks.append(f"{task}: looks ahead with {', '.join(sorted(names)) or 'none'}")
        specs = planned(task, args.seeds, args.calm)
        meets = [s for s in specs if s.agent in {slip(criterion) for criterion in guarded}]
        for condition, part, dropped in ((BEFORE, meets, names), (AFTER, specs, frozenset[str]())):
            if not part:
                continue
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
                out = args.out / condition / task
                rest, found = own.submit(run_and_score, out, task, part, dropped, until).result()
            left += rest
            if isinstance(found, str):
                remarks.append(f"  {condition}: {found}")
                continue
            for line in rows(task, condition, found, guarded):
                table.add_row(*line)
            remarks += [f"  {condition}: {each}" for each in exceptions(found)]
    console.print(table, *remarks, sep="\n")
    if left:
        console.print(f"{left} trials not run yet: the same command goes on")


if __name__ == "__main__":
    main()
