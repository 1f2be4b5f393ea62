"""How fast the simulated bench is, against the bare engine on the same scene, in one run.

    python tests/benchmarks/bench_sim.py [--bench NAME] [--ticks N] [--rounds N]

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
from rig.kinematics import JOINTS, Kinematics
from rig.sim.backend import SimBackend, indifferent_watch
from rig.trial.phases import joint_columns

SLOW_S = 16 * 3600
TICK_S = 1e-3


def motion(backend: SimBackend, ticks: int) -> np.ndarray:
    """Return setpoints that move something all the time, shape (ticks, a).

    An arm goes between rest and the place before the person; without one the first actuator swings.
    """
    bench = backend.bench
    rows = np.repeat(backend.setpoints[None, :], ticks, axis=0)
    if {*JOINTS} <= {a.name for a in bench.actuators}:
        arm = Kinematics(bench.scene, bench.tool)
        target = arm.place(next(iter(arm.contacts.values())))
        there = arm.path(arm.rest, target, speed_m_s=0.3, period_s=TICK_S)
        rows[:, joint_columns(bench)] = np.resize(np.concatenate([there, there[::-1]]), (ticks, 6))
    else:
        swing = 0.05 * bench.actuators[0].rate * np.sin(np.arange(ticks) * TICK_S)
        rows[:, 0] = np.clip(rows[:, 0] + swing, bench.actuators[0].low, bench.actuators[0].high)
    return rows


def bare(backend: SimBackend, rows: np.ndarray) -> Callable[[], None]:
    """Return the peer: the plainest loop anybody would write in Python on the same scene."""
    model = backend.scene.model

    def loop() -> None:
        data = mujoco.MjData(model)
        data.qpos[:] = model.key("rest").qpos
        names = [a.name for a in backend.actuators]
        servos = [i for i in range(model.nu) if model.actuator(i).name in names]
        driven = rows[:, [names.index(model.actuator(i).name) for i in servos]]
        for k in range(len(rows)):
            data.ctrl[servos] = driven[k]
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
    """Return the seconds of CPU a loop takes: one thread that never waits, so what else runs does not count."""
    start = time.process_time()
    loop()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bench", default="sim")
    options = parser.parse_args()
    with SimBackend(load_bench(options.bench), 1) as backend:
        rows = motion(backend, options.ticks)
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
