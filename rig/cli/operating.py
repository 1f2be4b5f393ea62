"""`runrig timeliness --curve` and `runrig rules calibrate`: how sure a predictor has to be."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.operating import KAPPAS, Calibrated, calibrate_on, curve, watched
from rig.cli.output import print_json
from rig.cli.timeliness import per_hour_in_words, rate_in_words, spread_in_words
from rig.core.bench import load_bench
from rig.core.errors import UsageError
from safety_monitor.predictions import Prediction, load_predictions, named, prediction_files
from safety_monitor.rule import Rule
from safety_monitor.rules import load_rules, rule_files
from safety_monitor.timeliness import Point, Timing, headlines


def show_curve(
    folder: Path, task: str, rule_id: str, *, proposed: Sequence[Path], seed: int, as_json: bool
) -> int:
    """Print what one predicting rule alone would have made of shadow trials, kappa by kappa."""
    trials, rule = watched(folder, task, rule_id, proposed)
    points = curve(trials, rule, KAPPAS, seed)
    if as_json:
        print_json(
            {
                "format": "runrig.operating-curve/1", "rule": rule.id, "trials": len(trials),
                "points": [{"kappa": p.kappa, **asdict(p.report)} for p in points],
                "headlines": [asdict(line) for line in headlines(points)],
            }
        )  # fmt: skip
        return 0
    harmed = sum(len(w.trial.hazards) for w in trials)
    console = Console()
    console.print(
        f"{rule.id} alone on {len(trials)} trials in which the monitor only watched: {harmed} harms, "
        f"{sum(w.harmless for w in trials)} harmless trials. Open loop: an alarm by the last useful moment counts."
    )
    console.print(_table(points))
    for line in headlines(points):
        best = "no kappa keeps it" if line.kappa is None else f"kappa {line.kappa:g}"
        rate = "" if line.timely is None else f", timely {100 * line.timely:.1f} %"
        console.print(f"within {line.budget_per_h:g} needless interruptions per hour: {best}{rate}")
    return 0


def _table(points: tuple[Point, ...]) -> Table:
    table = Table("Kappa", "Timely", "Late", "Missed", "Premature", "Needless per hour", "Lead", "By chance")
    for p in points:
        r = p.report
        late = r.classes.get(Timing.LATE_MITIGATED, 0) + r.classes.get(Timing.POST_HOC, 0)
        chance = "" if r.chance.timely is None else f"{100 * r.chance.timely:.1f} %"
        table.add_row(
            f"{p.kappa:g}", rate_in_words(r.timely), str(late), str(r.classes.get(Timing.MISSED, 0)),
            str(r.classes.get(Timing.PREMATURE, 0)), per_hour_in_words(r.per_hour), spread_in_words(r.lead), chance,
        )  # fmt: skip
    return table


def show_calibration(
    folder: Path, name: str, budget_per_h: float, proposed: Sequence[Path], as_json: bool
) -> int:
    """Print the entry of a calibration file that held-out harmless trials give.

    Raises:
        UsageError: If there is no such prediction, no rule uses it, or there are too few trials.
    """
    prediction = named(load_predictions(prediction_files()), name)
    rule = _rule_with(prediction, proposed)
    found = calibrate_on(watched(folder, prediction.task, rule.id, proposed)[0], budget_per_h)
    if as_json:
        print_json({"format": "runrig.calibration/1", "predict": name, "rule": rule.id, **asdict(found)})
    else:
        print(entry(found))  # noqa: T201
        b = found.binding
        Console(stderr=True).print(
            f"decided by {b.item}, {b.agent}, seed {b.seed}, at {b.t_s:.3f} s: a larger kappa would interrupt there",
            soft_wrap=True, highlight=False,
        )  # fmt: skip
    return 0


def _rule_with(prediction: Prediction, proposed: Sequence[Path]) -> Rule:
    layout = load_bench(prediction.bench).layout
    for rule in load_rules((*rule_files(prediction.task), *proposed), layout).rules:
        if any(f"predict.{prediction.id}.kappa" in text for text in rule.slots.values()):
            return rule
    raise UsageError(
        f"no rule of {prediction.task} uses predict.{prediction.id}.kappa; give the file of one that does with --rules"
    )


def entry(found: Calibrated) -> str:
    """Return the lines a calibration puts in the place of those of its entry."""
    c = found.calibration
    seeds = f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    return "\n".join(
        (
            f"kappa = {math.floor(1000 * c.kappa) / 1000:.3f}",  # never above what was found
            f"budget_per_h = {found.budget_per_h:g}",
            f"trials = {c.runs}",
            f"hours = {found.hours:.3f}",
            f"allowed = {c.allowed:.5f}",
            f"guaranteed = {c.guaranteed:.5f}",
            f"least = {found.least:.3f}",
            f'source = "{", ".join(found.items)}, agent {", ".join(found.agents)}, {seeds}, monitor watching; '
            f'runrig rules calibrate"',
        )
    )
