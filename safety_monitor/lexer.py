"""An expression's text cut into tokens, each with its column."""

import re
from dataclasses import dataclass
from enum import StrEnum

from rig.core.errors import UsageError


class Symbol(StrEnum):
    """What a token is."""

    NUMBER = "number"
    NAME = "name"
    OPERATOR = "operator"
    END = "end of the expression"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text; a number carries the unit written behind it (``1`` where there is none)."""

    symbol: Symbol
    text: str
    column: int
    unit: str = "1"


# A unit is written without spaces ("mm/s", "m/s^2"); the look-ahead gives back a "/" that belongs
# to a channel or a function, as in "10 mm/spoon.speed".
_UNIT = r"(?!(?:and|or|not)\b)[A-Za-zµ°]+(?:\^-?\d+)?(?:[*/][A-Za-zµ°]+(?:\^-?\d+)?)*(?![\w.(])"
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"(?P<number>{_NUMBER})(?:\s*(?P<unit>{_UNIT}))?"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<operator><=|>=|==|!=|[-+*/<>(),])"
)
_QUOTED = re.compile(rf"""(?P<quote>['"])\s*(?P<number>-?{_NUMBER})\s*(?P<unit>[^'"]*?)\s*(?P=quote)""")


def mistake(text: str, column: int, problem: str) -> UsageError:
    """Return the error for a mistake at ``column`` (from 1) of ``text``."""
    return UsageError(f"column {column} of {text!r}: {problem}")


def tokens(text: str) -> tuple[Token, ...]:
    """Cut ``text`` into tokens; the last one marks the end.

    A quantity may stand in quotes: ``"30 ms"`` and ``30 ms`` are the same token.

    Raises:
        UsageError: At the first character that begins no token; the message gives its column.
    """
    found: list[Token] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position) or _QUOTED.match(text, position)
        if match is None:
            raise mistake(
                text, position + 1, f"{text[position]!r} begins no number, name, quantity or operator"
            )
        parts, column = match.groupdict(), position + 1
        if parts.get("number"):
            found.append(Token(Symbol.NUMBER, parts["number"], column, parts["unit"] or "1"))
        elif parts.get("name"):
            found.append(Token(Symbol.NAME, parts["name"], column))
        else:
            found.append(Token(Symbol.OPERATOR, parts["operator"], column))
        position = match.end()
    return (*found, Token(Symbol.END, "", len(text) + 1))
