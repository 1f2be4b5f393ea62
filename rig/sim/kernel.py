"""One compiled loop for whole stretches of ticks: plant, sensors, guards and safety monitor.

It calls the engine's C functions directly, so that a tick costs little more than the engine itself
and nothing depends on how ticks are grouped: a stretch is bit-identical to its ticks one by one.
"""

import hashlib
from pathlib import Path

import numpy as np
from numba import njit, types

from rig.core.channel import Quality
from rig.core.watch import KERNEL
from rig.sim.contact import drive_face, feel
from rig.sim.native import mj_step1, mj_step2
from rig.sim.scene import CLOCK
from rig.sim.sensing import first_look, sense
from rig.sim.skin import load_skin, read_mat
from rig.sim.state import ENGINE, GUARDS, PLANT, ROWS, SENSES
from rig.sim.surroundings import LONGEST_STEP_S, move_person, pass_time, prepare, ramp

SLOW, PHYSICS, LOOK = 0, 1, 2
"""What a tick is: no rigid bodies; the engine's step; or nothing but a first look at the sensors."""

END, GUARD, WATCH, BAD_SETPOINT, WARNING, CLOCK_REGRESS = range(6)
"""Why the loop stopped, in `verdict[0]`."""

_GOOD = int(Quality.GOOD)
_NS_PER_S = 1_000_000_000
_SKIN_NS = _NS_PER_S
_ARMS = 6


@njit
def _bad_setpoint(plant, setpoints, verdict):
    """Find a setpoint that is not finite or out of its actuator's range; none may be used then."""
    for k in range(setpoints.shape[0]):
        for i in range(plant.column.shape[0]):
            x = setpoints[k, plant.column[i]]
            if not plant.low[i] <= x <= plant.high[i]:  # also catches NaN
                verdict[0], verdict[1], verdict[2] = BAD_SETPOINT, k, plant.column[i]
                return True
    return False


@njit
def _engine_trouble(engine, before_s):
    for i in range(engine.warnings.shape[0]):
        if engine.warnings[i] != 0:
            return WARNING
    if not engine.sensors[engine.book[CLOCK]] > before_s:
        return CLOCK_REGRESS
    return END


@njit
def _physics(engine, plant, dt_s):
    """Move rigid bodies on by one tick; return what is wrong with the engine, `END` for nothing."""
    before_s = engine.sensors[engine.book[CLOCK]]
    for i in range(_ARMS):
        engine.ctrl[i] = ramp(engine.ctrl[i], plant.setpoint[i], plant.rate[i] * dt_s)
    move_person(plant, dt_s)
    drive_face(engine, plant, dt_s)
    mj_step2(engine.model, engine.data)
    mj_step1(engine.model, engine.data)
    feel(engine, plant, True)
    pass_time(plant, dt_s)
    return _engine_trouble(engine, before_s)


@njit
def _slow(engine, plant, period_s):
    """Move everything but the arm on by one row of the slow world, in steps small enough."""
    steps = max(1, int(np.ceil(period_s / LONGEST_STEP_S - 1e-9)))
    for _ in range(steps):
        move_person(plant, period_s / steps)
        pass_time(plant, period_s / steps)
    drive_face(engine, plant, 0.0)
    mj_step1(engine.model, engine.data)
    feel(engine, plant, False)


@njit
def _tend_skin(plant, senses, t_ns):
    """Bring skin doses up to date once a second, or once a row when rows are longer."""
    if t_ns // _SKIN_NS > plant.clock[1] // _SKIN_NS:
        dt_s = (t_ns - plant.clock[1]) / _NS_PER_S
        load_skin(plant, dt_s)
        sense(senses, plant.world, t_ns)
        read_mat(plant, senses, dt_s, t_ns)
        plant.clock[1] = t_ns
    else:
        sense(senses, plant.world, t_ns)


@njit
def _guarded(guards, senses):
    """Return whether a guard holds, or cannot tell."""
    for g in range(guards.channel.shape[0]):
        c = guards.channel[g]
        x = senses.values[c]
        inside = guards.below[g] < x < guards.above[g]  # false for NaN
        if senses.quality[c] != _GOOD or not inside:
            return True
    return False


@njit
def _run(engine, plant, senses, rows, guards, mode, period_ns, watch, floats, integers, verdict):
    n, actuators = rows.setpoints.shape
    verdict[0], verdict[1], verdict[2] = END, 0, 0
    if mode == LOOK:
        prepare(plant, 0.0)
        drive_face(engine, plant, 0.0)
        mj_step1(engine.model, engine.data)
        feel(engine, plant, True)
        pass_time(plant, 0.0)
        load_skin(plant, 0.0)
        first_look(senses, plant.world)
        read_mat(plant, senses, 0.0, 0)
        return 0
    if _bad_setpoint(plant, rows.setpoints, verdict):
        return 0
    period_s = period_ns / _NS_PER_S
    steps = max(1.0, np.ceil(period_s / LONGEST_STEP_S - 1e-9))
    prepare(plant, period_s if mode == PHYSICS else period_s / steps)
    for k in range(n):
        t_ns = plant.clock[0] + period_ns
        for i in range(actuators):
            plant.setpoint[i] = rows.setpoints[k, plant.column[i]]
        if mode == PHYSICS:
            trouble = _physics(engine, plant, period_s)
            if trouble != END:
                verdict[0], verdict[1] = trouble, k
                return k
        else:
            _slow(engine, plant, period_s)
        plant.clock[0] = t_ns
        _tend_skin(plant, senses, t_ns)
        rows.t_ns[k] = t_ns
        rows.values[k, :] = senses.values
        rows.sampled_ns[k, :] = senses.sampled_ns
        rows.quality[k, :] = senses.quality
        attention = watch(t_ns, senses.values, senses.sampled_ns, senses.quality, floats, integers)
        if attention != 0:
            verdict[0] = WATCH
            return k + 1
        if _guarded(guards, senses):
            verdict[0] = GUARD
            return k + 1
    return n


_SIGNATURE = types.int64(
    ENGINE, PLANT, SENSES, ROWS, GUARDS, types.int64, types.int64, types.FunctionType(KERNEL),
    types.float64[::1], types.int64[::1], types.int64[::1],
)  # fmt: skip


def _digest() -> int:
    """Return a number that changes whenever any source of the kernel does.

    The cache on disk looks at the file of the function it stores, not at the files that function
    calls into; as a closure value this number makes it look at all of them.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return int.from_bytes(hashlib.sha256(b"".join(p.read_bytes() for p in sources)).digest()[:7], "big")


def _compiled(digest: int):
    @njit(_SIGNATURE, cache=True, nogil=True)
    def run(engine, plant, senses, rows, guards, mode, period_ns, watch, floats, integers, verdict):
        verdict[3] = digest
        return _run(engine, plant, senses, rows, guards, mode, period_ns, watch, floats, integers, verdict)

    return run


DIGEST = _digest()
run = _compiled(DIGEST)
"""Run ticks; returns how many. ``verdict`` receives the reason, row and column, and the digest."""


@njit(KERNEL, cache=True, nogil=True)
def _indifferent(t_ns, values, sampled_ns, quality, floats, integers):
    return 0


INDIFFERENT = _indifferent
"""The kernel of a watch that never asks for attention."""
