"""Verify replay: the same rules over the recorded readings must decide exactly as they did.

Every row of telemetry was seen once by the monitor, in order, from a fresh memory; so feeding the rows
to the same kernel must give the same decisions at the same ticks, judged on the same values. If it does
not, then the record, the rules or the program are not those of the trial.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

import numpy as np

from analysis.decisions import Decision, decision_of, recorded_decisions
from analysis.facts import facts_of
from analysis.recorded_rules import recorded_digest, rules_now, same_rules
from analysis.scan import scan
from rig.core.channel import Layout, Trace
from rig.core.clock import clock_text
from rig.core.event import Json, Kind
from rig.core.record import Record
from safety_monitor.monitor import Monitor
from safety_monitor.rule import RuleSet


class Result(StrEnum):
    """What a replay showed."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    NOT_ASSESSED = "not_assessed"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first decision that is not the same; None on the side that has none there."""

    number: int
    recorded: Decision | None
    replayed: Decision | None

    def lines(self) -> tuple[str, ...]:
        """Return the difference in words."""
        sides = (("recorded", self.recorded), ("replayed", self.replayed))
        return tuple(f"{name}: {d.text() if d else 'nothing'}" for name, d in sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay against its record.

    Attributes:
        result: Whether the decisions are the same.
        reason: Why it was not assessed, or what a reader must know; empty otherwise.
        rules: How many rules watched.
        ticks: Ticks fed to the monitor.
        span_ns: Trial time of the last of them.
        decisions: Decisions that were compared and are the same.
        beyond: Recorded decisions after the last tick of the telemetry, which nothing can check.
        difference: The first that is not the same.
    """

    result: Result
    reason: str = ""
    rules: int = 0
    ticks: int = 0
    span_ns: int = 0
    decisions: int = 0
    beyond: int = 0
    difference: Difference | None = None

    def json(self) -> dict[str, Json]:
        """Return everything as strict JSON."""
        return {
            "result": self.result.value, "reason": self.reason, "rules": self.rules, "ticks": self.ticks,
            "span_s": self.span_ns / 1e9, "decisions": self.decisions, "beyond": self.beyond,
            "difference": None if self.difference is None else {
                "number": self.difference.number,
                "recorded": _json(self.difference.recorded), "replayed": _json(self.difference.replayed),
            },
        }  # fmt: skip


def _json(decision: Decision | None) -> Json:
    if decision is None:
        return None
    return {
        "t_ns": decision.t_ns, "rule": decision.rule, "holds": decision.holds, "margin": decision.margin,
        "unit": decision.unit, "values": {**decision.values}, "ages_s": {**decision.ages_s},
    }  # fmt: skip


class Replayer:
    """A monitor with a fresh memory, fed with recorded ticks in bulk."""

    def __init__(self, rules: RuleSet, layout: Layout) -> None:
        """Load the kernel of ``rules``; the first time for a rule set this takes seconds."""
        self._monitor = Monitor(rules, layout)
        self.channels = tuple(sorted({name for r in rules.rules for name in r.channels}, key=layout.index))
        self._columns = np.array([layout.index(name) for name in self.channels], np.int64)
        c = len(layout)  # what no rule reads is never looked at
        self._x, self._s, self._q = np.full(c, np.nan), np.zeros(c, np.int64), np.zeros(c, np.uint8)
        self.ticks = 0
        self.last_ns = 0

    def feed(self, trace: Trace) -> Iterator[Decision]:
        """Take the next ticks, of `channels` alone, and give what is decided at them."""
        watch, n, tick = self._monitor.watch, len(trace), -1
        while n:
            tick = scan(
                watch.pointer, trace.t_ns, trace.values, trace.sampled_ns, trace.quality, self._columns,
                self._x, self._s, self._q, watch.floats, watch.integers, tick + 1,
            )  # fmt: skip
            if tick >= n:
                break
            yield from map(decision_of, self._monitor.changes())
        if n:
            self.ticks += n
            self.last_ns = int(trace.t_ns[-1])

    def run(self, record: Record) -> Iterator[Decision]:
        """Feed the whole telemetry of a record.

        Raises:
            RecordError: If the telemetry cannot be read.
        """
        for trace in record.stretches(self.channels):
            yield from self.feed(trace)


def replay(record: Record) -> Replay:
    """Feed a record's readings to the rules it was made under, and compare decision by decision.

    Raises:
        RecordError: If the record cannot be read.
        ConfigError: If the rules of this installation are wrong.
    """
    if problem := _why_not(record):
        return Replay(result=Result.NOT_ASSESSED, reason=problem)
    rules = rules_now(facts_of(record).task, record.layout)
    replayer = Replayer(rules, record.layout)
    again = tuple(replayer.run(record))
    recorded = recorded_decisions(record)
    if not replayer.ticks:
        return Replay(result=Result.NOT_ASSESSED, reason="the record holds no telemetry")
    checkable = tuple(d for d in recorded if d.t_ns <= replayer.last_ns or record.complete)
    difference = first_difference(checkable, again)
    beyond = len(recorded) - len(checkable)
    return Replay(
        result=Result.IDENTICAL if difference is None else Result.DIFFERENT,
        reason=_caution(record, replayer, beyond),
        rules=len(rules.rules),
        ticks=replayer.ticks,
        span_ns=replayer.last_ns,
        decisions=len(again) if difference is None else difference.number,
        beyond=beyond,
        difference=difference,
    )


def _why_not(record: Record) -> str:
    """Return why a replay could prove nothing, empty if it can."""
    if same_rules(record) is None:
        now = rules_now(facts_of(record).task, record.layout).digest
        return (
            f"the trial ran under rules {recorded_digest(record)[:12]}, here are rules {now[:12]}: replay with "
            f"the version that made the record, or see what these would have said with `runrig whatif`"
        )
    lost = [
        e for e in record.of_kind(Kind.FAULT) if e.body.get("what") in ("telemetry dropped", "telemetry lost")
    ]
    if lost:
        return f"the monitor saw ticks the record does not hold ({lost[0].body['what']}, event {lost[0].seq})"
    return ""


def _caution(record: Record, replayer: Replayer, beyond: int) -> str:
    if record.complete:
        return ""
    return (
        f"the record is not complete ({record.problem}): compared up to {clock_text(replayer.last_ns)}, "
        f"{beyond} decisions after that not checked"
    )


def first_difference(recorded: Sequence[Decision], replayed: Sequence[Decision]) -> Difference | None:
    """Return the first place where two sequences of decisions differ, None if they are the same."""
    for number, (a, b) in enumerate(zip_longest(recorded, replayed)):
        if a != b:
            return Difference(number, a, b)
    return None
