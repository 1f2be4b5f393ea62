"""`runrig gate reviewers`: whether the people behind the console see a mistake when there is one."""

from pathlib import Path

from rich.console import Console

from analysis.release.measurement import write_measurement
from analysis.release.policy import Gate
from rig.cli.gate_work import setting
from rig.console.reviewing import Reviewing
from rig.console.settings import cache_of, check_runs
from rig.console.shelf import Shelf
from rig.console.statistics import reviewed, statistics
from rig.core.clock import wall_utc


def reviewers(folder: Path, runs: Path) -> int:
    """Put what the console knows of its reviewers beside the records; names stay where they are."""
    policy, under = setting(folder)
    runs = check_runs(runs)
    cache = cache_of(runs)
    with Shelf(runs, cache) as shelf:
        lines = statistics(reviewed(shelf, Reviewing(shelf, cache), shelf.wait)).reviewers
    measured = [
        {"reviewer": number, "controls": line.controls, "missable": line.missable, "detected": line.detected,
         "false_alarms": line.false_alarms}
        for number, line in enumerate((r for r in lines if r.controls), 1)
    ]  # fmt: skip
    path = write_measurement(
        folder, Gate.BURDEN, measured_utc=wall_utc(), embodiment=policy.embodiment,
        under=under, values={"reviewers": measured},
    )  # fmt: skip
    looked = sum(int(line["controls"]) for line in measured)
    Console().print(f"{len(measured)} reviewers, {looked} looks at control items. Written: {path}")
    return 0
