"""An emulated bench as the trial sees it: stretches of ticks, each paid for in the board's time."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from firmware_bridge import messages as m
from firmware_bridge.backend import BridgeBackend
from firmware_bridge.faults import FaultyWires
from firmware_bridge.plant_port import SUPPLY_MV, Drives, World
from rig.core.backend import Stop, Stretch
from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import ByteArray, FloatArray, IntArray, Layout, Quality, Snapshot, Trace
from rig.core.command import Actuator, Command, Plan
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.core.watch import Guard, Watch
from rig.emulation.bed import EmulatedBed
from rig.emulation.board import Board, open_board
from rig.emulation.faults import DeviceFault, at, sensor_faults
from rig.emulation.pace import Pace
from rig.sim.backend import SimBackend
from rig.sim.faults import SensorFault

LEASE_NS = 400_000_000
SHORTEST_LEASE_NS = 200_000_000
RENEW_NS = 100_000_000
"""Leases of what is sent; what does not change is sent again long before its lease ends. A shorter lease than the
shortest could end on the way on a busy machine."""
LOW_MV = 8_000
LAMP = "call.lamp"
NODE_CHANNELS = tuple(i.name for i in m.INPUTS)
STOPPED_BY_RULES = (m.Reason.MONITOR_VETO,)
"""Reasons for SAFE that are the monitor's decision and no fault of the rig."""


class EmulatedBackend:
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
        beds: Its Modbus devices.
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
        self.bench, self._rules, self._enforces = bench, tuple(rules), enforces
        self._device = nodes[0]
        self._troubles = tuple(device_faults)
        self.world = SimBackend(load_bench(bench.base), seed, (*faults, *sensor_faults(device_faults)))
        if self.world.layout.names != bench.layout.names:
            raise ConfigError(f"bench {bench.name}", [f"its channels must be those of {bench.base}"])
        self.board: Board = open_board(self._device, seed)
        self._node_columns = _columns(self._device.channels, bench.layout)
        self._inputs = np.array([NODE_CHANNELS.index(n) for n in self._device.channels])
        self._driven = [a for a in bench.actuators if a.name in self._device.actuators]
        self.beds = [EmulatedBed(bench, d, self.board.clock) for d in bench.devices if d.driver == "modbus"]
        if self.beds and self._device.address == "library":
            raise ConfigError(
                f"bench {bench.name}", ["a Modbus device needs real time, the library has none"]
            )
        self._stack = ExitStack()
        self._bridge: BridgeBackend | None = None
        self._sent: FloatArray | None = None
        self._sent_ns = 0
        self._estop = self._brown_out = False
        self._rebooted = 0
        self._rng = np.random.default_rng([seed, 6])

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
            for bed in self.beds:
                stack.enter_context(bed)
            bridge = BridgeBackend(self.board.link, self.board.clock, arms=False)
            self.world.place()
            self._node_shown(self.world.snapshot())
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
    def layout(self) -> Layout:
        """Every channel the bench measures, intents included."""
        return self.bench.layout

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Every quantity the gate may pass setpoints to."""
        return self.bench.actuators

    @property
    def now_ns(self) -> int:
        """Trial time of the last tick."""
        return self._snapshot.t_ns

    @property
    def starts(self) -> tuple[str, ...]:
        """What a start may name beside actuators and body inputs."""
        return self.world.starts

    @property
    def setpoints(self) -> FloatArray:
        """The setpoints in force, shape (actuators,)."""
        return self._setpoints.copy()

    @property
    def pace(self) -> Pace:
        """How punctual the bench has been."""
        return self._pace

    @property
    def bridge(self) -> BridgeBackend:
        """The link to the node, for examinations."""
        return self._link()

    def why_not_slow(self) -> str:
        """Return why there are no long ticks here."""
        return "an emulated bench goes on at the pace of its devices"

    # ---- starting point, person, intents

    def place(self, **start: Any) -> Snapshot:  # noqa: ANN401 - `SimBackend.place` says what
        """Start again at time zero with everything at rest at these values (see `SimBackend.place`)."""
        bridge = self._link()
        bridge.make_safe()
        snapshot = self.world.place(**start)
        self._setpoints = self.world.setpoints
        self._node_shown(snapshot)
        self.board.settle(self._world_of(snapshot))
        stands = {a.name: float(v) for a, v in zip(self.actuators, self._setpoints, strict=True)}
        for bed in self.beds:
            bed.place(stands)
        self._pace = Pace(self.board.clock, self.bench.tick_ns)
        self._sent = None
        bridge.arm()
        self._pace.start(0)
        self._snapshot = self._seen(0)
        return self._snapshot

    def set_body(self, values: Mapping[str, float]) -> None:
        """Let the person do this from the next tick on."""
        self.world.set_body(values)

    def set_intent(self, values: Mapping[str, float]) -> None:
        """Say from the next tick on what the controller is about to do."""
        self.world.set_intent(values)

    def press(self, pressed: bool) -> None:
        """Press or release the emergency stop of the node."""
        self._estop = pressed
        self._node_shown(self.world.snapshot())

    # ---- reading and writing

    def snapshot(self) -> Snapshot:
        """Return every channel at the last tick."""
        return self._snapshot

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel as seen at ``t_ns``, now or later."""
        self._link()
        last = self._snapshot
        if t_ns < last.t_ns:
            raise UsageError(f"{t_ns} ns has passed; it is {last.t_ns} ns")
        stale_ns = np.array([round(c.stale_after_s * 1e9) for c in self.layout])
        old = (t_ns - last.sampled_ns >= stale_ns) & (last.quality == Quality.GOOD)
        quality = np.where(old, np.uint8(Quality.STALE), last.quality)
        return Snapshot(self.layout, t_ns, last.values.copy(), last.sampled_ns.copy(), quality)

    def write(self, commands: Iterable[Command]) -> None:
        """Send setpoints that the gate has passed, all or none.

        Raises:
            RigFault: If one may not be sent, or the node does not take it.
        """
        wanted, names = self._setpoints.copy(), [a.name for a in self.actuators]
        for command in commands:
            a = self.actuators[names.index(command.actuator)] if command.actuator in names else None
            if a is None or not a.low <= command.value <= a.high or command.expires_ns <= self.now_ns:
                raise RigFault(f"command to {command.actuator} refused: unknown, out of range or expired")
            wanted[names.index(command.actuator)] = command.value
        self._setpoints = wanted
        self._send(self._setpoints, None)

    def make_safe(self) -> None:
        """Let every device do what is safe for its actuators; `place` takes charge again.

        Raises:
            RigFault: If one does not confirm it; the others have been made safe all the same.
        """
        if self._bridge is None:
            return
        with ExitStack() as stack:  # each is called whatever the others raise
            stack.callback(self._bridge.make_safe)
            for bed in self.beds:
                stack.callback(bed.make_safe)

    # ---- running

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run the plan's rows until it ends, a guard holds, or the watch asks for attention.

        Raises:
            RigFault: If a setpoint or the lease is not allowed, or the node is in SAFE or out of reach.
            UsageError: If the plan is for another time or other actuators.
        """
        self._check(plan)
        n, c = len(plan), len(self.layout)
        rows = _Rows(
            np.empty(n, np.int64), np.empty((n, c)), np.empty((n, c), np.int64), np.empty((n, c), np.uint8)
        )
        columns = [(self.layout.index(g.channel), g) for g in guards]
        stop, done = Stop.END, 0
        for k in range(n):
            attention = self._row(plan, k, watch)
            rows.put(k, self._snapshot)
            done = k + 1
            if attention:
                stop = Stop.WATCH
                break
            if any(_holds(g, self._snapshot, i) for i, g in columns):
                stop = Stop.GUARD
                break
        return Stretch(rows.trace(self.layout, done), stop)

    def _row(self, plan: Plan, k: int, watch: Watch) -> bool:
        """Let one row's time pass, tick by tick; return whether the watch asks for attention."""
        self._setpoints = plan.setpoints[k].copy()
        end_ns = plan.time_ns(k) + plan.period_ns
        while self.now_ns < end_ns:
            t_ns = min(end_ns, self.now_ns + self.bench.tick_ns)
            if self._troubles:
                self._trouble(self.now_ns)
            self._send(self._setpoints, plan.expires_ns)
            shown_ns = self._move_world(t_ns)
            self._pace.wait(t_ns, shown_ns, self.board)
            self._snapshot = s = self._seen(t_ns)
            self.board.tell(s)
            if watch.kernel(t_ns, s.values, s.sampled_ns, s.quality, watch.floats, watch.integers) != 0:
                return True
        return False

    def _trouble(self, t_ns: int) -> None:
        """Let what is to go wrong at this time go wrong."""
        now, link = at(self._troubles, t_ns), self._link().link
        if link.wires is None:
            link.wires = FaultyWires(self._rng)
        link.wires.set(now.wire, cut=now.cut)
        self._estop, self._brown_out = now.estop, now.brown_out
        self.board.skew(now.skew)
        for bed in self.beds:
            bed.trouble(now.modbus)
        if now.rebooted > self._rebooted:
            self._rebooted = now.rebooted
            self.board.reboot()

    def _check(self, plan: Plan) -> None:
        if [a.name for a in plan.actuators] != [a.name for a in self.actuators]:
            raise UsageError("the plan is for other actuators than the bench has")
        if plan.start_ns != self.now_ns:
            raise UsageError(f"the plan starts at {plan.start_ns} ns; it is {self.now_ns} ns")
        if plan.period_ns < self.bench.tick_ns:
            raise UsageError(f"period {plan.period_ns} ns is shorter than the tick, {self.bench.tick_ns} ns")
        if len(plan) and plan.time_ns(len(plan) - 1) > plan.expires_ns:
            raise RigFault("the plan's last row is later than its lease")
        low = np.array([a.low for a in self.actuators])
        high = np.array([a.high for a in self.actuators])
        inside = (plan.setpoints >= low) & (plan.setpoints <= high)  # False for NaN
        if not np.all(inside):
            k, i = (int(x) for x in np.argwhere(~inside)[0])
            a = self.actuators[i]
            raise RigFault(
                f"row {k}: {a.name} {plan.setpoints[k, i]} is not within {a.low} to {a.high} {a.unit}; nothing was run"
            )

    # ---- node and world

    def _send(self, setpoints: FloatArray, expires_ns: int | None) -> None:
        """Send what changed, or what has stood for long; the node holds what it does not hear of again."""
        now_ns = self.board.clock.now_ns()
        same = self._sent is not None and np.array_equal(self._sent, setpoints)
        if (same and now_ns - self._sent_ns < RENEW_NS) or self._stopped_by_rules():
            return
        lease_ns = LEASE_NS if expires_ns is None else expires_ns - self.now_ns
        lease_ns = min(LEASE_NS, max(lease_ns, SHORTEST_LEASE_NS))
        index = {a.name: i for i, a in enumerate(self.actuators)}
        for bed in self.beds:
            bed.write(
                [Command(n, float(setpoints[index[n]]), now_ns + lease_ns) for n in bed.device.actuators]
            )
        now_ns = self.board.clock.now_ns()  # the beds took their time
        commands = [Command(a.name, float(setpoints[index[a.name]]), now_ns + lease_ns) for a in self._driven]
        try:
            self._link().write([*commands, Command(LAMP, 0.0, now_ns + lease_ns)])
        except RigFault:
            if not self._stopped_by_rules():
                raise
        self._sent, self._sent_ns = setpoints.copy(), now_ns

    def _stopped_by_rules(self) -> bool:
        """Whether the node is SAFE because the monitor beside it said so: then everything stays where it is."""
        status = self._link().link.seen(lambda s: s.status)
        return status is not None and status.state == m.State.SAFE and status.reason in STOPPED_BY_RULES

    def _world_of(self, snapshot: Snapshot) -> World:
        values = np.full(len(NODE_CHANNELS), np.nan)
        shown = snapshot.values[self._node_columns].copy()
        quality = snapshot.quality[self._node_columns]
        shown[(quality == Quality.FAULT) | (quality == Quality.STALE)] = np.nan
        values[self._inputs] = shown
        return World(values, self._estop, LOW_MV if self._brown_out else SUPPLY_MV)

    def _node_shown(self, snapshot: Snapshot) -> Drives:
        return self.board.show(self._world_of(snapshot))

    def _move_world(self, t_ns: int) -> int:
        """Show the node the world, and let that follow what the drives do until ``t_ns``.

        Returns:
            Host time at which the node was shown it.
        """
        drives = self._node_shown(self.world.snapshot())
        shown_ns = self.board.clock.now_ns()
        outputs = {o.name: float(v) for o, v in zip(m.OUTPUTS, drives.values, strict=True)}
        driven = {a.name: outputs[a.name] for a in self._driven}
        for bed in self.beds:
            driven |= bed.positions
        self.world.write(
            [
                Command(a.name, min(max(driven.get(a.name, float(v)), a.low), a.high), t_ns)
                for a, v in zip(self.actuators, self._setpoints, strict=True)
            ]
        )
        self.world.hold((t_ns - self.world.now_ns) // self.world.bench.tick_ns)
        return shown_ns

    def _seen(self, t_ns: int) -> Snapshot:
        """Return the world as the bench's devices show it at ``t_ns``."""
        now = self.world.snapshot()
        host_ns = self._pace.host_ns(t_ns)
        node = self._link().read(max(host_ns, self.board.clock.now_ns()))
        values, sampled_ns, quality = now.values.copy(), now.sampled_ns.copy(), now.quality.copy()
        columns, inputs = self._node_columns, self._inputs
        values[columns], quality[columns] = node.values[inputs], node.quality[inputs]
        sampled_ns[columns] = np.clip(node.sampled_ns[inputs] - self._pace.offset_ns, 0, t_ns)
        for bed in self.beds:
            shown = bed.read(max(host_ns, self.board.clock.now_ns()))
            at_bench = [self.layout.index(name) for name in shown.layout.names]
            values[at_bench], quality[at_bench] = shown.values, shown.quality
            sampled_ns[at_bench] = np.clip(shown.sampled_ns - self._pace.offset_ns, 0, t_ns)
        self._fault_if_lost()
        return Snapshot(self.layout, t_ns, values, sampled_ns, quality)

    def _fault_if_lost(self) -> None:
        """Raise when a device cannot be relied on; a stop by the monitor's rules is no fault."""
        for bed in self.beds:
            if (lost := bed.why_lost()) is not None:
                raise RigFault(f"device {bed.device.name} is lost: {lost}")
        link = self._link().link
        state, status, why = link.seen(lambda s: (s.state, s.status, s.why))
        if state.value != "up":
            raise RigFault(f"{link.port}: {why or state.value}")
        if status is not None and status.state == m.State.SAFE and status.reason not in STOPPED_BY_RULES:
            raise RigFault(
                f"{link.port}: the node went SAFE: {m.Reason(status.reason).name}; a person must look and clear it"
            )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Room for a trace, filled row by row."""

    t_ns: IntArray
    values: FloatArray
    sampled_ns: IntArray
    quality: ByteArray

    def put(self, k: int, s: Snapshot) -> None:
        self.t_ns[k] = s.t_ns
        self.values[k], self.sampled_ns[k], self.quality[k] = s.values, s.sampled_ns, s.quality

    def trace(self, layout: Layout, n: int) -> Trace:
        return Trace(layout, self.t_ns, self.values, self.sampled_ns, self.quality).head(n)


def _holds(guard: Guard, snapshot: Snapshot, i: int) -> bool:
    good = snapshot.quality[i] == Quality.GOOD and np.isfinite(snapshot.values[i])
    return not (good and guard.below < snapshot.values[i] < guard.above)


def _columns(names: Sequence[str], layout: Layout) -> IntArray:
    unknown = [n for n in names if n not in NODE_CHANNELS]
    if unknown:
        raise ConfigError("device", [f"channel {n}: the node has no such channel" for n in unknown])
    return np.array([layout.index(n) for n in names])
