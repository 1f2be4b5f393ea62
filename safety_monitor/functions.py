"""The functions of the expression grammar: what each takes and the node it makes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rig.core.errors import UsageError
from rig.core.quantity import same_dimension
from safety_monitor.nodes import (
    FOREVER,
    Absolute,
    Age,
    Ahead,
    Begins,
    Changes,
    Constant,
    Extreme,
    Held,
    Measured,
    Node,
    Numeric,
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
)
from safety_monitor.units import aligned, composed, converted


class Takes(StrEnum):
    """What may stand in a function's place for an argument."""

    TRUTH = "condition"
    NUMBER = "number"
    CHANNEL = "channel"
    SPAN = "time"


@dataclass(frozen=True, slots=True)
class Function:
    """A function: the arguments it takes, those that may be left out, and what it makes.

    Attributes:
        takes: Kind of each argument; with ``many`` the last one repeats.
        make: From the arguments (nodes, and spans in ns) to the node.
        text: What it means, for people.
        optional: How many arguments at the end may be left out.
        many: Whether the last kind may repeat.
    """

    takes: tuple[Takes, ...]
    make: Callable[..., Node]
    text: str
    optional: int = 0
    many: bool = False

    def shown(self, name: str) -> str:
        """Return how the function is written, for messages."""
        kinds = [str(k) for k in self.takes]
        for i in range(len(kinds) - self.optional, len(kinds)):
            kinds[i] = f"[{kinds[i]}]"
        return f"{name}({', '.join(kinds)}{', ...' if self.many else ''})"

    def takes_at(self, i: int) -> Takes | None:
        """Return the kind of argument ``i``, None where there is no such argument."""
        if i < len(self.takes):
            return self.takes[i]
        return self.takes[-1] if self.many else None

    @property
    def least(self) -> int:
        """The number of arguments that must be given."""
        return len(self.takes) - self.optional


def _extreme(op: Literal["min", "max"]) -> Callable[..., Node]:
    def make(*args: Numeric) -> Node:
        first = args[0]
        same = tuple(aligned(first, x)[1] for x in args[1:])
        return Extreme(op, (first, *same), first.unit)

    return make


def _ahead(x: Measured, span_ns: int, kappa: Numeric, walk: Numeric) -> Node:
    if not isinstance(kappa, Constant) or kappa.unit != "1":
        raise UsageError("the number of deviations is a plain number, as in ahead(x, 20 ms, 2, 300 N/s)")
    per_s = converted(walk, composed(x.unit, "/", "s"))
    if not isinstance(per_s, Constant) or not per_s.value > 0:
        raise UsageError(f"how far the slope walks in a second is a positive quantity of {x.unit}/s")
    if not x.noise > 0:
        raise UsageError(f"{x.channel} has neither noise nor resolution; there is nothing to filter")
    return Ahead(x, span_ns, kappa.value, per_s.value, x.unit)


def _stiffness(x: Measured, speed: Measured, touch: Numeric, most: Numeric) -> Node:
    if not same_dimension(speed.unit, "m/s"):
        raise UsageError(f"{speed.channel} is no speed, its unit is {speed.unit}")
    from_ = converted(touch, x.unit)
    per_m = converted(most, composed(x.unit, "/", "m"))
    if not (isinstance(from_, Constant) and isinstance(per_m, Constant) and per_m.value > 0):
        raise UsageError("touch and largest stiffness are quantities, as in stiffness(f, v, 0.3 N, 75 N/mm)")
    if not from_.value > x.noise:
        raise UsageError(f"a touch of {from_.value:g} {x.unit} is lost in the noise of {x.channel}")
    metres = converted(speed, "m/s")
    if metres is not speed:
        raise UsageError(f"{speed.channel} must be in m/s")
    return Stiffness(x, speed, from_.value, per_m.value, "N/m" if x.unit == "N" else per_m.unit)


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function((Takes.NUMBER,), lambda x: Absolute(x, x.unit), "magnitude"),
    "min": Function((Takes.NUMBER, Takes.NUMBER), _extreme("min"), "the smallest now", many=True),
    "max": Function((Takes.NUMBER, Takes.NUMBER), _extreme("max"), "the largest now", many=True),
    "rate": Function(
        (Takes.CHANNEL,),
        lambda x: Rate(x, composed(x.unit, "/", "s")),
        "change per second between two samples",
    ),
    "lowest": Function(
        (Takes.CHANNEL, Takes.SPAN),
        lambda x, d: Window("lowest", x, d, x.unit),
        "the lowest in the last time",
    ),
    "highest": Function(
        (Takes.CHANNEL, Takes.SPAN),
        lambda x, d: Window("highest", x, d, x.unit),
        "the highest in the last time",
    ),
    "age": Function((Takes.CHANNEL,), Age, "time since the newest reading was sampled"),
    "unchanged": Function((Takes.CHANNEL,), Unchanged, "time since the reading last changed"),
    "valid": Function((Takes.CHANNEL,), Valid, "the reading is good, in range and fresh"),
    "rises": Function((Takes.CHANNEL,), Rises, "the reading went up at this tick"),
    "changes": Function((Takes.CHANNEL,), Changes, "the reading changed at this tick"),
    "begins": Function((Takes.TRUTH,), Begins, "true now and not at the tick before"),
    "held": Function((Takes.TRUTH, Takes.SPAN), Held, "true without a break for at least the time"),
    "within": Function((Takes.TRUTH, Takes.SPAN), Within, "true at some moment of the last time"),
    "ever": Function((Takes.TRUTH,), lambda x: Within(x, FOREVER), "true at some moment so far"),
    "times": Function(
        (Takes.TRUTH, Takes.SPAN), Times, "how often it began to be true in the last time (64 at most)"
    ),
    "ahead": Function(
        (Takes.CHANNEL, Takes.SPAN, Takes.NUMBER, Takes.NUMBER),
        _ahead,
        "what it may reach in the time: mean plus so many deviations, the slope walking so far in 1 s",
    ),
    "stiffness": Function(
        (Takes.CHANNEL, Takes.CHANNEL, Takes.NUMBER, Takes.NUMBER),
        _stiffness,
        "force gained over way made since the force was last under the touch; at most the last",
    ),
    "since": Function(
        (Takes.TRUTH, Takes.TRUTH, Takes.SPAN),
        lambda x, start, d=FOREVER: Since(x, start, d),
        "the second was true in the last time and the first ever since",
        optional=1,
    ),
    "unanswered": Function(
        (Takes.TRUTH, Takes.TRUTH, Takes.SPAN),
        Unanswered,
        "the first was true at least the time ago and the second not from then to now",
    ),
}
"""Every function by name."""
