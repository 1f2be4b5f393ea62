"""Do the bands cover the truth? Agents with a known horizon, through the whole pipeline.

`planted(r)` is the careful agent that makes a critical mistake at a known rate of r per hour, so its true
pass rate on a job of d hours is exp(-r d) and its true t50 is ln 2 / r. For each rate and seed a campaign of
quiet watches of many lengths is run, graded from its records and fitted; the study counts how often the
true t50 lies inside the reported 95 % bands, over trials and over task items.

    python tests/benchmarks/study_planted.py [--seeds 20] [--rates 0.15 0.35 0.8] [--workers 2]
"""

import argparse
import math
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from analysis import Definition, EstimateOptions, HorizonOptions, Scheme, TrialRow, TrialTable, horizons
from analysis.grade import grade
from analysis.table import row_of
from rig.campaign import run_all, workers_here
from rig.core.record import read
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec, trial_folder

LENGTHS = ("30-min", "1-h", "2-h", "4-h", "8-h", "16-h")
SCENARIOS = ("quiet", "sits-to-drink", "blanket-in-frame", "out-with-carer", "early-supper")


def work(out: Path, spec: TrialSpec) -> TrialRow:
    folder = trial_folder(out, spec)
    run_trial(spec, folder)
    record = read(folder)
    row = row_of(record, grade(record))
    for path in folder.iterdir():  # the rows are what the study needs
        path.unlink()
    return row


def campaign(rate: float, seed: int) -> list[TrialSpec]:
    items = [f"bed-watch/{length}/{scenario}" for length in LENGTHS for scenario in SCENARIOS]
    return [
        TrialSpec(
            item=item, agent=f"planted({rate:g})", bench="sim", monitor="shadow", seed=1000 * seed + number
        )
        for number, item in enumerate(items)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.15, 0.35, 0.8])
    parser.add_argument("--workers", type=int, default=None)
    args = parser.parse_args()
    print(f"{args.seeds} campaigns of {len(LENGTHS) * len(SCENARIOS)} trials for each rate")
    for rate in args.rates:
        true_s = math.log(2) / rate * 3600
        specs = [spec for seed in range(args.seeds) for spec in campaign(rate, seed)]
        with tempfile.TemporaryDirectory() as out:
            rows = dict(run_all(specs, partial(work, Path(out)), workers_here(args.workers)))
        inside, estimates, none = dict.fromkeys((Scheme.TRIALS, Scheme.TASKS), 0), [], 0
        for seed in range(args.seeds):
            table = TrialTable.from_rows([rows[spec] for spec in campaign(rate, seed)])
            report = horizons(table, HorizonOptions(by_family=False, estimate=EstimateOptions(seed=seed)))
            (entry,) = report.of(f"planted({rate:g})", Definition.AGENT_ALONE)
            horizon = entry.estimate.horizon(0.5)
            if horizon is None:
                none += 1
                continue
            estimates.append(horizon.t_s)
            for band in horizon.bands:
                inside[band.scheme] += band.low_s <= true_s <= band.high_s
        middle = float(np.median(estimates)) if estimates else math.nan
        passed = sum(r.passed_alone for r in rows.values())
        expected = sum(math.exp(-rate * r.duration_s / 3600) for r in rows.values())
        print(
            f"rate {rate:g}/h: true t50 {true_s / 3600:.2f} h, median estimate {middle / 3600:.2f} h, "
            f"trial band covers {inside[Scheme.TRIALS]}/{args.seeds}, item band covers {inside[Scheme.TASKS]}/{args.seeds}, "
            f"no horizon {none}; passed {passed} of {len(rows)} trials, expected {expected:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
