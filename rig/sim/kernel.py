"""One compiled loop for whole stretches of ticks: plant, sensors, guards and safety monitor.

It calls the engine's C functions directly, so that a tick costs little more than the engine itself
and nothing depends on how ticks are grouped: a stretch is bit-identical to its ticks one by one.
"""

import hashlib
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import typeof, types

from rig.core.channel import ByteArray, FloatArray, IntArray, Quality
from rig.core.watch import KERNEL, KernelFunction
from rig.sim.hooks import drive, each_second, feel, pass_time, read_out, shape
from rig.sim.native import compiled, compiled_as, mj_step1, mj_step2
from rig.sim.sensing import sense
from rig.sim.slow import ramp
from rig.sim.state import Engine, Guards, Plant, Records, Rows, Senses

SLOW, PHYSICS, LOOK = 0, 1, 2
"""What a tick is: no rigid bodies; the engine's step; or the first look, a tick without duration."""

END, GUARD, WATCH, BAD_SETPOINT, WARNING, CLOCK_REGRESS = range(6)
"""Why the loop stopped, in `verdict[0]`."""

LONGEST_STEP_S = 0.1
"""A row of the slow world is cut into steps of at most this."""

_NOT_COMPILED = ("backend.py", "camera.py")
_GOOD = int(Quality.GOOD)
_NS_PER_S = 1_000_000_000


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
    if not engine.sensors[engine.clock] > before_s:
        return CLOCK_REGRESS
    return END


@compiled
def _move_person(plant: Plant, dt_s: float) -> None:
    """Let the person's body follow what the script asks of it; intents are what they are at once."""
    vector, body, intents = plant.vector, plant.body, plant.intents
    for i in range(body.shape[0]):
        muscle = body[i]
        now = vector[muscle.place]
        if now != muscle.target:
            vector[muscle.place] = ramp(now, muscle.target, muscle.rate * dt_s)
    for i in range(intents.shape[0]):
        vector[intents[i].place] = intents[i].target


@compiled
def _feel(engine: Engine, plant: Plant, moving: bool) -> None:
    """Bring everything that rigid bodies decide up to date."""
    vector, drives, q = plant.vector, plant.drives, engine.qpos
    feel(engine, plant, moving)
    for i in range(plant.servos):
        vector[i] = q[drives[i].joint]


@compiled
def _physics(engine: Engine, plant: Plant, dt_s: float) -> int:
    """Move the world on by one tick of the engine; return what is wrong with it, `END` for nothing."""
    ctrl, drives, before_s = engine.ctrl, plant.drives, engine.sensors[engine.clock]
    for i in range(plant.servos):
        c = drives[i].ctrl
        ctrl[c] = ramp(ctrl[c], drives[i].setpoint, drives[i].rate * dt_s)
    _move_person(plant, dt_s)
    drive(engine, plant, dt_s)
    mj_step2(engine.model, engine.data)
    shape(engine, plant)
    mj_step1(engine.model, engine.data)
    _feel(engine, plant, True)
    pass_time(plant, dt_s)
    return _trouble(engine, before_s)


@compiled
def _slow(engine: Engine, plant: Plant, steps: int, dt_s: float, first: bool) -> None:
    """Move everything but the servos on by one row of the slow world; on first sight feel them too."""
    for _ in range(steps):
        _move_person(plant, dt_s)
        pass_time(plant, dt_s)
    driven = drive(engine, plant, 0.0)
    shaped = shape(engine, plant)
    if driven or shaped:
        mj_step1(engine.model, engine.data)
    _feel(engine, plant, first)


@compiled
def _measure(plant: Plant, senses: Senses, t_ns: int) -> None:
    """Bring sensors up to date, and once a second (or a longer row) what goes by the second."""
    clock = plant.clock
    whole_second = t_ns == 0 or t_ns // _NS_PER_S > clock[1] // _NS_PER_S
    dt_s = (t_ns - clock[1]) / _NS_PER_S
    if whole_second:
        each_second(plant, dt_s)
    sense(senses, plant.vector, t_ns)
    if whole_second:
        read_out(plant, senses, dt_s, t_ns)
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
    for i in range(plant.lags.shape[0]):
        plant.lefts[i] = math.exp(-dt_s / plant.constants[plant.lags[i]])
    for k in range(setpoints.shape[0]):
        for i in range(drives.shape[0]):
            drives[i].setpoint = setpoints[k, drives[i].column]
        if mode == PHYSICS:
            trouble = _physics(engine, plant, dt_s)
            if trouble != END:
                verdict[0] = trouble
                return k
        else:
            _slow(engine, plant, steps, dt_s, mode == LOOK)
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
    """Return a number that changes whenever any source of the kernel does, every station included.

    The cache on disk looks at the file of the function it stores, not at the files that function
    calls into; as a closure value this number makes it look at all of them.
    """
    sources = sorted(p for p in Path(__file__).parent.rglob("*.py") if p.name not in _NOT_COMPILED)
    total = hashlib.sha256(b"".join(p.name.encode() + p.read_bytes() for p in sources))
    return int.from_bytes(total.digest()[:7], "big")


DIGEST = _digest()
_ROWS, _GUARDS = (
    types.NamedTuple((types.float64[:, ::1], types.int64[::1], types.float64[:, ::1], types.int64[:, ::1],
                      types.uint8[:, ::1]), Rows),
    types.NamedTuple((types.int64[::1], types.float64[::1], types.float64[::1]), Guards),
)  # fmt: skip


def kernel_for(engine: Engine, plant: Plant, senses: Senses) -> Callable[..., int]:
    """Return the loop for a bench, compiled for its stations and kept on disk.

    It runs ticks and returns how many; ``verdict`` receives the reason, row and column, and the digest.
    """
    return _compiled_for((typeof(engine), typeof(plant), typeof(senses)), DIGEST)


@lru_cache(maxsize=64)
def _compiled_for(bench: tuple[Any, ...], digest: int) -> Callable[..., int]:
    @compiled_as(
        types.int64(
            *bench, _ROWS, _GUARDS, types.int64, types.int64, types.FunctionType(KERNEL),
            types.float64[::1], types.int64[::1], types.int64[::1],
        )
    )  # fmt: skip
    def run(
        engine: Engine, plant: Plant, senses: Senses, rows: Rows, guards: Guards, mode: int,
        period_ns: int, watch: KernelFunction, floats: FloatArray, integers: IntArray, verdict: IntArray,
    ) -> int:  # fmt: skip
        verdict[3] = digest
        return _run(engine, plant, senses, rows, guards, mode, period_ns, watch, floats, integers, verdict)

    return run


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
