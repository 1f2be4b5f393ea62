"""From a call as it came from outside to an action, or to what is wrong with it, said so that it can be mended."""

import json
import math
from collections.abc import Mapping
from typing import Any

from rig.core.errors import UsageError
from rig.core.event import Json
from rig.core.malformed import Malformed, Misuse
from rig.core.tools import TOOLS, Action, parse_action

LONGEST_TEXT = 2000
LONGEST_NAME = 100
MOST_MEMBERS = 40
DEEPEST = 4


def action_of(tool: str, arguments: object, offered: tuple[str, ...]) -> Action | Malformed:
    """Return the action a call stands for, or the call as it is with what is wrong.

    Args:
        tool: Name that was called.
        arguments: As they came: an object, or the JSON text of one.
        offered: What the task offers, for the message.
    """
    if tool not in TOOLS or tool not in offered:
        problem = f"there is no tool {cut(tool, LONGEST_NAME)!r} here; there are: {', '.join(offered)}"
        return malformed(tool, arguments, Misuse.UNKNOWN_TOOL, problem)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            problem = f"{tool}: the arguments are not JSON ({error}); give one object"
            return malformed(tool, arguments, Misuse.NOT_JSON, problem)
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        problem = f"{tool}: the arguments must be one JSON object"
        return malformed(tool, arguments, Misuse.BAD_ARGUMENTS, problem)
    try:
        return parse_action(tool, {str(key): value for key, value in arguments.items()})
    except UsageError as error:
        return malformed(tool, arguments, Misuse.BAD_ARGUMENTS, str(error))


def malformed(tool: str, arguments: object, misuse: Misuse, problem: str) -> Malformed:
    """Return a call nobody can carry out, in a form that fits the record whatever it was."""
    kept = arguments if isinstance(arguments, Mapping) else {"given": arguments}
    recorded = storable(kept)
    assert isinstance(recorded, dict)  # noqa: S101  # a mapping was given
    return Malformed(
        tool=cut(tool, LONGEST_NAME), arguments=recorded, misuse=misuse, problem=cut(problem, LONGEST_TEXT)
    )


def storable(value: Any, depth: int = 0) -> Json:  # noqa: ANN401
    """Return any value as strict JSON of bounded size: what is too much is cut, and says so.

    >>> storable({"x": float("nan"), "s": "a" * 3000})["x"]
    'nan'
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else cut(str(value)[:LONGEST_NAME], LONGEST_NAME)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping | list | tuple):
        if depth >= DEEPEST:
            return "[deeper than anything a tool takes; left out]"
        if isinstance(value, Mapping):
            items = list(value.items())
            kept = {cut(str(k), LONGEST_NAME): storable(v, depth + 1) for k, v in items[:MOST_MEMBERS]}
            left = len(items) - MOST_MEMBERS
            return {**kept, "[left out]": left} if left > 0 else kept
        left = len(value) - MOST_MEMBERS
        return [
            *(storable(v, depth + 1) for v in value[:MOST_MEMBERS]),
            *([f"[{left} left out]"] if left > 0 else []),
        ]
    return cut(value if isinstance(value, str) else repr(value), LONGEST_TEXT)


def cut(text: str, longest: int) -> str:
    """Return a text fit for the record: not longer than it may be, and saying so where it was.

    >>> cut("abcdef", 3)
    'abc... [3 characters left out]'
    """
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates fit no record
    return (
        text if len(text) <= longest else f"{text[:longest]}... [{len(text) - longest} characters left out]"
    )
