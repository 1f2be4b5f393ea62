"""What became of an action, measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.core.agent import Sighting
from rig.core.care import Entry
from rig.core.event import Kind, Severity
from rig.core.reply import Status
from rig.trial.rig import Rig


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of an action, measured."""

    status: Status
    message: str
    peak_force_n: float | None = None
    entries: tuple[Entry, ...] = ()
    sightings: tuple[Sighting, ...] = ()


def refuse(rig: Rig, action_id: int, reasons: Sequence[str]) -> Effect:
    """Record that the gate did not let an action pass, and why."""
    rig.log(Kind.AUTHORISED, "gate", Severity.NOTICE, action_id=action_id, allowed=False, reasons=[*reasons])
    return Effect(Status.REFUSED_BY_GATE, "; ".join(reasons))
