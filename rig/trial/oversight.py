"""What the monitor's verdicts do to a trial: they go on record and, where they are enforced, move the interlock."""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from rig.core.event import Json, Kind, Severity
from rig.trial.parts import Mode
from safety_monitor.interlock import Signal, State, advance, signal_of
from safety_monitor.monitor import Monitor
from safety_monitor.rule import ACTUATING
from safety_monitor.verdict import Verdict


class Log(Protocol):
    """Appends an event at the present trial time."""

    def __call__(self, kind: Kind, source: str, severity: Severity = ..., **body: Json) -> int:
        """Return its number in the record."""
        ...


class Oversight:
    """The monitor of one trial and the interlock it moves; it commands nothing itself.

    Attributes:
        enforcing: Whether verdicts are enforced, not only recorded.
        state: Of the interlock.
    """

    def __init__(self, monitor: Monitor, mode: Mode, log: Log) -> None:
        self.enforcing = mode is Mode.GUARD
        self.state = State.DISARMED
        self._monitor, self._log = monitor, log

    @property
    def stopped(self) -> bool:
        """Whether the interlock has tripped for good."""
        return self.state is State.STOPPED

    def arm(self) -> None:
        """Test the monitor on traces made for its rules.

        Raises:
            RigFault: If a rule does not fire, or fires without cause.
        """
        tested = self._monitor.arm()
        self._log(Kind.ARMED, "monitor", rules=tested.rules, always_known=list(tested.always_known))

    def signal(self, signal: Signal) -> None:
        """Move the interlock."""
        self.state = advance(self.state, signal)

    def review(self, near_person: Callable[[], bool]) -> None:
        """Let the latched verdicts move the interlock; in shadow they never do.

        A retreat that is asked for where the rig is already away from the person is complete at once.
        """
        if not self.enforcing:
            return
        self.signal(signal_of(self._monitor.verdicts(), self._monitor.rules.order))
        if self.state is State.RETRACT and not near_person():
            self.signal(Signal.RETRACTED)

    def changes(self) -> Iterator[Verdict]:
        """Record what has changed since the last call, one verdict after the other, and yield those broken."""
        for verdict in self._monitor.changes():
            broken = verdict.holds is not True
            self._log(
                Kind.VERDICT, "monitor", Severity.WARNING if broken else Severity.INFO,
                rule=verdict.rule.id, holds=verdict.holds, margin=_number(verdict.margin), unit=verdict.unit,
                values={k: _number(v) for k, v in verdict.values.items()},
                ages_s={k: _number(v) for k, v in verdict.ages_s.items()},
            )  # fmt: skip
            if broken:
                yield verdict

    def strongest(self) -> Verdict | None:
        """Return the broken rule whose response wins, or None when all actuating rules hold."""
        broken = [v for v in self._monitor.verdicts() if v.holds is not True and v.response in ACTUATING]
        order = self._monitor.rules.order
        return min(broken, key=lambda v: order.index(v.response), default=None)

    def intervene(self, verdict: Verdict) -> None:
        """Record that a rule changes what would have happened."""
        self._log(
            Kind.INTERVENED, "monitor", Severity.CRITICAL if self.stopped else Severity.WARNING,
            rule=verdict.rule.id, response=verdict.response.value, state=self.state.value,
            criterion=verdict.rule.protects, reason=verdict.rule.sentence,
        )  # fmt: skip

    def odd_samples(self) -> dict[str, Json]:
        """Return, for every rule that saw any, how many samples came late, twice with another value, out of order."""
        return {
            rule: {"late": a.late, "duplicate": a.duplicate, "disordered": a.disordered}
            for rule, a in self._monitor.arrivals_by_rule().items()
            if a.late or a.duplicate or a.disordered
        }


def _number(value: float | None) -> float | None:
    """Return a number fit for strict JSON: NaN and infinities become null."""
    return None if value is None or not np.isfinite(value) else float(value)
