"""Expressions read aloud: the sentences shown to caregivers are made from what is evaluated."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rig.core.channel import Audience, Layout
from safety_monitor.nodes import (
    FOREVER,
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
    Node,
    Not,
    Or,
    Rate,
    Rises,
    Since,
    Stiffness,
    Times,
    Unanswered,
    Unchanged,
    Valid,
    Window,
    Within,
    is_numeric,
)

_COMPARED = {
    "<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "equal to", "!=": "other than",
}  # fmt: skip
_DONE = {"+": "plus", "-": "less", "*": "times", "/": "divided by"}
_CLAUSE = re.compile(r"[,;:]")
FLAG = re.compile(r"^1 (while|where) ")
_UNITS = (
    (3_600_000_000_000, "h"),
    (60_000_000_000, "min"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
)


def span(span_ns: int) -> str:
    """Return a span of time in the largest unit that gives a short number.

    >>> span(30_000_000), span(1_500_000_000), span(1_800_000_000_000)
    ('30 ms', '1.5 s', '30 min')
    """
    for size, unit in _UNITS:
        if span_ns >= size and abs(round(span_ns / size, 1) - span_ns / size) < 2e-4:
            return f"{round(span_ns / size, 1):g} {unit}"
    return f"{span_ns} ns"


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit; small lengths, short times and stiffness in handy units.

    >>> quantity(0.1, "m"), quantity(0.065, "m/s"), quantity(2.0, "1")
    ('100 mm', '65 mm/s', '2')
    >>> quantity(0.04, "s"), quantity(75e3, "N/m")
    ('40 ms', '75 N/mm')
    """
    if unit == "s" and 0 < abs(value) < 1:
        return f"{1000 * value:g} ms"
    if unit == "N/m" and abs(value) >= 1000:
        return f"{value / 1000:g} N/mm"
    if unit in ("m", "m/s") and 0 < abs(value) < 1:
        return f"{1000 * value:g} m{unit}"
    return f"{value:g}" if unit == "1" else f"{value:g} {unit}"


def _is_sum(node: Node) -> bool:
    return isinstance(node, Arithmetic) and node.op in ("+", "-")


def _felt(node: Stiffness) -> str:
    return f"felt from {quantity(node.touch, node.x.unit)} on, at most {quantity(node.most, node.unit)}"


def _clause(text: str) -> str:
    """Return the first clause of a channel's text, all of it where that is a single word."""
    first = _CLAUSE.split(text)[0]
    return first if " " in first else text


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says nodes in words.

    Attributes:
        texts: What each channel measures, in words; a channel that is not named keeps its own name.
    """

    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, layout: Layout) -> "Speaker":
        """Return a speaker that knows the channels of a layout by what they measure."""
        short = {c.name: _clause(c.text) for c in layout if c.text and c.audience is not Audience.ORACLE}
        twice = {text for text, n in Counter(short.values()).items() if n > 1}
        return cls({name: f"{text} ({name})" if text in twice else text for name, text in short.items()})

    def words(self, node: Node) -> str:
        """Return ``node`` in words."""
        return self._condition(node) if not is_numeric(node) else self._number(node)

    def _joined(self, parts: Sequence[Node], word: str) -> str:
        """Join parts; a part that is itself joined stands in brackets."""
        said = (f"({self.words(p)})" if isinstance(p, And | Or | Since) else self.words(p) for p in parts)
        return f" {word} ".join(said)

    def _channel(self, x: Measured) -> str:
        text = self.texts.get(x.channel, "")
        return x.channel if FLAG.match(text) or not text else text

    def _flag(self, node: Compare) -> str | None:
        """Return a comparison of a flag with a half as what the flag means, None for another comparison."""
        if not (isinstance(node.left, Measured) and node.right == Constant(0.5, "1")):
            return None
        text = self.texts.get(node.left.channel, "")
        if not FLAG.match(text) or node.op not in (">", "<"):
            return None
        meaning = FLAG.sub("", text)
        return meaning if node.op == ">" else f"it is not so that {meaning}"

    def _number(self, node: Node) -> str:
        match node:
            case Constant(value=value, unit=unit):
                return quantity(value, unit)
            case Measured():
                return self._channel(node)
            case Arithmetic():
                return self._arithmetic(node)
            case Absolute(x=x):
                return f"the size of {self.words(x)}"
            case Extreme(op=op, args=args):
                which = "smallest" if op == "min" else "largest"
                return f"the {which} of {', '.join(map(self.words, args))}"
            case Rate(x=x):
                return f"the rate of {self.words(x)}"
            case Window(op=op, x=x, span_ns=span_ns):
                return f"the {op} {self.words(x)} of the last {span(span_ns)}"
            case Age(x=x):
                return f"the age of {self.words(x)}"
            case Unchanged(x=x):
                return f"the time {self.words(x)} has not changed"
            case Ahead(x=x, span_ns=span_ns, kappa=kappa):
                return f"what {self.words(x)} may reach in {span(span_ns)} ({kappa:+g} deviations)"
            case Stiffness(x=x):
                return f"the stiffness of what {self.words(x)} presses on ({_felt(node)})"
            case Times(x=x, span_ns=span_ns):
                return f"how often in the last {span(span_ns)} it began that {self.words(x)}"
            case _:
                raise TypeError(f"no words for {node!r}")

    def _arithmetic(self, node: Arithmetic) -> str:
        """Return a sum or product in words; what a speed covers and a press will reach have words of their own."""
        match node:
            case Arithmetic(
                "+", Measured() as force, Arithmetic("*", Arithmetic("*", Stiffness(x=x) as press), ahead)
            ) if force == x:
                return (
                    f"what {self.words(force)} will have reached in {self.words(ahead)}, "
                    f"by the stiffness of what it presses on ({_felt(press)}),"
                )
            case Arithmetic("*", left=left, right=Constant(unit="s") as time) if left.unit == "m/s":
                return f"what is covered in {self.words(time)} at {self.words(left)}"
            case Arithmetic(op=op, left=left, right=right):
                said = (f"({self.words(x)})" if _is_sum(x) else self.words(x) for x in (left, right))
                return f" {_DONE[op]} ".join(said)

    def _condition(self, node: Node) -> str:
        match node:
            case Compare(op=op, left=left, right=right):
                return self._flag(node) or f"{self.words(left)} is {_COMPARED[op]} {self.words(right)}"
            case Not(x=Valid(x=x)):
                return f"{self.words(x)} cannot be believed"
            case Not(x=x):
                return f"it is not so that {self._joined([x], '')}"
            case And(args=args):
                return self._joined(args, "and")
            case Or(args=args):
                return self._joined(args, "or")
            case Begins(x=x):
                return f"{self._joined([x], '')} begins"
            case Rises(x=x):
                return f"{self.words(x)} goes up"
            case Changes(x=x):
                return f"{self.words(x)} changes"
            case Valid(x=x):
                return f"{self.words(x)} can be believed"
            case _:
                return self._timed(node)

    def _timed(self, node: Node) -> str:
        match node:
            case Held(x=x, span_ns=span_ns):
                return f"{self._joined([x], '')} without a break for {span(span_ns)}"
            case Within(x=x, span_ns=span_ns):
                forever = span_ns >= FOREVER
                when = "at some moment so far" if forever else f"at some moment of the last {span(span_ns)}"
                return f"{self._joined([x], '')} {when}"
            case Since(x=x, start=start, span_ns=span_ns):
                when = "" if span_ns >= FOREVER else f" in the last {span(span_ns)}"
                return f"{self._joined([x], '')} ever since {self._joined([start], '')}{when}"
            case Unanswered(call=call, answer=answer, span_ns=span_ns):
                asked, answered = self._joined([call], ""), self._joined([answer], "")
                return f"{asked} and for {span(span_ns)} not {answered}"
            case _:
                raise TypeError(f"no words for {node!r}")
