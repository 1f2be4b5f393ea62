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

_HELPERS = '''"""Generated; the name is the hash of everything it depends on."""
import numba
import numpy as np

NEVER = {never}
NAN, INF = np.nan, np.inf
_F, _I = numba.types.float64, numba.types.int64
_FS, _IS = numba.types.float64[::1], numba.types.int64[::1]


@numba.njit(_F(_FS, _IS, _I, _I, _I, _I, _F, _I, _I, numba.types.boolean), cache=True, nogil=True)
def slide(F, I, f, i, size, t, v, span, slice_, old):
    """Return the largest value in the window, or since the newest tick at least a span old."""
    head, mid, tail, back = I[i], I[i + 1], I[i + 2], F[f]
    times, begun = i + 3, i + 3 + size
    if tail > mid and t - I[begun + (tail - 1) % size] < slice_:
        F[f + 1 + (tail - 1) % size] = max(F[f + 1 + (tail - 1) % size], v)
        I[times + (tail - 1) % size] = t
    else:
        full = tail - head == size
        if full and head == mid:
            top = -INF
            for j in range(tail - 1, head - 1, -1):
                top = max(top, F[f + 1 + j % size])
                F[f + 1 + j % size] = top
            mid, back = tail, -INF
        if full:
            head += 1
        F[f + 1 + tail % size] = v
        I[times + tail % size] = t
        I[begun + tail % size] = t
        tail += 1
    back = max(back, v)
    while head < tail:
        if old:
            if head + 1 >= tail or t - I[times + (head + 1) % size] < span:
                break
        elif t - I[times + head % size] <= span:
            break
        if head == mid:
            top = -INF
            for j in range(tail - 1, head - 1, -1):
                top = max(top, F[f + 1 + j % size])
                F[f + 1 + j % size] = top
            mid, back = tail, -INF
        head += 1
    I[i], I[i + 1], I[i + 2], F[f] = head, mid, tail, back
    if old and (head == tail or t - I[times + head % size] < span):
        return INF
    return max(F[f + 1 + head % size] if head < mid else -INF, back)


@numba.njit(_F(_FS, _IS, _I, _I, _I, _I, _F, _F, _I, _I), cache=True, nogil=True)
def lasting(F, I, f, i, size, t, x, start, span, slice_):
    """Return the best start in the window after which ``x`` has lasted: values fall from front to back."""
    head, length, times = I[i], I[i + 1], i + 2
    while length > 1 and F[f + (head + 1) % size] >= x:
        head, length = (head + 1) % size, length - 1
    if length > 0:
        F[f + head] = min(F[f + head], x)
    while length > 0 and F[f + (head + length - 1) % size] <= start:
        length -= 1
    if length == 0 or length < size and t - I[times + (head + length - 1) % size] >= slice_:
        F[f + (head + length) % size] = start
        I[times + (head + length) % size] = t
        length += 1
    while length > 0 and t - I[times + head] > span:
        head, length = (head + 1) % size, length - 1
    I[i], I[i + 1] = head, length
    return F[f + head] if length > 0 else -INF


@numba.njit(_F(_FS, _IS, _I, _I, _I, _I, _F, _F, _I, _I), cache=True, nogil=True)
def pending(F, I, f, i, size, t, call, free, span, slice_):
    """Return the best call at least a span old that has been free of an answer from then to now."""
    calls, frees, when, low = f + 1, f + 1 + size, i + 4, i + 4 + size
    first, waiting, head, length = I[i], I[i + 1], I[i + 2], I[i + 3]
    if waiting > 0 and (waiting == size or t - I[when + (first + waiting - 1) % size] < slice_):
        k = (first + waiting - 1) % size
        F[calls + k] = max(F[calls + k], call)
    else:
        F[calls + (first + waiting) % size] = call
        I[when + (first + waiting) % size] = t
        waiting += 1
    while length > 0 and F[frees + (head + length - 1) % size] >= free:
        length -= 1
    if length == size:
        F[frees + (head + length - 1) % size] = free
        I[low + (head + length - 1) % size] = t
    else:
        F[frees + (head + length) % size] = free
        I[low + (head + length) % size] = t
        length += 1
    best = min(F[f], free)
    while waiting > 0 and t - I[when + first] >= span:
        while length > 1 and I[low + head] < I[when + first]:
            head, length = (head + 1) % size, length - 1
        best = max(best, min(F[calls + first], F[frees + head]))
        first, waiting = (first + 1) % size, waiting - 1
    F[f], I[i], I[i + 1], I[i + 2], I[i + 3] = best, first, waiting, head, length
    return best


@numba.njit(
    numba.types.void(_I, _FS, _IS, numba.types.uint8[::1], _FS, _IS, _FS),
    cache=True, nogil=True, error_model="numpy",
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
        size = EXACT
        slice_ns = node.span_ns // _SLICES if node.span_ns > EXACT * 1_000_000 else 0
        f, i = len(self.floats), len(self.integers)
        memory = f"F, I, {f}, {i}, {size}, t"
        match node:
            case Within(x=x):
                self._stacks(size)
                self.say(f"{r} = slide({memory}, {self.bound(x, upper)}, {node.span_ns}, {slice_ns}, False)")
            case Held(x=x):
                self._stacks(size)
                self.say(f"{r} = -slide({memory}, -{self.bound(x, upper)}, {node.span_ns}, {slice_ns}, True)")
            case Since(x=x, start=start):
                self.floats += [np.nan] * size
                self.integers += [0, 0, *([NEVER] * size)]
                both = f"{self.bound(x, upper)}, {self.bound(start, upper)}"
                self.say(f"{r} = lasting({memory}, {both}, {node.span_ns}, {slice_ns})")
            case Unanswered(call=call, answer=answer):
                self.floats += [-np.inf, *([np.nan] * (2 * size))]
                self.integers += [0, 0, 0, 0, *([NEVER] * (2 * size))]
                both = f"{self.bound(call, upper)}, -{self.bound(answer, not upper)}"
                self.say(f"{r} = pending({memory}, {both}, {node.span_ns}, {slice_ns})")

    def _stacks(self, size: int) -> None:
        self.floats += [-np.inf, *([np.nan] * size)]
        self.integers += [0, 0, 0, *([NEVER] * (2 * size))]


def margin_source(violations: Sequence[Truth], layout: Layout) -> tuple[str, FloatArray, IntArray]:
    """Return the kernel of the rules' margins, and its initial float and integer state."""
    emitter = MarginEmitter(layout, integers=[0] * 5)
    for r, violated in enumerate(violations):
        emitter.say(f"margins[{r}] = -{emitter.bound(violated, upper=True)}")
    body = "\n".join(f"    {line}" for line in emitter.lines)
    source = _HELPERS.format(never=NEVER) + body + "\n" + _REPLAY
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
