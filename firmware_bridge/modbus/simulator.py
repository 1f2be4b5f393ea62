"""A care bed of software behind a real Modbus server (pymodbus), with ramps, a lease and faults of its own."""

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
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from firmware_bridge.modbus.registers import RegisterMap
from rig.core.clock import MonotonicClock
from rig.core.command import Actuator
from rig.core.errors import RigFault

CYCLE_S = 0.01
START_S = 10.0
IDLE_A, RUNNING_A = 0.3, 4.0
READ, WRITE = 3, 16


@dataclass(slots=True)
class BedFaults:
    """What is wrong with the bed; set any time.

    Attributes:
        exception: Answer every request with this exception code.
        late_s: Answer so much later.
        silent: Do not answer at all.
        stuck: Positions stay, whatever is asked.
        frozen: The counter stops and values stay, though requests are answered.
        deaf: Acknowledge writes and do nothing of it.
    """

    exception: int | None = None
    late_s: float = 0.0
    silent: bool = False
    stuck: bool = False
    frozen: bool = False
    deaf: bool = False


@dataclass(slots=True)
class _Bed:
    positions: dict[str, float]
    setpoints: dict[str, float]
    mode: int = 0
    lease_until_ns: int = 0
    moving: bool = False
    beat: int = 0
    faults: BedFaults = field(default_factory=BedFaults)


class SimulatedBed:
    """The bed on a line of its own; a context manager.

    Args:
        registers: Its register map.
        actuators: What it drives: ranges and rates.
        unit: Its number on the line.
        start: Where it stands.
        rtu: On a serial line (a pseudo terminal) instead of TCP.

    Attributes:
        address: For `Line`; known inside the with-block.
    """

    def __init__(
        self, registers: RegisterMap, actuators: Sequence[Actuator], unit: int, start: Mapping[str, float],
        *, rtu: bool = False,
    ) -> None:  # fmt: skip
        self.registers, self.unit, self._rtu = registers, unit, rtu
        self._actuators = {a.name: a for a in actuators}
        self._bed = _Bed(dict(start), dict(start))
        self._clock = MonotonicClock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="simulated bed", daemon=True)
        self._wire: PtyWire | None = None
        self._failed: BaseException | None = None
        self.address = ""

    @property
    def faults(self) -> BedFaults:
        """What is wrong with the bed."""
        return self._bed.faults

    @property
    def positions(self) -> dict[str, float]:
        """Where everything stands: the ground truth of the device."""
        return dict(self._bed.positions)

    @property
    def holding(self) -> bool:
        """Whether it holds: told to, or because its lease ended."""
        return self._bed.mode == 0 or self._clock.now_ns() >= self._bed.lease_until_ns

    def place(self, positions: Mapping[str, float]) -> None:
        """Put it somewhere at once, holding."""
        self._bed.positions.update(positions)
        self._bed.setpoints.update(positions)
        self._bed.mode = 0

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
            raise RigFault(f"the simulated bed does not start: {self._failed or 'no reason given'}")
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
                device, port=self._wire.far, baudrate=19_200, trace_packet=self._trace
            )
            self.address = self._wire.near
        else:
            server = ModbusTcpServer(device, address=("127.0.0.1", 0), trace_packet=self._trace)
        await server.serve_forever(background=True)
        if self._wire is None:
            port = server.transport.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
            self.address = f"tcp:127.0.0.1:{port}"
        self._ready.set()
        last_ns = self._clock.now_ns()
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), CYCLE_S)
            now_ns = self._clock.now_ns()
            self._move((now_ns - last_ns) / 1e9)
            last_ns = now_ns
        await server.shutdown()  # type: ignore[no-untyped-call]

    def _trace(self, sending: bool, data: bytes) -> bytes:
        return b"" if sending and self._bed.faults.silent else data

    def _move(self, dt_s: float) -> None:
        bed = self._bed
        if bed.faults.frozen:
            return
        bed.beat = (bed.beat + 1) & 0xFFFF
        bed.moving = False
        for name, a in self._actuators.items():
            target = bed.positions[name] if self.holding or bed.faults.stuck else bed.setpoints[name]
            left = target - bed.positions[name]
            step = min(abs(left), a.rate * dt_s)
            bed.positions[name] += step if left > 0 else -step
            bed.moving |= step > 1e-9

    async def _act(
        self, code: int, start: int, address: int, count: int, registers: list[int], values: object
    ) -> ExcCodes | None:
        faults = self._bed.faults
        if faults.late_s:
            await asyncio.sleep(faults.late_s)
        if faults.exception is not None:
            return ExcCodes(faults.exception)
        command = self.registers.blocks["command"]
        if code == WRITE and address == command.address and isinstance(values, list):
            if faults.deaf:
                values[:] = registers[address - start : address - start + count]
                return None
            self._obey([int(v) for v in values])
        for name, block in self.registers.blocks.items():
            if name != "command" and start <= block.address < start + len(registers):
                registers[block.address - start : block.address - start + block.length] = self._shown(name)
        return None

    def _obey(self, words: list[int]) -> None:
        bed, control = self._bed, self.registers.control
        bed.mode = words[control["mode"].at]
        bed.lease_until_ns = self._clock.now_ns() + min(2000, words[control["lease"].at]) * 1_000_000
        for name, q in self.registers.actuators.items():
            a = self._actuators[name]
            bed.setpoints[name] = min(max(q.decode(words[q.at]), a.low), a.high)  # its own end stops

    def _shown(self, block: str) -> list[int]:
        bed, r = self._bed, self.registers
        words = [0] * r.blocks[block].length
        if r.blocks[block].canary:
            words[0] = r.canary
        lapsed = bed.mode == 1 and self._clock.now_ns() >= bed.lease_until_ns
        named = {"beat": bed.beat, "state": int(bed.moving) | int(lapsed) << 1 | int(bed.faults.stuck) << 2}
        for name, word in r.words.items():
            if word.block == block:
                words[word.at] = word.expected if word.expected is not None else named[name]
        shown = {
            **bed.positions,
            "bed.current": RUNNING_A if bed.moving else IDLE_A,
            "bed.moving": float(bed.moving),
        }
        for name, q in r.channels.items():
            if q.block == block:
                words[q.at] = q.encode(shown[name])
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
