"""The forms a rule may take: slots to fill, what is then watched, and the sentence it reads as.

Every form comes down to one condition in the expression grammar that must never be true; nothing
but past-time operators occurs in it, so every rule can be judged at the tick it speaks about.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from safety_monitor.nodes import (
    Absolute,
    Age,
    And,
    Compare,
    Constant,
    Held,
    Measured,
    Node,
    Not,
    Numeric,
    Or,
    Rate,
    Since,
    Truth,
    Unanswered,
    Valid,
    Within,
)
from safety_monitor.units import aligned, combined, composed
from safety_monitor.words import Speaker, span


class Kind(StrEnum):
    """What stands in a slot."""

    CONDITION = "condition"
    NUMBER = "number"
    CHANNEL = "channel"
    SPAN = "time"
    SIDE = "side"


SIDES = ("after", "before", "both")


class Slots:
    """A rule's filled slots, by name, already parsed."""

    def __init__(self, filled: Mapping[str, object]) -> None:
        self._filled = filled

    def truth(self, name: str) -> Truth:
        """Return a condition."""
        return cast(Truth, self._filled[name])

    def number(self, name: str) -> Numeric:
        """Return a number."""
        return cast(Numeric, self._filled[name])

    def channel(self, name: str) -> Measured:
        """Return a channel."""
        return cast(Measured, self._filled[name])

    def span(self, name: str) -> int:
        """Return a time in ns."""
        return cast(int, self._filled[name])

    def side(self) -> str:
        """Return on which side of the event the condition is barred; ``both`` unless said."""
        return cast(str, self._filled.get("side", "both"))

    def say(self, name: str, kind: Kind, speaker: Speaker) -> str:
        """Return what stands in a slot, in words."""
        match kind:
            case Kind.SPAN:
                return span(self.span(name))
            case Kind.SIDE:
                return "before or after" if self.side() == "both" else self.side()
            case _:
                return speaker.words(cast(Node, self._filled[name]))

    def scope(self) -> Truth | None:
        """Return the scope, None where the rule always applies."""
        return cast("Truth | None", self._filled.get("scope"))


@dataclass(frozen=True, slots=True)
class Template:
    """A form of rule.

    Attributes:
        slots: Kind of each slot that must be filled.
        watch: From the slots to the condition that must never be true.
        sentence: The sentence for people, with the slots' names in braces.
        optional: Kind of each slot that may be left out, beside ``scope``.
        scope_inside: The scope belongs inside the form rather than around it.
    """

    slots: Mapping[str, Kind]
    watch: Callable[[Slots], Truth]
    sentence: str
    optional: Mapping[str, Kind] | None = None
    scope_inside: bool = False

    def known(self) -> Mapping[str, Kind]:
        """Return every slot there is."""
        return {**self.slots, **(self.optional or {}), "scope": Kind.CONDITION}

    def violation(self, slots: Slots) -> Truth:
        """Return the condition that must never be true, scope included."""
        watched, scope = self.watch(slots), slots.scope()
        return watched if scope is None or self.scope_inside else And((scope, watched))

    def says(self, slots: Slots, speaker: Speaker) -> str:
        """Return the sentence, scope included."""
        said = {
            name: slots.say(name, kind, speaker) for name, kind in self.known().items() if name != "scope"
        }
        sentence, scope = self.sentence.format_map(said), slots.scope()
        if scope is None:
            return f"{sentence[0].upper()}{sentence[1:]}."
        return f"While {speaker.words(scope)}: {sentence}."


def _in_scope(slots: Slots, x: Truth) -> Truth:
    scope = slots.scope()
    return x if scope is None else And((scope, x))


def _apart(slots: Slots) -> Truth:
    p, q, d = slots.truth("condition"), slots.truth("event"), slots.span("for")
    after, before = And((p, Within(q, d))), And((q, Within(p, d)))
    sides: dict[str, Truth] = {"after": after, "before": before, "both": Or((after, before))}
    return sides[slots.side()]


def _too_fast(slots: Slots) -> Truth:
    x = slots.channel("channel")
    rate = Absolute(Rate(x, composed(x.unit, "/", "s")), composed(x.unit, "/", "s"))
    return Compare(">", *aligned(rate, slots.number("at_most")))


def _too_close(slots: Slots) -> Truth:
    speed = slots.number("speed")
    reaction = combined("*", speed, slots.number("reaction"))
    braking = combined(
        "/", combined("*", speed, speed), combined("*", Constant(2.0, "1"), slots.number("brake"))
    )
    reach = combined("+", combined("+", slots.number("keep"), reaction), braking)
    return Compare("<", *aligned(slots.number("gap"), reach))


def _stale(slots: Slots) -> Truth:
    x = slots.channel("channel")
    return Or((Not(Valid(x)), Compare(">", Age(x), Constant(slots.span("within") / 1e9, "s"))))


_P = {"condition": Kind.CONDITION}
_NEVER = "it must never be that {condition}"
TEMPLATES: Mapping[str, Template] = {
    "never": Template(_P, lambda s: s.truth("condition"), _NEVER),
    "never-longer": Template(
        {**_P, "for": Kind.SPAN},
        lambda s: Held(_in_scope(s, s.truth("condition")), s.span("for")),
        "it must never be for {for} or longer that {condition}",
        scope_inside=True,
    ),
    "while": Template({**_P, "scope": Kind.CONDITION}, lambda s: s.truth("condition"), _NEVER),
    "after": Template(
        {**_P, "event": Kind.CONDITION, "for": Kind.SPAN},
        lambda s: And((s.truth("condition"), Within(s.truth("event"), s.span("for")))),
        "for {for} after {event}, it must never be that {condition}",
    ),
    "apart": Template(
        {**_P, "event": Kind.CONDITION, "for": Kind.SPAN},
        _apart,
        "it must never be that {condition} within {for} {side} {event}",
        optional={"side": Kind.SIDE},
    ),
    "response": Template(
        {"event": Kind.CONDITION, "answer": Kind.CONDITION, "within": Kind.SPAN},
        lambda s: Unanswered(s.truth("event"), s.truth("answer"), s.span("within")),
        "when {event}, then within {within} it must be that {answer}",
    ),
    "only-if": Template(
        {**_P, "event": Kind.CONDITION, "for": Kind.SPAN},
        lambda s: And((s.truth("condition"), Not(Within(s.truth("event"), s.span("for"))))),
        "it may be that {condition} only if in the last {for} {event}",
    ),
    "hold-until": Template(
        {**_P, "event": Kind.CONDITION, "until": Kind.CONDITION, "for": Kind.SPAN},
        lambda s: And(
            (Not(s.truth("condition")), Since(Not(s.truth("until")), s.truth("event"), s.span("for")))
        ),
        "from when {event} until {until}, for at most {for}, it must be that {condition}",
    ),
    "rate": Template(
        {"channel": Kind.CHANNEL, "at_most": Kind.NUMBER},
        _too_fast,
        "{channel} must not change faster than {at_most}",
    ),
    "distance": Template(
        {
            "gap": Kind.NUMBER,
            "speed": Kind.NUMBER,
            "keep": Kind.NUMBER,
            "reaction": Kind.NUMBER,
            "brake": Kind.NUMBER,
        },
        _too_close,
        "{gap} must leave room to stop from {speed} and keep {keep} (reaction {reaction}, braking {brake})",
    ),
    "fresh": Template(
        {"channel": Kind.CHANNEL, "within": Kind.SPAN},
        _stale,
        "{channel} must be measured, and believable, within {within}",
    ),
}
"""Every form of rule by name."""
