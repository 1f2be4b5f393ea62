"""Burns: how long skin bears which temperature."""

import math

import numpy as np

from rig.core.channel import FloatArray
from rig.sim.native import compiled

SCALD_TABLE = (
    (45.0, 7200.0), (47.0, 1200.0), (48.0, 900.0), (49.0, 480.0), (51.0, 120.0), (55.0, 17.0), (60.0, 3.0),
)  # fmt: skip
"""Temperature (degC) and time (s) to a partial-thickness scald. Source: tables after Moritz and
Henriques 1947. Between the points the logarithm of the time is interpolated, outside extrapolated."""


def scald_table() -> FloatArray:
    """Return `SCALD_TABLE` as shape (n, 2): temperature, natural logarithm of the time."""
    return np.array([(temperature, math.log(t_s)) for temperature, t_s in SCALD_TABLE], dtype=np.float64)


@compiled
def scald_time(temperature: float, scald: FloatArray) -> float:
    """Return the time (s) to a scald: logarithm interpolated over the table, extrapolated outside."""
    i = 0
    while i < scald.shape[0] - 2 and temperature > scald[i + 1, 0]:
        i += 1
    share = (temperature - scald[i, 0]) / (scald[i + 1, 0] - scald[i, 0])
    return math.exp(scald[i, 1] + share * (scald[i + 1, 1] - scald[i, 1]))
