"""The arrays the compiled kernels work on, grouped by noun, with their compiled types.

Each group is a named tuple of arrays; what has many attributes is an array of records. Python
fills them in, the kernels mutate them, and nothing is copied on the way.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

from rig.core.channel import ByteArray, FloatArray, IntArray
from rig.sim.parameters import PARAMETERS
from rig.sim.quantities import WORLD


class Record(Protocol):
    """One record of `WORLD` or `PARAMETERS`: in compiled code its fields are attributes."""

    def __getattr__(self, name: str, /) -> float: ...

    def __setattr__(self, name: str, value: float, /) -> None: ...


Records: TypeAlias = Any
"""An array of records, shape (n,)."""

DRIVE = np.dtype([(n, np.float64) for n in ("setpoint", "low", "high", "rate")] + [("column", np.int64)])
"""An actuator: its setpoint in force, what it can do, and its column in a plan."""

MUSCLE = np.dtype([("place", np.int64), ("target", np.float64), ("rate", np.float64)])
"""A body quantity or an intent: its place in the world vector, where it is going and how fast."""

CHANNEL = np.dtype(
    [(n, np.int64) for n in ("source", "period_ns", "latency_ns", "stale_ns", "line")]
    + [(n, np.float64) for n in ("low", "high", "resolution", "noise")]
    + [("salt", np.uint64)]
    + [(n, np.int64) for n in ("due_ns", "last", "taken", "quality")]
)
"""A sensor: how it measures (``line`` is its row in the delay lines, -1 for none; ``salt`` is seed
and name, hashed) and how far it has got: when the next sample is due, the number of the sample
shown and of the last one in the delay line, and the quality of the sample shown, age aside."""

FAULT = np.dtype(
    [(n, np.int64) for n in ("kind", "channel", "start_ns", "end_ns")] + [(n, np.float64) for n in ("a", "b")]
)
"""A sensor fault; the meaning of ``a`` and ``b`` depends on the kind, see faults.py."""


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
    constants: FloatArray  # see scene.py


class Plant(NamedTuple):
    """The world beyond rigid bodies, and what is asked of it."""

    world: Records  # one record of WORLD
    vector: FloatArray  # the same memory, then the bench's own body quantities and intents
    parameters: Records  # one record of PARAMETERS
    scald: FloatArray  # shape (n, 2), see parameters.py
    skin: FloatArray  # shape (3, sites), see skin.py
    drives: Records  # of DRIVE, arm then bed
    body: Records  # of MUSCLE
    intents: Records  # of MUSCLE
    clock: IntArray  # time now (ns), time of the last skin update (ns)


class Senses(NamedTuple):
    """The sensors and what they show."""

    channels: Records  # of CHANNEL
    delay: FloatArray  # shape (lines, depth)
    faults: Records  # of FAULT
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray  # as seen now, age included
    mat: int  # channel of the mat's pressure, -1 for none


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


def _records(dtype: np.dtype[Any]) -> types.Type:
    return types.Array(from_dtype(dtype), 1, "C")


_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_I1, _I2, _B1, _B2 = types.int64[::1], types.int64[:, ::1], types.uint8[::1], types.uint8[:, ::1]
_STRIDED = types.Array(types.int32, 1, "A")

ENGINE = types.NamedTuple(
    (types.int64, types.int64, _F1, _F1, _F1, _F2, _F2, _F2, _F1, _STRIDED, _I1, _F1), Engine
)
PLANT = types.NamedTuple(
    (_records(WORLD), _F1, _records(PARAMETERS), _F2, _F2, _records(DRIVE), _records(MUSCLE),
     _records(MUSCLE), _I1), Plant
)  # fmt: skip
SENSES = types.NamedTuple((_records(CHANNEL), _F2, _records(FAULT), _F1, _I1, _B1, types.int64), Senses)
ROWS = types.NamedTuple((_F2, _I1, _F2, _I2, _B2), Rows)
GUARDS = types.NamedTuple((_I1, _F1, _F1), Guards)
