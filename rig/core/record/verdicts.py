"""What checking a record found: one verdict per question, never one word for all."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rig.core.errors import UsageError
from rig.core.event import Json


class Status(StrEnum):
    """The answer to one question about a record."""

    OK = "ok"
    WEAK = "weak"  # there, but it does not carry what it seems to
    ABSENT = "absent"  # nothing to check
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer; ``place`` is the first bad place: file, line and seq, or offset."""

    name: str
    status: Status
    text: str
    place: str = ""


MUST_HOLD = ("payload", "chain", "complete", "segments")
MUST_NOT_FAIL = ("signature", "anchor")
REQUIRABLE = {"signed": "signature", "trusted": "signer", "anchored": "anchor", "ordered": "clock"}


@dataclass(frozen=True, slots=True)
class Anchor:
    """A chain head kept outside the record, for example in the campaign ledger.

    Attributes:
        trial_id: Of which trial.
        seq: Number of the event.
        head: Its hash.
        by: Who keeps it, in words.
    """

    trial_id: str
    seq: int
    head: str
    by: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Every verdict on one record.

    Attributes:
        folder: Which record.
        trial_id: Which trial, empty if it cannot be told.
        seq: Number of the last event that is intact and linked, -1 if there is none.
        head: Its hash.
        checks: The verdicts: payload, chain, complete, segments, counts, clock, signature, signer, anchor.
        required: Which of the softer ones were required to be ok.
    """

    folder: Path
    trial_id: str
    seq: int
    head: str
    checks: tuple[Check, ...]
    required: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    @property
    def ok(self) -> bool:
        """Whether the record is what it says it is, as far as was required.

        Intact payload, chain, completeness and segments; no signature or anchor that contradicts
        them; and whatever else was required.
        """
        must = {*MUST_HOLD, *(REQUIRABLE[name] for name in self.required)}
        return all(
            check.status is Status.OK if check.name in must
            else not (check.name in MUST_NOT_FAIL and check.status is Status.FAILED)
            for check in self.checks
        )  # fmt: skip

    def lines(self) -> tuple[str, ...]:
        """Return the verdicts as lines for people, the summary first."""
        anchor, signer = self["anchor"], self["signer"]
        word = "holds" if self.ok else "DOES NOT HOLD"
        what = "complete" if self["complete"].status is Status.OK else "intact"
        by = anchor.text if anchor.status is not Status.ABSENT else "not anchored"
        first = f"{self.folder}: {word}: {what} to seq {self.seq}, {by}"
        if self.ok and signer.status is not Status.OK:
            first += "; nobody you trust vouches for it"
        rest = (
            f"  {c.name:<9} {c.status.value:<6} {c.text}" + (f"  [{c.place}]" if c.place else "")
            for c in self.checks
        )
        return (first, *rest)

    def json(self) -> dict[str, Json]:
        """Return the verdicts as strict JSON."""
        return {
            "folder": str(self.folder), "trial_id": self.trial_id, "seq": self.seq, "head": self.head,
            "ok": self.ok, "required": list(self.required),
            "checks": {
                c.name: {"status": c.status.value, "text": c.text, "place": c.place} for c in self.checks
            },
        }  # fmt: skip


def requirements(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names if each is something that can be required.

    Raises:
        UsageError: Otherwise, with what can be.
    """
    names = tuple(names)
    if odd := [name for name in names if name not in REQUIRABLE]:
        raise UsageError(f"cannot require {', '.join(odd)}; choose from {', '.join(REQUIRABLE)}")
    return names
