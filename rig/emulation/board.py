"""A node to put in front of the world: under QEMU in real time, or as a library in virtual time."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.build import build_number
from firmware_bridge.emulator import EmulatedNode
from firmware_bridge.heart import Heart
from firmware_bridge.host_node import HostNode
from firmware_bridge.link import Link, in_words, settings
from firmware_bridge.lockstep import LockstepLink
from firmware_bridge.plant_port import OUT_SCALES, Drives, World, counts_of
from firmware_bridge.session import Settings
from firmware_bridge.states import LinkState
from rig.core.channel import Layout, Snapshot
from rig.core.clock import Clock, MonotonicClock, SimClock
from rig.core.device import Device
from rig.core.errors import RigFault, UsageError
from safety_monitor.process import RemoteMonitor, Vitals
from safety_monitor.realtime import Loop

STEP_NS = 1_000_000
MEET_S = 10.0
FRESH_S = 0.25
"""Longest wait for a report of the node: then its readings are as old as they look."""
LOOP = Loop(sleep_ns=500_000, idle_ns=50_000_000)
"""Rows come every few milliseconds here, not every one."""


class Board(Protocol):
    """A node with its world, a clock, a link for the controller and a monitor beside it.

    Attributes:
        clock: The host's time, in which links and leases are counted.
        link: The controller's link, not open yet.
        real_time: Whether its clock goes on by itself.
    """

    real_time: bool
    clock: Clock
    link: Link | LockstepLink

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def watch(self, rules: Sequence[Path], layout: Layout, enforces: bool) -> None:
        """Put a monitor beside the node; without one it does not arm."""
        ...

    def tell(self, snapshot: Snapshot) -> None:
        """Hand a snapshot to the monitor beside the node."""
        ...

    def vitals(self) -> Vitals | None:
        """Return how the monitor process does; None where it is not a process of its own."""
        ...

    def show(self, world: World) -> Drives:
        """Show the node the world, and return what its drives do."""
        ...

    def settle(self, world: World) -> None:
        """Put the node's actuators where the world has them, before it is armed."""
        ...

    def pass_until(self, t_ns: int, shown_ns: int) -> None:
        """Let the clock reach ``t_ns``, and the node report what it was shown at ``shown_ns``."""
        ...

    def reboot(self) -> None:
        """Let the node start again."""
        ...

    def skew(self, share: float) -> None:
        """Let the node's clock run faster by this part of one.

        Raises:
            UsageError: If the board's clock cannot be changed.
        """
        ...

    @property
    def identity(self) -> str:
        """What the node says it is, for reports."""
        ...


class QemuBoard:
    """The firmware under QEMU, in real time, with the monitor as a process of its own on the second port."""

    real_time = True

    def __init__(self, device: Device) -> None:
        self.clock: Clock = MonotonicClock()
        self._heartbeat_ns = device.heartbeat_ns
        self.node = EmulatedNode(device.heartbeat_ns // 1_000_000)
        self._stack = ExitStack()
        self._monitor: RemoteMonitor | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.node)
            patient = replace(settings(m.Role.CONTROLLER), silent_ns=2 * self._heartbeat_ns)
            self.link: Link | LockstepLink = Link(self.node.controller, patient, self.clock)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._monitor = None
        self._stack.close()

    def watch(self, rules: Sequence[Path], layout: Layout, enforces: bool) -> None:
        """Start the monitor process with its heartbeat on the node's second port."""
        heart = Heart(self.node.monitor, enforces)
        self._monitor = self._stack.enter_context(RemoteMonitor(rules, layout, LOOP, heart))

    def tell(self, snapshot: Snapshot) -> None:
        """Hand a snapshot to the monitor process; never waits."""
        if self._monitor is not None:
            self._monitor.send(snapshot)

    def vitals(self) -> Vitals | None:
        """Return how the monitor process does."""
        return None if self._monitor is None else self._monitor.vitals()

    def show(self, world: World) -> Drives:
        """Exchange with the node's plant port."""
        drives = self.node.exchange(world)
        if drives is None:
            raise RigFault("the emulated node reports no drives")
        return drives

    def settle(self, world: World) -> None:
        """Wait until the node has seen the world; arming starts from what it sees."""
        kicks = self.show(world).kicks
        if self.node.wait_for(lambda d: d.kicks > kicks + 2, MEET_S, world) is None:
            raise RigFault("the emulated node does not take the world's readings")

    def pass_until(self, t_ns: int, shown_ns: int) -> None:
        """Sleep, then wait a little for the node: where the machine is late, its world waits for it."""
        self.clock.sleep_until(t_ns)
        self.link.wait(lambda s: s.state is not LinkState.UP or self._reported_ns() >= shown_ns, FRESH_S)

    def _reported_ns(self) -> int:
        """Return the host's time of the newest telemetry; called with the link's lock held."""
        received, clock = self.link.newest(m.Telemetry), self.link.clock_map
        return 0 if received is None or clock is None else clock.host_ns(received.node_us)

    def reboot(self) -> None:
        """Reset the emulated board."""
        self.node.reset()

    def skew(self, share: float) -> None:
        """Refuse: QEMU's clock is the machine's."""
        if share:
            raise UsageError("clock_skew: QEMU's clock cannot be changed; use the bench emulated-host")

    @property
    def identity(self) -> str:
        """What the node says it is."""
        return _identity(self.link)


class _Turning:
    """Virtual time in which whoever sleeps lets the node go on."""

    def __init__(self, time: Clock, turn: Callable[[], None]) -> None:
        self._time, self._turn = time, turn

    def now_ns(self) -> int:
        return self._time.now_ns()

    def sleep_until(self, t_ns: int) -> None:
        while self._time.now_ns() < t_ns:
            self._turn()


class LibraryBoard:
    """The firmware as a library in virtual time; its monitor session lives as long as the trial does.

    Deterministic and faster than real time. There is no second process: what is tested here is the firmware
    and the bridge, not the independence of the monitor.
    """

    real_time = False

    def __init__(self, device: Device, seed: int) -> None:
        self._time = SimClock()
        self.clock: Clock = _Turning(self._time, self._turn)
        self.node = HostNode(device.heartbeat_ns // 1_000_000, seed)
        self.link: Link | LockstepLink = self._linked(0, m.Role.CONTROLLER, seed)
        self._monitor = self._linked(1, m.Role.MONITOR, seed)
        self._skew = self._owed_us = 0.0

    def _linked(self, number: int, role: m.Role, seed: int) -> LockstepLink:
        nonce = (seed * 2 + number) % (2**32 - 1) + 1
        return LockstepLink(
            self.node, number, Settings(role=role, nonce=nonce, build=build_number()), self.clock, self._turn
        )

    def _turn(self) -> None:
        self._time.sleep_until(self._time.now_ns() + STEP_NS)
        self._owed_us += STEP_NS / 1000 * (1.0 + self._skew)
        whole_us = int(self._owed_us)
        self._owed_us -= whole_us
        self.node.advance(whole_us)
        for link in (self.link, self._monitor):
            if isinstance(link, LockstepLink):
                link.pump()

    def __enter__(self) -> Self:
        self._monitor.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._monitor.__exit__(kind, error, trace)

    def watch(self, rules: Sequence[Path], layout: Layout, enforces: bool) -> None:
        """Do nothing: the session on the second port is the monitor."""

    def tell(self, snapshot: Snapshot) -> None:
        """Do nothing: the monitor inside the trial sees every tick."""

    def vitals(self) -> Vitals | None:
        """Return None: there is no process."""
        return None

    def show(self, world: World) -> Drives:
        """Set what the node's channels show, and return what its outputs do."""
        self.node.world(*counts_of(world.values))
        self.node.estop(world.estop)
        self.node.supply(world.supply_mv)
        driven = self.node.drives() * OUT_SCALES
        return Drives(0, int(self.node.state), int(self.node.reason), 0, self.node.kicks, driven)

    def settle(self, world: World) -> None:
        """Put the node's outputs where the world has its actuators."""
        self.show(world)
        names = [o.name for o in m.OUTPUTS]
        for value, channel in zip(world.values, m.INPUTS, strict=True):
            if channel.follows == channel.name and np.isfinite(value):
                i = names.index(channel.name)
                self.node.move(i, round(float(value) / OUT_SCALES[i]))

    def pass_until(self, t_ns: int, shown_ns: int) -> None:
        """Let virtual time pass, a millisecond at a time."""
        self.clock.sleep_until(t_ns)

    def reboot(self) -> None:
        """Start the node again; what drives it stays where it is."""
        self.node.reset(m.ResetCause.SOFTWARE)

    def skew(self, share: float) -> None:
        """Let the node's clock run faster by this part of one."""
        self._skew = share

    @property
    def identity(self) -> str:
        """What the node says it is."""
        return _identity(self.link)


def _identity(link: Link | LockstepLink) -> str:
    found = link.seen(lambda s: s.identity)
    return "a node that has not said who it is" if found is None else in_words(found)


def open_board(device: Device, seed: int) -> Board:
    """Return the board a device's address names.

    Raises:
        RigFault: If it is not an emulated one.
    """
    if device.address == "qemu":
        return QemuBoard(device)
    if device.address == "library":
        return LibraryBoard(device, seed)
    raise RigFault(f"device {device.name} at {device.address} is not emulated")
