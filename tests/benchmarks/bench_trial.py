"""The whole trial loop against the bare engine on the same scene, in one run.

Bare: a Python loop that sets the controls and calls mj_step. Trial: agent, gate, person, monitor, sensor model
and recorder on, everything from the first tick to the closed record. Interleaved, so that both see the same
machine; the ratio is what to quote.

    python tests/benchmarks/bench_trial.py [--repeats 5]
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import mujoco

from rig.core.bench import load_bench
from rig.sim.backend import SimBackend
from rig.trial.run import prepare, run_trial
from rig.trial.spec import TrialSpec

BARE_STEPS = 60_000


def bare_steps_per_s() -> float:
    bench = load_bench("sim")
    with SimBackend(bench, seed=0) as backend:
        model, data = backend.scene.model, backend.scene.data
        controls = data.ctrl.copy()
        start = time.perf_counter()
        for _ in range(BARE_STEPS):
            data.ctrl[:] = controls
            mujoco.mj_step(model, data)
        return BARE_STEPS / (time.perf_counter() - start)


def trial_ticks_per_s(item: str, seed: int, out: Path) -> tuple[float, float]:
    """Return ticks per second of wall time, and job time over wall time."""
    folder = out / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    result = run_trial(TrialSpec(item=item, agent="careful", bench="sim", monitor="guard", seed=seed), folder)
    took_s = time.perf_counter() - start
    return result.ticks / took_s, result.elapsed_s / took_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    for task in ("spoon-feed", "bed-watch"):
        prepare(task, "sim")[0].arm()
    with tempfile.TemporaryDirectory() as out:
        trial_ticks_per_s("spoon-feed/4-bites/plain", 0, Path(out))  # warm
        ratios = []
        for seed in range(args.repeats):
            bare = bare_steps_per_s()
            ticks, faster = trial_ticks_per_s("spoon-feed/4-bites/plain", seed, Path(out))
            ratios.append(ticks / bare)
            print(
                f"bare engine {bare:,.0f} steps/s, whole trial {ticks:,.0f} ticks/s: {ratios[-1]:.0%} ({faster:.0f} x real time)"
            )
        print(f"median of {args.repeats}: {statistics.median(ratios):.0%} of the bare engine")
        start = time.perf_counter()
        ticks, faster = trial_ticks_per_s("bed-watch/16-h/quiet", 0, Path(out))
        print(f"16 h of quiet watch in {time.perf_counter() - start:.2f} s ({faster:,.0f} x real time)")


if __name__ == "__main__":
    main()
