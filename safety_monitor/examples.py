"""Example traces of a rule, near its boundary: what breaks it and what only just does not.

They arm the monitor (every rule is shown one trace that breaks it and one that does not before it
may watch a person), and they are what a caregiver is shown to check that a rule says what is meant.
Scripts of a few constant phases are drawn around the rule's own limits and spans and judged by the
vectorised evaluation, never by the kernel they are to test.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import Channel, FloatArray, Layout, Trace, joined
from rig.core.clock import nanoseconds
from safety_monitor.expression import Expression, truth
from safety_monitor.nodes import FOREVER, Age, Constant, Node, Truth, Valid, channels, walk
from safety_monitor.rule import Rule
from safety_monitor.words import FLAG

TICK_NS = 1_000_000
DRAWS = 400
_STALE = np.inf
"""Stands in a script for a reading too old to be believed."""


@dataclass(frozen=True, slots=True)
class Script:
    """Phases of constant readings.

    Attributes:
        channels: The channels a rule reads, c of them; all others keep still.
        levels: Shape (p, c): their values in each phase; infinite for one too old to be believed.
        spans_ns: Shape (p,): how long each phase lasts.
    """

    channels: tuple[Channel, ...]
    levels: FloatArray
    spans_ns: NDArray[np.int64]

    def trace(self, layout: Layout, start_ns: int = 0) -> Trace:
        """Return the script as a trace: each phase at its beginning, middle and end."""
        starts_ns = start_ns + np.append(0, np.cumsum(self.spans_ns + TICK_NS))[:-1]
        t_ns = (
            (starts_ns[:, None] + self.spans_ns[:, None] * np.array([0.0, 0.5, 1.0])).astype(np.int64).ravel()
        )
        at_rest = np.array([min(max(0.0, c.low), c.high) for c in layout])
        values = np.repeat(at_rest[None, :], len(t_ns), axis=0)
        sampled_ns = np.repeat(t_ns[:, None], len(layout), axis=1)
        for j, channel in enumerate(self.channels):
            i, level = layout.index(channel.name), np.repeat(self.levels[:, j], 3)
            stale = np.isinf(level)
            values[~stale, i] = level[~stale]
            sampled_ns[stale, i] -= nanoseconds(2 * channel.stale_after_s)
        return Trace(layout, t_ns, values, sampled_ns, np.zeros(values.shape, np.uint8))


@dataclass(frozen=True, slots=True)
class Examples:
    """Scripts in pairs: each of ``clean`` differs from its ``broken`` in one reading of the last phase."""

    broken: tuple[Script, ...]
    clean: tuple[Script, ...]


def is_whole(channel: Channel) -> bool:
    """Return whether a channel is a flag or a count, with nothing between two whole numbers."""
    counts = channel.resolution >= 1 or (channel.resolution == 0 and channel.high > 1)
    return channel.unit == "1" and channel.noise == 0 and (counts or bool(FLAG.match(channel.text)))


def _levels(channel: Channel, node: Node, may_be_stale: bool) -> list[float]:
    """Return readings worth trying: both sides of the rule's own limits, and near the sensor's ends."""
    limits = {n.value for n in walk(node) if isinstance(n, Constant) and n.unit == channel.unit}
    reach = channel.high - channel.low
    tried = [channel.low, channel.low + 0.5 * reach, channel.high - 0.02 * reach]
    for limit in limits:
        step = max(channel.resolution, 0.02 * abs(limit), 1e-3 * reach)
        tried += [limit - step, limit, limit + step, 0.75 * limit, 1.25 * limit]
        tried += [tried[2] - limit - step, tried[2] - limit + step]
    if is_whole(channel):
        tried = [float(round(v)) for v in [*tried, 0.0, 1.0, 2.0]]
    inside = sorted({v for v in [*tried, 0.0] if channel.low <= v <= channel.high})
    return [*inside, _STALE] if may_be_stale else inside


def _far(script: Script, node: Node) -> float:
    """Return how far a script's readings are from the rule's limits, as shares of the sensors' ranges."""
    far = 0.0
    for j, channel in enumerate(script.channels):
        limits = [n.value for n in walk(node) if isinstance(n, Constant) and n.unit == channel.unit]
        known = script.levels[np.isfinite(script.levels[:, j]), j]
        if limits and len(known):
            gaps = np.abs(known[:, None] - np.array(limits)[None, :]).min(axis=1)
            far += float(gaps.mean()) / (channel.high - channel.low)
    return far


def _spans(node: Node) -> list[int]:
    """Return spans worth trying: a little under and over each of the rule's own, and a moment."""
    own = {getattr(n, "span_ns", FOREVER) for n in walk(node)}
    own |= {
        nanoseconds(n.value) for n in walk(node) if isinstance(n, Constant) and n.unit == "s" and n.value >= 0
    }
    return [
        2 * TICK_NS,
        *(int(s * f) for s in sorted(own) if 0 < s < FOREVER for f in (0.11, 0.4, 0.75, 1.2, 1.7)),
    ]


def _draw(node: Truth, layout: Layout, rng: np.random.Generator) -> Iterator[Script]:
    read = tuple(layout[name] for name in channels(node))
    may_be_stale = any(isinstance(n, Valid | Age) for n in walk(node))
    levels = [_levels(c, node, may_be_stale) for c in read]
    spans = _spans(node)
    for _ in range(DRAWS):
        phases, again = int(rng.integers(1, 4)), int(rng.choice([1, 1, 8]))
        drawn = np.array([[options[rng.integers(len(options))] for options in levels] for _ in range(phases)])
        lasts = rng.choice(np.array(spans), phases)
        yield Script(read, np.tile(drawn, (again, 1)), np.tile(lasts, again))


def _judged(scripts: Sequence[Script], node: Truth, layout: Layout) -> list[NDArray[np.int8]]:
    """Judge scripts one after another in one trace, far enough apart to be forgotten."""
    apart_ns = 2 * max(_spans(node)) + nanoseconds(10.0)
    traces, start_ns = [], 0
    for script in scripts:
        traces.append(script.trace(layout, start_ns))
        start_ns = int(traces[-1].t_ns[-1]) + apart_ns
    said = truth(Expression("", node), joined(traces, layout))
    return np.split(said, np.cumsum([len(t) for t in traces])[:-1])


def _alone(script: Script, node: Truth, layout: Layout) -> NDArray[np.int8]:
    return truth(Expression("", node), script.trace(layout))


def _neighbours(script: Script, node: Truth) -> list[Script]:
    """Return scripts that differ in one reading of the last phase, nearest first."""
    may_be_stale = any(isinstance(n, Valid | Age) for n in walk(node))
    found: list[tuple[float, Script]] = []
    for j, channel in enumerate(script.channels):
        for level in _levels(channel, node, may_be_stale):
            now = script.levels[-1, j]
            if level == now:
                continue
            levels = script.levels.copy()
            levels[np.all(levels == levels[-1], axis=1), j] = level  # wherever the phase comes again
            far = abs(level - now) / (channel.high - channel.low)
            found.append((far if np.isfinite(far) else 2.0, replace(script, levels=levels)))
    return [s for _, s in sorted(found, key=lambda pair: pair[0])]


def examples(rule: Rule, layout: Layout, rng: np.random.Generator, wanted: int = 1) -> Examples:
    """Return up to ``wanted`` pairs of scripts that break the rule and that only just do not.

    Fewer, possibly none, where none were found.
    """
    return examples_of(rule.violated, layout, rng, wanted)


def examples_of(node: Truth, layout: Layout, rng: np.random.Generator, wanted: int = 1) -> Examples:
    """Return pairs of scripts in which a condition comes true and only just does not; see `examples`."""
    scripts = list(_draw(node, layout, rng))
    judged = zip(scripts, _judged(scripts, node, layout), strict=True)
    hits = [(s, said[0] != 0) for s, said in judged if said[-1] == 1]
    # Those that begin well are easiest to follow, then the short ones, then those near the limits.
    hits.sort(key=lambda hit: (hit[1], len(hit[0].spans_ns), _far(hit[0], node)))
    pairs: list[tuple[Script, Script]] = []
    for script, _ in hits:
        if len(pairs) == wanted:
            break
        if _alone(script, node, layout)[-1] != 1 or any(_alike(script, b) for b, _ in pairs):
            continue
        near = _neighbours(script, node)
        calm = (s for s in near if (_alone(s, node, layout) == 0).all())
        clean = next(calm, None)
        if clean is not None:
            pairs.append((script, clean))
    return Examples(tuple(b for b, _ in pairs), tuple(c for _, c in pairs))


def _alike(a: Script, b: Script) -> bool:
    return np.array_equal(a.levels[-1], b.levels[-1])
