"""The monitor: one rule set watching one bench, tick by tick, and what it has to say."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from rig.core.channel import ByteArray, FloatArray, IntArray, Layout, Snapshot, Trace
from rig.core.errors import UsageError
from rig.core.watch import KernelFunction, Watch
from safety_monitor.cache import load_kernel, load_module
from safety_monitor.kernel import ARRIVAL, ARRIVALS, NOW, TICKS, WORD, Program, compile_source
from safety_monitor.nodes import Compare, Measured, walk
from safety_monitor.rule import Rule, RuleSet
from safety_monitor.selftest import SelfTest, self_test
from safety_monitor.vector import Evaluation
from safety_monitor.verdict import Verdict

_PASSED: dict[tuple[str, str], SelfTest] = {}
_HOLDS: dict[int, bool | None] = {0: True, 1: False, 2: None}


@dataclass(frozen=True, slots=True)
class Saved:
    """A monitor's memory at one tick."""

    digest: str
    floats: FloatArray
    integers: IntArray


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How the samples of one channel have come so far; each was judged when it came, whatever its stamp.

    Attributes:
        late: In order, but older than a healthy sample can be.
        duplicate: With the stamp of the one before, and another value: both count.
        disordered: With a stamp before one that had already come.
    """

    late: int
    duplicate: int
    disordered: int


class Monitor:
    """Watches one rule set over one layout.

    A backend may drive `watch` inside its own loop, or `step` may be called once per tick; the two
    are the same kernel on the same state, so they may be mixed.
    """

    def __init__(self, ruleset: RuleSet, layout: Layout) -> None:
        """Generate and load the kernel; the first time for a rule set this takes seconds."""
        if ruleset.layout != layout:
            raise UsageError(
                "the rules were checked against other channels than this bench has; load them again"
            )
        if not ruleset.rules:
            raise UsageError("there are no rules to watch; a monitor without rules is no monitor")
        self.rules, self._layout = ruleset, layout
        self.program: Program = compile_source(
            [r.violated for r in ruleset.rules], [r.timing for r in ruleset.rules], layout
        )
        self._kernel: KernelFunction = load_kernel(self.program.source)
        self.watch = Watch(self._kernel, self.program.floats.copy(), self.program.integers.copy())

    def step(self, snapshot: Snapshot) -> bool:
        """Take one tick; return whether any rule's verdict changed."""
        watch = self.watch
        return bool(
            self._kernel(
                snapshot.t_ns,
                snapshot.values,
                snapshot.sampled_ns,
                snapshot.quality,
                watch.floats,
                watch.integers,
            )
        )

    def replay(self, trace: Trace) -> Iterator[tuple[Verdict, ...]]:
        """Go on over a recorded trace; yield the verdicts that change, tick by tick.

        The kernel is the same as online and so are the verdicts; the first replay of a rule set
        compiles a loop around it.
        """
        columns = [
            np.ascontiguousarray(a) for a in (trace.t_ns, trace.values, trace.sampled_ns, trace.quality)
        ]
        until, k = load_module(self.program.source).until, 0
        while (k := int(until(k, *columns, self.watch.floats, self.watch.integers))) < len(trace):
            yield self.changes()
            k += 1

    def changes(self) -> tuple[Verdict, ...]:
        """Return the verdicts that changed at the last tick, with what they were judged on."""
        integers = self.watch.integers
        ticks = integers[TICKS]
        changed = [
            (rule, int(row[WORD.attention]))
            for rule, row in zip(self.rules.rules, self._rows(integers), strict=True)
            if ticks and row[WORD.changed_at] == ticks
        ]
        return self._verdicts(changed, self._seen()) if changed else ()

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return every rule's latched verdict, judged on the inputs of the last change of any."""
        latched = [
            (rule, int(row[WORD.attention]))
            for rule, row in zip(self.rules.rules, self._rows(self.watch.integers), strict=True)
        ]
        return self._verdicts(latched, self._seen())

    def arrivals(self) -> Mapping[str, Arrivals]:
        """Return how the samples of every channel that the rules read have come since the start."""
        first, n = self.program.arrivals, self.program.watched
        rows = self.watch.integers[first : first + n * ARRIVALS].reshape(n, ARRIVALS)
        names = [c.name for c in self._layout]
        return {
            names[int(row[ARRIVAL.column])]: Arrivals(*(int(v) for v in row[ARRIVAL.late :])) for row in rows
        }

    def arrivals_by_rule(self) -> Mapping[str, Arrivals]:
        """Return the same for every rule, over all channels it reads."""
        by_channel = self.arrivals()
        return {
            rule.id: Arrivals(
                late=sum(by_channel[c].late for c in rule.channels),
                duplicate=sum(by_channel[c].duplicate for c in rule.channels),
                disordered=sum(by_channel[c].disordered for c in rule.channels),
            )
            for rule in self.rules.rules
        }

    def preview(self, snapshot: Snapshot) -> tuple[Verdict, ...]:
        """Return the rules that would not hold if ``snapshot`` were the next tick.

        Nothing is remembered, and nothing is confirmed: what would be violated is reported at
        once, and so is what could not be shown to hold.
        """
        floats, integers = self.watch.floats.copy(), self.watch.integers.copy()
        self._kernel(snapshot.t_ns, snapshot.values, snapshot.sampled_ns, snapshot.quality, floats, integers)
        raw = [
            (rule, int(row[WORD.raw]))
            for rule, row in zip(self.rules.rules, self._rows(integers), strict=True)
            if row[WORD.raw]
        ]
        return self._verdicts(raw, snapshot)

    def arm(self, again: bool = False) -> SelfTest:
        """Test every rule on the compiled kernel, then start with a fresh memory.

        Args:
            again: Test even if this kernel has passed in this process before.

        Raises:
            RigFault: If any rule fails; the rig must not move then.
        """
        key = self.rules.digest, self.program.source
        if again or key not in _PASSED:
            _PASSED[key] = self_test(self.rules, self.program, self._kernel)
        self.reset()
        return _PASSED[key]

    def save(self) -> Saved:
        """Return the monitor's memory, to go back to."""
        return Saved(self.rules.digest, self.watch.floats.copy(), self.watch.integers.copy())

    def restore(self, saved: Saved) -> None:
        """Go back to a saved memory, in place: a backend that holds `watch` sees it too.

        Raises:
            UsageError: If it is the memory of another rule set.
        """
        if saved.digest != self.rules.digest:
            raise UsageError("the saved memory belongs to another rule set")
        self.watch.floats[:], self.watch.integers[:] = saved.floats, saved.integers

    def reset(self) -> None:
        """Forget everything."""
        self.watch.floats[:], self.watch.integers[:] = self.program.floats, self.program.integers

    def _rows(self, integers: IntArray) -> IntArray:
        first, last = self.program.row(0).start, self.program.row(len(self.rules.rules) - 1).stop
        return integers[first:last].reshape(len(self.rules.rules), -1)

    def _seen(self) -> Snapshot:
        """Return the inputs of the last change, as the kernel kept them."""
        (f, i), c = self.program.seen, len(self._layout)
        floats, integers = self.watch.floats, self.watch.integers
        return Snapshot(
            self._layout,
            int(integers[NOW]),
            floats[f : f + c].copy(),
            integers[i : i + c].copy(),
            cast(ByteArray, integers[i + c : i + 2 * c].astype(np.uint8)),
        )

    def _verdicts(self, judged: Sequence[tuple[Rule, int]], seen: Snapshot) -> tuple[Verdict, ...]:
        now = Evaluation(_one_tick(seen))
        return tuple(_verdict(rule, _HOLDS[code], seen, now) for rule, code in judged)


def _one_tick(seen: Snapshot) -> Trace:
    return Trace(
        seen.layout,
        np.array([seen.t_ns]),
        seen.values[None, :],
        seen.sampled_ns[None, :],
        seen.quality[None, :],
    )


def _verdict(rule: Rule, holds: bool | None, seen: Snapshot, now: Evaluation) -> Verdict:
    read = [n for n in walk(rule.violated) if isinstance(n, Measured)]
    return Verdict(
        rule=rule,
        holds=holds,
        margin=_margin(rule.leading, now),
        unit=rule.leading.left.unit if rule.leading else "1",
        t_ns=seen.t_ns,
        values={n.channel: float(now.number(n)[0]) for n in read},
        ages_s={
            n.channel: (seen.t_ns - int(seen.sampled_ns[seen.layout.index(n.channel)])) / 1e9 for n in read
        },
    )


def _margin(leading: Compare | None, now: Evaluation) -> float:
    """Return how far the leading comparison is from being true, positive while it is false."""
    if leading is None:
        return math.nan
    distance = float(now.number(leading.right)[0] - now.number(leading.left)[0])
    return distance if leading.op in (">", ">=") else -distance if leading.op in ("<", "<=") else math.nan
