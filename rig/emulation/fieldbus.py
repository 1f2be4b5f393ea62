"""A Modbus device of an emulated bench: a simulated one behind a real server, and the driver that asks it."""

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np

from firmware_bridge.modbus.backend import ModbusBackend
from firmware_bridge.modbus.line import Line
from firmware_bridge.modbus.registers import load_registers
from firmware_bridge.modbus.simulator import SimulatedDevice
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Layout, Snapshot
from rig.core.clock import Clock
from rig.core.command import Command
from rig.core.device import Device
from rig.core.errors import ConfigError, UsageError
from rig.core.rows import Readings, sensed
from rig.emulation.faults import BenchFault, Now

PATIENCE_S, VIRTUAL_PATIENCE_S = 1.0, 3.0
"""How long an answer is waited for: the device shares the machine with its driver, and that a machine is busy is no
fault of the device; in virtual time nothing but the machine's clock goes on meanwhile."""
EMULATED = ("simulated-tcp", "simulated-rtu")


class FieldDevice:
    """The device, its line and its driver; a context manager.

    Args:
        bench: The bench.
        device: As the bench file lists it.
        clock: The board's.
        beside: Whether it is polled by a thread; otherwise when it is looked at (`read`), as in virtual time.

    Attributes:
        device: The same.
        channels: The bench's channels it measures.
        simulated: What stands at the other end of the line.
    """

    def __init__(self, bench: BenchSpec, device: Device, clock: Clock, *, beside: bool = True) -> None:
        if device.address not in EMULATED:
            raise ConfigError(
                f"bench {bench.name}", [f"device.{device.name}: {device.address} is not emulated"]
            )
        self.device, self._clock, self._beside = device, clock, beside
        self._registers = load_registers(device.registers)
        self._actuators = [a for a in bench.actuators if a.name in device.actuators]
        self._places = [[a.name for a in bench.actuators].index(a.name) for a in self._actuators]
        self.channels = Layout([c for c in bench.layout if c.name in device.channels])
        self._columns = np.array([bench.layout.index(name) for name in self.channels.names], dtype=np.intp)
        self.simulated = SimulatedDevice(
            self._registers, self._actuators, device.unit, {a.name: max(a.low, 0.0) for a in self._actuators},
            rtu=device.address == "simulated-rtu", clock=clock,
        )  # fmt: skip
        self._stack = ExitStack()
        self._driver: ModbusBackend | None = None

    def __enter__(self) -> Self:
        """Start the device and open the line to it.

        Raises:
            RigFault: If either does not work; nothing is left running.
        """
        with ExitStack() as stack:
            there = stack.enter_context(self.simulated)
            line = Line(
                there.address, self.device.unit, self._registers, self._clock, self.device.baud,
                PATIENCE_S if self._beside else VIRTUAL_PATIENCE_S,
            )  # fmt: skip
            self._driver = stack.enter_context(
                ModbusBackend(
                    line,
                    self.channels,
                    self._actuators,
                    self._clock,
                    self.device.poll_ns,
                    beside=self._beside,
                )
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        self._driver = None

    def _open(self) -> ModbusBackend:
        if self._driver is None:
            raise UsageError(f"device {self.device.name} is closed; use it inside its with-block")
        return self._driver

    def show(self, world: Snapshot) -> None:
        """Let its sensors measure the world."""
        values = sensed(world, self._columns)
        self.simulated.show(dict(zip(self.channels.names, values.tolist(), strict=True)))

    def place(self, positions: Mapping[str, float]) -> None:
        """Put it where the world has it, holding; show it the world first."""
        self.simulated.place({a.name: positions[a.name] for a in self._actuators})
        self._open().resync()

    def driven(self, t_ns: int) -> dict[str, float]:
        """Return where the device really stands at the host time ``t_ns``, now or a tick ahead."""
        return self.simulated.positions_at(t_ns)

    def send(self, setpoints: FloatArray, expires_ns: int) -> None:
        """Write the setpoints of its actuators.

        Raises:
            RigFault: If it does not take them.
        """
        self._open().write(
            [
                Command(a.name, float(setpoints[i]), expires_ns)
                for a, i in zip(self._actuators, self._places, strict=True)
            ]
        )

    def make_safe(self) -> None:
        """Hold everything where it is."""
        if self._driver is not None:
            self._driver.make_safe()

    def merge(self, t_ns: int, offset_ns: int, into: Readings) -> None:
        """Put what it says, as seen at host time ``t_ns``, in place of the world's own readings."""
        driver = self._open()
        if not self._beside:
            driver.poll()
        seen = driver.read(t_ns)
        into.put(self._columns, seen.values, seen.sampled_ns - offset_ns, seen.quality)

    def why_lost(self) -> str | None:
        """Return why the device counts as lost, None while it answers."""
        return None if self._driver is None else self._driver.why_lost()

    def trouble(self, now: Now) -> None:
        """Let this be wrong with it from now on, and nothing else."""
        kinds = {f.kind: f for f in now.modbus}
        wrong = self.simulated.faults
        exception = kinds.get(BenchFault.MODBUS_EXCEPTION)
        late = kinds.get(BenchFault.MODBUS_LATE)
        wrong.exception = None if exception is None else int(exception.value or 4)
        wrong.late_s = 0.0 if late is None else late.delay_s or 0.0
        wrong.silent = BenchFault.MODBUS_SILENT in kinds
        wrong.deaf = BenchFault.MODBUS_DEAF in kinds
        wrong.other_unit = BenchFault.MODBUS_UNIT in kinds
