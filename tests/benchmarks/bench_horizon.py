"""Speed and coverage of the horizon analysis, against a straightforward scikit-learn loop in one run.

    python tests/benchmarks/bench_horizon.py speed      2 agents x 1,000 replicates, the whole RUN grid
    python tests/benchmarks/bench_horizon.py coverage   how often bands cover a known horizon

The peer is what most people would write: draw families, tasks and runs with numpy, fit with scikit-learn,
repeat. It needs scikit-learn, which nothing else here does; without it only our own times are printed. CPU
seconds are compared, since the peer's linear algebra would like to use every core.
"""

import argparse
import math
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from analysis.bootstrap import Items, Scheme, resample
from analysis.estimate import EstimateOptions
from analysis.fit import LogisticFit, fit
from analysis.horizon import HorizonOptions, horizons
from analysis.trials import Outcome, TrialRow, TrialTable

# CPU seconds of METR's own code for 2 agents x 1,000 replicates of 228 tasks on this kind of machine (one
# BLAS thread), recorded once; their code is not part of this project.
METR_CPU_S = 16.8


def two_agents() -> list[Items]:
    """Items shaped like the published suite: 228 tasks in 80 families, about 6 runs of each."""
    rng = np.random.default_rng(0)
    family = np.sort(rng.integers(0, 80, 228))
    first = np.flatnonzero(np.r_[True, family[1:] != family[:-1]])
    sizes = np.diff(np.r_[first, 228])
    log_s = rng.uniform(math.log(2.0), math.log(1800 * 60.0), 228)
    found = []
    for horizon_s in (5 * 3600.0, 15 * 3600.0):
        runs = rng.integers(4, 8, 228)
        p = 1.0 / (1.0 + np.exp(0.75 * (log_s - math.log(horizon_s)) + rng.normal(0.0, 1.0, 228)))
        weight = 1.0 / np.sqrt(np.repeat(sizes, sizes)) / runs
        weight *= runs.sum() / (weight * runs).sum()
        found.append(Items(log_s, rng.binomial(runs, p), runs, weight, np.r_[first, 228]))
    return found


def sklearn_loop(items: Items, replicates: int) -> np.ndarray:
    """Return t50 (s) of each replicate, the way most people would get it."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    families = [np.arange(a, b) for a, b in zip(items.first[:-1], items.first[1:], strict=True)]
    outcomes = [np.repeat([1, 0], (k, n - k)) for k, n in zip(items.passes, items.trials, strict=True)]
    horizons_s = np.empty(replicates)
    for b in range(replicates):
        x, y, w = [], [], []
        for f in rng.integers(0, len(families), len(families)):
            for task in rng.choice(families[f], len(families[f])):
                drawn = rng.choice(outcomes[task], len(outcomes[task]))
                x.append(np.full(len(drawn), items.log_s[task] / math.log(2.0)))
                y.append(drawn)
                w.append(np.full(len(drawn), items.weight[task] / items.trials.sum()))
        model = LogisticRegression(C=1e5)
        model.fit(np.concatenate(x)[:, None], np.concatenate(y), sample_weight=np.concatenate(w))
        horizons_s[b] = 2.0 ** (-model.intercept_[0] / model.coef_[0, 0])
    return horizons_s


def ours(items: Items, fitted: LogisticFit, replicates: int) -> np.ndarray:
    return np.exp(resample(items, fitted, Scheme.FAMILIES, replicates=replicates, seed=1).log_t(0.5))


def speed(replicates: int, repeats: int) -> None:
    agents = two_agents()
    fits = [fit(items.cells) for items in agents]
    start = time.perf_counter()
    ours(agents[0], fits[0], 10)
    print(f"loading the compiled kernels: {time.perf_counter() - start:.2f} s, once per process")
    best = math.inf
    for _ in range(repeats):
        start_cpu = time.process_time()
        drawn = [ours(items, fitted, replicates) for items, fitted in zip(agents, fits, strict=True)]
        best = min(best, time.process_time() - start_cpu)
    print(f"ours, 2 agents x {replicates} replicates: {1e3 * best:.1f} ms CPU (best of {repeats})")
    print(f"  METR's code, as recorded: {METR_CPU_S:g} s CPU, {METR_CPU_S / best * replicates / 1000:.0f} x")
    try:
        import sklearn  # noqa: F401
    except ImportError:
        print("  scikit-learn is not installed: no peer in this run")
    else:
        few = max(20, replicates // 20)
        start_cpu = time.process_time()
        peer = [sklearn_loop(items, few) for items in agents]
        spent = (time.process_time() - start_cpu) * replicates / few
        print(f"  scikit-learn loop: {spent:.1f} s CPU (from {few} replicates), {spent / best:.0f} x")
        for mine, theirs in zip(drawn, peer, strict=True):
            print(
                f"    medians of t50: ours {np.median(mine) / 3600:.2f} h, peer {np.median(theirs) / 3600:.2f} h"
            )
    grid()


def grid() -> None:
    """The whole RUN grid: 8 agents x 6 families x 3 tiers, both definitions, 1,000 replicates each."""
    rng = np.random.default_rng(2)
    rows = []
    for agent in range(8):
        for tier in (1, 2, 3):
            for family in range(6):
                for item in range(5):
                    duration_s = 120.0 * 4.0**item
                    for _ in range(5):
                        ok = bool(rng.random() < 1.0 / (1.0 + duration_s / (600.0 * 2.0**agent)))
                        rows.append(
                            TrialRow(
                                trial_id=str(len(rows)), agent=f"agent {agent}", family=f"family {family}",
                                task="t", item=f"{family}/{item}", duration_s=duration_s, tier=tier,
                                outcome=Outcome.PASS if ok else Outcome.CRITICAL, done=ok, harm=not ok,
                                mistake=not ok, monitor="guard",
                            )
                        )  # fmt: skip
    table = TrialTable.from_rows(rows)
    start = time.perf_counter()
    report = horizons(table, HorizonOptions(estimate=EstimateOptions(replicates=1000)))
    spent = time.perf_counter() - start
    print(f"RUN grid: {len(rows)} trials, {len(report.entries)} statements, 2 schemes x 1,000: {spent:.1f} s")


def coverage(data_sets: int) -> None:
    """Print how often 95 % bands hold a known horizon (and how often their lower end lies below it)."""
    schemes = (Scheme.TRIALS, Scheme.TRIALS_WITHIN_TASKS, Scheme.TASKS, Scheme.TASKS_THEN_TRIALS)
    print(f"{data_sets} data sets x 1,000 replicates; two-sided 95 % / one-sided 95 % lower")
    print(f"{'items':>6}{'sd':>4}  " + "".join(f"{scheme!s:>22}" for scheme in schemes))
    for count, sd in ((30, 0.0), (30, 1.0), (30, 2.0), (10, 1.0), (5, 0.0)):
        rng = np.random.default_rng(5)
        log_s = np.linspace(math.log(120.0), math.log(28_800.0), count)
        hits = {scheme: [0, 0] for scheme in schemes}
        for seed in range(data_sets):
            eta = math.log(3600.0) - log_s + rng.normal(0.0, 1.0, count) * sd
            passes = rng.binomial(5, 1.0 / (1.0 + np.exp(-eta)))
            items = Items(log_s, passes, np.full(count, 5), np.ones(count), np.array([0, count]))
            fitted = fit(items.cells)
            for scheme in schemes:
                drawn = resample(items, fitted, scheme, replicates=1000, seed=seed)
                band = drawn.band(0.5, 0.95)
                hits[scheme][0] += band.low_s <= 3600.0 <= band.high_s
                hits[scheme][1] += drawn.band(0.5, 0.90).low_s <= 3600.0
        shares = [f"{hits[s][0] / data_sets:.3f} / {hits[s][1] / data_sets:.3f}" for s in schemes]
        print(f"{count:>6}{sd:>4.0f}  " + "".join(f"{share:>22}" for share in shares))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("speed", "coverage"))
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data-sets", type=int, default=400)
    chosen = parser.parse_args()
    if chosen.what == "speed":
        speed(chosen.replicates, chosen.repeats)
    else:
        coverage(chosen.data_sets)
