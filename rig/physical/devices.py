"""The devices of a physical bench as one backend: opened together or not at all, each left safe."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.discovery import Port
from firmware_bridge.feetech.backend import FeetechBackend, Joint
from firmware_bridge.feetech.bus import ServoBus
from firmware_bridge.leaving import switch_off
from firmware_bridge.link import Link, settings
from firmware_bridge.modbus.backend import ModbusBackend
from firmware_bridge.modbus.line import Line
from firmware_bridge.modbus.registers import load_registers
from firmware_bridge.standing import stopped_by_rules, why_not_reliable
from rig.core.backend import Backend, Report
from rig.core.bench import BenchSpec
from rig.core.channel import Layout, Quality, Snapshot
from rig.core.clock import Clock
from rig.core.command import Actuator, Command, must_be_fit
from rig.core.device import Device
from rig.core.errors import RigFault
from rig.physical.finding import find

Beside = Callable[[str], AbstractContextManager[object]]
"""Starts the monitor on a node's second port; without it the node does not arm."""


class Devices:
    """Every device of a bench; a context manager.

    Args:
        bench: The bench.
        clock: The trial's clock.
        beside: Starts the monitor beside a node.
        ports: Serial ports with their identities; those of this machine by default.
    """

    def __init__(
        self, bench: BenchSpec, clock: Clock, beside: Beside, ports: Sequence[Port] | None = None
    ) -> None:
        self.bench, self._clock, self._beside, self._ports = bench, clock, beside, ports
        self._stack = ExitStack()
        self._parts: list[tuple[Device, Backend]] = []

    def __enter__(self) -> Self:
        """Find every device, and open them one after the other.

        Raises:
            RigFault: If one is missing, or does not open: those opened before are safe and closed then.
        """
        paths = find(self.bench, self._ports)
        with ExitStack() as stack:
            parts = []
            for device in self.bench.devices:
                backend = self._opened(device, paths, stack)
                parts.append((device, backend))
            self._stack, self._parts = stack.pop_all(), parts
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack, self._parts = self._stack, ExitStack(), []
        stack.__exit__(kind, error, trace)

    def _opened(self, device: Device, paths: Mapping[str, Sequence[str]], stack: ExitStack) -> Backend:
        path, *second = paths[device.name]
        actuators = [a for a in self.bench.actuators if a.name in device.actuators]
        layout = Layout([c for c in self.bench.layout if c.name in device.channels])
        match device.driver:
            case "node":
                for other in second:
                    stack.enter_context(self._beside(other))
                usual = settings(m.Role.CONTROLLER)
                # A link is no more impatient than its node: it asks again for a heartbeat's time, and two may be missed.
                patient = replace(
                    usual,
                    silent_ns=max(usual.silent_ns, 2 * device.heartbeat_ns),
                    tries=max(usual.tries, device.heartbeat_ns // usual.retry_ns),
                )
                link = Link(path, patient, self._clock, device.baud)
                return stack.enter_context(BridgeBackend(link, self._clock))
            case "modbus":
                line = Line(path, device.unit, load_registers(device.registers), self._clock, device.baud)
                return stack.enter_context(
                    ModbusBackend(line, layout, actuators, self._clock, device.poll_ns)
                )
            case "feetech":
                joints = {a.name: Joint(servo=device.unit + k + 1) for k, a in enumerate(actuators)}
                bus = ServoBus(path, self._clock, device.baud)
                return stack.enter_context(FeetechBackend(bus, joints, layout, actuators, self._clock))

    # ---- as every backend

    @property
    def layout(self) -> Layout:
        """Every channel of the bench; what no device measures is a fault to read."""
        return self.bench.layout

    @property
    def actuators(self) -> Sequence[Actuator]:
        """Every quantity the gate may pass setpoints to."""
        return self.bench.actuators

    def _opened_parts(self) -> list[tuple[Device, Backend]]:
        if not self._parts:
            raise RigFault(f"bench {self.bench.name}: closed")
        return self._parts

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel.

        Raises:
            RigFault: If a device is out of reach.
        """
        n = len(self.layout)
        values, sampled_ns, quality = (
            np.full(n, np.nan),
            np.zeros(n, np.int64),
            np.full(n, Quality.FAULT, np.uint8),
        )
        for device, backend in self._opened_parts():
            if isinstance(backend, FeetechBackend):
                backend.refresh()
            seen = backend.read(t_ns)
            for name in device.channels:
                i, k = self.layout.index(name), seen.layout.index(name)
                values[i], sampled_ns[i], quality[i] = seen.values[k], seen.sampled_ns[k], seen.quality[k]
        return Snapshot(self.layout, t_ns, values, sampled_ns, quality)

    def write(self, commands: Iterable[Command]) -> None:
        """Write setpoints, all or none.

        Raises:
            RigFault: If one may not be sent, before any is; or a device does not take its own.
        """
        taken, parts = tuple(commands), self._opened_parts()
        must_be_fit(taken, self.actuators, self._clock.now_ns(), "bench")
        for device, backend in parts:
            backend.write([c for c in taken if c.actuator in device.actuators])

    def measured(self) -> tuple[str, ...]:
        """Return the channels that devices measure, in the bench's order."""
        named = {name for device in self.bench.devices for name in device.channels}
        return tuple(n for n in self.layout.names if n in named)

    def must_be_reliable(self) -> None:
        """Refuse to go on with a device that cannot be relied on; a stop by the monitor's rules is no fault.

        Raises:
            RigFault: Names the device and says why.
        """
        for device, backend in self._opened_parts():
            why = None
            if isinstance(backend, BridgeBackend):
                why = why_not_reliable(backend)
            elif isinstance(backend, ModbusBackend):
                why = backend.why_lost()
            if why is not None:
                raise RigFault(f"device {device.name} is lost: {why}")

    def stopped_by_rules(self) -> bool:
        """Return whether a monitor beside a node has stopped the bench."""
        return any(stopped_by_rules(b) for _, b in self._opened_parts() if isinstance(b, BridgeBackend))

    def reports(self) -> list[Report]:
        """Return what nodes have logged since the last call; nothing once closed."""
        return [r for d, b in self._parts if isinstance(b, BridgeBackend) for r in b.reports(d.name)]

    def make_safe(self) -> None:
        """Let every device do what is safe for its actuators.

        Raises:
            RigFault: The first that was not confirmed; the others have been made safe all the same.
        """
        switch_off([backend.make_safe for _, backend in self._parts])
