"""The compiled loop of the monitor process: take rows, tick the kernel, renew the dead-man's token.

It never touches Python. Between rows it sleeps for some ten microseconds rather than spinning: a
real-time process that spins is cut off by the kernel for tens of milliseconds in every second.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from rig.core.watch import KERNEL, Watch
from safety_monitor.kernel import DISORDERED, DUPLICATE, LATE, Program
from safety_monitor.kernel import WORD as RULE
from safety_monitor.kernel import WORDS as RULE_WORDS
from safety_monitor.ring import EVENTS, WORD, Rows, load_acquire, store_release
from safety_monitor.rule import ACTUATING, Response, RuleSet

FREE, WITHHOLD, LATCH = 0, 1, 2
CHANGED, OVERRUN, MISSED = 0, 1, 2
_MONOTONIC = 1
_FAULT = 3

_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))
_nanosleep = types.ExternalFunction("nanosleep", types.int32(types.voidptr, types.voidptr))


@dataclass(frozen=True, slots=True)
class Loop:
    """Timing of the loop, in ns.

    Attributes:
        sleep_ns: Pause while there is no row. A shorter one is quicker nearly always and far slower now and then: at
            10 us on a machine with ten jobs for each core the loop was held up for 13 to 36 ms, longer than the
            watchdog waits; at 20 us never for more than 5 ms (``tests/benchmarks/bench_monitor.py --pause``).
        idle_ns: Without a row for this long the kernel is ticked with the old readings, so that
            they grow old: time goes on without data.
        budget_ns: A tick that takes longer is an overrun.
    """

    sleep_ns: int = 20_000
    idle_ns: int = 3_000_000
    budget_ns: int = 200_000


def withholding(rules: RuleSet) -> NDArray[np.int64]:
    """Return what each rule's attention does to the permission to move, shape (r, 3)."""

    def effect(response: Response) -> int:
        return LATCH if response is Response.STOP else WITHHOLD if response in ACTUATING else FREE

    rows = [[FREE, effect(rule.response), effect(rule.when_unknown)] for rule in rules.rules]
    return np.array(rows, np.int64)


_INTS, _FLOATS = types.int64[::1], types.float64[::1]
_ROWS = types.NamedTuple(
    (_INTS, _INTS, _INTS, types.float64[:, ::1], types.int64[:, ::1], types.uint8[:, ::1], types.int64[:, ::1],
     types.int64[:, ::1]), Rows,
)  # fmt: skip


@njit(types.int64(_INTS), nogil=True)
def _now(buffer):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    _clock_gettime(types.int32(_MONOTONIC), buffer.ctypes)
    return buffer[0] * 1_000_000_000 + buffer[1]


@njit(nogil=True)
def _report(rows, integers, first, rules, row, ingest_ns, done_ns, kind):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Publish an event with the attention of every rule."""
    n = rows.words[WORD.events]
    k = n % EVENTS
    rows.event[k, 0], rows.event[k, 1], rows.event[k, 2], rows.event[k, 3] = row, ingest_ns, done_ns, kind
    for r in range(rules):
        rows.attention[k, r] = integers[first + r * RULE_WORDS + RULE.attention]
    store_release(rows.words, WORD.events, n + 1)


@njit(nogil=True)
def _permission(integers, first, effects, latched):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the strongest effect of all rules' attention; a latched stop stays."""
    strongest = LATCH if latched else FREE
    for r in range(effects.shape[0]):
        strongest = max(strongest, effects[r, integers[first + r * RULE_WORDS + RULE.attention]])
    return strongest


@njit(
    types.void(types.FunctionType(KERNEL), _ROWS, _FLOATS, _INTS, _FLOATS, _INTS, types.int64, types.int64[:, ::1],
               _INTS),
    cache=True,
    nogil=True,
)  # fmt: skip
def _run(kernel, rows, floats, integers, fresh_floats, fresh_integers, first, effects, timing):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    words, capacity, rules = rows.words, rows.t_ns.shape[0], effects.shape[0]
    clock, pause = np.zeros(2, np.int64), np.zeros(2, np.int64)
    x, s, q = rows.values[0].copy(), rows.sampled_ns[0].copy(), rows.quality[0].copy()
    sleep_ns, idle_ns, budget_ns = timing[0], timing[1], timing[2]
    pause[1] = sleep_ns
    tail, latched, offset_ns = words[WORD.tail], False, 0
    resets = words[WORD.resets]
    last_ns = _now(clock)
    while load_acquire(words, WORD.quit) == 0:
        begin_ns = _now(clock)
        store_release(words, WORD.alive_ns, begin_ns)
        wanted = load_acquire(words, WORD.reset)
        if wanted != resets:
            floats[:] = fresh_floats
            integers[:] = fresh_integers
            latched, resets = False, wanted
            store_release(words, WORD.permit, 1)
            store_release(words, WORD.stopped, 0)
            store_release(words, WORD.resets, resets)
        head = load_acquire(words, WORD.head)
        if head == tail and (tail == 0 or begin_ns - last_ns < idle_ns):
            _nanosleep(pause.ctypes, clock.ctypes)
            continue
        row, ingest_ns = -1, begin_ns
        if head == tail:  # time goes on without data
            t = begin_ns - offset_ns
        else:
            missed = head - 1 - tail if head - tail >= capacity else 0
            tail += missed
            k = tail % capacity
            t, ingest_ns, row = rows.t_ns[k], rows.ingest_ns[k], tail
            x[:] = rows.values[k]
            s[:] = rows.sampled_ns[k]
            q[:] = rows.quality[k]
            if load_acquire(words, WORD.head) - tail >= capacity:  # overwritten while it was read
                missed += 1
            if missed > 0:
                q[:] = _FAULT  # what was in the lost rows is not known
                words[WORD.missed] += missed
                _report(rows, integers, first, rules, row, ingest_ns, begin_ns, MISSED)
            offset_ns = ingest_ns - t
            tail += 1
        changed = kernel(t, x, s, q, floats, integers)
        if changed != 0:
            effect = _permission(integers, first, effects, latched)
            latched = effect == LATCH
            if effect != FREE and words[WORD.permit] == 1:
                words[WORD.stop_ns] = _now(clock)
            store_release(words, WORD.permit, 1 if effect == FREE else 0)
            store_release(words, WORD.stopped, 1 if latched else 0)
        words[WORD.late], words[WORD.duplicate] = integers[LATE], integers[DUPLICATE]
        words[WORD.disordered] = integers[DISORDERED]
        last_ns = _now(clock)
        store_release(words, WORD.tail, tail)
        if changed != 0:
            _report(rows, integers, first, rules, row, ingest_ns, last_ns, CHANGED)
        took_ns = last_ns - begin_ns
        words[WORD.worst_ns] = max(words[WORD.worst_ns], took_ns)
        if took_ns > budget_ns:
            words[WORD.overruns] += 1
            _report(rows, integers, first, rules, row, ingest_ns, last_ns, OVERRUN)


def run_loop(watch: Watch, program: Program, rows: Rows, rules: RuleSet, loop: Loop) -> None:
    """Run until the writer says to quit; the memory of ``watch`` is used and changed."""
    timing: Any = np.array([loop.sleep_ns, loop.idle_ns, loop.budget_ns], np.int64)
    _run(
        watch.kernel, rows, watch.floats, watch.integers, program.floats, program.integers, program.rules,
        withholding(rules), timing,
    )  # fmt: skip
