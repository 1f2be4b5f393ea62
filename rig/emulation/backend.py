"""An emulated bench as the trial sees it: stretches of ticks, each paid for in the board's time."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from firmware_bridge.backend import BridgeBackend
from firmware_bridge.leaving import switch_off
from firmware_bridge.standing import stopped_by_rules, why_not_reliable
from rig.core.backend import Report
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.core.pace import Pace
from rig.core.rows import Readings, Sending
from rig.emulation.board import Board, open_board
from rig.emulation.faults import DeviceFault, at
from rig.emulation.fieldbus import FieldDevice
from rig.emulation.node import WiredNode
from rig.sim.faults import SensorFault
from rig.sim.wired import WiredBench


class EmulatedBackend(WiredBench):
    """The devices of an emulated bench, with the world they are in.

    Time goes on in ticks of the bench. After each the world is moved by what the drives really did, its
    readings are shown to the node, and what the node reports is read back over the link. A host that is
    late makes the world late too (`Pace.stalled_ns`): it never leaps.

    Args:
        bench: The bench file's contents.
        seed: Seed of sensors, and of the library's node.
        faults: Sensor faults to inject into the world.
        rules: Rule files of the monitor beside the node.
        enforces: Whether that monitor may stop the bench.
        device_faults: What else goes wrong, and when.

    Attributes:
        board: The node.
        fieldbus: Its Modbus devices.
        world: The simulated world.
    """

    def __init__(
        self,
        bench: BenchSpec,
        seed: int,
        faults: Sequence[SensorFault] = (),
        rules: Sequence[Path] = (),
        enforces: bool = True,
        device_faults: Sequence[DeviceFault] = (),
    ) -> None:
        nodes = [d for d in bench.devices if d.driver == "node"]
        if len(nodes) != 1:
            raise ConfigError(
                f"bench {bench.name}", ["an emulated bench needs exactly one device with driver node"]
            )
        super().__init__(bench, seed, faults)
        self._rules, self._enforces, self._troubles = tuple(rules), enforces, tuple(device_faults)
        self.board: Board = open_board(nodes[0], seed)
        self._node = WiredNode(bench, nodes[0], self.board, np.random.default_rng([seed, 6]))
        self.fieldbus = [
            FieldDevice(bench, d, self.board.clock, beside=self.board.real_time)
            for d in bench.devices
            if d.driver == "modbus"
        ]
        self._stack = ExitStack()
        self._bridge: BridgeBackend | None = None

    # ---- lifetime

    def __enter__(self) -> Self:
        """Start the board, the world and the monitor beside it.

        Raises:
            RigFault: If a part does not start; whatever had started is ended.
        """
        with ExitStack() as stack:
            stack.enter_context(self.world)
            stack.enter_context(self.board)
            self.board.watch(self._rules, self.layout, self._enforces)
            bridge = BridgeBackend(self.board.link, self.board.clock, arms=False)
            self._show(self.world.place())
            for device in self.fieldbus:
                stack.enter_context(device)
            self._bridge = stack.enter_context(bridge)
            try:
                self.place()
            except BaseException:
                self._bridge = None
                raise
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack, self._bridge = self._stack, ExitStack(), None
        stack.__exit__(kind, error, trace)

    def _link(self) -> BridgeBackend:
        if self._bridge is None:
            raise UsageError("the emulated bench is closed; use it inside its with-block")
        return self._bridge

    # ---- what there is

    @property
    def bridge(self) -> BridgeBackend:
        """The link to the node, for examinations."""
        return self._link()

    def why_not_slow(self) -> str:
        """Return why there are no long ticks here."""
        return "an emulated bench goes on at the pace of its devices"

    def reports(self) -> list[Report]:
        """Return the node's own log since the last call; nothing once the bench is closed."""
        return [] if self._bridge is None else self._bridge.reports(self._node.name)

    # ---- starting point, person, intents

    def place(self, **start: Any) -> Snapshot:  # noqa: ANN401 - `SimBackend.place` says what
        """Start again at time zero with everything at rest at these values (see `SimBackend.place`)."""
        bridge = self._link()
        bridge.make_safe()
        snapshot = self.world.place(**start)
        self._setpoints = self.world.setpoints
        self._show(snapshot)
        self._node.settle(snapshot)
        stands = {a.name: float(v) for a, v in zip(self.actuators, self._setpoints, strict=True)}
        for device in self.fieldbus:
            device.place(stands)
        self._pace = Pace(self.board.clock, self.bench.tick_ns)
        self._sending = Sending()
        bridge.arm()
        self._pace.start(0)
        self._snapshot = self._seen(0)
        return self._snapshot

    def press(self, pressed: bool) -> None:
        """Press or release the emergency stop of the node."""
        self._node.estop = pressed
        self._show(self.world.snapshot())

    # ---- reading and writing

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel as seen at ``t_ns``, now or later."""
        self._link()
        return super().read(t_ns)

    def make_safe(self) -> None:
        """Let every device do what is safe for its actuators; `place` takes charge again.

        Raises:
            RigFault: If one does not confirm it; the others have been made safe all the same.
        """
        if self._bridge is None:
            return
        switch_off([self._bridge.make_safe, *(device.make_safe for device in self.fieldbus)])

    # ---- running

    def tick(self, t_ns: int, setpoints: FloatArray, expires_ns: int) -> Snapshot:
        """Let one tick pass: send, move the world, wait, look."""
        self._setpoints = setpoints
        if self._troubles:
            self._trouble(self.now_ns)
        self._send(setpoints, expires_ns)
        shown_ns = self._move_world(t_ns)
        self._pace.wait(t_ns, shown_ns, self.board)
        self._snapshot = self._seen(t_ns)
        self.board.tell(self._snapshot)
        return self._snapshot

    def _trouble(self, t_ns: int) -> None:
        """Let what is to go wrong at this time go wrong."""
        now = at(self._troubles, t_ns)
        self._node.trouble(now, self._link())
        for device in self.fieldbus:
            device.trouble(now)

    # ---- devices and world

    def _send(self, setpoints: FloatArray, expires_ns: int | None) -> None:
        """Send what changed, or what has stood for long; a device holds what it does not hear of again."""
        clock, bridge = self.board.clock, self._link()
        now_ns = clock.now_ns()
        if not self._sending.due(setpoints, now_ns) or stopped_by_rules(bridge):
            return
        lease_ns = Sending.lease_ns(None if expires_ns is None else expires_ns - self.now_ns)
        for device in self.fieldbus:
            device.send(setpoints, now_ns + lease_ns)
        now_ns = clock.now_ns()  # they took their time
        self._node.send(bridge, setpoints, now_ns + lease_ns)
        self._sending.sent(setpoints, now_ns)

    def _show(self, world: Snapshot) -> None:
        self._node.show(world)
        for device in self.fieldbus:
            device.show(world)

    def _move_world(self, t_ns: int) -> int:
        """Show the node the world, and let that follow what the devices do until ``t_ns``.

        Returns:
            Host time at which the node was shown it.
        """
        driven = self._node.show(self.world.snapshot())
        shown_ns = self.board.clock.now_ns()
        for device in self.fieldbus:
            driven |= device.driven(self._pace.host_ns(t_ns))
        self._follow(driven, t_ns)
        return shown_ns

    def _seen(self, t_ns: int) -> Snapshot:
        """Return the world as the bench's devices show it at ``t_ns``."""
        world, offset_ns = self.world.snapshot(), self._pace.offset_ns
        found, bridge = Readings(world), self._link()
        self._node.merge(bridge, self._now_or(t_ns), offset_ns, found)
        for device in self.fieldbus:
            device.show(world)
            device.merge(self._now_or(t_ns), offset_ns, found)
            if (lost := device.why_lost()) is not None:
                raise RigFault(f"device {device.device.name} is lost: {lost}")
        if (why := why_not_reliable(bridge)) is not None:
            raise RigFault(why)
        return found.snapshot(self.layout, t_ns)

    def _now_or(self, t_ns: int) -> int:
        """Return the host's time of a trial time, or now where that has passed."""
        return max(self._pace.host_ns(t_ns), self.board.clock.now_ns())
