"""A verdict per gate and the decision: a conjunction, nothing else.

There is no score: a verdict has no number that another verdict could be weighed against.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from analysis.release.claims import Claim, Standing, State
from analysis.release.policy import Gate
from rig.core.errors import UsageError


class Verdict(StrEnum):
    """The answer of one gate."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number beside what was asked of it, in words."""

    name: str
    found: str
    asked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one gate found.

    Attributes:
        reasons: Why it does not pass; empty for PASS.
        figures: What was measured, and what was asked.
        caveats: What has to be read with the figures.
        claim: What it rests on; None where nothing was measured.
        standing: Whether that still holds.
    """

    gate: Gate
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()
    claim: Claim | None = None
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """GO only if every gate passes and nothing else blocks.

    Attributes:
        blocked: What blocks besides the gates: a policy that was not registered in time, for example.
    """

    findings: tuple[Finding, ...]
    blocked: tuple[str, ...] = ()

    @property
    def go(self) -> bool:
        """Whether everything passes."""
        return (
            not self.blocked and bool(self.findings) and all(f.verdict is Verdict.PASS for f in self.findings)
        )

    @property
    def word(self) -> str:
        """GO or NO-GO."""
        return "GO" if self.go else "NO-GO"


def expire(finding: Finding, standing: Standing | None) -> Finding:
    """Return a finding with what has become of its claim; a failed gate stays failed."""
    if standing is None:
        return finding
    finding = replace(finding, standing=standing)
    if standing.state is State.VALID or finding.verdict is Verdict.FAIL:
        return finding
    verdict = Verdict.UNKNOWN if standing.state is State.UNPROVABLE else Verdict.EXPIRED
    return replace(finding, verdict=verdict, reasons=(*finding.reasons, *standing.reasons))


def judged(
    gate: Gate,
    problems: Sequence[str],
    figures: Sequence[Figure],
    claim: Claim | None,
    caveats: Sequence[str] = (),
) -> Finding:
    """Return PASS where there is no problem, else FAIL with all of them."""
    return Finding(
        gate=gate,
        verdict=Verdict.FAIL if problems else Verdict.PASS,
        reasons=tuple(problems),
        figures=tuple(figures),
        caveats=tuple(caveats),
        claim=claim,
    )


def unknown(gate: Gate, why: str, figures: Sequence[Figure] = ()) -> Finding:
    """Return UNKNOWN, which blocks."""
    return Finding(gate=gate, verdict=Verdict.UNKNOWN, reasons=(why,), figures=tuple(figures))


SEED = 0
"""Of every resampling and simulation of a gate: the same evidence gives the same bytes."""

NO_GUARD = "no graded trial ran with the monitor in guard, as it would be released"

Asked = TypeVar("Asked")


def needed(asked: Asked | None) -> Asked:
    """Return a gate's table.

    Raises:
        UsageError: If the gate is out of the policy's scope.
    """
    if asked is None:
        raise UsageError("this gate is out of the policy's scope")
    return asked
