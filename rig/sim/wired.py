"""What benches on wires have in common: devices that move and measure, in a simulated world that follows them."""

from collections.abc import Iterable, Mapping, Sequence

from rig.core.backend import Stretch
from rig.core.bench import BenchSpec, load_bench
from rig.core.channel import FloatArray, Layout, Snapshot
from rig.core.command import Actuator, Command, Plan, actuator_index, must_be_fit
from rig.core.errors import ConfigError
from rig.core.pace import Pace
from rig.core.rows import Sending, aged, positions_within, run
from rig.core.watch import Guard, Watch
from rig.sim.backend import SimBackend
from rig.sim.faults import SensorFault


class WiredBench:
    """A bench that goes on tick by tick at the pace of its devices; who extends it says what a tick is.

    Args:
        bench: The bench; it extends a simulated one.
        seed: Of the simulated sensors.
        faults: Of simulated sensors.

    Attributes:
        bench: The bench.
        world: The person, and what no device measures.

    Raises:
        ConfigError: If its channels are not those of the bench it extends.
    """

    _snapshot: Snapshot
    _setpoints: FloatArray
    _pace: Pace

    def __init__(self, bench: BenchSpec, seed: int, faults: Sequence[SensorFault] = ()) -> None:
        self.bench = bench
        self.world = SimBackend(load_bench(bench.base), seed, tuple(faults))
        if self.world.layout.names != bench.layout.names:
            raise ConfigError(f"bench {bench.name}", [f"its channels must be those of {bench.base}"])
        self._sending = Sending()

    # ---- for whoever extends it

    def tick(self, t_ns: int, setpoints: FloatArray, expires_ns: int) -> Snapshot:
        """Send setpoints, let the time reach ``t_ns``, and return what is measured then."""
        raise NotImplementedError

    def _send(self, setpoints: FloatArray, expires_ns: int | None) -> None:
        """Send setpoints where they have changed, or what was sent runs out soon; until then at most they hold."""
        raise NotImplementedError

    def _follow(self, driven: Mapping[str, float], t_ns: int) -> None:
        """Let the world go on until ``t_ns``, standing where the devices drive it."""
        self.world.write(positions_within(driven, self.actuators, self._setpoints, t_ns))
        self.world.hold((t_ns - self.world.now_ns) // self.world.bench.tick_ns)

    # ---- what there is

    @property
    def layout(self) -> Layout:
        """Every channel of the bench, intents included."""
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

    # ---- the person, intents

    def set_body(self, values: Mapping[str, float]) -> None:
        """Let the person do this from the next tick on."""
        self.world.set_body(values)

    def set_intent(self, values: Mapping[str, float]) -> None:
        """Say from the next tick on what the controller is about to do."""
        self.world.set_intent(values)

    # ---- reading, writing, running

    def snapshot(self) -> Snapshot:
        """Return every channel at the last tick."""
        return self._snapshot

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel as seen at ``t_ns``, now or later."""
        return aged(self._snapshot, t_ns)

    def write(self, commands: Iterable[Command]) -> None:
        """Send setpoints that the gate has passed, all or none.

        Raises:
            RigFault: If one may not be sent, before any is; or a device does not take its own.
        """
        taken, wanted = tuple(commands), self._setpoints.copy()
        must_be_fit(taken, self.actuators, self.now_ns, "bench")
        for command in taken:
            wanted[actuator_index(self.actuators, command.actuator)] = command.value
        self._setpoints = wanted
        self._send(wanted, None)

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run the plan's rows until it ends, a guard holds, or the watch asks for attention.

        Raises:
            RigFault: If a setpoint or the lease is not allowed, or a device is SAFE or out of reach.
            UsageError: If the plan is for another time or other actuators.
        """
        return run(self, self.bench.tick_ns, plan, watch, guards)
