"""The world's side of an emulated node: readings in, drives out, in the frames of the link.

The counterpart of ``hardware/firmware/ports/lm3s6965evb/plant.c``. It stands for the encoders, converters
and drives an emulator does not have, and it tells the node's state without asking the node's protocol: an
oracle for tests.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firmware_bridge import messages as m
from firmware_bridge.framing import Decoder, Frame, Status, encode
from rig.core.channel import FloatArray

INPUTS_KIND, OUTPUTS_KIND = 200, 201
INPUTS = struct.Struct(f"<HHB{len(m.INPUTS)}i")
OUTPUTS = struct.Struct(f"<BBII{len(m.OUTPUTS)}i")
SUPPLY_MV = 24_000
IN_SCALES = np.array([i.scale for i in m.INPUTS])
OUT_SCALES = np.array([o.scale for o in m.OUTPUTS])
BITS = 1 << np.arange(len(m.INPUTS))
COUNT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class World:
    """What the node's inputs see.

    Attributes:
        values: Shape (channels of the node,), each in its unit; NaN for a sensor that does not answer.
        estop: Whether the emergency stop is pressed.
        supply_mv: Supply voltage, millivolts.
        wedge: Whether the firmware shall stop kicking its watchdog, to prove it.
    """

    values: FloatArray
    estop: bool = False
    supply_mv: int = SUPPLY_MV
    wedge: bool = False


@dataclass(frozen=True, slots=True)
class Drives:
    """What the node's outputs do.

    Attributes:
        boot: The node's boot number.
        state: `messages.State`.
        reason: `messages.Reason` it is SAFE for.
        trip_us: When it last tripped, node time.
        kicks: Times it kicked its watchdog.
        values: Shape (outputs of the node,), where each output is driven to, in its unit.
    """

    boot: int
    state: int
    reason: int
    trip_us: int
    kicks: int
    values: FloatArray


def counts_of(values: FloatArray) -> tuple[int, NDArray[np.int32]]:
    """Return the valid bits and the counts of the node's channels; NaN is a silent sensor."""
    good = np.isfinite(values)
    counts = np.clip(np.rint(np.where(good, values, 0.0) / IN_SCALES), -COUNT_MAX, COUNT_MAX)
    return int(good @ BITS), counts.astype(np.int32)


def world_bytes(world: World) -> bytes:
    """Return the frame that tells the node what its inputs see."""
    valid, counts = counts_of(world.values)
    payload = INPUTS.pack(valid, world.supply_mv, int(world.estop) | int(world.wedge) << 1, *counts.tolist())
    return encode(Frame(INPUTS_KIND, 0, 0, 0, payload))


class DrivesReader:
    """Takes the node's reports out of a byte stream; `newest` is the last one."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self.newest: Drives | None = None
        self.arrivals = 0

    def feed(self, data: bytes) -> list[Drives]:
        """Take bytes in; return the reports they complete."""
        found = []
        for frame in self._decoder.feed(data):
            if (
                frame.status is not Status.OK
                or frame.kind != OUTPUTS_KIND
                or len(frame.payload) != OUTPUTS.size
            ):
                continue
            state, reason, trip_us, kicks, *driven = OUTPUTS.unpack(frame.payload)
            found.append(Drives(frame.session, state, reason, trip_us, kicks, np.array(driven) * OUT_SCALES))
        if found:
            self.newest = found[-1]
            self.arrivals += len(found)
        return found
