"""A device of software behind a real Modbus server (pymodbus), with ramps, a lease and faults of its own."""

import asyncio
import contextlib
import os
import select
import termios
import threading
import tty
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from pymodbus.constants import ExcCodes
from pymodbus.pdu import ModbusPDU
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from firmware_bridge.modbus.registers import RegisterMap
from rig.core.clock import Clock, MonotonicClock
from rig.core.command import Actuator
from rig.core.errors import RigFault

CYCLE_NS = 1_000_000
START_S = 10.0
WRITE = 16


@dataclass(slots=True)
class DeviceFaults:
    """What is wrong with the device; set any time.

    Attributes:
        exception: Answer every request with this exception code.
        late_s: Answer so much later.
        silent: Do not answer at all.
        stuck: Positions stay, whatever is asked.
        frozen: The counter stops and values stay, though requests are answered.
        deaf: Acknowledge writes and do nothing of it.
        other_unit: Answer with the number of another unit on the line.
    """

    exception: int | None = None
    late_s: float = 0.0
    silent: bool = False
    stuck: bool = False
    frozen: bool = False
    deaf: bool = False
    other_unit: bool = False


@dataclass(slots=True)
class _Device:
    positions: dict[str, float]
    setpoints: dict[str, float]
    seen: dict[str, float] = field(default_factory=dict)
    mode: int = 0
    lease_until_ns: int = 0
    moving: bool = False
    moved_ns: int = 0
    cycles_ns: int = 0
    faults: DeviceFaults = field(default_factory=DeviceFaults)


class SimulatedDevice:
    """The device on a line of its own; a context manager.

    It moves whenever it is looked at, by what has passed on its clock since: so it is as punctual as its clock,
    and goes at the pace of virtual time as well.

    Args:
        registers: Its register map.
        actuators: What it drives: ranges and rates.
        unit: Its number on the line.
        start: Where it stands.
        rtu: On a serial line (a pseudo terminal) instead of TCP.
        clock: What its ramps and its lease go by; the machine's by default.

    Attributes:
        address: For `Line`; known inside the with-block.
    """

    def __init__(
        self, registers: RegisterMap, actuators: Sequence[Actuator], unit: int, start: Mapping[str, float],
        *, rtu: bool = False, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.registers, self.unit, self._rtu = registers, unit, rtu
        self._actuators = {a.name: a for a in actuators}
        self._device = _Device(dict(start), dict(start))
        self._clock = clock or MonotonicClock()
        self._device.moved_ns = self._clock.now_ns()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"simulated {registers.name}", daemon=True)
        self._wire: PtyWire | None = None
        self._failed: BaseException | None = None
        self.address = ""

    @property
    def faults(self) -> DeviceFaults:
        """What is wrong with the device."""
        return self._device.faults

    @property
    def positions(self) -> dict[str, float]:
        """Where everything stands: the ground truth of the device."""
        with self._lock:
            self._move()
            return dict(self._device.positions)

    def positions_at(self, t_ns: int) -> dict[str, float]:
        """Return where everything will stand at a time of its clock, if it is told nothing else until then."""
        with self._lock:
            self._move()
            device, now_ns = self._device, self._clock.now_ns()
            dt_s = self._following_s(now_ns, t_ns)
            return {name: at + self._step(name, dt_s) for name, at in device.positions.items()}

    @property
    def holding(self) -> bool:
        """Whether it holds: told to, or because its lease ended."""
        return self._device.mode == 0 or self._clock.now_ns() >= self._device.lease_until_ns

    def place(self, positions: Mapping[str, float]) -> None:
        """Put it somewhere at once, holding."""
        with self._lock:
            self._move()
            self._device.positions.update(positions)
            self._device.setpoints.update(positions)
            self._device.mode = 0

    def show(self, readings: Mapping[str, float]) -> None:
        """Let its sensors measure these from now on, by channel; NaN is a sensor that does not answer.

        A channel of an actuator's name that is never shown measures where the device itself has it.
        """
        with self._lock:
            self._device.seen.update(readings)

    def __enter__(self) -> Self:
        """Start the server.

        Raises:
            RigFault: If it does not start.
        """
        if self._rtu:
            self._wire = PtyWire()
            self._wire.__enter__()
        self._thread.start()
        if not self._ready.wait(START_S) or self._failed is not None:
            self.__exit__(None, None, None)
            raise RigFault(
                f"the simulated {self.registers.name} does not start: {self._failed or 'no reason given'}"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread.ident is not None:
            self._thread.join(START_S)
        if self._wire is not None:
            self._wire.__exit__(None, None, None)

    # ---- the server's thread ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # told to whoever waits for the start
            self._failed = error
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        blocks = [
            SimData(b.address, count=1, values=[0] * b.length, datatype=DataType.REGISTERS)
            for b in self.registers.blocks.values()
        ]
        device = SimDevice(self.unit, simdata=blocks, action=self._act)
        server: ModbusTcpServer | ModbusSerialServer
        if self._wire is not None:
            server = ModbusSerialServer(
                device,
                port=self._wire.far,
                baudrate=19_200,
                trace_packet=self._trace,
                trace_pdu=self._addressed,
            )
            self.address = self._wire.near
        else:
            server = ModbusTcpServer(
                device, address=("127.0.0.1", 0), trace_packet=self._trace, trace_pdu=self._addressed
            )
        await server.serve_forever(background=True)
        if self._wire is None:
            port = server.transport.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
            self.address = f"tcp:127.0.0.1:{port}"
        self._ready.set()
        await self._stop.wait()
        await server.shutdown()  # type: ignore[no-untyped-call]

    def _trace(self, sending: bool, data: bytes) -> bytes:
        return b"" if sending and self._device.faults.silent else data

    def _addressed(self, sending: bool, pdu: ModbusPDU) -> ModbusPDU:
        if sending and self._device.faults.other_unit:
            pdu.dev_id += 1
        return pdu

    def _move(self) -> None:
        """Let it do what it does until now; called with the lock held."""
        device, now_ns = self._device, self._clock.now_ns()
        since_ns, device.moved_ns = device.moved_ns, now_ns
        if device.faults.frozen or now_ns == since_ns:
            return
        device.cycles_ns += now_ns - since_ns
        dt_s, device.moving = self._following_s(since_ns, now_ns), False
        for name in self._actuators:
            step = self._step(name, dt_s)
            device.positions[name] += step
            device.moving |= not self.holding and abs(step) > 1e-9

    def _following_s(self, since_ns: int, until_ns: int) -> float:
        """Return for how long of a time it follows its setpoints, seconds."""
        device = self._device
        if device.mode == 0 or device.faults.stuck or device.faults.frozen:
            return 0.0
        return max(0, min(until_ns, device.lease_until_ns) - since_ns) / 1e9

    def _step(self, name: str, dt_s: float) -> float:
        left = self._device.setpoints[name] - self._device.positions[name]
        reach = self._actuators[name].rate * dt_s
        return min(max(left, -reach), reach)

    async def _act(
        self, code: int, start: int, address: int, count: int, registers: list[int], values: object
    ) -> ExcCodes | None:
        faults = self._device.faults
        if faults.late_s:
            await asyncio.sleep(faults.late_s)
        if faults.exception is not None:
            return ExcCodes(faults.exception)
        command = self.registers.blocks.get("command")
        if command and code == WRITE and address == command.address and isinstance(values, list):
            if faults.deaf:
                values[:] = registers[address - start : address - start + count]
                return None
            with self._lock:
                self._obey([int(v) for v in values])
        for name, block in self.registers.blocks.items():
            if name != "command" and start <= block.address < start + len(registers):
                with self._lock:
                    shown = self._shown(name)
                registers[block.address - start : block.address - start + block.length] = shown
        return None

    def _obey(self, words: list[int]) -> None:
        self._move()
        device, control = self._device, self.registers.control
        device.mode = words[control["mode"].at]
        device.lease_until_ns = self._clock.now_ns() + min(2000, words[control["lease"].at]) * 1_000_000
        for name, q in self.registers.actuators.items():
            a = self._actuators[name]
            device.setpoints[name] = min(max(q.decode(words[q.at]), a.low), a.high)  # its own end stops

    def _shown(self, block: str) -> list[int]:
        self._move()
        device, r = self._device, self.registers
        words = [0] * r.blocks[block].length
        if r.blocks[block].canary:
            words[0] = r.canary
        lapsed = device.mode == 1 and self._clock.now_ns() >= device.lease_until_ns
        named = {
            "beat": device.cycles_ns // CYCLE_NS & 0xFFFF,
            "state": int(device.moving) | int(lapsed) << 1 | int(device.faults.stuck) << 2,
        }
        for name, word in r.words.items():
            if word.block == block:
                words[word.at] = word.expected if word.expected is not None else named[name]
        measured = {**device.positions, **device.seen}
        for name, q in r.channels.items():
            if q.block == block:
                words[q.at] = q.measured(measured.get(name, 0.0))
        return words


class PtyWire:
    """Two pseudo terminals joined by a thread: a serial line between two programs of this machine."""

    def __enter__(self) -> Self:
        self._masters, slaves = zip(*(os.openpty() for _ in range(2)), strict=True)
        for slave in slaves:
            tty.setraw(slave, termios.TCSANOW)
        self._slaves = slaves
        self.near, self.far = (os.ttyname(slave) for slave in slaves)
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._carry, name="pty wire", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.write(self._wake[1], b"\0")
        self._thread.join(5.0)
        for fd in (*self._masters, *self._slaves, *self._wake):
            os.close(fd)

    def _carry(self) -> None:
        a, b = self._masters
        while True:
            ready, _, _ = select.select([a, b, self._wake[0]], [], [])
            if self._wake[0] in ready:
                return
            for fd, other in ((a, b), (b, a)):
                if fd in ready:
                    with contextlib.suppress(OSError):
                        os.write(other, os.read(fd, 4096))
