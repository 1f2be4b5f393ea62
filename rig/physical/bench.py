"""A physical bench as a trial sees it: real time, every row sent to real devices, a monitor with a wire of its own.

A dry run: nobody lies at the bench. What devices measure is read from them alone; the person, and what no
device measures, is the simulated bench it extends, whose arm and bed stand where the real ones do.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from firmware_bridge.discovery import Port
from firmware_bridge.heart import Heart
from rig.core.backend import Report
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Quality, Snapshot
from rig.core.clock import MonotonicClock
from rig.core.command import Command
from rig.core.errors import RigFault, UsageError
from rig.core.pace import Pace
from rig.core.rows import Readings, Sending
from rig.physical.devices import Devices
from rig.physical.finding import unmeasured
from rig.sim.faults import SensorFault
from rig.sim.wired import WiredBench
from safety_monitor.process import RemoteMonitor
from safety_monitor.realtime import Loop

STARTS_WITHIN = 0.02
"""How far an actuator may stand from where the job begins, as a share of its range. Proposal."""
LOOP = Loop(sleep_ns=500_000, idle_ns=50_000_000)
"""Rows come every few milliseconds here, not every one."""


class PhysicalBench(WiredBench):
    """The devices of a physical bench in a dry run; a context manager that leaves each safe.

    Time is the machine's. A tick that comes late makes the trial late (`Pace.stalled_ns`), it is never skipped.

    Args:
        bench: The bench.
        seed: Of the simulated sensors.
        rules: Rule files of the monitor processes beside the nodes.
        enforces: Whether they may stop the bench.
        faults: Of simulated sensors.
        ports: Serial ports with their identities; those of this machine by default.

    Attributes:
        devices: The real ones.
        world: The person, and what no device measures.

    Raises:
        UsageError: If channels are not measured and the bench file does not say that they may be simulated.
    """

    def __init__(
        self, bench: BenchSpec, seed: int, rules: Sequence[Path], enforces: bool,
        faults: Sequence[SensorFault] = (), ports: Sequence[Port] | None = None,
    ) -> None:  # fmt: skip
        if bench.unmeasured != "simulated":
            silent = ", ".join(unmeasured(bench)) or "none"
            raise UsageError(
                f"bench {bench.name}: no trial with somebody at a physical bench can be run yet: nothing moves a manikin. "
                f'For a dry run with nobody there write unmeasured = "simulated" in its file; '
                f"channels without a device: {silent}"
            )
        super().__init__(bench, seed, faults)
        self._rules, self._enforces = tuple(rules), enforces
        self._clock = MonotonicClock()
        self._monitors: list[RemoteMonitor] = []
        self.devices = Devices(bench, self._clock, self._monitor_on, ports)
        measured = self.devices.measured()
        self._columns = np.array([bench.layout.index(n) for n in measured], dtype=np.intp)
        self._measured = frozenset(measured)
        self._stack = ExitStack()
        self._pace = Pace(self._clock, bench.tick_ns)

    # ---- lifetime

    def _monitor_on(self, port: str) -> RemoteMonitor:
        monitor = RemoteMonitor(self._rules, self.layout, LOOP, Heart(port, self._enforces))
        self._monitors.append(monitor)
        return monitor

    def __enter__(self) -> Self:
        """Start the monitors and take charge of every device; nothing moves.

        Raises:
            RigFault: If a part does not start; whatever had started is safe and closed then.
        """
        with ExitStack() as stack:
            stack.enter_context(self.world)
            stack.enter_context(self.devices)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack = self._stack, ExitStack()
        stack.__exit__(kind, error, trace)

    def why_not_slow(self) -> str:
        """Return why there are no long ticks here."""
        return "a physical bench goes on at its own pace"

    def reports(self) -> list[Report]:
        """Return the nodes' own log since the last call."""
        return self.devices.reports()

    # ---- starting point, person, intents

    def place(self, **start: Any) -> Snapshot:  # noqa: ANN401 - `SimBackend.place` says what
        """Begin, if every actuator stands where the job begins: nothing here brings it there.

        Raises:
            RigFault: Names each that does not, where it stands and where it should.
        """
        self.world.place(**start)
        self._setpoints = self.world.setpoints
        self._pace.start(0)
        self._snapshot = self._seen(0)
        if wrong := [*self._not_at_start()]:
            raise RigFault(
                f"bench {self.bench.name} does not stand where the job begins; bring it there by hand: "
                + "; ".join(wrong)
            )
        return self._snapshot

    def _not_at_start(self) -> Iterable[str]:
        for a, wanted in zip(self.actuators, self._setpoints, strict=True):
            if a.name not in self._measured:
                continue
            reading = self._snapshot[a.name]
            near = abs(reading.value - wanted) <= STARTS_WITHIN * (a.high - a.low)
            if reading.quality is not Quality.GOOD or not near:
                yield f"{a.name} reads {reading.value:.4g} ({reading.quality.name.lower()}), not {wanted:.4g} {a.unit}"

    def make_safe(self) -> None:
        """Let every device do what is safe for its actuators.

        Raises:
            RigFault: If one does not confirm it; the others have been made safe all the same.
        """
        self.devices.make_safe()

    # ---- running

    def tick(self, t_ns: int, setpoints: FloatArray, expires_ns: int) -> Snapshot:
        """Let one tick pass: send, wait, look, and hand what is seen to the monitors with wires of their own."""
        self._setpoints = setpoints
        self._send(setpoints, expires_ns)
        self._pace.wait(t_ns, 0, self)
        self._follow(self._stands(), t_ns)
        self._snapshot = self._seen(t_ns)
        for monitor in self._monitors:
            monitor.send(self._snapshot)
        return self._snapshot

    def pass_until(self, t_ns: int, shown_ns: int) -> None:
        """Let the machine's time reach ``t_ns``."""
        self._clock.sleep_until(t_ns)

    def _send(self, setpoints: FloatArray, expires_ns: int | None) -> None:
        now_ns = self._clock.now_ns()
        if not self._sending.due(setpoints, now_ns) or self.devices.stopped_by_rules():
            return
        ends_ns = now_ns + Sending.lease_ns(None if expires_ns is None else expires_ns - self.now_ns)
        commands = [
            Command(a.name, float(v), ends_ns) for a, v in zip(self.actuators, setpoints, strict=True)
        ]
        try:
            self.devices.write(commands)
        except RigFault:
            if self.devices.stopped_by_rules():
                return
            self.devices.must_be_reliable()  # says more than that they were not taken, where there is more to say
            raise
        self._sending.sent(setpoints, now_ns)

    def _stands(self) -> dict[str, float]:
        """Return where the devices say that actuators stand."""
        stands = {a.name: self._snapshot.value(a.name) for a in self.actuators if a.name in self._measured}
        return {name: value for name, value in stands.items() if np.isfinite(value)}

    def _seen(self, t_ns: int) -> Snapshot:
        """Return the bench as it shows itself at ``t_ns``.

        Raises:
            RigFault: If a device cannot be relied on.
        """
        self.devices.must_be_reliable()
        found, at = Readings(self.world.snapshot()), self._columns
        seen = self.devices.read(max(self._pace.host_ns(t_ns), self._clock.now_ns()))
        found.put(at, seen.values[at], seen.sampled_ns[at] - self._pace.offset_ns, seen.quality[at])
        return found.snapshot(self.layout, t_ns)
