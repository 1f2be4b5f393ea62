"""What the tests of the simulated bench share: benches, plans, watches and motions."""

from collections.abc import Mapping
from functools import cache

import numpy as np
from numba import njit
from scipy.interpolate import CubicSpline

from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import FloatArray, Trace
from rig.core.command import Plan
from rig.core.watch import KERNEL, Watch
from rig.kinematics import JOINTS, Kinematics, Pose
from rig.sim.backend import SimBackend, indifferent_watch

MS = 1_000_000
S = 1_000_000_000
BENCH: BenchSpec = load_bench("sim")


@cache
def arm() -> Kinematics:
    return Kinematics()


@njit(KERNEL, cache=True, nogil=True)
def _count_down(t_ns, values, sampled_ns, quality, floats, integers):
    integers[0] -= 1
    return 1 if integers[0] <= 0 else 0


@njit(KERNEL, cache=True, nogil=True)
def _add_up(t_ns, values, sampled_ns, quality, floats, integers):
    for c in range(len(values)):
        if quality[c] == 0:
            floats[0] += values[c] * (1.0 + c)
    integers[0] = integers[0] * 31 + t_ns
    return 0


def alarmed(after: int) -> Watch:
    return Watch(_count_down, np.zeros(1), np.array([after], dtype=np.int64))


def adding() -> Watch:
    """A watch whose state depends on every tick it has seen."""
    return Watch(_add_up, np.zeros(1), np.zeros(1, dtype=np.int64))


def plan_of(backend: SimBackend, rows: FloatArray, period_ns: int = MS) -> Plan:
    n = len(rows)
    return Plan(backend.actuators, backend.now_ns, period_ns, rows, backend.now_ns + n * period_ns)


def rows_of(backend: SimBackend, joints: FloatArray, bed: Mapping[str, float] | None = None) -> FloatArray:
    """Setpoints that follow ``joints`` (shape (n, 6)) and put the bed where it is told."""
    rows = np.repeat(backend.setpoints[None, :], len(joints), axis=0)
    names = [a.name for a in backend.actuators]
    rows[:, [names.index(j) for j in JOINTS]] = joints
    for name, value in (bed or {}).items():
        rows[:, names.index(name)] = value
    return rows


def run(backend: SimBackend, rows: FloatArray, period_ns: int = MS, watch: Watch | None = None) -> Trace:
    return backend.stretch(plan_of(backend, rows, period_ns), watch or indifferent_watch()).trace


def straight(start: FloatArray, way: FloatArray, speed_m_s: float, period_s: float = 1e-3) -> FloatArray:
    """Joint angles for a straight line at constant speed, with the spoon's direction kept."""
    pose, joints = arm().pose(start), [np.asarray(start)]
    length_m = float(np.linalg.norm(way))
    shares = np.linspace(0.0, 1.0, max(3, int(length_m / 0.005)))
    for share in shares[1:]:
        joints.append(arm().solve(Pose(pose.position + share * way, pose.approach), joints[-1]))
    n = round(length_m / speed_m_s / period_s)
    return CubicSpline(shares, np.array(joints))(np.arange(1, n + 1) / n)


def before(point: FloatArray, distance_m: float = 0.02) -> FloatArray:
    """Joint angles with the spoon pointing at a face point (offset from the mouth) from this far."""
    mouth = arm().place("near_mouth")
    lips_x = mouth.position[0] - 0.1
    position = np.array([lips_x + distance_m, mouth.position[1] + point[1], mouth.position[2] + point[2]])
    return arm().solve(Pose(position, mouth.approach), arm().solve(mouth, arm().rest))


def joints_of(values: FloatArray) -> dict[str, float]:
    return dict(zip(JOINTS, (float(v) for v in values), strict=True))
