"""The arrays the compiled kernels work on, grouped by noun.

Each group is a named tuple of arrays; what has many attributes is an array of records. Python
fills them in, the kernels mutate them, and nothing is copied on the way.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import ByteArray, FloatArray, IntArray


class Record(Protocol):
    """One record of the world or of constants: in compiled code its fields are attributes."""

    def __getattr__(self, name: str, /) -> float: ...

    def __setattr__(self, name: str, value: float, /) -> None: ...


Records: TypeAlias = Any
"""An array of records, shape (n,)."""

DRIVE = np.dtype(
    [(n, np.float64) for n in ("setpoint", "low", "high", "rate")]
    + [(n, np.int64) for n in ("column", "ctrl", "joint", "dof")]
)
"""An actuator: its setpoint in force, what it can do, its column in a plan; for a servo also the
addresses of its control, joint position and joint speed in the engine."""

PAD = np.dtype(
    [(n, np.int64) for n in ("joint", "site", "place", "touched")]
    + [(n, np.float64) for n in ("stiffness", "area_m2", "u", "v")]
)
"""A pad of skin: address of the joint it slides on, the site on it whose x axis points out of the
skin, the place of its quantities in the world vector; whether it was touched on the tick before, and
where then, along the skin."""

MUSCLE = np.dtype([("place", np.int64), ("target", np.float64), ("rate", np.float64)])
"""A body quantity or an intent: its place in the world vector, where it is going and how fast."""

CHANNEL = np.dtype(
    [(n, np.int64) for n in ("source", "period_ns", "latency_ns", "stale_ns", "line")]
    + [(n, np.float64) for n in ("low", "high", "resolution", "noise")]
    + [("salt", np.uint64)]
    + [(n, np.int64) for n in ("due_ns", "last", "taken", "quality", "given")]
)
"""A sensor: how it measures (``line`` is its row in the delay lines, -1 for none; ``salt`` is seed
and name, hashed) and how far it has got: when the next sample is due, the number of the sample
shown and of the last one in the delay line, and the quality of the sample shown, age aside; whether
its samples are ``given`` from outside instead of measured."""

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
    connected: ByteArray  # which equality constraints are in force, shape (equalities,)
    clock: int  # address of the clock among the sensors
    book: Records  # one record: where the stations' parts are


class Plant(NamedTuple):
    """The world beyond rigid bodies, and what is asked of it."""

    stations: Records  # one record; its type tells the compiler which stations there are
    world: Records  # one record of quantities
    vector: FloatArray  # the same memory, then the bench's own body quantities, pads and intents
    parameters: Records  # one record of constants
    constants: FloatArray  # the same memory
    factors: Records  # one record: what is left of each exponential after a step
    lefts: FloatArray  # the same memory
    lags: IntArray  # for each of them, the place of its time constant among the constants
    scald: FloatArray  # shape (n, 2), see heat.py
    skin: FloatArray  # shape (3, sites), see stations/mattress.py
    pads: Records  # of PAD
    drives: Records  # of DRIVE, servos then motors
    servos: int  # how many are servos
    body: Records  # of MUSCLE
    intents: Records  # of MUSCLE
    clock: IntArray  # time now (ns), time of the last whole second (ns)


class Senses(NamedTuple):
    """The sensors and what they show."""

    channels: Records  # of CHANNEL
    delay: FloatArray  # shape (lines, depth)
    faults: Records  # of FAULT
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray  # as seen now, age included
    reads: Records  # one record: channels that instruments read, -1 for one the bench lacks


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
