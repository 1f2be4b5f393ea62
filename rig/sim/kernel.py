"""One compiled loop for whole stretches of ticks: plant, sensors, guards and safety monitor.

It calls the engine's C functions directly, so that a tick costs little more than the engine itself
and nothing depends on how ticks are grouped: a stretch is bit-identical to its ticks one by one.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import types

from rig.core.channel import ByteArray, FloatArray, IntArray, Quality
from rig.core.watch import KERNEL, KernelFunction
from rig.sim.contact import feel, part_lips, turn_head
from rig.sim.native import compiled, compiled_as, mj_step1, mj_step2
from rig.sim.scene import CLOCK
from rig.sim.sensing import sense
from rig.sim.skin import load_skin, read_mat
from rig.sim.state import ENGINE, GUARDS, PLANT, ROWS, SENSES, Engine, Guards, Plant, Records, Rows, Senses
from rig.sim.surroundings import LONGEST_STEP_S, Decays, decays, move_person, pass_time, ramp

SLOW, PHYSICS, LOOK = 0, 1, 2
"""What a tick is: no rigid bodies; the engine's step; or the first look, a tick without duration."""

END, GUARD, WATCH, BAD_SETPOINT, WARNING, CLOCK_REGRESS = range(6)
"""Why the loop stopped, in `verdict[0]`."""

_SOURCES = (
    "contact", "faults", "kernel", "native", "parameters", "quantities", "scene", "sensing", "skin",
    "state", "surroundings",
)  # fmt: skip
_GOOD = int(Quality.GOOD)
_NS_PER_S = 1_000_000_000
_ARMS = 6


@compiled
def _bad_setpoint(drives: Records, setpoints: FloatArray, verdict: IntArray) -> bool:
    """Find a setpoint that is not finite or out of its actuator's range; none may be used then."""
    for k in range(setpoints.shape[0]):
        for i in range(drives.shape[0]):
            if not drives[i].low <= setpoints[k, drives[i].column] <= drives[i].high:  # catches NaN
                verdict[0] = BAD_SETPOINT
                verdict[1] = k
                verdict[2] = drives[i].column
                return True
    return False


@compiled
def _trouble(engine: Engine, before_s: float) -> int:
    warnings = engine.warnings
    for i in range(warnings.shape[0]):
        if warnings[i] != 0:
            return WARNING
    if not engine.sensors[engine.book[CLOCK]] > before_s:
        return CLOCK_REGRESS
    return END


@compiled
def _physics(engine: Engine, plant: Plant, decay: Decays, dt_s: float) -> int:
    """Move the world on by one tick of the engine; return what is wrong with it, `END` for nothing."""
    ctrl, drives, before_s = engine.ctrl, plant.drives, engine.sensors[engine.book[CLOCK]]
    for i in range(_ARMS):
        ctrl[i] = ramp(ctrl[i], drives[i].setpoint, drives[i].rate * dt_s)
    move_person(plant, dt_s)
    turn_head(engine, plant, dt_s)
    mj_step2(engine.model, engine.data)
    part_lips(engine, plant)
    mj_step1(engine.model, engine.data)
    feel(engine, plant, True)
    pass_time(plant, decay, dt_s)
    return _trouble(engine, before_s)


@compiled
def _slow(engine: Engine, plant: Plant, decay: Decays, steps: int, dt_s: float, first: bool) -> None:
    """Move everything but the arm on by one row of the slow world; on first sight feel the arm too."""
    for _ in range(steps):
        move_person(plant, dt_s)
        pass_time(plant, decay, dt_s)
    turned, parted = turn_head(engine, plant, 0.0), part_lips(engine, plant)
    if turned or parted:
        mj_step1(engine.model, engine.data)
    feel(engine, plant, first)


@compiled
def _measure(plant: Plant, senses: Senses, t_ns: int) -> None:
    """Bring sensors up to date, and once a second (or a longer row) the skin."""
    clock = plant.clock
    whole_second = t_ns == 0 or t_ns // _NS_PER_S > clock[1] // _NS_PER_S
    dt_s = (t_ns - clock[1]) / _NS_PER_S
    if whole_second:
        load_skin(plant, dt_s)
    sense(senses, plant.vector, t_ns)
    if whole_second:
        read_mat(plant, senses, dt_s, t_ns)
        clock[1] = t_ns


@compiled
def _guarded(guards: Guards, values: FloatArray, quality: ByteArray) -> bool:
    """Return whether a guard holds, or cannot tell."""
    channel, above, below = guards.channel, guards.above, guards.below
    for g in range(channel.shape[0]):
        c = channel[g]
        if quality[c] != _GOOD or not below[g] < values[c] < above[g]:  # NaN is not between
            return True
    return False


@compiled
def _run(
    engine: Engine, plant: Plant, senses: Senses, rows: Rows, guards: Guards, mode: int, period_ns: int,
    watch: KernelFunction, floats: FloatArray, integers: IntArray, verdict: IntArray,
) -> int:  # fmt: skip
    setpoints, drives, clock = rows.setpoints, plant.drives, plant.clock
    values, sampled_ns, quality = senses.values, senses.sampled_ns, senses.quality
    verdict[0] = END
    if _bad_setpoint(drives, setpoints, verdict):
        return 0
    steps = 1 if mode != SLOW else int(np.ceil(period_ns / (LONGEST_STEP_S * _NS_PER_S)))
    dt_s = period_ns / _NS_PER_S / steps
    decay = decays(plant.parameters[0], dt_s)
    for k in range(setpoints.shape[0]):
        for i in range(drives.shape[0]):
            drives[i].setpoint = setpoints[k, drives[i].column]
        if mode == PHYSICS:
            trouble = _physics(engine, plant, decay, dt_s)
            if trouble != END:
                verdict[0] = trouble
                return k
        else:
            _slow(engine, plant, decay, steps, dt_s, mode == LOOK)
        clock[0] += period_ns
        _measure(plant, senses, clock[0])
        rows.t_ns[k] = clock[0]
        for c in range(values.shape[0]):
            rows.values[k, c] = values[c]
            rows.sampled_ns[k, c] = sampled_ns[c]
            rows.quality[k, c] = quality[c]
        if watch(clock[0], values, sampled_ns, quality, floats, integers) != 0:
            verdict[0] = WATCH
            return k + 1
        if _guarded(guards, values, quality):
            verdict[0] = GUARD
            return k + 1
    return len(setpoints)


def _digest() -> int:
    """Return a number that changes whenever any source of the kernel does.

    The cache on disk looks at the file of the function it stores, not at the files that function
    calls into; as a closure value this number makes it look at all of them.
    """
    sources = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in _SOURCES]
    return int.from_bytes(hashlib.sha256(b"".join(sources)).digest()[:7], "big")


_SIGNATURE = types.int64(
    ENGINE, PLANT, SENSES, ROWS, GUARDS, types.int64, types.int64, types.FunctionType(KERNEL),
    types.float64[::1], types.int64[::1], types.int64[::1],
)  # fmt: skip


def _cached(digest: int) -> Callable[..., int]:
    @compiled_as(_SIGNATURE)
    def run(
        engine: Engine, plant: Plant, senses: Senses, rows: Rows, guards: Guards, mode: int,
        period_ns: int, watch: KernelFunction, floats: FloatArray, integers: IntArray, verdict: IntArray,
    ) -> int:  # fmt: skip
        verdict[3] = digest
        return _run(engine, plant, senses, rows, guards, mode, period_ns, watch, floats, integers, verdict)

    return run


DIGEST = _digest()
run = _cached(DIGEST)
"""Run ticks; returns how many. ``verdict`` receives the reason, row and column, and the digest."""


@compiled_as(KERNEL)
def indifferent(
    t_ns: int,
    values: FloatArray,
    sampled_ns: IntArray,
    quality: ByteArray,
    floats: FloatArray,
    integers: IntArray,
) -> int:
    """Never ask for attention: the kernel of a watch that watches nothing."""
    return 0
