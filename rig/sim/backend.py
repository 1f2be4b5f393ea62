"""The simulated bench: plant, sensors and faults behind the same door as a physical one."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, cast

import mujoco
import numpy as np

from rig.core.backend import Stop, Stretch
from rig.core.bench import BenchSpec
from rig.core.channel import FloatArray, Layout, Quality, Snapshot, Trace, joined
from rig.core.clock import clock_text
from rig.core.command import Actuator, Command, Plan, steady
from rig.core.errors import PlantFault, RigFault, UsageError
from rig.core.watch import Guard, Watch
from rig.sim import kernel
from rig.sim.composition import compose
from rig.sim.faults import SensorFault, check_faults
from rig.sim.native import take_warnings
from rig.sim.scene import Scene, load_scene, settle
from rig.sim.setup import build_guards, build_plant, build_senses, checked, fill_world
from rig.sim.state import Record, Rows

_STILL_RAD_PER_S = 0.02  # joints slower than this are at rest


def indifferent_watch() -> Watch:
    """Return a watch that never asks for attention."""
    return Watch(kernel.indifferent, np.zeros(1), np.zeros(1, dtype=np.int64))


class SimBackend:
    """A `StretchBackend` on a simulated clock, with the care recipient's body beside it.

    **Time.** Row ``k`` of a plan is in force from ``plan.time_ns(k)`` for one period; what the tick
    has led to is measured at its end, ``trace.t_ns[k] == plan.time_ns(k) + plan.period_ns``. A plan
    must start at `now_ns`.

    **Two worlds.** A plan whose period is the bench's tick runs the physics engine. A longer period
    is the slow world: heat, skin, breath, timers and the person go on, servos stand still. It is
    refused while one moves or a station says that the person is too near (`why_not_slow`).

    **Reaction.** A stretch ends at the very tick on which the watch asks for attention. What takes
    time is bringing a new command to the actuators: the caller goes on with the rest of the old plan
    for ``bench.reaction_ns`` before the first row of a new one.

    **Determinism.** Same bench, faults, parameters, seed and calls give the same bytes, however the
    ticks are cut into stretches.

    Args:
        bench: The bench file's contents.
        seed: Seed of the sensors' noise.
        faults: Sensor faults to inject.
        parameters: Constants of its stations, in place of their defaults.
        given: Channels whose samples come from outside, by `give`: a camera's.
    """

    def __init__(
        self,
        bench: BenchSpec,
        seed: int,
        faults: Sequence[SensorFault] = (),
        parameters: Sequence[object] = (),
        given: Sequence[str] = (),
    ) -> None:
        check_faults(faults, bench.layout)
        if wrong := [f.channel for f in faults if f.channel in given]:
            raise UsageError(
                f"{wrong[0]} is read off frames here: give a fault of the camera, not of the channel"
            )
        self._bench, self._seed, self._faults, self._given = bench, seed, tuple(faults), tuple(given)
        self._made = compose(bench, parameters)
        self._scene: Scene | None = None
        self._plant = build_plant(bench, self._made)
        self._senses = build_senses(bench, self._made, seed, self._faults, self._given)
        self._starts = {name: start for s in self._made.stations for name, start in s.starts.items()}
        self._stands = {name: value for s in self._made.stations for name, value in s.stands.items()}
        self._busy = [s.why_busy for s in self._made.stations if s.why_busy is not None]
        self._broken: PlantFault | None = None
        self._verdict = np.zeros(4, dtype=np.int64)
        self._nobody = indifferent_watch()

    # ---- lifetime

    def __enter__(self) -> Self:
        self._scene = load_scene(self._bench, self._made, self._plant)
        self._kernel = kernel.kernel_for(self._scene.engine, self._plant, self._senses)
        self._broken = None
        self.place()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.make_safe()
        self._scene = None

    def _open(self) -> Scene:
        if self._scene is None:
            raise UsageError("the simulated bench is closed; use it inside its with-block")
        return self._scene

    # ---- what there is

    @property
    def bench(self) -> BenchSpec:
        """The bench file's contents."""
        return self._bench

    @property
    def layout(self) -> Layout:
        """Every channel the bench measures, intents included."""
        return self._bench.layout

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Every quantity the gate may pass setpoints to."""
        return self._bench.actuators

    @property
    def now_ns(self) -> int:
        """Trial time of the last tick."""
        return int(self._plant.clock[0])

    @property
    def setpoints(self) -> FloatArray:
        """The setpoints in force, shape (actuators,), in the bench's order."""
        rows = np.empty(len(self.actuators))
        rows[self._plant.drives["column"]] = self._plant.drives["setpoint"]
        return rows

    @property
    def scene(self) -> Scene:
        """The engine's own structures, for cameras and calibration; not for controllers."""
        return self._open()

    @property
    def world(self) -> FloatArray:
        """Every quantity of the world, in the order of ``rig.sim.composition.world_names``; a copy."""
        return self._plant.vector.copy()

    def world_record(self) -> Record:
        """Return the quantities as a record whose fields are named after them; a copy."""
        self._open()
        return cast(Record, self._plant.world.copy().view(np.recarray)[0])

    def dress(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Place in a copy of the scene what is only there to be seen, for a camera."""
        for station in self._made.stations:
            if station.dress is not None:
                station.dress(model, data, self._plant)

    @property
    def starts(self) -> tuple[str, ...]:
        """What `place` takes as hidden starting values."""
        return tuple(self._starts)

    # ---- starting point, person, intents

    def place(
        self,
        *,
        actuators: Mapping[str, float] | None = None,
        body: Mapping[str, float] | None = None,
        hidden: Mapping[str, float] | None = None,
    ) -> Snapshot:
        """Start again at time zero with everything at rest at these values.

        Args:
            actuators: Setpoints reached already; what is not named stands as its station says, the arm
                at rest.
            body: What the person does; what is not named is as the stations say, or nothing, or as little as can be.
            hidden: What no actuator and no person decides (see `starts`): the food's temperature.

        Returns:
            The first snapshot.

        Raises:
            UsageError: If a name is unknown or a value out of range; all mistakes at once.
        """
        scene, plant = self._open(), self._plant
        rest = dict(zip(self._made.servos, scene.rest, strict=True))
        stands = {n: v for n, v in self._stands.items() if n in self._made.motors}
        asked = checked("actuator", {**rest, **stands, **(actuators or {})}, self.actuators)
        persons = {n: v for n, v in self._stands.items() if n in self._made.body}
        person = checked("body quantity", {**persons, **(body or {})}, self._bench.body)
        starts = [
            Actuator(name=n, unit=s.unit, low=s.low, high=s.high, rate=1.0) for n, s in self._starts.items()
        ]
        given = checked("start", {n: s.value for n, s in self._starts.items()} | dict(hidden or {}), starts)
        setpoints = np.array([asked.get(int(c), 0.0) for c in plant.drives["column"]])
        nothing = [min(max(0.0, b.low), b.high) for b in self._bench.body]
        values = np.array([person.get(i, value) for i, value in enumerate(nothing)])
        world = {self._starts[starts[i].name].quantity: value for i, value in given.items()}
        fill_world(plant, self._made, setpoints, values, world)
        settle(scene, plant, setpoints[: plant.servos])
        self._senses = build_senses(self._bench, self._made, self._seed, self._faults, self._given)
        self._broken = None
        self._run(self._rows(self.setpoints[None, :]), (), kernel.LOOK, 0, indifferent_watch())
        return self.snapshot()

    def set_body(self, values: Mapping[str, float]) -> None:
        """Let the person do this from the next tick on; each quantity follows at its own rate.

        Raises:
            UsageError: If a name is unknown or a value out of range; all mistakes at once.
        """
        for i, value in checked("body quantity", values, self._bench.body).items():
            self._plant.body["target"][i] = value

    def set_intent(self, values: Mapping[str, float]) -> None:
        """Say from the next tick on what the controller is about to do.

        Raises:
            UsageError: If a name is not an intent of the bench or a value out of its range.
        """
        intents = [self.layout[name] for name in self._bench.intents]
        known = [Actuator(name=c.name, unit=c.unit, low=c.low, high=c.high, rate=1.0) for c in intents]
        for i, value in checked("intent", values, known).items():
            self._plant.intents["target"][i] = value

    def give(self, values: Mapping[str, float], sampled_ns: int) -> None:
        """Let channels show from the next tick on what was read off the world at ``sampled_ns``.

        Raises:
            UsageError: If a channel is not one of those to be given.
        """
        senses = self._senses
        for name, value in values.items():
            if name not in self._given:
                raise UsageError(f"channel {name} is measured; given are: {', '.join(self._given) or 'none'}")
            i = self.layout.index(name)
            channel = self.layout[name]
            senses.values[i], senses.sampled_ns[i] = value, sampled_ns
            inside = channel.low <= value <= channel.high
            senses.channels[i]["quality"] = Quality.GOOD if inside else Quality.OUT_OF_RANGE

    # ---- reading and writing

    def snapshot(self) -> Snapshot:
        """Return every channel at the last tick, ground truth included."""
        return self.read(self.now_ns)

    def read(self, t_ns: int) -> Snapshot:
        """Return the newest reading of every channel as seen at ``t_ns``, now or later.

        Raises:
            UsageError: If ``t_ns`` has passed.
        """
        self._open()
        if t_ns < self.now_ns:
            raise UsageError(f"{t_ns} ns has passed; it is {self.now_ns} ns")
        senses = self._senses
        old = (t_ns - senses.sampled_ns >= senses.channels["stale_ns"]) & (senses.quality == Quality.GOOD)
        quality = np.where(old, np.uint8(Quality.STALE), senses.quality)
        return Snapshot(self.layout, t_ns, senses.values.copy(), senses.sampled_ns.copy(), quality)

    def write(self, commands: Iterable[Command]) -> None:
        """Make setpoints the ones in force; `hold` lets them work, a plan's rows replace them.

        Raises:
            RigFault: If a command is not finite, unknown, out of range or expired; none is taken then.
        """
        self._open()
        taken = list(commands)
        if late := [c for c in taken if c.expires_ns < self.now_ns]:
            raise RigFault(
                f"command to {late[0].actuator} expired at {late[0].expires_ns} ns; it is {self.now_ns} ns"
            )
        try:
            columns = checked("actuator", {c.actuator: c.value for c in taken}, self.actuators)
        except UsageError as error:
            raise RigFault(f"command refused: {error}") from None
        drives = self._plant.drives
        for column, value in columns.items():
            drives["setpoint"][drives["column"] == column] = value

    def make_safe(self) -> None:
        """Stop everything where it is: each actuator's setpoint becomes its position."""
        if self._scene is None:
            return
        plant, engine = self._plant, self._scene.engine
        servos, motors = plant.drives[: plant.servos], plant.drives[plant.servos :]
        joints = engine.qpos[servos["joint"]]
        if np.all(np.isfinite(joints)):
            servos["setpoint"] = engine.ctrl[servos["ctrl"]] = np.clip(joints, servos["low"], servos["high"])
        motors["setpoint"] = plant.vector[plant.servos : len(plant.drives)]
        plant.intents["target"] = 0.0

    # ---- running

    def why_not_slow(self) -> str | None:
        """Return why the slow world is not allowed now, None when it is."""
        engine, plant = self._open().engine, self._plant
        servos = plant.drives[: plant.servos]
        if np.any(engine.ctrl[servos["ctrl"]] != servos["setpoint"]):
            return "the arm has not reached its setpoint"
        speeds = np.abs(engine.qvel[servos["dof"]])
        if not np.all(speeds <= _STILL_RAD_PER_S):
            fastest = int(np.argmax(speeds))
            return f"{self._made.servos[fastest]} still moves at {speeds[fastest]:.3f} rad/s"
        return next((why for busy in self._busy if (why := busy(plant)) is not None), None)

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run the plan's rows until it ends, a guard holds, or the watch asks for attention.

        The watch sees every tick that is run, the last one included.

        Raises:
            RigFault: If a setpoint is not finite, out of its actuator's range or past the plan's
                lease; nothing is run then.
            UsageError: If the plan is for other actuators or another time, or asks for the slow
                world where that is refused.
            PlantFault: If the engine diverged, warned, or its clock ran backwards.
        """
        mode = self._check(plan)
        rows = self._rows(np.require(plan.setpoints, np.float64, ["C", "W"]))
        done = self._run(rows, guards, mode, plan.period_ns, watch)
        trace = Trace(self.layout, rows.t_ns, rows.values, rows.sampled_ns, rows.quality).head(done)
        if done < len(plan) // 2:
            trace = joined([trace], self.layout)  # a copy: let go of the unused part
        stop = {kernel.END: Stop.END, kernel.GUARD: Stop.GUARD, kernel.WATCH: Stop.WATCH}
        return Stretch(trace, stop[int(self._verdict[0])])

    def hold(self, n: int, period_ns: int | None = None) -> Trace:
        """Let ``n`` ticks pass with the setpoints in force and nobody watching."""
        period_ns = period_ns or self._bench.tick_ns
        plan = steady(self.actuators, self.setpoints, self.now_ns, period_ns, n)
        return self.stretch(plan, self._nobody).trace

    def _check(self, plan: Plan) -> int:
        """Refuse a plan that cannot be run; return the kernel's mode for it."""
        self._open()
        if self._broken is not None:
            raise self._broken
        names, expected = [a.name for a in plan.actuators], [a.name for a in self.actuators]
        if names != expected or np.shape(plan.setpoints)[1:] != (len(expected),):
            raise UsageError(f"the plan is for {', '.join(names)}; the bench has {', '.join(expected)}")
        if plan.start_ns != self.now_ns:
            raise UsageError(f"the plan starts at {plan.start_ns} ns; it is {self.now_ns} ns")
        if len(plan) and plan.time_ns(len(plan) - 1) > plan.expires_ns:
            raise RigFault(
                f"the plan's last row is for {clock_text(plan.time_ns(len(plan) - 1))}, "
                f"its lease ends at {clock_text(plan.expires_ns)}"
            )
        if plan.period_ns == self._bench.tick_ns:
            return kernel.PHYSICS
        if plan.period_ns < self._bench.tick_ns:
            raise UsageError(f"period {plan.period_ns} ns is shorter than the tick, {self._bench.tick_ns} ns")
        servos = self._plant.drives[: self._plant.servos]
        if np.any(plan.setpoints[:, servos["column"]] != servos["setpoint"]):
            raise UsageError("the slow world cannot move the arm; run this plan at the bench's tick")
        if reason := self.why_not_slow():
            raise UsageError(f"no slow world now: {reason}; run at the bench's tick")
        return kernel.SLOW

    def _rows(self, setpoints: FloatArray) -> Rows:
        n, c = len(setpoints), len(self.layout)
        return Rows(
            setpoints=setpoints,
            t_ns=np.empty(n, dtype=np.int64),
            values=np.empty((n, c)),
            sampled_ns=np.empty((n, c), dtype=np.int64),
            quality=np.empty((n, c), dtype=np.uint8),
        )

    def _run(self, rows: Rows, guards: Sequence[Guard], mode: int, period_ns: int, watch: Watch) -> int:
        """Run the kernel; return how many rows it did, or raise what it found."""
        scene, verdict = self._open(), self._verdict
        done = self._kernel(
            scene.engine, self._plant, self._senses, rows, build_guards(guards, self._bench), mode,
            period_ns, watch.pointer, watch.floats, watch.integers, verdict,
        )  # fmt: skip
        if verdict[0] == kernel.BAD_SETPOINT:
            actuator = self.actuators[int(verdict[2])]
            value = rows.setpoints[verdict[1], verdict[2]]
            raise RigFault(
                f"row {int(verdict[1])}: {actuator.name} {value} is not within "
                f"{actuator.low} to {actuator.high} {actuator.unit}; nothing was run"
            )
        if verdict[0] in (kernel.WARNING, kernel.CLOCK_REGRESS):
            what = "; ".join(take_warnings()) or "a warning without words"
            if verdict[0] == kernel.CLOCK_REGRESS:
                what = "its clock did not go forward"
            self._broken = PlantFault(f"the physics engine failed after {clock_text(self.now_ns)}: {what}")
            raise self._broken
        return int(done)
