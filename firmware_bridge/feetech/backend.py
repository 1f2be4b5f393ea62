"""An arm of Feetech servos as every other backend.

The servos have no watchdog: a host that dies leaves them holding their last goal. So goals are never far away
(`STEP_RAD`): what a dead host leaves behind is a short, slow motion. Leaving the block holds the arm where it
is; it never cuts the torque, because the arm, and what it carries, would fall.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from firmware_bridge.feetech.bus import ServoBus
from firmware_bridge.feetech.packets import (
    GOAL_POSITION,
    MODEL,
    PRESENT_LENGTH,
    PRESENT_POSITION,
    STEPS,
    STS3215,
    TORQUE_ENABLE,
    number,
    sync_write_packet,
    word,
)
from firmware_bridge.leaving import switch_off
from rig.core.channel import Layout, Quality, Snapshot
from rig.core.clock import Clock
from rig.core.command import Actuator, Command, must_be_fit
from rig.core.errors import RigFault

STEP_RAD = 0.1
"""Farthest a goal may be from where the joint is measured to be."""
GOAL_TIME, GOAL_SPEED = 0, 400  # steps per second: 0.6 rad/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """How a servo is built in: position = sign * (steps - centre) * 2 pi / 4096.

    Attributes:
        servo: Number on the bus.
        centre: Steps at zero radians, from the calibration.
        sign: 1, or -1 where the servo is mounted the other way round.
    """

    servo: int
    centre: int = STEPS // 2
    sign: int = 1

    def radians(self, steps: int) -> float:
        """Return the joint's angle."""
        return self.sign * (steps - self.centre) * 2 * math.pi / STEPS

    def steps(self, radians: float) -> int:
        """Return the servo's position."""
        return self.centre + self.sign * round(radians * STEPS / (2 * math.pi))


class FeetechBackend:
    """The servos of an arm.

    Args:
        bus: The bus, not open yet.
        joints: By actuator.
        layout: Channels of the joints, called like the actuators.
        actuators: The joints.
        clock: The trial's clock.
    """

    def __init__(
        self,
        bus: ServoBus,
        joints: Mapping[str, Joint],
        layout: Layout,
        actuators: Sequence[Actuator],
        clock: Clock,
    ) -> None:
        self.layout, self.actuators = layout, tuple(actuators)
        self._bus, self._joints, self._clock = bus, dict(joints), clock
        self._values = np.full(len(layout), np.nan)
        self._sampled_ns = np.zeros(len(layout), np.int64)
        self._open = False

    def __enter__(self) -> Self:
        """Open the bus, see that the right servos are there, and hold the arm where it is.

        Raises:
            RigFault: If a servo is missing, is another model or complains; no torque is on then.
        """
        self._bus.open()
        try:
            for name, joint in self._joints.items():
                model = number(self._bus.read(joint.servo, MODEL, 2))
                if model != STS3215:
                    raise RigFault(
                        f"{self._bus.port}: servo {joint.servo} ({name}) is model {model}, not {STS3215}"
                    )
            self.refresh()
            self._goals(self._measured())
            self._torque(True)
        except BaseException:
            self._bus.close()
            raise
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            switch_off((self.make_safe, self._close), error)

    def _close(self) -> None:
        self._open = False
        self._bus.close()

    def refresh(self) -> None:
        """Ask every servo where it is; a few milliseconds for an arm. To be called once a tick.

        Raises:
            RigFault: If one does not answer or complains.
        """
        for name, joint in self._joints.items():
            data = self._bus.read(joint.servo, PRESENT_POSITION, PRESENT_LENGTH)
            i = self.layout.index(name)
            self._values[i], self._sampled_ns[i] = joint.radians(number(data)), self._clock.now_ns()

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest readings; never blocks.

        Raises:
            RigFault: If the backend is closed.
        """
        if not self._open:
            raise RigFault(f"{self._bus.port}: closed")
        sampled_ns = np.minimum(self._sampled_ns, t_ns)
        quality = np.full(len(self.layout), Quality.GOOD, np.uint8)
        for i, channel in enumerate(self.layout):
            if not channel.low <= self._values[i] <= channel.high:
                quality[i] = Quality.FAULT if math.isnan(self._values[i]) else Quality.OUT_OF_RANGE
            elif t_ns - sampled_ns[i] >= channel.stale_after_s * 1e9:
                quality[i] = Quality.STALE
        return Snapshot(self.layout, t_ns, self._values.copy(), sampled_ns, quality)

    def write(self, commands: Iterable[Command]) -> None:
        """Send goals, all or none, in one packet.

        Raises:
            RigFault: If one may not be sent: not finite, unknown, out of range, expired, or too far from
                where its joint is.
        """
        if not self._open:
            raise RigFault(f"{self._bus.port}: closed")
        taken = tuple(commands)
        must_be_fit(taken, self.actuators, self._clock.now_ns(), "arm")
        here = self._measured()
        for command in taken:
            at_rad = here[command.actuator]
            if not abs(command.value - at_rad) <= STEP_RAD:
                raise RigFault(
                    f"{command.actuator}: goal {command.value:.3f} is more than {STEP_RAD} rad from the joint at "
                    f"{at_rad:.3f}"
                )
        if taken:
            self._goals({c.actuator: c.value for c in taken})

    def make_safe(self) -> None:
        """Hold the arm where it is measured to be.

        Raises:
            RigFault: If that cannot be done; the servos then hold their last goals, which are near.
        """
        if self._open:
            self.refresh()
            self._goals(self._measured())

    def _measured(self) -> dict[str, float]:
        return {name: float(self._values[self.layout.index(name)]) for name in self._joints}

    def _goals(self, radians: Mapping[str, float]) -> None:
        tail = word(GOAL_TIME) + word(GOAL_SPEED)
        goals = {}
        for name, value in radians.items():
            joint = self._joints[name]
            goals[joint.servo] = word(joint.steps(value)) + tail
        self._bus.tell(sync_write_packet(GOAL_POSITION, goals))

    def _torque(self, on: bool) -> None:
        servos = {j.servo: bytes([on]) for j in self._joints.values()}
        self._bus.tell(sync_write_packet(TORQUE_ENABLE, servos))
