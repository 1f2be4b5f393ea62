"""What the monitor decided, tick by tick: as a record keeps it, or as a monitor says it again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rig.core.clock import clock_text
from rig.core.errors import RecordError
from rig.core.event import Kind
from rig.core.record import Record, StoredEvent
from safety_monitor.verdict import Verdict

_HOLDS = {True: "holds", False: "is broken", None: "is not known"}


@dataclass(frozen=True, slots=True)
class Decision:
    """One change of one rule's verdict.

    Attributes:
        t_ns: Trial time of the tick.
        rule: Id of the rule.
        holds: True, False, or None where too much was unknown to say.
        margin: Distance from the limit, in ``unit``; None where unknown or where the rule has none.
        unit: Unit of the margin.
        values: Value of each channel the rule reads, None where it is not to be believed.
        ages_s: Age of each of these readings.
    """

    t_ns: int
    rule: str
    holds: bool | None
    margin: float | None
    unit: str
    values: Mapping[str, float | None]
    ages_s: Mapping[str, float | None]

    def text(self) -> str:
        """Return the decision in words, with what it was judged on."""
        seen = ", ".join(f"{k} {_number(v)}" for k, v in self.values.items())
        return f"{clock_text(self.t_ns)} {self.rule} {_HOLDS[self.holds]} ({seen})"


def decision_of(verdict: Verdict) -> Decision:
    """Return a monitor's verdict as the record would keep it: what is not finite becomes None."""
    return Decision(
        verdict.t_ns, verdict.rule.id, verdict.holds, _finite(verdict.margin), verdict.unit,
        {k: _finite(v) for k, v in verdict.values.items()},
        {k: _finite(v) for k, v in verdict.ages_s.items()},
    )  # fmt: skip


def recorded_decisions(record: Record) -> tuple[Decision, ...]:
    """Return the decisions a record keeps, in order.

    Raises:
        RecordError: If a verdict event lacks a part.
    """
    return tuple(_stored(record, event) for event in record.of_kind(Kind.VERDICT))


def _stored(record: Record, event: StoredEvent) -> Decision:
    body = event.body
    try:
        return Decision(
            event.t_ns, str(body["rule"]), _truth(body["holds"]), _real(body["margin"]), str(body["unit"]),
            _reals(body["values"]), _reals(body["ages_s"]),
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise RecordError(
            f"{record.folder}: event {event.seq}: not a whole verdict: {error!r}; see `runrig verify`"
        ) from None


def _truth(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true, false nor null")
    return value


def _real(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _reals(value: object) -> dict[str, float | None]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a table")
    return {str(k): _real(v) for k, v in value.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
