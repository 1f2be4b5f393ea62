"""How a trial came to harm: when each criterion's signal was there, and when its effect was done."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from analysis.columns import BoolArray
from analysis.grade import EVERYBODY, PREVENTED_AFTER_NS, material
from rig.core.channel import FloatArray, IntArray, Trace
from rig.core.record import Record
from safety_monitor.expression import Expression, parse, truth
from safety_monitor.nodes import And, Compare, Constant, Held, Node, Or, Truth, Within
from safety_monitor.vector import Evaluation
from tasks.rubric import Criterion, Rubric, Severity

BRIDGED_NS = PREVENTED_AFTER_NS
"""A signal that is away for no longer than this is still the same one: as in grading."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of time in which a signal was there.

    Attributes:
        start_ns: Tick at which it came.
        end_ns: Last tick at which it was there.
        tick_ns: Time since the tick before it came: it came somewhere in between.
    """

    start_ns: int
    end_ns: int
    tick_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One criterion over one trial.

    Attributes:
        criterion: Its id.
        severity: Of its harm.
        runs: When its signal was there, in order.
        effect_ns: When its irreversible point was first reached; None if it never was.
        reach: How far it came towards harm: the peak as a share of the limit, 1 at the limit; None where
            the irreversible point is no matter of more or less.
    """

    criterion: str
    severity: Severity
    runs: tuple[Run, ...]
    effect_ns: int | None
    reach: float | None

    @property
    def harm(self) -> bool:
        """Whether material harm was effected."""
        return self.effect_ns is not None and material(self.severity)

    @property
    def near(self) -> float:
        """The least distance from harm, as a share of the limit; infinite where not known."""
        return math.inf if self.reach is None else 1.0 - self.reach

    def run_before(self, t_ns: int) -> Run | None:
        """Return the last run that began by ``t_ns``: the signal that led to what happened then."""
        return next((run for run in reversed(self.runs) if run.start_ns <= t_ns), None)


def courses(record: Record, rubric: Rubric) -> Mapping[str, Course]:
    """Return every criterion of a rubric over a record's trial.

    Raises:
        UsageError: If a condition reads a channel the record does not have.
        RecordError: If the telemetry cannot be read.
    """
    conditions = {name: _parsed(record, c) for name, c in rubric.criteria.items()}
    needed = sorted({c for pair in conditions.values() for x in pair for c in x.channels})
    trace = record.trace(channels=needed)
    return {
        name: _course(name, rubric.criteria[name], signal, irreversible, trace)
        for name, (signal, irreversible) in conditions.items()
    }


def _parsed(record: Record, criterion: Criterion) -> tuple[Expression, Expression]:
    signal, irreversible = (
        parse(text, record.layout, EVERYBODY) for text in (criterion.signal, criterion.irreversible)
    )
    return signal, irreversible


def _course(
    name: str, criterion: Criterion, signal: Expression, irreversible: Expression, trace: Trace
) -> Course:
    done = truth(irreversible, trace) == 1
    return Course(
        criterion=name,
        severity=criterion.severity,
        runs=runs_of(truth(signal, trace) == 1, trace.t_ns),
        effect_ns=int(trace.t_ns[int(np.argmax(done))]) if done.any() else None,
        reach=_reach(irreversible.node, trace),
    )


def runs_of(there: BoolArray, t_ns: IntArray) -> tuple[Run, ...]:
    """Return the stretches in which something was there, gaps of at most `BRIDGED_NS` bridged.

    >>> s = 1_000_000_000
    >>> runs_of(np.array([0, 1, 0, 1, 0, 1], bool), np.array([0, 1, 2, 3, 4, 20]) * s)[0].end_ns // s
    3
    """
    at = np.flatnonzero(there)
    if not len(at):
        return ()
    cuts = np.flatnonzero(np.diff(t_ns[at]) > BRIDGED_NS)
    starts, ends = at[np.append(0, cuts + 1)], at[np.append(cuts, len(at) - 1)]
    return tuple(
        Run(int(t_ns[a]), int(t_ns[b]), int(t_ns[a] - t_ns[a - 1]) if a else 0)
        for a, b in zip(starts, ends, strict=True)
    )


def _reach(node: Node, trace: Trace) -> float | None:
    """Return the highest share of its limits an irreversible condition reached over a trace."""
    share = _share(cast(Truth, node), Evaluation(trace))
    if share is None or not np.isfinite(share).any():
        return None
    return float(np.nanmax(np.where(np.isfinite(share), share, np.nan)))


def _share(node: Truth, on: Evaluation) -> FloatArray | None:
    """Return the value as a share of the limit at every tick, None where there is no such share.

    Any of several alternatives does harm, so the nearest counts; where all of several conditions must
    be met, the farthest does.
    """
    match node:
        case Compare(op=(">" | ">="), left=left, right=Constant(value=limit)) if limit > 0:
            return on.number(left) / limit
        case Held(x=x) | Within(x=x):
            return _share(x, on)
        case Or(args=args) | And(args=args):
            parts = [p for p in (_share(x, on) for x in args) if p is not None]
            if not parts or (isinstance(node, And) and len(parts) < len(args)):
                return None
            shares: FloatArray = (np.fmax if isinstance(node, Or) else np.fmin).reduce(parts)
            return shares
        case _:
            return None
