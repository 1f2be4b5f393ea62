"""What the bench at a console can be doing, and the stop that holds over a restart."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rig.core.clock import NS_PER_S, monotonic_ns, wall_utc
from rig.core.errors import RunError
from rig.core.record.entries import Entry


class State(StrEnum):
    """What the bench at this console is doing."""

    IDLE = "idle"
    ARMED = "armed"
    RUNNING = "running"
    STOPPED = "stopped"


class NotNow(RunError):
    """Asked for at the wrong moment; the message says what has to be first."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Who stopped the bench, and how soon it was safe."""

    by: str
    role: str
    utc: str
    safe_after_s: float | None


def latched(audit: Iterable[Entry]) -> Stopped | None:
    """Return the stop that was never reset, from the audit chain: a restart resets nothing."""
    found: Stopped | None = None
    for entry in audit:
        if entry.kind == "stop":
            found = Stopped(entry.by, entry.role, entry.utc, None)
        elif entry.kind == "reset" and entry.body.get("result") == "done":
            found = None
    return found


class Drift:
    """How far the wall clock has moved against the monotonic one since this was made."""

    def __init__(self) -> None:
        self._from_ns, self._from_utc = monotonic_ns(), wall_utc()

    @property
    def now_s(self) -> float:
        """Seconds by which the wall clock is ahead."""
        return (wall_utc() - self._from_utc).total_seconds() - (monotonic_ns() - self._from_ns) / NS_PER_S
