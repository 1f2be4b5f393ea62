"""Expression nodes as kernel statements: straight-line source, each sub-expression once.

A truth is two local variables, ``m`` (must be true) and ``y`` (may be true); a number is one, NaN
where unknown. What a time operator has to remember is a word or two of state per track, so a tick
costs the same however long the windows are: ``held`` keeps when the run began, ``within`` when it
was last true.
"""

from dataclasses import dataclass, field

import numpy as np

from rig.core.channel import Layout
from safety_monitor.forecasts import ahead, stiffness
from safety_monitor.nodes import (
    FOREVER,
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

NEVER = -(1 << 62)
"""No time: before every time a trial can have."""
WINDOW_LIMIT = 4096
"""The most samples a ``lowest`` or ``highest`` may have to remember."""
OVERFLOWS = 4
"""Word of integer state that counts windows that had to forget."""
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SUMMABLE = 1e300


def _plain(x: Measured, op: str, value: float) -> bool:
    """Return whether comparing a reading itself means the same as the sign of its finite difference to the value."""
    return op in OPPOSITE and max(abs(x.low), abs(x.high), abs(value)) < _SUMMABLE


@dataclass
class Emitter:
    """Writes statements for nodes, once per distinct node, and gives out state."""

    layout: Layout
    lines: list[str] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    _numbers: dict[Numeric, str] = field(default_factory=dict)
    _truths: dict[Truth, tuple[str, str]] = field(default_factory=dict)
    _previous: dict[Measured, str] = field(default_factory=dict)
    _count: int = 0

    def say(self, *lines: str) -> None:
        """Add statements."""
        self.lines += lines

    def name(self) -> str:
        """Return a fresh number for local names."""
        self._count += 1
        return str(self._count)

    def keep(self, value: int = NEVER) -> str:
        """Return a word of integer state."""
        self.integers.append(value)
        return f"I[{len(self.integers) - 1}]"

    def keep_float(self, value: float = np.nan) -> str:
        """Return a word of float state."""
        self.floats.append(value)
        return f"F[{len(self.floats) - 1}]"

    # --- numbers -------------------------------------------------------------------------------

    def number(self, node: Numeric) -> str:
        """Return the local that holds a number."""
        if node not in self._numbers:
            self._numbers[node] = self._number(node)
        return self._numbers[node]

    def _number(self, node: Numeric) -> str:
        v = f"v{self.name()}"
        match node:
            case Constant(value=value):
                return f"({value!r})"
            case Measured():
                self._measured(node, v)
            case Arithmetic(op="/", left=left, right=right):
                a, b = self.number(left), self.number(right)
                self.say(f"{v} = NAN if {b} == 0.0 else {a} / {b}")
            case Arithmetic(op=op, left=left, right=right):
                self.say(f"{v} = {self.number(left)} {op} {self.number(right)}")
            case Absolute(x=x):
                self.say(f"{v} = abs({self.number(x)})")
            case Extreme(op=op, args=args):
                sign = "<" if op == "min" else ">"
                self.say(f"{v} = {self.number(args[0])}")
                for x in args[1:]:  # a NaN on either side wins
                    b = self.number(x)
                    self.say(f"{v} = {v} if ({v} {sign} {b}) | ({v} != {v}) else {b}")
            case Age(x=x):
                i = self.layout.index(x.channel)
                self.say(f"{v} = (t - s[{i}]) / 1e9 if t >= s[{i}] else NAN")
            case Unchanged(x=x):
                self._unchanged(x, v)
            case Window():
                self._window(node, v)
            case Rate(x=x):
                self._rate(x, v)
            case Ahead():
                ahead(self, node, v)
            case Stiffness():
                stiffness(self, node, v)
            case Times(x=x, span_ns=span_ns):
                self._times(*self.truth(Begins(x)), span_ns, v)
        return v

    def _measured(self, x: Measured, v: str) -> None:
        i, k = self.layout.index(x.channel), v[1:]
        self.say(
            f"{v} = x[{i}]",
            f"a{k} = t - s[{i}]",
            f"g{k} = sane & (q[{i}] == 0) & (a{k} >= 0) & (a{k} < {x.stale_ns})"
            f" & ({v} >= {x.low!r}) & ({v} <= {x.high!r})",
            f"{v} = {v} if g{k} else NAN",
        )

    def good(self, x: Measured) -> str:
        """Return the local that says whether a reading is known."""
        return f"g{self.number(x)[1:]}"

    def previous(self, x: Measured) -> str:
        """Return the local that holds the last known value before this tick, NaN before the first."""
        if x not in self._previous:
            v, p, word = self.number(x), f"p{self.name()}", self.keep_float()
            self.say(f"{p} = {word}", f"{word} = {v} if {self.good(x)} else {p}")
            self._previous[x] = p
        return self._previous[x]

    def _unchanged(self, x: Measured, v: str) -> None:
        value, before, word = self.number(x), self.previous(x), self.keep()
        self.say(
            f"if {self.good(x)} & ({value} != {before}):",
            f"    {word} = t",
            f"{v} = (t - {word}) / 1e9 if {self.good(x)} else NAN",
        )

    def _window(self, node: Window, v: str) -> None:
        """Emit a monotonic wedge: values in order of time, each beyond all later ones."""
        value, good = self.number(node.x), self.good(node.x)
        period_ns = self.layout[node.x.channel].period_s * 1e9
        size = min(int(node.span_ns / period_ns) + 4, WINDOW_LIMIT)
        first, at = len(self.floats), len(self.integers)
        self.floats += [np.nan] * size
        self.integers += [NEVER] * size
        head, length, poisoned = self.keep(0), self.keep(0), self.keep()
        beats = "<=" if node.op == "highest" else ">="
        oldest = f"I[{at} + {head}]"
        newest = f"({head} + {length} - 1) % {size}"
        self.say(
            f"while ({length} > 0) and (t - {oldest} > {node.span_ns}):",
            f"    {head} = ({head} + 1) % {size}",
            f"    {length} -= 1",
            f"if {good}:",
            f"    while ({length} > 0) and (F[{first} + {newest}] {beats} {value}):",
            f"        {length} -= 1",
            f"    if {length} == {size}:",  # faster than the channel may be: forgetting is unknown
            f"        {length} = 0",
            f"        {poisoned} = t",
            f"        I[{OVERFLOWS}] += 1",
            f"    {length} += 1",
            f"    F[{first} + {newest}] = {value}",
            f"    I[{at} + {newest}] = t",
            "else:",
            f"    {poisoned} = t",
            f"{v} = F[{first} + {head}] if t - {poisoned} > {node.span_ns} else NAN",
        )

    def _times(self, must: str, may: str, span_ns: int, v: str) -> None:
        """Emit a ring of the times at which something began; the oldest is forgotten when it is full."""
        at = len(self.integers)
        self.integers += [NEVER] * MOST_TIMES
        head, length, poisoned = self.keep(0), self.keep(0), self.keep()
        self.say(
            f"while ({length} > 0) and (t - I[{at} + {head}] > {span_ns}):",
            f"    {head} = ({head} + 1) % {MOST_TIMES}",
            f"    {length} -= 1",
            f"if {must}:",
            f"    I[{at} + ({head} + {length}) % {MOST_TIMES}] = t",
            f"    if {length} == {MOST_TIMES}:",
            f"        {head} = ({head} + 1) % {MOST_TIMES}",
            "    else:",
            f"        {length} += 1",
            f"elif {may}:",
            f"    {poisoned} = t",
            f"{v} = float({length}) if t - {poisoned} > {span_ns} else NAN",
        )

    def _rate(self, x: Measured, v: str) -> None:
        value, good = self.number(x), self.good(x)
        i = self.layout.index(x.channel)
        stamp, last, slope = self.keep(), self.keep_float(), self.keep_float()
        self.say(
            f"{v} = NAN",
            f"if {good}:",
            f"    if s[{i}] > {stamp}:",
            f"        {slope} = NAN if {stamp} == NEVER else ({value} - {last}) / (s[{i}] - {stamp}) * 1e9",
            f"        {stamp} = s[{i}]",
            f"        {last} = {value}",
            f"    if (s[{i}] == {stamp}) & ({value} == {last}):",
            f"        {v} = {slope}",
        )

    # --- truths --------------------------------------------------------------------------------

    def truth(self, node: Truth) -> tuple[str, str]:
        """Return the locals that hold where a truth must be and may be."""
        if node not in self._truths:
            self._truths[node] = self._truth(node)
        return self._truths[node]

    def _truth(self, node: Truth) -> tuple[str, str]:
        match node:
            case Not(x=x):
                m, y = self.truth(x)
                return self._pair(f"not {y}", f"not {m}")
            case Compare(op=op, left=Measured() as x, right=Constant(value=limit)) if _plain(x, op, limit):
                v = self.number(x)  # NaN where unknown: neither it nor its opposite is true then
                return self._pair(f"{v} {op} {limit!r}", f"not ({v} {OPPOSITE[op]} {limit!r})")
            case Compare(op=op, left=left, right=right):
                d = f"d{self.name()}"
                self.say(f"{d} = {self.number(left)} - {self.number(right)}")
                return self._known(f"({d} - {d} == 0.0)", f"({d} {op} 0.0)")
            case And(args=args):
                pairs = [self.truth(x) for x in args]
                return self._pair(*(" & ".join(track) for track in zip(*pairs, strict=True)))
            case Or(args=args):
                pairs = [self.truth(x) for x in args]
                return self._pair(*(" | ".join(track) for track in zip(*pairs, strict=True)))
            case Valid(x=x):
                return self.good(x), self.good(x)
            case Rises(x=x):
                return self._known(self.good(x), f"({self.number(x)} > {self.previous(x)})")
            case Changes(x=x):
                value, before = self.number(x), self.previous(x)
                return self._known(self.good(x), f"({value} != {before}) & ({before} == {before})")
            case _:
                return self._timed(node)

    def _pair(self, must: str, may: str) -> tuple[str, str]:
        k = self.name()
        self.say(f"m{k} = {must}", f"y{k} = {may}")
        return f"m{k}", f"y{k}"

    def _known(self, known: str, holds: str) -> tuple[str, str]:
        return self._pair(f"{known} & {holds}", f"{holds} | (not {known})")

    def _timed(self, node: Held | Within | Since | Unanswered | Begins) -> tuple[str, str]:
        match node:
            case Begins(x=x):
                m, y = self.truth(x)
                was_m, was_y = self.keep(0), self.keep(0)
                pair = self._pair(f"{m} & ({was_y} == 0)", f"{y} & ({was_m} == 0)")
                self.say(f"{was_m} = {m}", f"{was_y} = {y}")
                return pair
            case Held(x=x, span_ns=span_ns):
                return self._pair(*(self._held(p, span_ns) for p in self.truth(x)))
            case Within(x=x, span_ns=span_ns):
                return self._pair(*(self._within(p, span_ns) for p in self.truth(x)))
            case Since(x=x, start=start, span_ns=span_ns):
                both = zip(self.truth(x), self.truth(start), strict=True)
                return self._pair(*(self._since(p, b, span_ns) for p, b in both))
            case Unanswered(call=call, answer=answer, span_ns=span_ns):
                (cm, cy), (am, ay) = self.truth(call), self.truth(answer)
                return self._pair(self._unanswered(cm, ay, span_ns), self._unanswered(cy, am, span_ns))

    def _held(self, p: str, span_ns: int) -> str:
        word, b = self.keep(), f"b{self.name()}"
        self.say(f"{b} = ({word} if {word} != NEVER else t) if {p} else NEVER", f"{word} = {b}")
        return f"{p} & (t - {b} >= {span_ns})"

    def _within(self, p: str, span_ns: int) -> str:
        word, b = self.keep(), f"b{self.name()}"
        self.say(f"{b} = t if {p} else {word}", f"{word} = {b}")
        return f"({b} != NEVER)" if span_ns >= FOREVER else f"(t - {b} <= {span_ns})"

    def _since(self, p: str, begun: str, span_ns: int) -> str:
        word, b = self.keep(), f"b{self.name()}"
        self.say(f"{b} = t if {begun} else ({word} if {p} else NEVER)", f"{word} = {b}")
        recent = "" if span_ns >= FOREVER else f" & (t - {b} <= {span_ns})"
        return f"({b} != NEVER){recent}"

    def _unanswered(self, call: str, answer: str, span_ns: int) -> str:
        word, b = self.keep(), f"b{self.name()}"
        self.say(
            f"{b} = NEVER if {answer} else (t if {call} & ({word} == NEVER) else {word})", f"{word} = {b}"
        )
        return f"({b} != NEVER) & (t - {b} >= {span_ns})"
