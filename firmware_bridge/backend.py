"""A bench behind a microcontroller, as every other backend.

The node arms only while a monitor of its own proves it lives on the second port; this side is the
controller. What leaves here has passed the gate; the node still checks limits, leases and rates by
its own tables.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from types import TracebackType
from typing import Self

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.leaving import switch_off
from firmware_bridge.link import Link, settings
from firmware_bridge.lockstep import LockstepLink
from firmware_bridge.session import Ending, Outcome, Received
from firmware_bridge.states import LinkState
from rig.core.backend import Report
from rig.core.channel import Audience, Channel, Layout, Quality, Snapshot
from rig.core.clock import Clock
from rig.core.command import Actuator, Command, must_be_fit
from rig.core.errors import RigFault
from rig.core.quantity import parse_quantity

SYNCED_AFTER = 8  # exchanges of the opening burst
READY_S = 2.0
CONFIRM_S = 0.5
AGAIN_S = 0.05


def node_layout() -> Layout:
    """Return the channels of the node, in the order of its telemetry."""
    return Layout(
        [
            Channel(
                name=i.name,
                unit=i.unit,
                low=i.low,
                high=i.high,
                period_s=m.TELEMETRY_MS / 1000,
                stale_after_s=parse_quantity(i.stale_after, "s"),
                audience=Audience(i.audience),
                resolution=i.scale,
                text=i.text,
            )
            for i in m.INPUTS
        ]
    )


def node_actuators() -> tuple[Actuator, ...]:
    """Return the actuators of the node, in the order of its setpoints."""
    return tuple(
        Actuator(name=o.name, unit=o.unit, low=o.low, high=o.high, rate=o.rate, text=o.text)
        for o in m.OUTPUTS
    )


class BridgeBackend:
    """The devices of one node.

    Args:
        port: The controller's port, or a link to it that is not open yet.
        clock: The trial's clock; the node's samples and leases are mapped to it.
        arms: Whether to take charge on entry; otherwise `arm` does.
    """

    def __init__(self, port: str | Link | LockstepLink, clock: Clock, *, arms: bool = True) -> None:
        self.link = Link(port, settings(m.Role.CONTROLLER), clock) if isinstance(port, str) else port
        self._arms = arms
        self.layout: Layout = node_layout()
        self.actuators: Sequence[Actuator] = node_actuators()
        self._clock = clock
        self._columns = {a.name: i for i, a in enumerate(self.actuators)}
        self._stale_ns = np.array([round(c.stale_after_s * 1e9) for c in self.layout], np.int64)
        self._low = np.array([c.low for c in self.layout])
        self._high = np.array([c.high for c in self.layout])
        self._scale = np.array([i.scale for i in m.INPUTS])
        self._open = False
        self._sent: tuple[int, str] | None = None

    def __enter__(self) -> Self:
        """Open the link, agree on the time and arm.

        Raises:
            RigFault: If the node cannot be reached or will not arm; says why. Nothing is left armed.
        """
        self.link.__enter__()
        self._open = True
        try:
            self._settle()
            if self._arms:
                self.arm()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._open:
            return
        self._open = False
        switch_off(
            (self._disarm, lambda: self.link.__exit__(None, None, None)), error
        )  # and the heartbeats end

    def _settle(self) -> None:
        ready = self.link.wait(
            lambda s: (
                (s.clocks.clock is not None and len(s.clocks.raw) >= SYNCED_AFTER)
                or s.state is LinkState.LOST
            ),
            READY_S,
        )
        if not ready or self.link.newest(m.Telemetry) is None:
            raise RigFault(f"{self.link.port}: {self._why() or 'the node sends no telemetry or no time'}")

    def arm(self) -> None:
        """Take charge of the actuators; they start from where they are measured to be.

        Raises:
            RigFault: If the node refuses; the message says why and what to do.
        """
        self._sent = None
        self.link.seen(lambda session: setattr(session, "beating", True))
        outcome = self._patiently(lambda: self.link.request(m.Arm()))
        if outcome.ending is not Ending.DONE:
            raise RigFault(f"{self.link.port}: the node does not arm: {self._reason(outcome)}")

    def clear(self, operator: int) -> None:
        """Leave SAFE for IDLE, on the word of the person with number ``operator``.

        Raises:
            RigFault: If the node refuses: the cause persists, or a heartbeat is missing.
        """
        outcome = self._patiently(lambda: self._clear(operator))
        if outcome.ending is not Ending.DONE:
            raise RigFault(f"{self.link.port}: the node stays SAFE: {self._reason(outcome)}")

    def _clear(self, operator: int) -> Outcome:
        asked = self.link.request(m.RequestClear())
        return (
            asked if asked.ending is not Ending.DONE else self.link.request(m.Clear(asked.detail, operator))
        )

    def _patiently(self, ask: Callable[[], Outcome]) -> Outcome:
        # Heartbeats need a moment to be whole; every other refusal is final.
        deadline_ns = self._clock.now_ns() + round(READY_S * 1e9)
        while (
            outcome := ask()
        ).refusal is m.Refusal.HEARTBEAT_MISSING and self._clock.now_ns() < deadline_ns:
            self.link.wait(lambda s: s.state is not LinkState.UP, AGAIN_S)
        return outcome

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel; never blocks.

        Raises:
            RigFault: If the backend is closed.
        """
        received, clock = self.link.newest(m.Telemetry), self.link.clock_map
        if not self._open or received is None or clock is None:
            raise RigFault(f"{self.link.port}: closed")
        message = received.message
        if not isinstance(message, m.Telemetry):
            raise RigFault(f"{self.link.port}: telemetry is {message}")
        n = len(self.layout)
        sampled_ns = min(clock.host_ns(received.node_us), received.arrived_ns, t_ns)
        values = np.array(message.counts[:n]) * self._scale
        quality = np.full(n, Quality.GOOD, np.uint8)
        # Half a count of slack: counts at the ends of a range must not fall outside it by rounding.
        slack = self._scale / 2
        outside = ~((values >= self._low - slack) & (values <= self._high + slack))
        quality[outside] = Quality.OUT_OF_RANGE
        values[~outside] = np.clip(values, self._low, self._high)[~outside]
        quality[t_ns - sampled_ns >= self._stale_ns] = Quality.STALE
        silent = (message.valid >> np.arange(n)) & 1 == 0
        quality[silent] = Quality.FAULT
        values[silent] = np.nan
        return Snapshot(self.layout, t_ns, values, np.full(n, sampled_ns, np.int64), quality)

    def write(self, commands: Iterable[Command]) -> None:
        """Send setpoints, all or none; returns when the node has taken them.

        Raises:
            RigFault: If one may not be sent, the node refuses, or it does not answer: then they may have
                been carried out, at most once.
        """
        self.send(commands)
        self.confirm()

    def send(self, commands: Iterable[Command]) -> None:
        """Send setpoints, all or none, and do not wait: `confirm` says whether the node has taken them.

        Raises:
            RigFault: If one may not be sent, or those sent before were not taken.
        """
        self.confirm()
        taken = tuple(commands)
        if not taken:
            return
        must_be_fit(taken, self.actuators, self._clock.now_ns(), "node")
        names = ", ".join(c.actuator for c in taken)
        self._sent = (self.link.submit(self._setpoints(taken)), names)

    def confirm(self) -> None:
        """Return when the node has taken what was sent last.

        Raises:
            RigFault: If it refuses or does not answer.
        """
        if self._sent is None:
            return
        (ticket, names), self._sent = self._sent, None
        outcome = self.link.outcome(ticket)
        if outcome.ending is not Ending.DONE:
            raise RigFault(f"{self.link.port}: setpoints for {names}: {self._reason(outcome)}")

    def _setpoints(self, commands: Sequence[Command]) -> m.Setpoints:
        clock = self.link.clock_map
        if clock is None:
            raise RigFault(f"{self.link.port}: closed")
        values, mask = [0] * 16, 0
        for command in commands:
            column = self._columns[command.actuator]
            values[column] = round(command.value / m.OUTPUTS[column].scale)
            mask |= 1 << column
        # The shortest lease holds for all, shortened by what the clocks may disagree: ending early is safe.
        expires_ns = min(c.expires_ns for c in commands) - math.ceil(clock.uncertainty_ns)
        return m.Setpoints(clock.node_us(expires_ns) & 0xFFFFFFFF, mask, tuple(values))

    def make_safe(self) -> None:
        """Let every actuator do what is safe for it; `arm` takes charge again.

        Raises:
            RigFault: If the node does not confirm it; it then stops by itself when its heartbeats run out.
        """
        if not self._open:
            return
        self._disarm()

    def _disarm(self) -> None:
        outcome = self.link.request(m.Disarm())
        if outcome.ending is Ending.DONE:
            return
        # Saying nothing is the stop that needs no answer: the node trips on the missing heartbeat.
        self.link.seen(lambda session: setattr(session, "beating", False))
        idle = self.link.wait(
            lambda s: s.state is LinkState.UP and s.status is not None and s.status.state != m.State.ARMED,
            CONFIRM_S,
        )
        if not idle:
            raise RigFault(
                f"{self.link.port}: not confirmed safe ({self._reason(outcome)}); heartbeats are withheld, so "
                "the node stops by itself; use the emergency stop and look"
            )

    def reports(self, device: str) -> list[Report]:
        """Return the node's log since the last call, under the name the bench has for it."""
        return [_report(device, r.message) for r in self.events() if isinstance(r.message, m.Event)]

    def events(self) -> list[Received]:
        """Return what the node reported since the last call: trips, e-stop presses, clears."""
        return self.link.events()

    def _why(self) -> str:
        return self.link.seen(lambda s: s.why)

    def _reason(self, outcome: Outcome) -> str:
        status = self.link.seen(lambda s: s.status)
        state = ""
        if status is not None and status.state == m.State.SAFE:
            state = f"; it is SAFE since {m.Reason(status.reason).name}: a person must look and clear it"
        if outcome.ending is Ending.REFUSED:
            lost = self._why()
            return f"refused, {outcome.refusal.name}{state}{'; ' + lost if lost else ''}"
        if outcome.ending is Ending.UNSENT:
            return f"not sent, {self._why() or 'link not up'}{state}"
        return f"no answer, so it may have been carried out once; {self._why()}{state}"


def _report(device: str, event: m.Event) -> Report:
    what, grave = _named(m.Occurrence, event.occurrence), (m.Occurrence.TRIPPED, m.Occurrence.ESTOP_PRESSED)
    return Report(
        device=device, number=event.number, what=what, reason=_named(m.Reason, event.reason), detail=event.detail,
        grave=event.occurrence in grave,
    )  # fmt: skip


def _named(kind: type[IntEnum], number: int) -> str:
    """Return a number of the wire in words; firmware may know more than this program."""
    known = {member.value: member.name.lower().replace("_", " ") for member in kind}
    return known.get(number, f"{kind.__name__.lower()} {number}")
