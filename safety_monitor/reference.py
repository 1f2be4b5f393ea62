"""The meaning of expressions written as their definitions: slow and obvious.

Everything else that evaluates expressions is compared with this file: the generated kernel, the
vectorised evaluation, and public tools. It quantifies over index sets in Kleene's three-valued
logic, True, False and None for unknown, and remembers nothing.
"""

import math
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import numpy as np

from rig.core.channel import FloatArray, Quality, Trace
from safety_monitor.nodes import (
    MOST_TIMES,
    Absolute,
    Age,
    Ahead,
    And,
    Arithmetic,
    Begins,
    Changes,
    Compare,
    Constant,
    Extreme,
    Held,
    Measured,
    Not,
    Numeric,
    Or,
    Rate,
    Rises,
    Since,
    Stiffness,
    Times,
    Truth,
    Unanswered,
    Unchanged,
    Valid,
    Window,
    Within,
)

Ternary = bool | None


def negation(x: Ternary) -> Ternary:
    """Return the opposite; the opposite of unknown is unknown."""
    return None if x is None else not x


def every(xs: Iterable[Ternary]) -> Ternary:
    """Return whether all are true: false if any is false, else unknown if any is unknown."""
    seen = list(xs)
    return False if False in seen else None if None in seen else True


def some(xs: Iterable[Ternary]) -> Ternary:
    """Return whether any is true: true if any is true, else unknown if any is unknown."""
    seen = list(xs)
    return True if True in seen else None if None in seen else False


class Reference:
    """The definitions over one trace: `truth` and `number` at tick ``k``."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._t = [int(t) for t in trace.t_ns]
        self.truth = cache(self._truth)
        self.number = cache(self._number)

    def _window(self, k: int, span_ns: int) -> list[int]:
        return [j for j in range(k + 1) if self._t[k] - self._t[j] <= span_ns]

    def _old(self, k: int, span_ns: int) -> list[int]:
        return [j for j in range(k + 1) if self._t[k] - self._t[j] >= span_ns]

    def _reading(self, x: Measured, k: int) -> tuple[float, int]:
        """Return the value, NaN where unknown, and when it was sampled."""
        i = self._trace.layout.index(x.channel)
        value, sampled = float(self._trace.values[k, i]), int(self._trace.sampled_ns[k, i])
        good = (
            self._trace.quality[k, i] == Quality.GOOD
            and 0 <= self._t[k] - sampled < x.stale_ns
            and x.low <= value <= x.high
        )
        return (value if good else math.nan), sampled

    def _known(self, x: Measured, k: int) -> list[int]:
        """Return the ticks before ``k`` at which ``x`` was known."""
        return [j for j in range(k) if not math.isnan(self._reading(x, j)[0])]

    def _number(self, node: Numeric, k: int) -> float:
        match node:
            case Constant(value=value):
                return value
            case Measured():
                return self._reading(node, k)[0]
            case Arithmetic(op=op, left=left, right=right):
                return _arithmetic(op, self.number(left, k), self.number(right, k))
            case Absolute(x=x):
                return abs(self.number(x, k))
            case Extreme(op=op, args=args):
                return _extreme(op, [self.number(x, k) for x in args])
            case Window(op=op, x=x, span_ns=span_ns):
                return _extreme(op, [self.number(x, j) for j in self._window(k, span_ns)])
            case Age(x=x):
                age_ns = self._t[k] - self._reading(x, k)[1]
                return age_ns / 1e9 if age_ns >= 0 else math.nan
            case Unchanged(x=x):
                return self._unchanged(x, k)
            case Rate(x=x):
                return self._rate(x, k)
            case Ahead():
                return self._ahead(node, k)
            case Stiffness():
                return self._stiffness(node, k)
            case Times(x=x, span_ns=span_ns):
                began = [self.truth(Begins(x), j) for j in self._window(k, span_ns)]
                return math.nan if None in began else float(min(began.count(True), MOST_TIMES))

    def _unchanged(self, x: Measured, k: int) -> float:
        value = self.number(x, k)
        if math.isnan(value):
            return math.nan
        begun = k
        for j in reversed(self._known(x, k)):
            if self.number(x, j) != value:
                break
            begun = j
        return (self._t[k] - self._t[begun]) / 1e9

    def _rate(self, x: Measured, k: int) -> float:
        value, stamp = self._reading(x, k)
        samples: dict[int, float] = {}  # by stamp; one that does not come after all before it is no sample
        for j in [*self._known(x, k), k]:
            v, s = self._reading(x, j)
            if not samples or s > max(samples):
                samples[s] = v
        if math.isnan(value) or len(samples) < 2 or stamp != max(samples) or samples[stamp] != value:
            return math.nan
        before = sorted(samples)[-2]
        return (value - samples[before]) / (stamp - before) * 1e9

    def _ahead(self, node: Ahead, k: int) -> float:
        """Textbook filter in matrices over all samples so far, then the prediction."""
        x = node.x
        if math.isnan(self.number(x, k)):
            return math.nan
        samples: list[tuple[int, float]] = []
        for j in [*self._known(x, k), k]:
            value, stamp = self._reading(x, j)
            if not samples or stamp > samples[-1][0]:
                samples.append((stamp, value))
        if len(samples) < 2:
            return math.nan
        (s0, v0), (s1, v1) = samples[:2]
        dt, r2, q = (s1 - s0) / 1e9, node.x.noise**2, node.walk**2
        mean = np.array([v1, (v1 - v0) / dt])
        spread = r2 * np.array([[1, 1 / dt], [1 / dt, 2 / dt**2]])
        for (before, _), (stamp, value) in pairwise(samples[1:]):
            mean, spread = _moved(mean, spread, (stamp - before) / 1e9, q)
            gain = spread[:, 0] / (spread[0, 0] + r2)
            mean = mean + gain * (value - mean[0])
            spread = spread - np.outer(gain, spread[0])
        mean, spread = _moved(mean, spread, (self._t[k] + node.span_ns - samples[-1][0]) / 1e9, q)
        reach = float(mean[0] + node.kappa * math.sqrt(spread[0, 0]))
        now = self.number(x, k)
        return max(now, reach) if node.kappa >= 0 else min(now, reach)

    def _stiffness(self, node: Stiffness, k: int) -> float:
        force = self.number(node.x, k)
        free = [j for j in range(k + 1) if self.number(node.x, j) <= node.touch]  # NaN is not free
        if k in free:
            return 0.0
        since = range(free[-1] + 1 if free else 0, k + 1)
        if any(math.isnan(self.number(x, j)) for j in since for x in (node.x, node.speed)):
            return math.nan
        way = 0.0
        for j in since:
            way += self.number(node.speed, j) * ((self._t[j] - self._t[j - 1]) / 1e9 if j else 0.0)
        gained = force - node.touch
        return node.most if way * node.most <= gained else gained / way

    def _truth(self, node: Truth, k: int) -> Ternary:
        match node:
            case Compare(op=op, left=left, right=right):
                return _compare(op, self.number(left, k), self.number(right, k))
            case Not(x=x):
                return negation(self.truth(x, k))
            case And(args=args):
                return every(self.truth(x, k) for x in args)
            case Or(args=args):
                return some(self.truth(x, k) for x in args)
            case Begins(x=x):
                return every((self.truth(x, k), negation(self.truth(x, k - 1)) if k else True))
            case Valid(x=x):
                return not math.isnan(self.number(x, k))
            case Rises(x=x) | Changes(x=x):
                value, known = self.number(x, k), self._known(x, k)
                if math.isnan(value):
                    return None
                before = self.number(x, known[-1]) if known else value
                return value > before if isinstance(node, Rises) else value != before
            case _:
                return self._timed(node, k)

    def _timed(self, node: Held | Within | Since | Unanswered, k: int) -> Ternary:
        match node:
            case Held(x=x, span_ns=span_ns):
                starts = self._old(k, span_ns)
                return some(every(self.truth(x, i) for i in range(j, k + 1)) for j in starts)
            case Within(x=x, span_ns=span_ns):
                return some(self.truth(x, j) for j in self._window(k, span_ns))
            case Since(x=x, start=start, span_ns=span_ns):
                return some(
                    every([self.truth(start, j), *(self.truth(x, i) for i in range(j + 1, k + 1))])
                    for j in self._window(k, span_ns)
                )
            case Unanswered(call=call, answer=answer, span_ns=span_ns):
                return some(
                    every([self.truth(call, j), *(negation(self.truth(answer, i)) for i in range(j, k + 1))])
                    for j in self._old(k, span_ns)
                )


def _moved(mean: FloatArray, spread: FloatArray, dt: float, q: float) -> tuple[FloatArray, FloatArray]:
    move, walk = np.array([[1, dt], [0, 1]]), np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    return move @ mean, move @ spread @ move.T + q * walk


def _arithmetic(op: str, a: float, b: float) -> float:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _:
            return math.nan if b == 0.0 else a / b


def _extreme(op: str, xs: list[float]) -> float:
    if any(math.isnan(x) for x in xs):
        return math.nan
    return min(xs) if op == "min" or op == "lowest" else max(xs)


def _compare(op: str, a: float, b: float) -> Ternary:
    difference = a - b
    if not math.isfinite(difference):
        return None
    return {
        "<": difference < 0, "<=": difference <= 0, ">": difference > 0, ">=": difference >= 0,
        "==": difference == 0, "!=": difference != 0,
    }[op]  # fmt: skip
