"""Are the calibrations of a bench in date, and is any channel that should have one without?"""

from rig.core.bench import BenchSpec
from rig.core.clock import wall_utc
from rig.doctor.report import Check, judged, listed, not_needed

SOON_DAYS = 14


def calibration_checks(bench: BenchSpec) -> list[Check]:
    """Return whether every calibration holds today; what is made of software needs none."""
    title = "Calibrations in date"
    if not bench.calibrations:
        if all(d.emulated for d in bench.devices):
            return [
                not_needed("calibration", title, "none", "sensors made of software are true by construction")
            ]
        todo = "calibrate, and list the certificate in the bench file"
        return [judged("calibration", title, False, "none", "one for every force", todo)]
    today = wall_utc().date()
    old = [f"{c.channel} (ended {c.expires})" for c in bench.calibrations if c.expires < today]
    soon = [
        f"{c.channel} ({c.expires})" for c in bench.calibrations if 0 <= (c.expires - today).days <= SOON_DAYS
    ]
    measured = f"{len(bench.calibrations) - len(old)} of {len(bench.calibrations)} in date"
    measured += f"; expired: {listed(old)}" if old else f"; soon: {listed(soon)}" if soon else ""
    return [
        judged(
            "calibration",
            title,
            not old,
            measured,
            "all",
            "calibrate what is named, and list the new certificate",
        )
    ]
