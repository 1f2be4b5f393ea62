"""What an act leaves behind: whether it can be undone, made up for, or neither."""

from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """What can be done about an act once it has taken effect."""

    NONE = "none"  # it only looks or waits
    UNDO = "undo"  # the opposite act brings back what was
    COMPENSATE = "compensate"  # it stays, but something else makes up for it
    IRREVERSIBLE = "irreversible"  # it stays


EFFECTS: Final[dict[str, Effect]] = {
    "observe": Effect.NONE,
    "wait_until": Effect.NONE,
    "read_record": Effect.NONE,
    "check_identity": Effect.NONE,
    "check_mouth": Effect.NONE,
    "note": Effect.NONE,
    "stop": Effect.NONE,
    "finish": Effect.NONE,
    "move_to": Effect.UNDO,
    "go_to": Effect.UNDO,
    "set_bed": Effect.UNDO,
    "say": Effect.COMPENSATE,
    "ask": Effect.COMPENSATE,
    "call_human": Effect.COMPENSATE,
    "write_record": Effect.COMPENSATE,
    "hand_over": Effect.COMPENSATE,
    "act": Effect.IRREVERSIBLE,
    "dispense": Effect.IRREVERSIBLE,
    "offer_water": Effect.IRREVERSIBLE,
}
"""Of every tool; what nobody has sorted is taken for irreversible."""


def effect_of(tool: str) -> Effect:
    """Return the effect of a tool, the worst where it is not known."""
    return EFFECTS.get(tool, Effect.IRREVERSIBLE)
