"""One fused kernel per rule set: the rules' conditions, then what makes each of them attention.

The conditions are straight-line code (`safety_monitor.emitter`); a rule's own life, which is to
confirm, to bear the unknown for a grace time and to clear late, is a loop over a table in the state.
The source imports nothing of ours, so what numba compiles may be cached under the hash of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rig.core.channel import FloatArray, IntArray, Layout
from safety_monitor.emitter import NEVER, Emitter
from safety_monitor.nodes import Truth, channels

SANE_NS = 1 << 60
"""Trial times beyond this, about 36 years, are a broken clock."""
FROZEN_TICKS = 100
"""After this many ticks without time moving the clock is taken to have stopped."""


class Word(NamedTuple):
    """Columns of a rule's row in the integer state."""

    attention: int = 0  # 0 clear, 1 violated, 2 lost (unknown past its grace)
    raw: int = 1  # this tick, before confirming: 0 holds, 1 violated, 2 unknown
    bad_since: int = 2  # when the current run of "must be violated" began, NEVER outside one
    unknown_since: int = 3  # last tick before the current run of "unknown"
    clear_since: int = 4  # last tick before the current run of "holds", while attention lasts
    changed_at: int = 5  # number of the tick at which the attention last changed
    confirm_ns: int = 6
    grace_ns: int = 7
    clear_ns: int = 8


WORD = Word()
WORDS = len(WORD)


class Arrival(NamedTuple):
    """Columns of a channel's row of how its samples arrive, in the integer state."""

    column: int = 0  # of the channel in the layout
    stamp: int = 1  # of the sample at the last tick
    newest: int = 2  # newest stamp so far, NEVER before the first
    oldest_ns: int = 3  # a sample older than this when it arrives is late
    late: int = 4  # samples that came late, but in order
    duplicate: int = 5  # samples with the stamp of the one before and another value
    disordered: int = 6  # samples with a stamp before one that had already come


ARRIVAL = Arrival()
ARRIVALS = len(ARRIVAL)
TICKS, NOW, FROZEN, BACKWARDS, BUSY = 0, 1, 2, 3, 5
LATE, DUPLICATE, DISORDERED = 6, 7, 8  # over all channels
HEAD = 9  # words before the first rule; one of them is the emitter's


class Timing(NamedTuple):
    """How a rule's raw verdict becomes attention, in ns."""

    confirm_ns: int
    grace_ns: int
    clear_ns: int


@dataclass(frozen=True, slots=True)
class Program:
    """Source of a kernel and the state it starts with.

    Attributes:
        source: A module with ``step``, of `rig.core.watch.KERNEL`'s signature, and ``until``, which runs
            it over rows from ``k`` on and returns the first at which attention changes.
        floats: Initial float state.
        integers: Initial integer state.
        rules: Column in ``integers`` of the first rule's row of `WORDS` words.
        arrivals: Column in ``integers`` of the first channel's row of `ARRIVALS` words.
        watched: How many channels have such a row: those the rules read.
        seen: Columns in ``floats`` and ``integers`` where the inputs of the last change are kept:
            values; sampled times, then quality.
    """

    source: str
    floats: FloatArray
    integers: IntArray
    rules: int
    arrivals: int
    watched: int
    seen: tuple[int, int]

    def row(self, rule: int) -> slice:
        """Return where in the integer state the words of a rule are."""
        return slice(self.rules + WORDS * rule, self.rules + WORDS * (rule + 1))


_MODULE = '''"""Generated; the name is the hash of everything it depends on."""
import numba
import numpy as np

NEVER = {never}
NAN = np.nan
SIGNATURE = numba.types.int64(
    numba.types.int64, numba.types.float64[::1], numba.types.int64[::1],
    numba.types.uint8[::1], numba.types.float64[::1], numba.types.int64[::1],
)


@numba.njit(SIGNATURE, cache=True, nogil=True, error_model="numpy", forceinline=True)
def step(t, x, s, q, F, I):
    last = I[{now}]
    n = I[{ticks}] + 1
    I[{ticks}] = n
    sane = (t >= last) & (t < {sane}) & (t > -{sane})
    if not sane:
        I[{backwards}] += 1
        t = max(last, -{sane})
    I[{frozen}] = I[{frozen}] + 1 if t == last else 0
    sane = sane & (I[{frozen}] <= {frozen_ticks})
    I[{now}] = t
    for j in range({watched}):  # whatever a sample's stamp, its value is judged below: no spike is dropped
        w = {arrivals} + j * {arrival_words}
        c = I[w]
        if s[c] == I[w + {a.stamp}]:
            if (x[c] != F[{kept} + j]) & ((x[c] == x[c]) | (F[{kept} + j] == F[{kept} + j])):
                I[w + {a.duplicate}] += 1
                I[{duplicate}] += 1
        elif s[c] < I[w + {a.newest}]:
            I[w + {a.disordered}] += 1
            I[{disordered}] += 1
        else:
            if (t - s[c] > I[w + {a.oldest_ns}]) & (I[w + {a.newest}] != NEVER):
                I[w + {a.late}] += 1
                I[{late}] += 1
            I[w + {a.newest}] = s[c]
        I[w + {a.stamp}] = s[c]
        F[{kept} + j] = x[c]
{body}
    if (moved == 0) & (I[{busy}] == 0):  # as on nearly every tick: nothing to confirm, to bear or to clear
        return 0
    changed, busy = False, 0
    for r in range({count}):
        w = {rules} + r * {words}
        raw = I[w + {w.raw}]
        before = I[w + {w.attention}]
        after = before
        bad, unknown, clear = NEVER, NEVER, NEVER
        if raw == 1:
            bad = t if I[w + {w.bad_since}] == NEVER else I[w + {w.bad_since}]
            if t - bad >= I[w + {w.confirm_ns}]:
                after = 1
        elif raw == 2:
            first = t if n == 1 else last
            unknown = first if I[w + {w.unknown_since}] == NEVER else I[w + {w.unknown_since}]
            # A clock that has stopped or runs backwards measures no grace: it is over.
            if (before == 0) & (n > 1) & ((t - unknown >= I[w + {w.grace_ns}]) | (I[{frozen}] > {frozen_ticks})):
                after = 2
        elif before != 0:
            clear = last if I[w + {w.clear_since}] == NEVER else I[w + {w.clear_since}]
            if t - clear >= I[w + {w.clear_ns}]:
                after = 0
        I[w + {w.bad_since}] = bad
        I[w + {w.unknown_since}] = unknown
        I[w + {w.clear_since}] = clear
        busy = busy | (raw ^ after)
        if after != before:
            I[w + {w.attention}] = after
            I[w + {w.changed_at}] = n
            changed = True
    I[{busy}] = busy
    if changed:
        for i in range({channels}):
            F[{seen_float} + i] = x[i]
            I[{seen_int} + i] = s[i]
            I[{seen_int} + {channels} + i] = q[i]
        return 1
    return 0


@numba.njit(cache=True, nogil=True)  # compiled when it is first called: only replays need it
def until(k, t, x, s, q, F, I):
    while k < t.shape[0]:
        if step(t[k], x[k], s[k], q[k], F, I) != 0:
            return k
        k += 1
    return k
'''


def compile_source(violations: Sequence[Truth], timings: Sequence[Timing], layout: Layout) -> Program:
    """Return the kernel that watches ``violations``, one per rule, and its initial state."""
    emitter = Emitter(layout, integers=[0, NEVER, *([0] * (HEAD - 2))])
    emitter.say("moved = 0")
    rules = len(emitter.integers)
    for timing in timings:
        emitter.integers += [0, 0, NEVER, NEVER, NEVER, 0, *timing]
    for r, violated in enumerate(violations):
        m, y = emitter.truth(violated)
        raw = f"I[{rules + r * WORDS + WORD.raw}]"
        emitter.say(
            f"raw = 1 if {m} else (2 if {y} else 0)", f"moved = moved | (raw ^ {raw})", f"{raw} = raw"
        )
    read = sorted({layout.index(name) for violated in violations for name in channels(violated)})
    arrivals, kept = len(emitter.integers), len(emitter.floats)
    for c in read:
        emitter.integers += [c, NEVER, NEVER, _oldest_ns(layout, c), 0, 0, 0]
        emitter.floats.append(np.nan)
    seen = len(emitter.floats), len(emitter.integers)
    source = _MODULE.format(
        never=NEVER, sane=SANE_NS, frozen_ticks=FROZEN_TICKS, now=NOW, ticks=TICKS, frozen=FROZEN,
        backwards=BACKWARDS, busy=BUSY, body="\n".join(f"    {line}" for line in emitter.lines),
        count=len(violations), rules=rules, words=WORDS, w=WORD, channels=len(layout), seen_float=seen[0],
        seen_int=seen[1], watched=len(read), arrivals=arrivals, arrival_words=ARRIVALS, a=ARRIVAL, kept=kept,
        late=LATE, duplicate=DUPLICATE, disordered=DISORDERED,
    )  # fmt: skip
    floats = np.array([*emitter.floats, *([np.nan] * len(layout))])
    integers = np.array([*emitter.integers, *([0] * (2 * len(layout)))], np.int64)
    return Program(source, floats, integers, rules, arrivals, len(read), seen)


def _oldest_ns(layout: Layout, column: int) -> int:
    """Return how old a sample of a healthy channel is at most when it arrives: a period, its latency."""
    channel = layout.channels[column]
    return round((channel.period_s + channel.latency_s) * 1e9)
