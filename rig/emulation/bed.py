"""A Modbus device of an emulated bench: a simulated one behind a real server, and the driver that asks it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from firmware_bridge.modbus.backend import ModbusBackend
from firmware_bridge.modbus.line import Line
from firmware_bridge.modbus.registers import load_registers
from firmware_bridge.modbus.simulator import SimulatedBed
from rig.core.bench import BenchSpec
from rig.core.channel import Layout, Snapshot
from rig.core.clock import Clock
from rig.core.command import Command
from rig.core.device import Device
from rig.core.errors import ConfigError
from rig.emulation.faults import BenchFault, DeviceFault


class EmulatedBed:
    """The device, its line and its driver; a context manager.

    Attributes:
        device: As the bench file lists it.
        channels: The bench's channels it measures.
    """

    def __init__(self, bench: BenchSpec, device: Device, clock: Clock) -> None:
        if device.address not in ("simulated-tcp", "simulated-rtu"):
            raise ConfigError(
                f"bench {bench.name}", [f"device.{device.name}: {device.address} is not emulated"]
            )
        self.device, self._clock = device, clock
        self._registers = load_registers(device.registers)
        self._actuators = [a for a in bench.actuators if a.name in device.actuators]
        self.channels = Layout([c for c in bench.layout if c.name in device.channels])
        self.simulated = SimulatedBed(
            self._registers, self._actuators, device.unit, {a.name: max(a.low, 0.0) for a in self._actuators},
            rtu=device.address == "simulated-rtu",
        )  # fmt: skip
        self._stack = ExitStack()
        self._driver: ModbusBackend | None = None

    def __enter__(self) -> Self:
        """Start the device and open the line to it.

        Raises:
            RigFault: If either does not work; nothing is left running.
        """
        with ExitStack() as stack:
            bed = stack.enter_context(self.simulated)
            line = Line(bed.address, self.device.unit, self._registers, self._clock, self.device.baud)
            self._driver = stack.enter_context(
                ModbusBackend(line, self.channels, self._actuators, self._clock)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        self._driver = None

    def place(self, positions: Mapping[str, float]) -> None:
        """Put it where the world has it, holding."""
        self.simulated.place({n: positions[n] for n in self.device.actuators})
        if self._driver is not None:
            self._driver.resync()

    @property
    def positions(self) -> dict[str, float]:
        """Where the device really stands."""
        return self.simulated.positions

    def write(self, commands: Sequence[Command]) -> None:
        """Write setpoints of its actuators."""
        if self._driver is not None:
            self._driver.write(commands)

    def make_safe(self) -> None:
        """Hold everything where it is."""
        if self._driver is not None:
            self._driver.make_safe()

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest readings of its channels."""
        if self._driver is None:
            raise ConfigError(self.device.name, ["is closed"])
        return self._driver.read(t_ns)

    def why_lost(self) -> str | None:
        """Return why the device counts as lost, None while it answers."""
        return None if self._driver is None else self._driver.why_lost()

    def trouble(self, faults: Sequence[DeviceFault]) -> None:
        """Let these be wrong with it from now on, and nothing else."""
        kinds = {f.kind: f for f in faults}
        wrong = self.simulated.faults
        exception = kinds.get(BenchFault.MODBUS_EXCEPTION)
        late = kinds.get(BenchFault.MODBUS_LATE)
        wrong.exception = None if exception is None else int(exception.value or 4)
        wrong.late_s = 0.0 if late is None else late.delay_s or 0.0
        wrong.silent = BenchFault.MODBUS_SILENT in kinds
        wrong.deaf = BenchFault.MODBUS_DEAF in kinds
