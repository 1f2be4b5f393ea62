"""Expressions read aloud: the sentences shown to caregivers are made from what is evaluated."""

from collections.abc import Sequence

from safety_monitor.nodes import (
    FOREVER,
    Absolute,
    Age,
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
    Times,
    Unanswered,
    Unchanged,
    Valid,
    Window,
    Within,
)

_COMPARED = {
    "<": "below", "<=": "at most", ">": "above", ">=": "at least", "==": "equal to", "!=": "other than",
}  # fmt: skip
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
        if span_ns >= size and round(span_ns / size, 1) == span_ns / size:
            return f"{span_ns / size:g} {unit}"
    return f"{span_ns} ns"


def _unit(unit: str) -> str:
    return "" if unit == "1" else f" {unit}"


def _joined(parts: Sequence[Node], word: str) -> str:
    """Join parts; a part that is itself joined stands in brackets."""
    return f" {word} ".join(f"({words(p)})" if isinstance(p, And | Or | Since) else words(p) for p in parts)


def words(node: Node) -> str:
    """Return ``node`` in words."""
    match node:
        case Constant(value=value, unit=unit):
            return f"{value:g}{_unit(unit)}"
        case Measured(channel=channel):
            return channel
        case Arithmetic(op="-", left=Constant(value=0.0), right=right):
            return f"minus {words(right)}"
        case Arithmetic(op=op, left=left, right=right):
            return f"({words(left)} {op} {words(right)})"
        case Absolute(x=x):
            return f"the size of {words(x)}"
        case Extreme(op=op, args=args):
            which = "smallest" if op == "min" else "largest"
            return f"the {which} of {', '.join(map(words, args))}"
        case Rate(x=x):
            return f"the rate of {words(x)}"
        case Window(op=op, x=x, span_ns=span_ns):
            return f"the {op} {words(x)} of the last {span(span_ns)}"
        case Age(x=x):
            return f"the age of {words(x)}"
        case Unchanged(x=x):
            return f"the time {words(x)} has not changed"
        case Times(x=x, span_ns=span_ns):
            return f"how often in the last {span(span_ns)} it began that {words(x)}"
        case Compare(op=op, left=left, right=right):
            return f"{words(left)} is {_COMPARED[op]} {words(right)}"
        case _:
            return _condition(node)


def _condition(node: Node) -> str:
    match node:
        case Not(x=Valid(x=x)):
            return f"{words(x)} cannot be believed"
        case Not(x=x):
            return f"it is not so that {words(x)}"
        case And(args=args):
            return _joined(args, "and")
        case Or(args=args):
            return _joined(args, "or")
        case Held(x=x, span_ns=span_ns):
            return f"{_joined([x], '')} without a break for {span(span_ns)}"
        case Within(x=x, span_ns=span_ns):
            when = (
                "at some moment so far"
                if span_ns >= FOREVER
                else f"at some moment of the last {span(span_ns)}"
            )
            return f"{_joined([x], '')} {when}"
        case Since(x=x, start=start, span_ns=span_ns):
            when = "" if span_ns >= FOREVER else f" in the last {span(span_ns)}"
            return f"{_joined([x], '')} ever since {_joined([start], '')}{when}"
        case Unanswered(call=call, answer=answer, span_ns=span_ns):
            return f"{_joined([call], '')} and for {span(span_ns)} not {_joined([answer], '')}"
        case Begins(x=x):
            return f"{_joined([x], '')} begins"
        case Rises(x=x):
            return f"{words(x)} goes up"
        case Changes(x=x):
            return f"{words(x)} changes"
        case Valid(x=x):
            return f"{words(x)} can be believed"
        case _:
            raise TypeError(f"no words for {node!r}")
