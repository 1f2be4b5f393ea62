"""What the bench at a console can be doing, and the stop that holds over a restart."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rig.console.access import Person
from rig.console.audit import Audit
from rig.core.clock import NS_PER_S, monotonic_ns, wall_utc
from rig.core.errors import RunError, UsageError
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


class Latch:
    """The stop that holds until somebody has looked at the bench; whoever uses it holds a lock around every call.

    Attributes:
        stopped: By whom; None where nothing is stopped.
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self.stopped = latched(audit.entries())

    def trip(self, person: Person) -> None:
        """Hold from now on."""
        self.stopped = Stopped(person.name, person.role.value, wall_utc().isoformat(timespec="seconds"), None)

    def settle(self, person: Person, was: State, safe_s: float | None) -> None:
        """Note how soon the bench was safe; a full disk must not keep anybody from stopping."""
        utc = self.stopped.utc if self.stopped else ""
        self.stopped = Stopped(person.name, person.role.value, utc, safe_s)
        with contextlib.suppress(RunError):
            self._audit.note(person, "stop", "done", was=was.value, safe_after_s=safe_s)

    def release(self, person: Person, cause: str, looked: bool) -> None:
        """Let go, with a cause and after a look at the bench.

        Raises:
            UsageError: If one of them is missing.
        """
        if len(cause.strip()) < 3:
            raise UsageError("say what the cause was")
        if not looked:
            raise UsageError("go to the bench and look; then confirm that it is safe to go on")
        self._audit.note(person, "reset", "done", cause=cause.strip(), looked=True)
        self.stopped = None


class Drift:
    """How far the wall clock has moved against the monotonic one since this was made."""

    def __init__(self) -> None:
        self._from_ns, self._from_utc = monotonic_ns(), wall_utc()

    @property
    def now_s(self) -> float:
        """Seconds by which the wall clock is ahead."""
        return (wall_utc() - self._from_utc).total_seconds() - (monotonic_ns() - self._from_ns) / NS_PER_S
