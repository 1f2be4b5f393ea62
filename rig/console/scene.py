"""A drawing of arm and bed from recorded joint angles, where there is no camera: seen from the side."""

import base64
import threading
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np

from rig.console.shapes import ScenePoses
from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import FloatArray
from rig.core.data import scene_files
from rig.core.errors import RunError, UsageError
from rig.core.record import Record
from rig.kinematics import JOINTS

LONGEST_NS = 180_000_000_000
_BED = ("bed.back", "bed.height", "mouth.opening")
_local = threading.local()  # the engine's data is one thread's


def can_draw(record: Record) -> bool:
    """Return whether the record has the joints of an arm we have a model of."""
    return all(name in record.layout for name in JOINTS) and _bench(record) is not None


def _bench(record: Record) -> BenchSpec | None:
    try:
        bench = load_bench(str(record.manifest.get("site")))
    except RunError:
        return None
    return bench if bench.scene else None


@lru_cache(maxsize=4)
def _model(scene: str, tool: str) -> tuple[Any, tuple[int, ...], tuple[int, ...], int]:
    _, text, assets = scene_files(scene, tool)
    model = mujoco.MjModel.from_xml_string(text, assets)
    joints = [model.joint(name) for name in JOINTS]
    addresses = tuple(int(j.qposadr[0]) for j in joints)
    return model, addresses, tuple(int(j.id) for j in joints), model.site("tool_tip").id


def poses(record: Record, span_ns: tuple[int, int], n: int) -> ScenePoses:
    """Return arm and bed at ``n`` moments of a window.

    Raises:
        UsageError: If the window is longer than three minutes.
        RecordError: If the telemetry cannot be read.
    """
    if span_ns[1] - span_ns[0] > LONGEST_NS:
        raise UsageError("ask for at most three minutes of the scene at a time")
    names = [*JOINTS, *(name for name in _BED if name in record.layout)]
    trace = record.trace(names, *span_ns)
    if len(trace):
        wanted = np.linspace(trace.t_ns[0], trace.t_ns[-1], min(n, len(trace)))
        rows = np.unique(np.clip(np.searchsorted(trace.t_ns, wanted), 0, len(trace) - 1))
    else:
        rows = np.empty(0, np.intp)
    joints = np.column_stack([trace.column(name)[rows] for name in JOINTS])
    bench = _bench(record)
    if bench is None:
        raise UsageError("no model of this record's bench is installed here")
    model = _model(bench.scene, bench.tool)
    points = np.array([_side(row, model) for row in joints], "<f4").reshape(len(rows), len(JOINTS) + 1, 2)

    def column(name: str) -> list[float | None]:
        if name not in trace.layout:
            return [None] * len(rows)
        return [float(v) if np.isfinite(v) else None for v in trace.column(name)[rows]]

    return ScenePoses(
        n=len(rows), t_s=(trace.t_ns[rows] / 1e9).tolist(), names=[*JOINTS, "tip"],
        points=base64.b64encode(points.tobytes()).decode(), back_deg=column("bed.back"),
        height_m=column("bed.height"), opening_m=column("mouth.opening"),
    )  # fmt: skip


def _side(joints: FloatArray, of: tuple[Any, tuple[int, ...], tuple[int, ...], int]) -> FloatArray:
    """Return x and z of each joint and of the tool's tip, shape (7, 2); NaN where an angle is unknown."""
    if not np.isfinite(joints).all():
        return np.full((len(JOINTS) + 1, 2), np.nan)
    model, addresses, ids, tip = of
    data = mujoco.MjData(model) if getattr(_local, "model", None) is not model else _local.data
    _local.model, _local.data = model, data
    data.qpos[list(addresses)] = joints
    mujoco.mj_kinematics(model, data)
    return np.array([*data.xanchor[list(ids)][:, [0, 2]], data.site_xpos[tip][[0, 2]]])
