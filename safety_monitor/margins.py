"""How far from being broken, at every tick: the rules' margins as one generated kernel.

Windows are two stacks in a ring, so a tick costs the same on average however long they are. Spans of
more than `EXACT` ticks of 1 ms are kept in slices of a five-hundredth of the span: a margin may then
come or go that much of the span late. Margins inform and rank; they never actuate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rig.core.channel import FloatArray, IntArray, Layout, Snapshot, Trace
from rig.core.errors import UsageError
from safety_monitor.cache import load_module
from safety_monitor.emitter import NEVER, Emitter
from safety_monitor.nodes import (
    FOREVER,
    And,
    Begins,
    Changes,
    Compare,
    Held,
    Not,
    Or,
    Rises,
    Since,
    Truth,
    Unanswered,
    Valid,
    Within,
)
from safety_monitor.reference_margins import scale
from safety_monitor.rule import RuleSet

EXACT = 512
_SLICES = 500
_APART = 23  # words between rings, so that they do not all fall into the same set of the cache

_HELPERS = '''"""Generated; the name is the hash of everything it depends on."""
import numba
import numpy as np

NEVER = {never}
NAN, INF = np.nan, np.inf
SIZE, MASK = {size}, {size} - 1
_F, _I = numba.types.float64, numba.types.int64
_FS, _IS = numba.types.float64[::1], numba.types.int64[::1]


@numba.njit(nogil=True, forceinline=True)
def slide(F, I, f, i, t, v, span, slice_, old):
    """Return the largest value in the window, or since the newest tick at least a span old.

    Entries head to mid are the front stack, each holding the largest of itself and all later ones
    up to mid; ``back`` is the largest from mid to tail.
    """
    head, mid, tail, back = I[i], I[i + 1], I[i + 2], F[f]
    times, begun, newest = i + 3, i + 3 + SIZE, (tail - 1) & MASK
    if slice_ > 0 and tail > mid and t - I[begun + newest] < slice_:
        F[f + 1 + newest] = v if v > F[f + 1 + newest] else F[f + 1 + newest]
        I[times + newest] = t
    else:
        F[f + 1 + (tail & MASK)] = v
        I[times + (tail & MASK)] = t
        if slice_ > 0:
            I[begun + (tail & MASK)] = t
        tail += 1
    back = v if v > back else back
    while True:
        if tail - head <= SIZE - 1:  # with a full ring the oldest is forgotten
            if old:
                if head + 1 >= tail or t - I[times + ((head + 1) & MASK)] < span:
                    break
            elif t - I[times + (head & MASK)] <= span:
                break
        if head == mid:
            top = -INF
            for j in range(tail - 1, head - 1, -1):
                entry = F[f + 1 + (j & MASK)]
                top = entry if entry > top else top
                F[f + 1 + (j & MASK)] = top
            mid, back = tail, -INF
        head += 1
    I[i], I[i + 1], I[i + 2], F[f] = head, mid, tail, back
    if old and t - I[times + (head & MASK)] < span:
        return INF
    if head == mid:
        return back
    entry = F[f + 1 + (head & MASK)]
    return entry if entry > back else back


@numba.njit(nogil=True, forceinline=True)
def lasting(F, I, f, i, t, x, start, span, slice_):
    """Return the best start in the window after which ``x`` has lasted: values fall from front to back."""
    head, tail, times = I[i], I[i + 1], i + 2
    while tail - head > 1 and F[f + ((head + 1) & MASK)] >= x:
        head += 1
    if tail > head and F[f + (head & MASK)] > x:
        F[f + (head & MASK)] = x
    while tail > head and F[f + ((tail - 1) & MASK)] <= start:
        tail -= 1
    room = tail - head < SIZE and (slice_ == 0 or t - I[times + ((tail - 1) & MASK)] >= slice_)
    if tail == head or room:
        F[f + (tail & MASK)] = start
        I[times + (tail & MASK)] = t
        tail += 1
    while tail > head and t - I[times + (head & MASK)] > span:
        head += 1
    I[i], I[i + 1] = head, tail
    return F[f + (head & MASK)] if tail > head else -INF


@numba.njit(nogil=True, forceinline=True)
def pending(F, I, f, i, t, call, free, span, slice_):
    """Return the best call at least a span old that has been free of an answer from then to now."""
    calls, frees, when, low = f + 1, f + 1 + SIZE, i + 4, i + 4 + SIZE
    first, last, head, tail = I[i], I[i + 1], I[i + 2], I[i + 3]
    newest = (last - 1) & MASK
    if last > first and (last - first == SIZE or (slice_ > 0 and t - I[when + newest] < slice_)):
        F[calls + newest] = max(F[calls + newest], call)
    else:
        F[calls + (last & MASK)] = call
        I[when + (last & MASK)] = t
        last += 1
    while tail > head and F[frees + ((tail - 1) & MASK)] >= free:
        tail -= 1
    if tail - head == SIZE:
        tail -= 1
    F[frees + (tail & MASK)] = free
    I[low + (tail & MASK)] = t
    tail += 1
    best = min(F[f], free)
    while last > first and t - I[when + (first & MASK)] >= span:
        while tail - head > 1 and I[low + (head & MASK)] < I[when + (first & MASK)]:
            head += 1
        best = max(best, min(F[calls + (first & MASK)], F[frees + (head & MASK)]))
        first += 1
    F[f], I[i], I[i + 1], I[i + 2], I[i + 3] = best, first, last, head, tail
    return best


@numba.njit(
    numba.types.void(_I, _FS, _IS, numba.types.uint8[::1], _FS, _IS, _FS),
    cache=True, nogil=True, error_model="numpy", forceinline=True,
)
def step(t, x, s, q, F, I, margins):
    sane = True
'''
_REPLAY = """

@numba.njit(
    numba.types.void(
        _IS, numba.types.float64[:, ::1], numba.types.int64[:, ::1], numba.types.uint8[:, ::1], _FS, _IS,
        numba.types.float64[:, ::1],
    ),
    cache=True, nogil=True,
)
def replay(t, x, s, q, F, I, margins):
    for k in range(t.shape[0]):
        step(t[k], x[k], s[k], q[k], F, I, margins[k])
"""


@dataclass
class MarginEmitter(Emitter):
    """Writes the upper or lower bound of the margins of conditions, each once."""

    _bounds: dict[tuple[Truth, bool], str] = field(default_factory=dict)

    def bound(self, node: Truth, upper: bool) -> str:
        """Return the local that holds a bound."""
        if (node, upper) not in self._bounds:
            self._bounds[node, upper] = self._bound(node, upper)
        return self._bounds[node, upper]

    def _bound(self, node: Truth, upper: bool) -> str:
        r = f"r{self.name()}"
        match node:
            case Compare():
                self._compared(node, upper, r)
            case Not(x=x):
                self.say(f"{r} = -{self.bound(x, not upper)}")
            case And(args=args) | Or(args=args):
                pick = "min" if isinstance(node, And) else "max"
                self.say(f"{r} = {self.bound(args[0], upper)}")
                for x in args[1:]:
                    self.say(f"{r} = {pick}({r}, {self.bound(x, upper)})")
            case Valid() | Rises() | Changes():
                self.say(f"{r} = INF if {self.truth(node)[1 if upper else 0]} else -INF")
            case Begins(x=x):
                before, other = self.keep_float(-np.inf), self.bound(x, not upper)
                self.say(f"{r} = min({self.bound(x, upper)}, -{before})", f"{before} = {other}")
            case _:
                self._timed_bound(node, upper, r)
        return r

    def _compared(self, node: Compare, upper: bool, r: str) -> None:
        d, unknown = f"e{r[1:]}", "INF" if upper else "-INF"
        self.say(f"{d} = ({self.number(node.left)} - {self.number(node.right)}) / {scale(node)!r}")
        margin = {">": d, ">=": d, "<": f"-{d}", "<=": f"-{d}", "==": f"-abs({d})", "!=": f"abs({d})"}[
            node.op
        ]
        self.say(f"{r} = {margin} if {d} - {d} == 0.0 else {unknown}")

    def _timed_bound(self, node: Held | Within | Since | Unanswered, upper: bool, r: str) -> None:
        slice_ns = node.span_ns // _SLICES if node.span_ns > EXACT * 1_000_000 else 0
        match node:
            case Within(x=x, span_ns=span_ns) if span_ns >= FOREVER:
                most = self.keep_float(-np.inf)
                self.say(f"{r} = max({most}, {self.bound(x, upper)})", f"{most} = {r}")
            case Since(x=x, start=start, span_ns=span_ns) if span_ns >= FOREVER:
                best = self.keep_float(-np.inf)
                lasted = f"min({best}, {self.bound(x, upper)})"
                self.say(f"{r} = max({self.bound(start, upper)}, {lasted})", f"{best} = {r}")
            case Within(x=x):
                value, memory = self.bound(x, upper), self._memory(1, 3, 2)
                self.say(f"{r} = slide({memory}, {value}, {node.span_ns}, {slice_ns}, False)")
            case Held(x=x):
                value, memory = self.bound(x, upper), self._memory(1, 3, 2)
                self.say(f"{r} = -slide({memory}, -{value}, {node.span_ns}, {slice_ns}, True)")
            case Since(x=x, start=start):
                values = f"{self.bound(x, upper)}, {self.bound(start, upper)}"
                self.say(f"{r} = lasting({self._memory(0, 2, 1)}, {values}, {node.span_ns}, {slice_ns})")
            case Unanswered(call=call, answer=answer):
                values = f"{self.bound(call, upper)}, -{self.bound(answer, not upper)}"
                self.say(f"{r} = pending({self._memory(1, 4, 2)}, {values}, {node.span_ns}, {slice_ns})")

    def _memory(self, floats: int, words: int, times: int) -> str:
        """Give out memory: so many words, then so many rings of times, and one or two rings of values."""
        place = f"F, I, {len(self.floats)}, {len(self.integers)}, t"
        rings = 2 if words == 4 else 1
        self.floats += [*([-np.inf] * floats), *([np.nan] * (rings * EXACT + _APART))]
        self.integers += [*([0] * words), *([NEVER] * (times * EXACT + _APART))]
        return place


def margin_source(violations: Sequence[Truth], layout: Layout) -> tuple[str, FloatArray, IntArray]:
    """Return the kernel of the rules' margins, and its initial float and integer state."""
    emitter = MarginEmitter(layout, integers=[0] * 5)
    for r, violated in enumerate(violations):
        emitter.say(f"margins[{r}] = -{emitter.bound(violated, upper=True)}")
    body = "\n".join(f"    {line}" for line in emitter.lines)
    source = _HELPERS.format(never=NEVER, size=EXACT) + body + "\n" + _REPLAY
    return source, np.array([*emitter.floats, 0.0]), np.array(emitter.integers, np.int64)


class MarginMeter:
    """The margins of a rule set over one layout; compiled the first time, which takes seconds."""

    def __init__(self, rules: RuleSet, layout: Layout) -> None:
        if rules.layout != layout:
            raise UsageError(
                "the rules were checked against other channels than this bench has; load them again"
            )
        self.rules = rules
        source, self._floats, self._integers = margin_source([r.violated for r in rules.rules], layout)
        module = load_module(source)
        self._step, self._replay = module.step, module.replay
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.floats, self.integers = self._floats.copy(), self._integers.copy()
        self.margins = np.empty(len(self.rules.rules))

    def step(self, snapshot: Snapshot) -> FloatArray:
        """Take one tick.

        Returns:
            Shape (r,): how far each rule is from being broken at worst, as a share of its limit;
            negative once broken, minus infinity where too much is unknown. Overwritten next tick.
        """
        self._step(
            snapshot.t_ns, snapshot.values, snapshot.sampled_ns, snapshot.quality, self.floats,
            self.integers, self.margins,
        )  # fmt: skip
        return self.margins

    def over(self, trace: Trace) -> FloatArray:
        """Go on over a whole trace; return the margins at every tick, shape (n, r)."""
        margins = np.empty((len(trace), len(self.rules.rules)))
        contiguous = np.ascontiguousarray
        self._replay(
            contiguous(trace.t_ns), contiguous(trace.values), contiguous(trace.sampled_ns),
            contiguous(trace.quality), self.floats, self.integers, margins,
        )  # fmt: skip
        return margins
