"""What an examination found: frozen values, the same for people, the console and permits."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from rig.core.event import Json


class Light(StrEnum):
    """How a check ended; what is not known is never green."""

    GREEN = "green"
    RED = "red"
    NOT_NEEDED = "not_needed"  # does not apply to this bench; `Check.allowed` says why


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the checklist.

    Attributes:
        name: Stable identifier, for example ``disk``.
        title: What is checked, in words.
        light: How it ended.
        measured: What was seen, with its unit.
        allowed: What it had to be.
        todo: What a technician does about a red light; empty otherwise.
        value: The measured number where there is one, in SI units.
    """

    name: str
    title: str
    light: Light
    measured: str
    allowed: str
    todo: str = ""
    value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything an examination of one bench found.

    Attributes:
        bench: Name of the bench.
        embodiment: ``simulated``, ``emulated`` or ``physical``.
        bench_digest: SHA-256 of the bench file, so that a report is of this very file.
        examined_utc: When, ISO 8601.
        devices: Identities read from the devices themselves.
        checks: In the order a technician works through them.
    """

    bench: str
    embodiment: str
    bench_digest: str
    examined_utc: str
    devices: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is red (and something was checked at all)."""
        return bool(self.checks) and not self.reds

    @property
    def reds(self) -> tuple[Check, ...]:
        """What must be put right."""
        return tuple(c for c in self.checks if c.light is Light.RED)

    def check(self, name: str) -> Check | None:
        """Return the check of that name, None when it was not made."""
        return next((c for c in self.checks if c.name == name), None)

    def as_json(self) -> dict[str, Json]:
        """Return the report as strict JSON, with ``ok`` and its digest."""
        return {**asdict(self), "ok": self.ok, "digest": self.digest()}

    def digest(self) -> str:
        """Return the SHA-256 of the report, which a permit names."""
        text = json.dumps(asdict(self), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def judged(
    name: str, title: str, good: bool, measured: str, allowed: str, todo: str, value: float | None = None
) -> Check:
    """Return a check that is green when ``good``, else red with what to do."""
    light = Light.GREEN if good else Light.RED
    return Check(
        name=name, title=title, light=light, measured=measured, allowed=allowed,
        todo="" if good else todo, value=value,
    )  # fmt: skip


def not_needed(name: str, title: str, measured: str, why: str) -> Check:
    """Return a check that does not apply, with the reason."""
    return Check(name=name, title=title, light=Light.NOT_NEEDED, measured=measured, allowed=why)


def listed(names: Iterable[str], most: int = 4) -> str:
    """Return names as text, the first few of them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
