"""Text to nodes: a recursive-descent parser that checks names, kinds and units as it reads.

expression := conjunction ("or" conjunction)*
conjunction := negation ("and" negation)*
negation   := "not" negation | comparison
comparison := sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
sum        := product (("+" | "-") product)*
product    := factor (("*" | "/") factor)*
factor     := "-" factor | number [unit] | channel | limit | function "(" ... ")" | "(" expression ")"
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from rig.core.channel import Audience, Layout
from rig.core.clock import nanoseconds
from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity, same_dimension
from safety_monitor.functions import FUNCTIONS, Function, Takes
from safety_monitor.lexer import Symbol, Token, mistake, tokens
from safety_monitor.nodes import (
    And,
    Compare,
    Constant,
    Measured,
    Node,
    Not,
    Numeric,
    Or,
    Truth,
    is_numeric,
)
from safety_monitor.units import aligned, combined

T = TypeVar("T")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in an expression may stand for.

    Attributes:
        layout: The channels.
        audiences: Whose channels may be named.
        limits: Named constants, for example ``limit.lip_force.trip``.
        max_age_s: Age from which a channel counts as stale here, where it is stricter than the channel's own.
    """

    layout: Layout
    audiences: tuple[Audience, ...]
    limits: Mapping[str, Constant] = field(default_factory=dict)
    max_age_s: Mapping[str, float] = field(default_factory=dict)

    def measured(self, name: str) -> Measured:
        """Return the node that reads channel ``name``; no checks."""
        c = self.layout[name]
        stale_s = min(c.stale_after_s, self.max_age_s.get(name, c.stale_after_s))
        noise = math.hypot(c.noise, c.resolution / math.sqrt(12.0))  # rounding is uniform over a step
        return Measured(c.name, c.unit, c.low, c.high, nanoseconds(stale_s), noise)

    def allowed(self) -> tuple[str, ...]:
        """Return the names of the channels that may be used."""
        return self.layout.seen_by(*self.audiences)


class Parser:
    """One pass over one text; `Parser.whole` is the way in."""

    def __init__(self, text: str, names: Names) -> None:
        self._text, self._names = text, names
        self._tokens, self._at = tokens(text), 0

    def whole(self) -> Node:
        """Return the node for the whole text.

        Raises:
            UsageError: At the first mistake; the message gives its column and what is allowed.
        """
        node = self._either()
        if self._next.symbol is not Symbol.END:
            raise self._wrong(self._next, 'an operator ("and", "or", a comparison, + - * /) or the end')
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.symbol in (Symbol.OPERATOR, Symbol.NAME) and self._next.text in texts

    def _wrong(self, token: Token, wanted: str) -> UsageError:
        seen = repr(token.text) if token.text else str(token.symbol)
        return mistake(self._text, token.column, f"found {seen} where {wanted} is wanted")

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self._wrong(self._next, repr(text))
        self._take()

    def _at_column(self, token: Token, make: Callable[[], T]) -> T:
        """Return ``make()``; a mistake in it is one at this token."""
        try:
            return make()
        except UsageError as error:
            raise mistake(self._text, token.column, str(error)) from None

    def _truth(self, token: Token, node: Node) -> Truth:
        if is_numeric(node):
            hint = f"; compare it, as in {token.text} > 0.5" if token.symbol is Symbol.NAME else ""
            raise mistake(self._text, token.column, f"a condition is wanted here, this is a number{hint}")
        return cast(Truth, node)

    def _number(self, token: Token, node: Node) -> Numeric:
        if not is_numeric(node):
            raise mistake(self._text, token.column, "a number is wanted here, this is a condition")
        return cast(Numeric, node)

    def _joined(
        self, word: str, part: Callable[[], Node], make: Callable[[tuple[Truth, ...]], Truth]
    ) -> Node:
        start, node = self._next, part()
        if not self._is(word):
            return node
        args = [self._truth(start, node)]
        while self._is(word):
            self._take()
            args.append(self._truth(self._next, part()))
        return make(tuple(args))

    def _either(self) -> Node:
        return self._joined("or", self._both, Or)

    def _both(self) -> Node:
        return self._joined("and", self._negation, And)

    def _negation(self) -> Node:
        if self._is("not"):
            self._take()
            return Not(self._truth(self._next, self._negation()))
        return self._comparison()

    def _comparison(self) -> Node:
        start, node = self._next, self._sum()
        if not self._is(*_COMPARISONS):
            return node
        op = self._take()
        left, right = self._number(start, node), self._number(self._next, self._sum())
        if self._is(*_COMPARISONS):
            raise self._wrong(self._next, 'one comparison at a time ("a < x and x < b")')
        return self._at_column(op, lambda: self._compare(op.text, left, right))

    def _compare(self, op: str, left: Numeric, right: Numeric) -> Truth:
        left, right = aligned(left, right)
        if op in ("==", "!=") and not same_dimension(left.unit, "1"):
            raise UsageError(
                f"{op} is for counts and flags; for a measured quantity use < or > with a margin"
            )
        if isinstance(left, Constant) and isinstance(right, Constant):
            raise UsageError("both sides are constants; the comparison never changes")
        return Compare(cast(Any, op), left, right)

    def _chain(self, ops: tuple[str, ...], part: Callable[[], Node]) -> Node:
        start, node = self._next, part()
        while self._is(*ops):
            op = self._take()
            left, right = self._number(start, node), self._number(self._next, part())
            node = self._at_column(op, lambda o=op, a=left, b=right: combined(o.text, a, b))  # type: ignore[misc]
        return node

    def _sum(self) -> Node:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/"), self._factor)

    def _factor(self) -> Node:
        token = self._take()
        if token.symbol is Symbol.NUMBER:
            return self._quantity(token)
        if token.symbol is Symbol.NAME and token.text not in ("and", "or", "not"):
            return self._called(token) if self._is("(") else self._named(token)
        if token.text == "-":
            x = self._number(self._next, self._factor())
            if isinstance(x, Constant):
                return Constant(-x.value, x.unit)
            return self._at_column(token, lambda: combined("*", Constant(-1.0, "1"), x))
        if token.text == "(":
            node = self._either()
            self._expect(")")
            return node
        raise self._wrong(token, "a channel, a quantity, a function or '('")

    def _quantity(self, token: Token) -> Constant:
        value = float(token.text)
        if token.unit != "1":  # refuses unknown units here, with their column
            shown = f"{token.text} {token.unit}"
            self._at_column(token, lambda: parse_quantity(shown, token.unit))
        return Constant(value, token.unit)

    def _named(self, token: Token) -> Node:
        names = self._names
        if token.text in names.limits:
            return names.limits[token.text]
        if token.text in names.layout:
            if (audience := names.layout[token.text].audience) not in names.audiences:
                problem = f"channel {token.text} is for the {audience} only and must not be used here"
                raise mistake(self._text, token.column, problem)
            return names.measured(token.text)
        known = [*names.allowed(), *names.limits]
        close = get_close_matches(token.text, known, n=3) or sorted(known)
        kind = {"limit": "limit", "predict": "prediction"}.get(token.text.split(".")[0], "channel")
        raise mistake(self._text, token.column, f"unknown {kind} {token.text!r}; known: {', '.join(close)}")

    def _called(self, token: Token) -> Node:
        function = FUNCTIONS.get(token.text)
        if function is None:
            known = ", ".join(f.shown(name) for name, f in FUNCTIONS.items())
            raise mistake(self._text, token.column, f"unknown function {token.text!r}; known: {known}")
        self._take()
        args: list[Node | int] = []
        while not self._is(")"):
            if args:
                self._expect(",")
            args.append(self._argument(token, function, len(args)))
        self._take()
        if len(args) < function.least:
            raise mistake(self._text, token.column, f"write {function.shown(token.text)}")
        return self._at_column(token, lambda: function.make(*args))

    def _argument(self, name: Token, function: Function, i: int) -> Node | int:
        takes, start = function.takes_at(i), self._next
        if takes is None:
            raise mistake(
                self._text, start.column, f"one argument too many; write {function.shown(name.text)}"
            )
        node = self._either()
        match takes:
            case Takes.TRUTH:
                return self._truth(start, node)
            case Takes.NUMBER:
                return self._number(start, node)
            case Takes.CHANNEL if isinstance(node, Measured):
                return node
            case Takes.SPAN if isinstance(node, Constant):
                return self._at_column(start, lambda: span_ns(node))
        wanted = "a channel by name" if takes is Takes.CHANNEL else 'a time such as "200 ms"'
        raise mistake(self._text, start.column, f"{function.shown(name.text)} takes {wanted} here")


def span_ns(x: Constant) -> int:
    """Return a time constant in ns.

    Raises:
        UsageError: If it is not a time, or negative.
    """
    seconds = parse_quantity(f"{x.value!r} {'' if x.unit == '1' else x.unit}".strip(), "s")
    if seconds < 0:
        raise UsageError(f"a time must not be negative, not {seconds:g} s")
    return nanoseconds(seconds)


def nodes_of(text: str, names: Names) -> Node:
    """Return the node ``text`` stands for.

    Raises:
        UsageError: At the first mistake; the message gives its column and what is allowed.
    """
    return Parser(text, names).whole()
