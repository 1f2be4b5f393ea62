"""`runrig trial`: run, grade, and say in words what happened."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.grade import Grade, grade
from analysis.table import row_of
from analysis.words import duration
from rig.agents.catalogue import check_agent
from rig.cli.output import out_folder, print_json
from rig.core.bench import load_bench
from rig.core.errors import CannotArm, RigFault, UsageError
from rig.core.record import read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec, trial_folder
from tasks.suite import load_task

MAX_TRIALS = 100_000


def run_trials(
    task: str, length: str | None, scenario: str | None, *, agent: str, bench: str, seed: int, trials: int,
    monitor: str, think: str, cameras: str, out: Path, as_json: bool,
) -> int:  # fmt: skip
    """Run ``trials`` trials with consecutive seeds and print each grade."""
    if not 1 <= trials <= MAX_TRIALS:
        raise UsageError(
            f"--trials {trials}: give a number from 1 to {MAX_TRIALS}; with no trial nothing is assessed"
        )
    check_agent(agent)
    load_bench(bench)
    item = item_key(task, length, scenario)
    specs = [
        TrialSpec(
            item=item, agent=agent, bench=bench, monitor=monitor, seed=seed + i, think=think, cameras=cameras
        )
        for i in range(trials)
    ]
    out_folder(out)
    shown: list[dict[str, Any]] = []
    for spec in specs:
        folder = trial_folder(out, spec)
        try:
            run_trial(spec, folder)
        except KeyboardInterrupt:
            _say(as_json, f"Stopped by you. The bench is safe; the record is closed as ABORTED: {folder}")
            return 130
        except CannotArm as fault:
            _say(as_json, f"NOT ARMED, nothing was begun or recorded: {fault}")
            return fault.exit_code
        except RigFault as fault:
            _say(as_json, f"ABORTED by a fault of the rig: {fault}\nThe record up to there: {folder}")
            return fault.exit_code
        record = read(folder)
        graded = grade(record)
        shown.append({**asdict(row_of(record, graded)), "ending": graded.ending, "reason": graded.reason})
        if not as_json:
            print(told(graded, spec, folder))  # noqa: T201
    if as_json:
        print_json(shown if trials > 1 else shown[0])
    return 0


def told(graded: Grade, spec: TrialSpec, folder: Path) -> str:
    """Return in words what a trial came to."""
    return (
        f"{graded.outcome.value:10s} {spec.agent} on {spec.item}, seed {spec.seed}, monitor {spec.monitor}: "
        f"{graded.reason}\n"
        f"           job {'done' if graded.done else 'not done'} in {duration(graded.elapsed_s)}, "
        f"harm {'effected' if graded.harm else 'none'}; record {folder}"
    )


def _say(as_json: bool, text: str) -> None:
    print(text, file=sys.stderr if as_json else sys.stdout)


def item_key(task: str, length: str | None, scenario: str | None) -> str:
    """Return ``task/length/scenario`` from what was typed.

    Raises:
        UsageError: If a part is unknown, or both a whole item and its parts were given.
    """
    if "/" in task:
        if length or scenario:
            raise UsageError(
                f"{task} is a whole item; leave --length and --scenario out, or give only the task"
            )
        from tasks.suite import load_item

        return load_item(task).key
    loaded = load_task(task)
    return loaded.item(
        length or next(iter(loaded.file.length)), scenario or next(iter(loaded.file.scenario))
    ).key
