"""The gate: the only way to an actuator. It blocks and says why; it never alters a command."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rig.core.channel import FloatArray
from rig.core.command import Plan
from rig.core.errors import UsageError
from safety_monitor.interlock import PERMITS, Motion, State
from safety_monitor.limits import Bound
from safety_monitor.rule import ACTUATING
from safety_monitor.verdict import Verdict

RATE_SLACK = 1e-9
"""Relative slack on rates, for what adding up setpoints in floating point costs."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate says of a plan: the very plan, or nothing and the reasons."""

    passed: Plan | None
    reasons: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether the plan may go on."""
        return self.passed is not None


@dataclass(frozen=True, slots=True)
class Envelope:
    """The bounds of a bench as columns, in the order of its actuators."""

    bounds: tuple[Bound, ...]
    low: FloatArray
    high: FloatArray
    rate: FloatArray

    @classmethod
    def of(cls, bounds: Sequence[Bound]) -> "Envelope":
        """Return the envelope with these bounds."""
        columns = np.array([[b.low, b.high, b.rate] for b in bounds]).reshape(len(bounds), 3).T
        return cls(tuple(bounds), *(np.ascontiguousarray(c) for c in columns))


def decide(
    plan: Plan,
    envelope: Envelope,
    state: State,
    previous: FloatArray,
    now_ns: int,
    motion: Motion = Motion.ORDINARY,
) -> Decision:
    """Return whether every row of ``plan`` may reach the actuators.

    Args:
        plan: Setpoints of every actuator, shape (n, a).
        envelope: The bounds of these actuators, in their order.
        state: The interlock's.
        previous: The setpoints in force, shape (a,), which the first row follows.
        now_ns: Trial time.
        motion: What kind of motion it is.
    """
    _same_actuators(plan, envelope, previous)
    reasons: list[str] = []
    if bool((plan.setpoints == previous).all()):
        motion = Motion.NONE  # to keep still is not to move
    if motion not in PERMITS[state]:
        reasons.append(f"the interlock is {state}: {motion} motion is not allowed")
    if not len(plan):
        reasons.append("the plan is empty")
    elif not plan.start_ns >= now_ns:
        reasons.append(f"the plan starts {(now_ns - plan.start_ns) / 1e6:g} ms in the past")
    elif not plan.time_ns(len(plan) - 1) <= plan.expires_ns:
        reasons.append("the lease ends before the plan does")
    if not plan.period_ns > 0:
        reasons.append("the plan's period is not positive")
    if not reasons:
        reasons += _out_of_bounds(plan, envelope, previous)
    return Decision(None, tuple(reasons)) if reasons else Decision(plan, ())


def _same_actuators(plan: Plan, envelope: Envelope, previous: FloatArray) -> None:
    named, bounded = [a.name for a in plan.actuators], [b.actuator for b in envelope.bounds]
    if named != bounded:
        raise UsageError(f"the plan is for {', '.join(named)}, the envelope for {', '.join(bounded)}")
    if plan.setpoints.ndim != 2 or plan.setpoints.shape[1] != len(named) or previous.shape != (len(named),):
        raise UsageError(f"setpoints must have one column per actuator, {len(named)}")


def _out_of_bounds(plan: Plan, envelope: Envelope, previous: FloatArray) -> list[str]:
    rows = plan.setpoints
    inside = (rows >= envelope.low) & (rows <= envelope.high)  # NaN is not inside
    reach = envelope.rate * (plan.period_ns / 1e9) * (1.0 + RATE_SLACK)
    slow = np.empty_like(inside)
    with np.errstate(invalid="ignore"):  # infinite setpoints are already outside
        slow[0] = np.abs(rows[0] - previous) <= reach
        slow[1:] = np.abs(rows[1:] - rows[:-1]) <= reach
    if inside.all() and slow.all():
        return []
    reasons = []
    for j, bound in enumerate(envelope.bounds):
        unit = plan.actuators[j].unit
        if not inside[:, j].all():
            k = int(np.argmin(inside[:, j]))
            seen, allowed = f"{rows[k, j]:g} {unit}", f"{bound.low:g} to {bound.high:g}"
            reasons.append(f"{bound.actuator}: {seen} in row {k} is not within {allowed}")
        if not slow[:, j].all():
            k = int(np.argmin(slow[:, j]))
            before = rows[k - 1, j] if k else previous[j]
            rate = abs(rows[k, j] - before) / (plan.period_ns / 1e9)
            reasons.append(f"{bound.actuator}: {rate:g} {unit}/s in row {k} is faster than {bound.rate:g}")
    return reasons


@dataclass(frozen=True, slots=True)
class Authorisation:
    """What the gate says of an action before anything moves.

    Attributes:
        allowed: Whether the action may begin.
        reasons: Why not, in words.
        verdicts: The rules that forbid it.
    """

    allowed: bool
    reasons: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()


def authorise(state: State, motion: Motion, preview: Sequence[Verdict]) -> Authorisation:
    """Return whether an action may begin.

    Args:
        state: The interlock's.
        motion: What kind of motion the action is. Speech and calls are always allowed, and so is a
            retreat wherever the state permits it: no rule may keep the rig at the person.
        preview: What the monitor foresees if it began (`safety_monitor.monitor.Monitor.preview`).
            A rule that cannot be shown to hold forbids it as one that would be broken does.
    """
    if motion not in PERMITS[state]:
        return Authorisation(False, (f"the interlock is {state}: {motion} motion is not allowed",))
    if motion is not Motion.ORDINARY:
        return Authorisation(True, ())
    against = tuple(v for v in preview if v.response in ACTUATING)
    return Authorisation(not against, tuple(f"{v.text()} ({v.rule.sentence})" for v in against), against)
