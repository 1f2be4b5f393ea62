"""The node of an emulated bench, as the bench sees it: what it is shown, what it drives, what it reports."""

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.faults import FaultyWires
from firmware_bridge.plant_port import SUPPLY_MV, World
from firmware_bridge.standing import stopped_by_rules
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Snapshot
from rig.core.command import Command
from rig.core.device import Device
from rig.core.errors import ConfigError, RigFault
from rig.core.rows import Readings, sensed
from rig.emulation.board import Board
from rig.emulation.faults import Now

LOW_MV = 8_000
LAMP = "call.lamp"
CHANNELS = tuple(i.name for i in m.INPUTS)


class WiredNode:
    """A board with what the bench file wires to it.

    Args:
        bench: The bench.
        device: Its node.
        board: The board, entered by whoever made it.
        rng: Of the faults of its wire.

    Attributes:
        name: What the bench calls it.
        board: The same.
        estop: Whether the emergency stop is pressed; shown to it with the world.
    """

    def __init__(self, bench: BenchSpec, device: Device, board: Board, rng: np.random.Generator) -> None:
        unknown = [n for n in device.channels if n not in CHANNELS]
        unknown += [n for n in device.actuators if n not in [o.name for o in m.OUTPUTS]]
        if unknown:
            raise ConfigError(
                f"bench {bench.name}, device {device.name}",
                [f"{n}: the node has no such thing" for n in unknown],
            )
        self.name, self.board, self._rng = device.name, board, rng
        self.estop = self._brown_out = False
        self._rebooted = 0
        self._columns = np.array([bench.layout.index(n) for n in device.channels], dtype=np.intp)
        self._inputs = np.array([CHANNELS.index(n) for n in device.channels], dtype=np.intp)
        names = [a.name for a in bench.actuators]
        self._driven = [(a.name, names.index(a.name)) for a in bench.actuators if a.name in device.actuators]

    def _shown(self, world: Snapshot) -> World:
        values = np.full(len(CHANNELS), np.nan)
        values[self._inputs] = sensed(world, self._columns)
        return World(values, self.estop, LOW_MV if self._brown_out else SUPPLY_MV)

    def settle(self, world: Snapshot) -> None:
        """Put its actuators where the world has them, before it is armed."""
        self.board.show(self._shown(world))
        self.board.settle(self._shown(world))

    def show(self, world: Snapshot) -> dict[str, float]:
        """Show it the world; return where it drives each of its actuators."""
        drives = self.board.show(self._shown(world))
        outputs = {o.name: float(v) for o, v in zip(m.OUTPUTS, drives.values, strict=True)}
        return {name: outputs[name] for name, _ in self._driven}

    def send(self, bridge: BridgeBackend, setpoints: FloatArray, expires_ns: int) -> None:
        """Send setpoints, and that no carer need be called.

        In real time nobody waits for the answer: a refusal is found out when the next are sent.

        Raises:
            RigFault: If it does not take them, unless the monitor's rules have stopped it meanwhile.
        """
        commands = [Command(name, float(setpoints[i]), expires_ns) for name, i in self._driven]
        try:
            bridge.send([*commands, Command(LAMP, 0.0, expires_ns)])
            if not self.board.real_time:
                bridge.confirm()
        except RigFault:
            if not stopped_by_rules(bridge):
                raise

    def merge(self, bridge: BridgeBackend, t_ns: int, offset_ns: int, into: Readings) -> None:
        """Put what it reports, as seen at host time ``t_ns``, in place of the world's own readings."""
        seen = bridge.read(t_ns)
        into.put(self._columns, seen.values[self._inputs], seen.sampled_ns[self._inputs] - offset_ns,
                 seen.quality[self._inputs])  # fmt: skip

    def trouble(self, now: Now, bridge: BridgeBackend) -> None:
        """Let this be wrong with it and its wire from now on, and nothing else."""
        if bridge.link.wires is None:
            bridge.link.wires = FaultyWires(self._rng)
        bridge.link.wires.set(now.wire, cut=now.cut)
        self.estop, self._brown_out = now.estop, now.brown_out
        self.board.skew(now.skew)
        if now.rebooted > self._rebooted:
            self._rebooted = now.rebooted
            self.board.reboot()
