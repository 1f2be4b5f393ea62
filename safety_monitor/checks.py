"""What no rule may be: windows too short, limits no sensor can reach, responses that come too late."""

from collections.abc import Iterator

from rig.core.channel import Channel, Layout
from rig.core.clock import nanoseconds
from safety_monitor.emitter import WINDOW_LIMIT
from safety_monitor.nodes import (
    FOREVER,
    Compare,
    Constant,
    Held,
    Measured,
    Node,
    Numeric,
    Since,
    Unanswered,
    Unchanged,
    Window,
    Within,
    channels,
    walk,
)
from safety_monitor.rule import ACTUATING, Rule
from safety_monitor.words import Speaker, span

_SAY = Speaker()
WATCH_S = 16 * 3600.0
"""The longest job; a test that alarms by chance more than once in a hundred of them is refused."""


def check_rule(rule: Rule, layout: Layout) -> Iterator[str]:
    """Yield what is wrong with a rule that could be read, each with its key."""
    for node in walk(rule.violated):
        yield from _windows(node, layout)
        yield from _ranges(node)
        yield from _stuck(node, layout)
    if rule.confirm_ns:
        yield from _short("confirm", rule.confirm_ns, rule.violated, layout)
    yield from _ages(rule, layout)
    yield from _late(rule, layout)


def _two_samples_ns(node: Node, layout: Layout) -> int:
    """Return twice the period of the fastest channel in ``node``."""
    return nanoseconds(2 * min((layout[c].period_s for c in channels(node)), default=0.0))


def _short(key: str, span_ns: int, node: Node, layout: Layout) -> Iterator[str]:
    least = _two_samples_ns(node, layout)
    if span_ns < least:
        yield f"{key}: {span(span_ns)} is shorter than two samples ({span(least)}) of what is watched"


def _windows(node: Node, layout: Layout) -> Iterator[str]:
    match node:
        case (
            Held(span_ns=span_ns)
            | Within(span_ns=span_ns)
            | Since(span_ns=span_ns)
            | Unanswered(span_ns=span_ns)
        ):
            if span_ns < FOREVER:
                yield from _short("window", span_ns, node, layout)
        case Window(x=x, span_ns=span_ns):
            yield from _short("window", span_ns, node, layout)
            samples = span_ns / (layout[x.channel].period_s * 1e9)
            if samples > WINDOW_LIMIT:
                yield f"window: {_SAY.words(node)} holds {samples:.0f} samples, at most {WINDOW_LIMIT} fit"


def _ranges(node: Node) -> Iterator[str]:
    if not isinstance(node, Compare):
        return
    for side, other in ((node.left, node.right), (node.right, node.left)):
        sensor = _sensor(side)
        if sensor is not None and isinstance(other, Constant) and not sensor.low < other.value < sensor.high:
            reach = f"{sensor.low:g} to {sensor.high:g} {sensor.unit}"
            yield f"limit: {_SAY.words(node)}, but {sensor.channel} can only report {reach}"


def _sensor(x: Numeric) -> Measured | None:
    return x if isinstance(x, Measured) else x.x if isinstance(x, Window) else None


def _stuck(node: Node, layout: Layout) -> Iterator[str]:
    """Refuse a stuck test that a healthy sensor would fail by chance.

    A reading with noise of standard deviation s, rounded to steps r, repeats with probability
    at most r / (2 s sqrt(pi)); runs of repeats longer than the limit must be rarer than one in a
    hundred of the longest jobs.
    """
    if not (
        isinstance(node, Compare) and isinstance(node.left, Unchanged) and isinstance(node.right, Constant)
    ):
        return
    channel = layout[node.left.x.channel]
    if channel.noise <= 0:
        yield f"condition: {_SAY.words(node)}, but {channel.name} has no noise and may rightly stand still"
        return
    expected = chance_alarms(channel, node.right.value)
    if expected > 0.01:
        yield (
            f"condition: {_SAY.words(node)} happens by chance {expected:.2g} times in {WATCH_S / 3600:.0f} h "
            f"with a healthy sensor; wait longer"
        )


def chance_alarms(channel: Channel, unchanged_s: float) -> float:
    """Return how often in the longest job a healthy sensor does not change for ``unchanged_s``."""
    repeat = min(1.0, channel.resolution / (channel.noise * 2.0 * 3.141592653589793**0.5))
    samples = WATCH_S / channel.period_s
    return float(samples * repeat ** int(unchanged_s / channel.period_s))


def _ages(rule: Rule, layout: Layout) -> Iterator[str]:
    for node in walk(rule.violated):
        if isinstance(node, Measured):
            c = layout[node.channel]
            if node.stale_ns <= nanoseconds(c.period_s + c.latency_s):
                oldest, seen = span(nanoseconds(c.period_s + c.latency_s)), span(node.stale_ns)
                yield f"max_age.{c.name}: {seen} would never be met; a healthy reading is up to {oldest} old"


def added_delay_ns(rule: Rule, layout: Layout) -> int:
    """Return how long after the world's violation the rule can ask for its response, in ns.

    The slowest sensor's period and latency, and the time to confirm.
    """
    slowest_s = max((layout[c].period_s + layout[c].latency_s for c in rule.channels), default=0.0)
    return nanoseconds(slowest_s) + rule.confirm_ns


def _late(rule: Rule, layout: Layout) -> Iterator[str]:
    delay_ns = added_delay_ns(rule, layout)
    if rule.response in ACTUATING and delay_ns > rule.response_ns:
        allowed = span(rule.response_ns)
        yield f"response_time: {allowed} is shorter than sensing and confirming take ({span(delay_ns)})"
