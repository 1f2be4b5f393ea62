"""Expressions over whole traces, vectorised: the same meaning as online, for rubrics and replay.

A truth is carried as two Boolean arrays: where it *must* be true and where it *may* be, whatever
the unknown readings are. Every operator but ``not`` is monotone, so it acts on each array alone;
``not`` swaps them. What is equivalent by De Morgan's laws is therefore equally known.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import FloatArray, IntArray, Quality, Trace
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
from safety_monitor.predict import Filter

BoolArray = NDArray[np.bool_]
NS_PER_S = 1e9
_ARITHMETIC: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply}
_COMPARE: dict[str, Any] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


class Tracks(NamedTuple):
    """Where a truth must be true and where it may be; what must be may be."""

    must: BoolArray
    may: BoolArray


def _latest(x: BoolArray) -> IntArray:
    """Return for each tick the index of the latest tick where ``x``, -1 before the first."""
    index = np.where(x, np.arange(len(x)), -1)
    latest: IntArray = np.maximum.accumulate(index) if len(x) else index
    return latest


def _held(x: BoolArray, t: IntArray, span_ns: int) -> BoolArray:
    if not len(x):
        return x
    begin = np.minimum(_latest(~x) + 1, len(x) - 1)
    held: BoolArray = x & (t - t[begin] >= span_ns)
    return held


def _within(x: BoolArray, t: IntArray, span_ns: int) -> BoolArray:
    latest = _latest(x)
    within: BoolArray = (latest >= 0) & (t - t[np.maximum(latest, 0)] <= span_ns) if len(x) else x
    return within


def _since(x: BoolArray, start: BoolArray, t: IntArray, span_ns: int) -> BoolArray:
    if not len(x):
        return x
    begun, broken = _latest(start), _latest(~x)
    since: BoolArray = (begun >= 0) & (broken <= begun) & (t - t[np.maximum(begun, 0)] <= span_ns)
    return since


def _unanswered(call: BoolArray, answer: BoolArray, t: IntArray, span_ns: int) -> BoolArray:
    n = len(call)
    if not n:
        return call
    index = np.where(call, np.arange(n), n)
    next_call = np.append(np.minimum.accumulate(index[::-1])[::-1], n)  # shape (n + 1,)
    pending = next_call[_latest(answer) + 1]  # the first call after the latest answer
    overdue: BoolArray = (pending <= np.arange(n)) & (t - t[np.minimum(pending, n - 1)] >= span_ns)
    return overdue


def _before(x: BoolArray) -> BoolArray:
    """Return ``x`` one tick earlier; false before the first."""
    before = np.zeros_like(x)
    before[1:] = x[:-1]
    return before


def _sliding(x: FloatArray, t: IntArray, span_ns: int, highest: bool) -> FloatArray:
    """Return the extreme of ``x`` over the window at each tick; NaN while a NaN is inside it."""
    n = len(x)
    if not n:
        return x
    first = np.searchsorted(t, t - span_ns, side="left")
    count = np.arange(n) - first + 1
    level = np.log2(count).astype(np.int64)  # the largest power of two inside the window
    extreme = np.fmax if highest else np.fmin
    best, table = np.empty(n), x.copy()  # table[i] is the extreme of the 2**k values that end at i
    for k in range(int(level.max()) + 1):
        at = np.flatnonzero(level == k)
        best[at] = extreme(table[at], table[first[at] + (1 << k) - 1])
        step = 1 << k
        table[step:] = extreme(table[step:], table[:-step].copy())
    best[_within(np.isnan(x), t, span_ns)] = np.nan
    return best


@dataclass
class Evaluation:
    """One trace being evaluated; every node once."""

    trace: Trace
    _truths: dict[Truth, Tracks] = field(default_factory=dict)
    _numbers: dict[Numeric, FloatArray] = field(default_factory=dict)

    def number(self, node: Numeric) -> FloatArray:
        """Return the number at every tick, shape (n,), NaN where unknown."""
        if node not in self._numbers:
            with np.errstate(all="ignore"):
                self._numbers[node] = self._number(node)
        return self._numbers[node]

    def truth(self, node: Truth) -> Tracks:
        """Return the truth at every tick, two arrays of shape (n,)."""
        if node not in self._truths:
            self._truths[node] = self._truth(node)
        return self._truths[node]

    def _number(self, node: Numeric) -> FloatArray:
        match node:
            case Constant(value=value):
                return np.full(len(self.trace), value)
            case Measured():
                return self._measured(node)
            case Arithmetic(op="/", left=left, right=right):
                below = self.number(right)
                return np.where(below == 0.0, np.nan, self.number(left) / below)
            case Arithmetic(op=op, left=left, right=right):
                result: FloatArray = _ARITHMETIC[op](self.number(left), self.number(right))
                return result
            case Absolute(x=x):
                return np.abs(self.number(x))
            case Extreme(op=op, args=args):
                pick = np.minimum if op == "min" else np.maximum
                return pick.reduce([self.number(x) for x in args])  # type: ignore[no-any-return]
            case Window(op=op, x=x, span_ns=span_ns):
                return _sliding(self.number(x), self.trace.t_ns, span_ns, op == "highest")
            case Age(x=x):
                age_ns = self.trace.t_ns - self._sampled(x)
                return np.where(age_ns < 0, np.nan, age_ns / NS_PER_S)
            case Unchanged(x=x):
                return self._unchanged(self.number(x))
            case Rate():
                return self._rate(node)
            case Ahead():
                return self._ahead(node)
            case Stiffness():
                return self._stiffness(node)
            case Times(x=x, span_ns=span_ns):
                return self._times(self.truth(Begins(x)), span_ns)

    def _sampled(self, x: Measured) -> IntArray:
        return self.trace.sampled_ns[:, self.trace.layout.index(x.channel)]

    def _measured(self, x: Measured) -> FloatArray:
        i = self.trace.layout.index(x.channel)
        values, age_ns = self.trace.values[:, i], self.trace.t_ns - self._sampled(x)
        good = (self.trace.quality[:, i] == Quality.GOOD) & (age_ns >= 0) & (age_ns < x.stale_ns)
        return np.where(good & (values >= x.low) & (values <= x.high), values, np.nan)

    def _previous(self, value: FloatArray) -> FloatArray:
        """Return the last known value before each tick, NaN where there is none."""
        latest = np.append(-1, _latest(~np.isnan(value)))[:-1]
        return np.where(latest >= 0, value[latest], np.nan) if len(value) else value

    def _unchanged(self, value: FloatArray) -> FloatArray:
        known = ~np.isnan(value)
        new = known & (value != self._previous(value))  # NaN, no previous value, differs too
        since = (self.trace.t_ns - self.trace.t_ns[_latest(new)]) / NS_PER_S
        return np.where(known, since, np.nan)

    def _times(self, began: Tracks, span_ns: int) -> FloatArray:
        t = self.trace.t_ns
        so_far = np.append(0, np.cumsum(began.must))
        first = np.searchsorted(t, t - span_ns, side="left")
        times: FloatArray = np.minimum(so_far[1:] - so_far[first], MOST_TIMES).astype(np.float64)
        times[_within(began.may & ~began.must, t, span_ns)] = np.nan
        return times

    def forecast(self, node: Ahead) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation of a prediction at every tick, shape (n,), whatever its kappa."""
        value, stamp, t = self.number(node.x), self._sampled(node.x), self.trace.t_ns
        mean, deviation = np.full(len(value), np.nan), np.full(len(value), np.nan)
        state = Filter(node.x.noise, node.walk)
        for k in np.flatnonzero(~np.isnan(value)):
            state.take(float(value[k]), int(stamp[k]))
            if state.samples >= 2:
                at_ns = int(t[k]) + node.span_ns
                mean[k], deviation[k] = state.mean(at_ns), state.deviation(at_ns)
        return mean, deviation

    def _ahead(self, node: Ahead) -> FloatArray:
        (mean, deviation), value = self.forecast(node), self.number(node.x)
        pick = np.maximum if node.kappa >= 0 else np.minimum
        ahead: FloatArray = pick(value, mean + node.kappa * deviation)
        return ahead

    def _stiffness(self, node: Stiffness) -> FloatArray:
        force, speed, t = self.number(node.x), self.number(node.speed), self.trace.t_ns
        stiffness = np.zeros(len(force))
        way = 0.0  # NaN from the first unknown of a touch on
        for k in np.flatnonzero(~(force <= node.touch)):
            if k == 0 or force[k - 1] <= node.touch:
                way = 0.0
            step_s = (t[k] - t[k - 1]) / NS_PER_S if k else 0.0
            way += speed[k] * step_s if not np.isnan(force[k]) else np.nan
            gained = force[k] - node.touch
            stiffness[k] = node.most if way * node.most <= gained else gained / way
        return stiffness

    def _rate(self, node: Rate) -> FloatArray:
        value, stamp = self.number(node.x), self._sampled(node.x)
        rate = np.full(len(value), np.nan)
        known = np.flatnonzero(~np.isnan(value))
        if not len(known):
            return rate
        v, s = value[known], stamp[known]
        newest = np.maximum.accumulate(s)
        fresh = np.append(True, newest[1:] > newest[:-1])
        sample = np.cumsum(fresh) - 1  # which fresh sample is the newest at each known tick
        fv, fs = v[fresh], s[fresh]
        slope = np.append(np.nan, np.diff(fv) / np.diff(fs) * NS_PER_S)
        same = (s == fs[sample]) & (v == fv[sample])
        rate[known] = np.where(same, slope[sample], np.nan)
        return rate

    def _truth(self, node: Truth) -> Tracks:
        t = self.trace.t_ns
        match node:
            case Compare():
                return self._compare(node)
            case Not(x=x):
                inner = self.truth(x)
                return Tracks(~inner.may, ~inner.must)
            case And(args=args):
                return Tracks(
                    *(np.logical_and.reduce(part) for part in zip(*map(self.truth, args), strict=True))
                )
            case Or(args=args):
                return Tracks(
                    *(np.logical_or.reduce(part) for part in zip(*map(self.truth, args), strict=True))
                )
            case Held(x=x, span_ns=span_ns):
                return Tracks(*(_held(part, t, span_ns) for part in self.truth(x)))
            case Within(x=x, span_ns=span_ns):
                return Tracks(*(_within(part, t, span_ns) for part in self.truth(x)))
            case Since(x=x, start=start, span_ns=span_ns):
                pairs = zip(self.truth(x), self.truth(start), strict=True)
                return Tracks(*(_since(a, b, t, span_ns) for a, b in pairs))
            case Unanswered(call=call, answer=answer, span_ns=span_ns):
                a, b = self.truth(call), self.truth(answer)
                return Tracks(_unanswered(a.must, b.may, t, span_ns), _unanswered(a.may, b.must, t, span_ns))
            case Begins(x=x):
                inner = self.truth(x)
                return Tracks(inner.must & ~_before(inner.may), inner.may & ~_before(inner.must))
            case Valid(x=x):
                known = ~np.isnan(self.number(x))
                return Tracks(known, known)
            case Rises(x=x):
                value = self.number(x)
                return _known(value > self._previous(value), value)
            case Changes(x=x):
                value = self.number(x)
                before = self._previous(value)
                return _known((value != before) & ~np.isnan(before), value)

    def _compare(self, node: Compare) -> Tracks:
        with np.errstate(all="ignore"):
            difference = self.number(node.left) - self.number(node.right)
            return _known(_COMPARE[node.op](difference, 0.0), np.where(np.isfinite(difference), 0.0, np.nan))


def _known(truth: BoolArray, value: FloatArray) -> Tracks:
    """Return tracks that are unknown where ``value`` is NaN."""
    unknown = np.isnan(value)
    return Tracks(truth & ~unknown, truth | unknown)
