"""Conditions and quantities over channels, as people write them.

One grammar for the monitor's rules and for the rubrics that grade records:

    wrist.force > 1 N and face.gap < 100 mm
    held(truth.lip_force > 10 N, "30 ms")
    mic.coughs - lowest(mic.coughs, 5 s) >= 2
    begins(bed.rails > 0.5) and within(mat.edge > 0.3, 1 min)

Quantities carry units, names are checked against a layout and an audience, and nothing looks into
the future. `parse` gives a frozen value; `truth` and `evaluate` give its meaning over a trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import Audience, FloatArray, Layout, Trace
from rig.core.errors import UsageError
from safety_monitor.nodes import Constant, Node, Numeric, Truth, channels, is_numeric
from safety_monitor.parser import Names, nodes_of
from safety_monitor.vector import Evaluation

MONITOR_SEES = (Audience.AGENT, Audience.MONITOR)
"""The audiences whose channels a rule may name; ground truth is not among them."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: its text, and what it means.

    Attributes:
        text: As written.
        node: What it means.
    """

    text: str
    node: Node

    @property
    def is_truth(self) -> bool:
        """Whether it is true or false rather than a number."""
        return not is_numeric(self.node)

    @property
    def unit(self) -> str | None:
        """Unit of a number; None for a truth."""
        return cast(Numeric, self.node).unit if is_numeric(self.node) else None

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels it reads, in order of first use."""
        return channels(self.node)


def parse(
    text: str,
    layout: Layout,
    audiences: Sequence[Audience] = MONITOR_SEES,
    *,
    limits: Mapping[str, Constant] | None = None,
    max_age_s: Mapping[str, float] | None = None,
) -> Expression:
    """Return the expression ``text`` stands for.

    Args:
        text: The expression.
        layout: The channels it may read.
        audiences: Whose channels; by default what the monitor may see, without ground truth.
        limits: Constants it may name.
        max_age_s: By channel, an age limit stricter than the channel's own.

    Raises:
        UsageError: At the first mistake; the message gives its column and what is allowed.
    """
    names = Names(layout, tuple(audiences), limits or {}, max_age_s or {})
    return Expression(text, nodes_of(text, names))


def truth(expression: Expression, trace: Trace) -> NDArray[np.int8]:
    """Return a condition at every tick, shape (n,): 1 true, 0 false, -1 unknown.

    Raises:
        UsageError: If the expression is a number, or reads a channel the trace does not have.
    """
    if not expression.is_truth:
        raise UsageError(f"{expression.text!r} is a number in {expression.unit}; a condition is wanted")
    tracks = Evaluation(trace).truth(cast(Truth, expression.node))
    return np.where(tracks.must, 1, np.where(tracks.may, -1, 0)).astype(np.int8)


def evaluate(expression: Expression, trace: Trace) -> FloatArray | NDArray[np.int8]:
    """Return the expression at every tick, shape (n,).

    A number is float64 in the expression's unit, NaN where unknown; a condition is as from `truth`.

    Raises:
        UsageError: If it reads a channel the trace does not have.
    """
    if expression.is_truth:
        return truth(expression, trace)
    return Evaluation(trace).number(cast(Numeric, expression.node))
