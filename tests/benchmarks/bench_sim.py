"""How fast the simulated bench is, against the bare engine on the same scene, in one run.

    python tests/benchmarks/bench_sim.py [--ticks N] [--rounds N]

Not a test: figures depend on the machine, so the peers are measured in turn, round after round, and
what counts is the ratio of the best rounds.
"""

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

from rig.core.bench import load_bench
from rig.core.command import Plan, steady
from rig.kinematics import Kinematics
from rig.sim.backend import SimBackend, indifferent_watch

SLOW_S = 16 * 3600
TICK_S = 1e-3


def motion(backend: SimBackend, arm: Kinematics, ticks: int) -> np.ndarray:
    """Return setpoints that move the arm between rest and the mouth all the time, shape (ticks, a)."""
    there = arm.path(arm.rest, arm.place("near_mouth"), speed_m_s=0.3, period_s=TICK_S)
    loop = np.concatenate([there, there[::-1]])
    rows = np.repeat(backend.setpoints[None, :], ticks, axis=0)
    rows[:, :6] = np.resize(loop, (ticks, 6))
    return rows


def bare(backend: SimBackend, rows: np.ndarray) -> Callable[[], None]:
    """Return the peer: the plainest loop anybody would write in Python on the same scene."""
    model = backend.scene.model

    def loop() -> None:
        data = mujoco.MjData(model)
        data.qpos[:] = model.key("rest").qpos
        arm = rows[:, :6]
        for k in range(len(rows)):
            data.ctrl[:6] = arm[k]
            mujoco.mj_step(model, data)

    return loop


def stretched(backend: SimBackend, rows: np.ndarray, length: int) -> Callable[[], None]:
    """Return the bench at work: every channel measured and recorded, in stretches of ``length``."""

    def loop() -> None:
        backend.place()
        watch = indifferent_watch()
        for k in range(0, len(rows), length):
            part = rows[k : k + length]
            now_ns = backend.now_ns
            plan = Plan(backend.actuators, now_ns, 1_000_000, part, now_ns + len(part) * 1_000_000)
            backend.stretch(plan, watch)

    return loop


def timed(loop: Callable[[], None]) -> float:
    start = time.perf_counter()
    loop()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with SimBackend(load_bench("sim"), 1) as backend:
        rows = motion(backend, Kinematics(), options.ticks)
        peers = {
            "bare engine, Python loop": bare(backend, rows),
            "bench, one stretch": stretched(backend, rows, len(rows)),
            "bench, stretches of 100 ticks": stretched(backend, rows, 100),
            "bench, stretches of 10 ticks": stretched(backend, rows, 10),
        }
        best = dict.fromkeys(peers, float("inf"))
        for _ in range(options.rounds):
            for name, loop in peers.items():
                best[name] = min(best[name], timed(loop))
        reference = best["bare engine, Python loop"]
        print(
            f"{options.ticks} ticks of 1 ms, {len(backend.layout)} channels recorded, best of {options.rounds}:"
        )
        for name, seconds in best.items():
            rate = options.ticks / seconds
            print(
                f"  {name:32s} {rate:10,.0f} steps/s  {rate * TICK_S:6.0f} x real time  {reference / seconds:6.1%}"
            )
        backend.place()
        night = steady(backend.actuators, backend.setpoints, 0, 1_000_000_000, SLOW_S)
        print(
            f"  16 h of slow world at 1 s        {timed(lambda: backend.stretch(night, indifferent_watch())):10.2f} s"
        )


if __name__ == "__main__":
    main()
