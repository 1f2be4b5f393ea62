"""The preflight of a bench: examined by program, confirmed by hand, signed by name, for a while."""

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rig.console.bench_state import NotNow
from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.doctor import Report, examine

SIGNED_FOR = {
    "simulated": timedelta(hours=8),
    "emulated": timedelta(hours=8),
    "physical": timedelta(minutes=30),
}
BY_HAND = {
    "simulated": {"records": "The records go to the folder this console was started with."},
    "emulated": {
        "records": "The records go to the folder this console was started with.",
        "apart": "No real actuator is wired to the emulated nodes.",
    },
    "physical": {
        "records": "The records go to the folder this console was started with.",
        "estop": "The hardware stop was pressed and released today, and the bench stood still at once.",
        "clear": "Nobody is within reach of the bench; the manikin is in place.",
        "whole": "Nothing on the bench is loose, torn or out of place.",
    },
}
"""What only a person can see, by embodiment of the bench."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A preflight that somebody put a name to."""

    report: Report
    by: str
    at: datetime
    expires: datetime

    @property
    def stands(self) -> bool:
        """Whether nothing in it is red and it has not run out."""
        return self.report.ok and wall_utc() < self.expires


def examined(bench: str, runs: Path) -> Report:
    """Examine in a process of its own: compiling what moves the bench would hold up the page."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(examine, bench, runs).result()


@dataclass(slots=True)
class Examination:
    """The latest preflight of a bench, and who put their name to it.

    Attributes:
        embodiment: Of the bench: what has to be confirmed by hand, and for how long a signature is good.
        report: What was found; None before the first.
        signed: Whose name is under it; None where nobody's is.
    """

    embodiment: str
    report: Report | None = None
    signed: Signed | None = None

    @property
    def by_hand(self) -> Mapping[str, str]:
        """What only a person can see."""
        return BY_HAND[self.embodiment]

    @property
    def stands(self) -> bool:
        """Whether it is signed, nothing in it is red, and it has not run out."""
        return self.signed is not None and self.signed.stands

    def renew(self, report: Report) -> None:
        """Take a new one, which nobody has signed."""
        self.report, self.signed = report, None

    def signature(self, digest: str, by: str, confirmed: Sequence[str]) -> Signed:
        """Return what it would be with a name under it.

        Raises:
            NotNow: If there is none, it is another one, or something is red.
            UsageError: If something was not confirmed.
        """
        report = self.report
        if report is None or report.digest() != digest:
            raise NotNow("that is not the latest preflight; look at it again")
        if not report.ok:
            raise NotNow(f"{report.reds[0].title} is red; put it right and examine again")
        if missing := [text for name, text in self.by_hand.items() if name not in confirmed]:
            raise UsageError(f"not confirmed: {missing[0]}")
        now = wall_utc()
        return Signed(report, by, now, now + SIGNED_FOR[self.embodiment])
