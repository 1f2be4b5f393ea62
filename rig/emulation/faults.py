"""Faults of an emulated bench that are more than a sensor's: wires, devices, Modbus, e-stop.

Each kind has a declared reaction (`REACTIONS`), and `tests/emulation/test_faults.py` shows each of them. In a
scenario file they stand beside the sensors' faults: ``{ kind = "cable", start = "20 s" }``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from firmware_bridge.faults import WireFaults
from rig.core.clock import nanoseconds
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, quantity_in

FOREVER_NS = 2**62


class BenchFault(StrEnum):
    """What goes wrong beyond a single sensor."""

    DROP = "drop"  # frames are lost, each with probability `chance`
    GARBLE = "garble"  # bytes change
    DUPLICATE = "duplicate"  # frames arrive twice
    REORDER = "reorder"  # frames arrive late, and so behind younger ones
    SPLIT = "split"  # frames arrive in pieces
    CABLE = "cable"  # nothing arrives any more, either way
    ESTOP = "estop"  # a hand on the emergency stop
    BROWN_OUT = "brown_out"  # supply below what the drives need
    REBOOT = "reboot"  # the node starts again
    CLOCK_SKEW = "clock_skew"  # the node's clock runs fast by `value` (parts of one)
    MODBUS_EXCEPTION = "modbus_exception"  # every request answered with exception `value`
    MODBUS_LATE = "modbus_late"  # answers come `delay` late
    MODBUS_SILENT = "modbus_silent"
    MODBUS_DEAF = "modbus_deaf"  # acknowledges and does nothing
    MODBUS_UNIT = "modbus_unit"  # another unit answers


F = BenchFault


class Reaction(StrEnum):
    """What must come of a fault; none of it may be blamed on the agent."""

    ABSORBED = "absorbed"  # the trial goes on; nothing wrong is done, nothing lost silently
    SAFE = "safe"  # the node goes SAFE or is cut off, every actuator holds, the trial is ABORTED


REACTIONS: Mapping[BenchFault, Reaction] = {
    F.DROP: Reaction.ABSORBED, F.GARBLE: Reaction.ABSORBED, F.DUPLICATE: Reaction.ABSORBED,
    F.REORDER: Reaction.ABSORBED, F.SPLIT: Reaction.ABSORBED, F.CLOCK_SKEW: Reaction.ABSORBED,
    F.CABLE: Reaction.SAFE, F.ESTOP: Reaction.SAFE, F.BROWN_OUT: Reaction.SAFE, F.REBOOT: Reaction.SAFE,
    F.MODBUS_EXCEPTION: Reaction.SAFE, F.MODBUS_SILENT: Reaction.SAFE, F.MODBUS_DEAF: Reaction.SAFE,
    F.MODBUS_UNIT: Reaction.SAFE, F.MODBUS_LATE: Reaction.ABSORBED,
}  # fmt: skip
"""ABSORBED holds up to the strengths that are tested; MODBUS_LATE up to the device's longest answer time."""

WIRE = {F.DROP, F.GARBLE, F.DUPLICATE, F.REORDER, F.SPLIT}
MODBUS = {F.MODBUS_EXCEPTION, F.MODBUS_LATE, F.MODBUS_SILENT, F.MODBUS_DEAF, F.MODBUS_UNIT}


_SECONDS = quantity_in("s", or_number=True)


class DeviceFault(Table, allow_inf_nan=False):
    """One fault, in force from ``start`` to ``end`` of trial time; ``once`` for what happens at a moment."""

    kind: BenchFault
    start_s: Annotated[float, Field(ge=0, alias="start"), _SECONDS] = 0.0
    end_s: Annotated[float | None, Field(gt=0, alias="end"), _SECONDS] = None
    chance: Annotated[float, Field(gt=0, le=1)] = 0.05
    delay_s: Annotated[float | None, Field(gt=0, alias="delay"), _SECONDS] = None
    value: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> "DeviceFault":
        if self.end_s is not None and not self.end_s > self.start_s:
            raise ValueError(f"ends at {self.end_s} s, not after its start at {self.start_s} s")
        if self.kind in (F.CLOCK_SKEW, F.MODBUS_EXCEPTION) and self.value is None:
            raise ValueError(f"kind {self.kind.value!r} needs a value")
        if self.kind is F.MODBUS_LATE and self.delay_s is None:
            raise ValueError("kind 'modbus_late' needs a delay")
        return self

    def holds(self, t_ns: int) -> bool:
        """Whether it is in force at a trial time."""
        end_ns = FOREVER_NS if self.end_s is None else nanoseconds(self.end_s)
        return nanoseconds(self.start_s) <= t_ns < end_ns


_ADAPTER: TypeAdapter[list[DeviceFault]] = TypeAdapter(list[DeviceFault])


def is_bench_fault(document: Mapping[str, Any]) -> bool:
    """Return whether a scenario's fault is one of these rather than a sensor's."""
    return document.get("kind") in set(BenchFault)


def parse_bench_faults(documents: Sequence[Mapping[str, Any]], source: str) -> tuple[DeviceFault, ...]:
    """Return the faults a scenario file lists.

    Raises:
        ConfigError: If any is not a fault; all mistakes at once.
    """
    try:
        return tuple(_ADAPTER.validate_python([dict(d) for d in documents]))
    except ValidationError as error:
        mistakes = [f"fault.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(source, mistakes) from None


@dataclass(frozen=True, slots=True)
class Now:
    """What is wrong at a moment.

    Attributes:
        wire: What happens to frames on the controller's wire.
        cut: Whether that wire is cut.
        estop: Whether the emergency stop is pressed.
        brown_out: Whether the supply is too low.
        rebooted: How often the node has been made to start again so far.
        skew: How much faster the node's clock runs, parts of one.
        modbus: Faults of Modbus devices in force.
    """

    wire: WireFaults
    cut: bool
    estop: bool
    brown_out: bool
    rebooted: int
    skew: float
    modbus: tuple[DeviceFault, ...]


def at(faults: Sequence[DeviceFault], t_ns: int) -> Now:
    """Return what is wrong at a trial time."""
    standing = [f for f in faults if f.holds(t_ns)]
    kinds = {f.kind for f in standing}
    chances = {f.kind: f.chance for f in standing if f.kind in WIRE}
    late_s = max((f.delay_s or 0.03 for f in standing if f.kind is F.REORDER), default=0.05)
    return Now(
        wire=WireFaults(
            drop=chances.get(F.DROP, 0.0), garble=chances.get(F.GARBLE, 0.0), duplicate=chances.get(F.DUPLICATE, 0.0),
            delay=chances.get(F.REORDER, 0.0), split=chances.get(F.SPLIT, 0.0), delay_s=late_s,
        ),
        cut=F.CABLE in kinds, estop=F.ESTOP in kinds, brown_out=F.BROWN_OUT in kinds,
        rebooted=sum(f.kind is F.REBOOT and nanoseconds(f.start_s) <= t_ns for f in faults),
        skew=sum(f.value or 0.0 for f in standing if f.kind is F.CLOCK_SKEW),
        modbus=tuple(f for f in standing if f.kind in MODBUS),
    )  # fmt: skip
