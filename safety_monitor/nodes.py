"""What an expression is made of: frozen, hashable values with their units already checked.

Time is a sequence of ticks. Every node has one value per tick: numbers are floats with NaN for
*unknown*, truths are true, false or unknown. A window of span ``d`` at the tick of time ``t``
holds the ticks of time ``t - d`` to ``t``, both inclusive; before the first tick everything is
false. Spans are integer nanoseconds, so no meaning depends on the rate of the ticks.
"""

from dataclasses import dataclass
from typing import Literal

FOREVER = 1 << 62
"""A span that no trial reaches, in nanoseconds."""
MOST_TIMES = 64
"""How far a count of occurrences goes."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number with its unit."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What a channel reads; unknown unless good, finite, within the sensor's range and fresh.

    Attributes:
        channel: Name of the channel.
        unit: Its unit.
        low: Smallest value the sensor can report, inclusive.
        high: Largest value the sensor can report, inclusive.
        stale_ns: Age from which a reading is unknown; so is one from the future.
        noise: Standard deviation of one sample, its resolution included.
    """

    channel: str
    unit: str
    low: float
    high: float
    stale_ns: int
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``left op right``; dividing by zero is unknown."""

    op: Literal["+", "-", "*", "/"]
    left: "Numeric"
    right: "Numeric"
    unit: str


@dataclass(frozen=True, slots=True)
class Absolute:
    """The magnitude of a number."""

    x: "Numeric"
    unit: str


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or largest of several numbers at one tick; unknown if any of them is."""

    op: Literal["min", "max"]
    args: tuple["Numeric", ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Rate:
    """Slope between a channel's two newest samples, by the sensor's own time stamps, per second.

    Unknown until there are two samples, and while a stamp repeats with another value or goes back.
    """

    x: Measured
    unit: str


@dataclass(frozen=True, slots=True)
class Window:
    """The lowest or highest reading in the window; unknown while an unknown is inside it."""

    op: Literal["lowest", "highest"]
    x: Measured
    span_ns: int
    unit: str


@dataclass(frozen=True, slots=True)
class Age:
    """Seconds since the channel's newest reading was sampled, good or not; unknown if in the future."""

    x: Measured
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Seconds since the tick at which the last known reading took its value."""

    x: Measured
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Times:
    """How often ``x`` began to be true in the window, at most `MOST_TIMES`; unknown if any of it is."""

    x: "Truth"
    span_ns: int
    unit: str = "1"


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a channel may have reached ``span_ns`` from now: its predicted mean plus kappa deviations.

    A Kalman filter of value and slope, fed with the sensor's samples at their own time stamps; the
    slope walks at random. Never less than the present reading;
    with a negative ``kappa`` it is the least the channel may have fallen to, never more than the
    present reading. Unknown while the reading is, and until there are two samples.

    Attributes:
        x: The channel.
        span_ns: How far ahead: the time from sensing to standstill.
        kappa: Standard deviations added to the mean.
        walk: How far the slope may have walked after one second: one deviation, unit per second.
        unit: The channel's.
    """

    x: Measured
    span_ns: int
    kappa: float
    walk: float
    unit: str


@dataclass(frozen=True, slots=True)
class Stiffness:
    """How stiff is what a tool presses on: force gained over way made since it was last not touched.

    The way is the speed added up tick by tick (each tick's speed over the time since the tick before).
    None, 0, while the force is at most ``touch``; ``most`` while the tool has made too little way to tell
    anything less. Unknown while either reading is, and while one has been since the touch began: how far
    the tool has come is then not known.

    Attributes:
        x: The force.
        speed: Speed of the tool along the way, never negative.
        touch: Force from which the tool touches something, in the force's unit.
        most: The stiffest thing there is, in ``unit``.
        unit: The force's unit per metre.
    """

    x: Measured
    speed: Measured
    touch: float
    most: float
    unit: str


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of two numbers of one unit; unknown when either is."""

    op: Literal["<", "<=", ">", ">=", "==", "!="]
    left: "Numeric"
    right: "Numeric"


@dataclass(frozen=True, slots=True)
class Not:
    """True where ``x`` is false."""

    x: "Truth"


@dataclass(frozen=True, slots=True)
class And:
    """True where all are."""

    args: tuple["Truth", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where any is."""

    args: tuple["Truth", ...]


@dataclass(frozen=True, slots=True)
class Held:
    """True when ``x`` has been true at every tick since one at least ``span_ns`` ago."""

    x: "Truth"
    span_ns: int


@dataclass(frozen=True, slots=True)
class Within:
    """True when ``x`` was true at any tick of the window."""

    x: "Truth"
    span_ns: int


@dataclass(frozen=True, slots=True)
class Since:
    """True when ``start`` was true at a tick of the window and ``x`` at every later one up to now."""

    x: "Truth"
    start: "Truth"
    span_ns: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """True when ``call`` was true at least ``span_ns`` ago and ``answer`` at no tick from then to now."""

    call: "Truth"
    answer: "Truth"
    span_ns: int


@dataclass(frozen=True, slots=True)
class Begins:
    """True at a tick where ``x`` is true and was not at the tick before."""

    x: "Truth"


@dataclass(frozen=True, slots=True)
class Rises:
    """True at a tick where a reading is above the last known one before it; false at the first."""

    x: Measured


@dataclass(frozen=True, slots=True)
class Changes:
    """True at a tick where a reading differs from the last known one before it; false at the first."""

    x: Measured


@dataclass(frozen=True, slots=True)
class Valid:
    """True where the channel's reading is known; never unknown itself."""

    x: Measured


Numeric = (
    Constant | Measured | Arithmetic | Absolute | Extreme | Rate | Window | Age | Unchanged | Times | Ahead
    | Stiffness
)  # fmt: skip
Truth = Compare | Not | And | Or | Held | Within | Since | Unanswered | Begins | Rises | Changes | Valid
Node = Numeric | Truth


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly under ``node``."""
    match node:
        case Constant() | Measured():
            return ()
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Extreme(args=numbers):
            return numbers
        case And(args=truths) | Or(args=truths):
            return truths
        case Since(x=x, start=start):
            return (x, start)
        case Stiffness(x=x, speed=speed):
            return (x, speed)
        case Unanswered(call=call, answer=answer):
            return (call, answer)
        case _:
            return (node.x,)


def walk(node: Node) -> tuple[Node, ...]:
    """Return ``node`` and everything under it, each once, what is under it first."""
    seen: dict[Node, None] = {}

    def visit(n: Node) -> None:
        if n not in seen:
            for child in children(n):
                visit(child)
            seen[n] = None

    visit(node)
    return tuple(seen)


def is_numeric(node: Node) -> bool:
    """Return whether ``node`` is a number rather than a truth."""
    return isinstance(node, Numeric)


def channels(node: Node) -> tuple[str, ...]:
    """Return the names of the channels ``node`` reads, in order of first use."""
    return tuple(dict.fromkeys(n.channel for n in walk(node) if isinstance(n, Measured)))
