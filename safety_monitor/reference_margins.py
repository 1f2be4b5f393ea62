"""What margins are, written as their definitions: slow and obvious, like `safety_monitor.reference`.

The margin of a condition is how far it is from changing, as a share of its limit: positive while it
is true. Unknown readings leave it between two bounds, so every margin here is (low, high); what
is equivalent by De Morgan's laws has equal bounds.
"""

import math
from collections.abc import Callable
from functools import cache

from rig.core.channel import Trace
from safety_monitor.nodes import (
    And,
    Begins,
    Changes,
    Compare,
    Constant,
    Held,
    Measured,
    Not,
    Or,
    Rises,
    Since,
    Truth,
    Unanswered,
    Valid,
    Within,
    walk,
)
from safety_monitor.reference import Reference

Bounds = tuple[float, float]
INF = math.inf


def scale(node: Compare) -> float:
    """Return what a comparison's distance is a share of: its limit, else the range of its first channel."""
    for side in (node.right, node.left):
        if isinstance(side, Constant) and side.value:
            return abs(side.value)
    first = next((n for n in walk(node) if isinstance(n, Measured)), None)
    return first.high - first.low if first else 1.0


class Margins:
    """The definitions over one trace: ``margin(node, k)`` is (low, high) at tick ``k``."""

    def __init__(self, trace: Trace) -> None:
        self._t = [int(t) for t in trace.t_ns]
        self._reference = Reference(trace)
        self.margin = cache(self._margin)

    def _each(self, value: Callable[[int], float]) -> Bounds:
        return value(0), value(1)

    def _margin(self, node: Truth, k: int) -> Bounds:
        match node:
            case Compare():
                return self._compare(node, k)
            case Not(x=x):
                low, high = self.margin(x, k)
                return -high, -low
            case And(args=args):
                return self._each(lambda side: min(self.margin(x, k)[side] for x in args))
            case Or(args=args):
                return self._each(lambda side: max(self.margin(x, k)[side] for x in args))
            case Valid() | Rises() | Changes():
                truth = self._reference.truth(node, k)
                return {True: (INF, INF), False: (-INF, -INF), None: (-INF, INF)}[truth]
            case Begins(x=x):
                low, high = self.margin(x, k - 1) if k else (-INF, -INF)
                return min(self.margin(x, k)[0], -high), min(self.margin(x, k)[1], -low)
            case _:
                return self._each(lambda side: self._timed(node, k, side))

    def _compare(self, node: Compare, k: int) -> Bounds:
        difference = self._reference.number(node.left, k) - self._reference.number(node.right, k)
        if not math.isfinite(difference):
            return -INF, INF
        d = difference / scale(node)
        margin = {">": d, ">=": d, "<": -d, "<=": -d, "==": -abs(d), "!=": abs(d)}[node.op]
        return margin, margin

    def _timed(self, node: Held | Within | Since | Unanswered, k: int, side: int) -> float:
        window = [j for j in range(k + 1) if self._t[k] - self._t[j] <= node.span_ns]
        old = [j for j in range(k + 1) if self._t[k] - self._t[j] >= node.span_ns]
        match node:
            case Held(x=x):
                runs = (min(self.margin(x, i)[side] for i in range(j, k + 1)) for j in old)
                return max(runs, default=-INF)
            case Within(x=x):
                return max((self.margin(x, j)[side] for j in window), default=-INF)
            case Since(x=x, start=start):
                lasted = (
                    min(
                        [self.margin(start, j)[side], *(self.margin(x, i)[side] for i in range(j + 1, k + 1))]
                    )
                    for j in window
                )
                return max(lasted, default=-INF)
            case Unanswered(call=call, answer=answer):
                pending = (
                    min(
                        [
                            self.margin(call, j)[side],
                            *(-self.margin(answer, i)[1 - side] for i in range(j, k + 1)),
                        ]
                    )
                    for j in old
                )
                return max(pending, default=-INF)
