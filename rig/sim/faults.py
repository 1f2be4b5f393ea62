"""Sensor faults that can be injected, each shown on the channel the way the real fault shows it."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from rig.core.channel import Audience, Layout
from rig.core.clock import nanoseconds
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, quantity_in
from rig.sim.state import FAULT


class Fault(StrEnum):
    """What goes wrong with a sensor."""

    STUCK = "stuck"  # goes on sampling, but the value stays (at `value`, or at what it last was)
    DEAD = "dead"  # no samples any more: the last one grows old
    DRIFT = "drift"  # the value runs away by `value` units per second
    SATURATED = "saturated"  # full scale: the top of the range, the bottom for a negative `value`
    NOISE = "noise"  # noise larger by the factor `value`
    LATENCY = "latency"  # samples arrive `delay` later
    SWAPPED = "swapped"  # cables exchanged with the channel `other`
    UNIT = "unit"  # wrong unit or gain: value times `value`, plus `offset`
    NAN = "nan"  # not a number
    SPIKE = "spike"  # single samples off by `value`, each with probability `chance`
    MISSED = "missed"  # single samples do not come, each with probability `chance`


FAULT_CODES = {kind: code for code, kind in enumerate(Fault)}
STUCK, DEAD, DRIFT, SATURATED, NOISE, LATENCY, SWAPPED, UNIT, NAN, SPIKE, MISSED = range(11)
_FOREVER_NS = 2**62
_NEEDS_VALUE = {Fault.DRIFT, Fault.NOISE, Fault.UNIT, Fault.SPIKE}


_SECONDS = quantity_in("s", or_number=True)


class SensorFault(Table, allow_inf_nan=False):
    """One fault on one channel, in force from ``start`` to ``end`` of trial time.

    In a file, times are quantities: ``{ kind = "stuck", channel = "bed.back", start = "90 s" }``.
    """

    kind: Fault
    channel: str
    start_s: Annotated[float, Field(ge=0, alias="start"), _SECONDS] = 0.0
    end_s: Annotated[float | None, Field(gt=0, alias="end"), _SECONDS] = None
    value: float | None = None
    offset: float = 0.0
    delay_s: Annotated[float | None, Field(gt=0, alias="delay"), _SECONDS] = None
    other: str | None = None
    chance: Annotated[float, Field(gt=0, le=1)] = 0.01

    @model_validator(mode="after")
    def _complete(self) -> "SensorFault":
        if self.end_s is not None and not self.end_s > self.start_s:
            raise ValueError(f"ends at {self.end_s} s, not after its start at {self.start_s} s")
        if self.kind in _NEEDS_VALUE and self.value is None:
            raise ValueError(f"kind {self.kind.value!r} needs a value")
        if self.kind is Fault.NOISE and self.value is not None and self.value < 0:
            raise ValueError("kind 'noise' needs a factor of at least 0")
        if self.kind is Fault.LATENCY and self.delay_s is None:
            raise ValueError("kind 'latency' needs a delay")
        if self.kind is Fault.SWAPPED and self.other is None:
            raise ValueError("kind 'swapped' needs another channel")
        return self


_ADAPTER: TypeAdapter[list[SensorFault]] = TypeAdapter(list[SensorFault])


def parse_faults(document: Sequence[Any], source: str) -> tuple[SensorFault, ...]:
    """Return the faults a scenario file lists.

    Raises:
        ConfigError: If any is not a fault; all mistakes at once.
    """
    try:
        return tuple(_ADAPTER.validate_python(list(document)))
    except ValidationError as error:
        mistakes = [f"fault.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(source, mistakes) from None


def check_faults(faults: Sequence[SensorFault], layout: Layout) -> None:
    """Refuse faults on channels that are not there, or that are not sensors.

    Raises:
        ConfigError: If a fault names an unknown channel, the ground truth or an intent.
    """
    mistakes = []
    for i, fault in enumerate(faults):
        for name in filter(None, (fault.channel, fault.other)):
            if name not in layout:
                mistakes.append(f"fault.{i}: no channel {name!r}; known: {', '.join(layout.names)}")
            elif layout[name].audience is Audience.ORACLE or name.startswith("intent."):
                mistakes.append(f"fault.{i}: {name!r} is not a sensor and cannot fail")
        if fault.other == fault.channel:
            mistakes.append(f"fault.{i}: {fault.channel!r} cannot be swapped with itself")
    if mistakes:
        raise ConfigError("faults", mistakes)


def fault_rows(faults: Sequence[SensorFault], layout: Layout) -> NDArray[np.void]:
    """Return faults as records for the kernel; a swap is one record on either channel.

    Their two numbers are: stuck: value or NaN; drift: rate; saturated: sign; noise: factor; latency:
    delay (ns); swapped: other channel; unit: factor and offset; spike and missed: size and chance.
    """
    rows = []
    for fault in faults:
        channel = layout.index(fault.channel)
        a, b = math.nan if fault.value is None else fault.value, fault.offset
        if fault.kind in (Fault.SPIKE, Fault.MISSED):
            b = fault.chance
        if fault.kind is Fault.LATENCY:
            a = float(nanoseconds(fault.delay_s or 0.0))
        start_ns = nanoseconds(fault.start_s)
        end_ns = _FOREVER_NS if fault.end_s is None else nanoseconds(fault.end_s)
        code = FAULT_CODES[fault.kind]
        if fault.kind is Fault.SWAPPED:
            other = layout.index(fault.other or "")
            rows.append((code, other, start_ns, end_ns, float(channel), b))
            a = float(other)
        rows.append((code, channel, start_ns, end_ns, a, b))
    return np.array(rows, dtype=FAULT)


def longest_delays_ns(faults: Sequence[SensorFault]) -> dict[str, int]:
    """Return, per channel with a latency fault, the sum of the delays that may be added to it."""
    delays: dict[str, int] = {}
    for fault in faults:
        if fault.kind is Fault.LATENCY:
            delays[fault.channel] = delays.get(fault.channel, 0) + nanoseconds(fault.delay_s or 0.0)
    return delays
