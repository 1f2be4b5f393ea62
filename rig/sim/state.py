"""The arrays the compiled kernels work on, grouped by noun, with their compiled types.

Each group is a named tuple of arrays: Python fills them in, the kernels mutate them, and nothing
is copied on the way.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from rig.core.channel import ByteArray, FloatArray, IntArray

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_I1, _I2 = types.int64[::1], types.int64[:, ::1]
_B1, _B2 = types.uint8[::1], types.uint8[:, ::1]
_U1 = types.uint64[::1]


class Engine(NamedTuple):
    """The physics engine: where its structures are, and views into them."""

    model: int
    data: int
    ctrl: FloatArray
    qpos: FloatArray
    qvel: FloatArray
    wrench: FloatArray  # shape (bodies, 6), force and torque applied from outside
    site_position: FloatArray  # shape (sites, 3)
    site_axes: FloatArray  # shape (sites, 9), row-major rotation matrices
    sensors: FloatArray
    warnings: NDArray[np.int32]  # how often each kind of warning occurred
    book: IntArray  # addresses, see scene.py
    constants: FloatArray  # tick (s), weight of the spoon (N), height of the bowl (m)


class Plant(NamedTuple):
    """The world beyond rigid bodies, and what is asked of it."""

    world: FloatArray  # see quantities.py
    parameters: FloatArray  # see parameters.py
    scald: FloatArray  # shape (n, 2), see parameters.py
    skin: FloatArray  # shape (3, sites): true dose, the mat's dose, the mat's pressure image
    setpoint: FloatArray  # shape (actuators,), arm then bed: the ones in force
    low: FloatArray
    high: FloatArray
    rate: FloatArray
    column: IntArray  # shape (actuators,), the plan's column of each
    body_place: IntArray  # shape (body,), places in the world vector
    body_target: FloatArray
    body_rate: FloatArray
    intent_place: IntArray
    intent: FloatArray
    clock: IntArray  # time now (ns), time of the last skin update (ns)
    decay: FloatArray  # scratch: factors of the exponentials for one step


class Senses(NamedTuple):
    """The sensors: how each channel is measured, and what it last showed."""

    source: IntArray  # shape (channels,), place in the world vector
    period_ns: IntArray
    latency_ns: IntArray
    stale_ns: IntArray
    low: FloatArray
    high: FloatArray
    resolution: FloatArray
    noise: FloatArray
    salt: NDArray[np.uint64]  # seed and name of the channel, hashed
    due_ns: IntArray  # when the next sample is taken
    last: IntArray  # number of the sample shown
    taken: IntArray  # number of the last sample put into the delay line
    line: IntArray  # row in the delay line, -1 for none
    delay: FloatArray  # shape (lines, depth)
    values: FloatArray
    sampled_ns: IntArray
    first_quality: ByteArray  # as sampled
    quality: ByteArray  # as seen now, age included
    fault: FloatArray  # shape (faults, 6), see faults.py
    mat: IntArray  # channel of the mat's pressure or -1


class Rows(NamedTuple):
    """What goes in, a row per tick, and what comes out."""

    setpoints: FloatArray  # shape (n, actuators)
    t_ns: IntArray
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray


class Guards(NamedTuple):
    """The skill's own stop conditions."""

    channel: IntArray
    above: FloatArray
    below: FloatArray


def _named(kind: Any, *kinds: Any) -> Any:
    return types.NamedTuple(kinds, kind)


_STRIDED = types.Array(types.int32, 1, "A")
ENGINE = _named(
    Engine, types.int64, types.int64, _F1, _F1, _F1, _F2, _F2, _F2, _F1, _STRIDED, _I1, _F1
)  # fmt: skip
PLANT = _named(
    Plant, _F1, _F1, _F2, _F2, _F1, _F1, _F1, _F1, _I1, _I1, _F1, _F1, _I1, _F1, _I1, _F1
)  # fmt: skip
SENSES = _named(
    Senses, _I1, _I1, _I1, _I1, _F1, _F1, _F1, _F1, _U1, _I1, _I1, _I1, _I1, _F2, _F1, _I1, _B1, _B1,
    _F2, _I1,
)  # fmt: skip
ROWS = _named(Rows, _F2, _I1, _F2, _I2, _B2)
GUARDS = _named(Guards, _I1, _F1, _F1)
