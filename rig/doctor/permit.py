"""Leave to use a physical bench: short, for one bench as examined, by two people.

A permit is a file in the bench's state folder. It names the devices that answered, who operates, who
approved (somebody else), and the examination it rests on. Nothing moves a physical bench without one.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rig.core.bench import BenchSpec, bench_names
from rig.core.clock import wall_utc
from rig.core.errors import ConfigError, UsageError
from rig.doctor.report import Light, Report
from rig.doctor.state import load, save, state_folder

LONGEST_MIN = 30
INTERLOCKS = ("estop", "watchdog", "stop_latency")
"""Checks that must have been made, and be green, for a permit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Leave to run trials on one physical bench until `expires_utc`."""

    bench: str
    bench_digest: str
    devices: tuple[str, ...]
    operator: str
    approver: str
    examination: str
    issued_utc: str
    expires_utc: str


def permit_file(bench: str) -> Path:
    """Return where the bench's permit lies."""
    return state_folder(bench) / "permit.json"


def why_no_permit(report: Report, operator: str, approver: str, minutes: int) -> list[str]:
    """Return every reason against a permit; none when it may be issued."""
    reasons = []
    if report.embodiment != "physical":
        reasons.append(f"bench {report.bench} is {report.embodiment}: only physical benches need a permit")
    if not 1 <= minutes <= LONGEST_MIN:
        reasons.append(f"{minutes} minutes: give 1 to {LONGEST_MIN}")
    if not operator.strip() or not approver.strip():
        reasons.append("give both --operator and --approver")
    elif operator.strip().casefold() == approver.strip().casefold():
        reasons.append(f"operator and approver are both {operator.strip()}: somebody else must approve")
    if report.embodiment == "physical":
        if not report.devices:
            reasons.append("no device said who it is")
        reasons += [f"{c.title}: {c.measured}" for c in report.reds]
        for name in INTERLOCKS:
            check = report.check(name)
            if check is None or check.light is Light.NOT_NEEDED:
                reasons.append(f"{name} was not checked")
    return reasons


def issue(report: Report, operator: str, approver: str, minutes: int = LONGEST_MIN) -> Permit:
    """Issue a permit and write its file.

    Raises:
        UsageError: If it may not be issued; says every reason.
    """
    if reasons := why_no_permit(report, operator, approver, minutes):
        raise UsageError("no permit:\n" + "\n".join(f"  - {reason}" for reason in reasons))
    now = wall_utc()
    permit = Permit(
        bench=report.bench, bench_digest=report.bench_digest, devices=report.devices, operator=operator.strip(),
        approver=approver.strip(), examination=report.digest(), issued_utc=now.isoformat(timespec="seconds"),
        expires_utc=(now + timedelta(minutes=minutes)).isoformat(timespec="seconds"),
    )  # fmt: skip
    save(permit_file(report.bench), asdict(permit))
    return permit


def require_permit(bench: BenchSpec) -> Permit | None:
    """Return the bench's valid permit; None for a bench that needs none.

    Raises:
        UsageError: If a physical bench has none, or one that has run out or is for another file.
    """
    if bench.embodiment != "physical":
        return None
    named = bench.name if bench.name in bench_names() else "FILE"
    how = f"run `runrig doctor {named} --permit --operator NAME --approver OTHER`"
    found = load(permit_file(bench.name))
    if found is None:
        raise UsageError(f"bench {bench.name} is physical and has no permit; {how}")
    try:
        permit = Permit(**{**found, "devices": tuple(found.get("devices", ()))})  # type: ignore[arg-type]
        issued, expires = (datetime.fromisoformat(t) for t in (permit.issued_utc, permit.expires_utc))
    except (TypeError, ValueError) as error:
        raise ConfigError(str(permit_file(bench.name)), [f"is no permit ({error}); {how}"]) from None
    if permit.bench_digest != bench.digest:
        raise UsageError(f"the permit of {bench.name} is for another version of its bench file; {how}")
    if not issued <= wall_utc() < expires or expires - issued > timedelta(minutes=LONGEST_MIN):
        raise UsageError(f"the permit of {bench.name} ran out at {permit.expires_utc}; {how}")
    if permit.operator.casefold() == permit.approver.casefold():
        raise UsageError(f"the permit of {bench.name} was approved by its own operator; {how}")
    return permit
