"""`runrig gate measure|drill`: what the gates need besides trials."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.release.claims import Fingerprint, fingerprint
from analysis.release.decision import POLICY
from analysis.release.evidence import gather
from analysis.release.measurement import read_measurement, write_measurement
from analysis.release.policy import Gate, Policy, load_policy
from analysis.words import duration
from rig.cli.output import print_json
from rig.core.bench import BenchSpec, load_bench
from rig.core.clock import wall_utc
from rig.core.errors import UsageError, unknown
from rig.release.candidate import installed


def measure(folder: Path, bench: str, stops: int) -> int:
    """Measure stops and put them beside the records."""
    from rig.doctor.simulated import stops_s

    spec, _, under = _setting(folder, bench)
    found = stops_s(spec, stops)
    path = write_measurement(
        folder,
        Gate.LATENCY,
        measured_utc=wall_utc(),
        embodiment=spec.embodiment,
        under=under,
        values={"stops_s": found},
    )
    Console().print(
        f"{stops} stops: worst {1000 * max(found):.0f} ms from signal to standstill. Written: {path}"
    )
    return 0


def drill(folder: Path, bench: str, item: str, only: list[str] | None, as_json: bool) -> int:
    """Run drills and put them beside the records; exit 1 when one fails."""
    from rig.release.drills import NAMES, drills

    spec, agent, under = _setting(folder, bench)
    chosen = tuple(only or NAMES)
    for name in chosen:
        if name not in NAMES:
            raise unknown("drill", name, NAMES)
    ready = drills(bench, item, agent)
    found = [ready[name]() for name in chosen]
    before = read_measurement(folder, Gate.RECOVERY)
    kept = [] if before is None or before[0].under != under else before[0].values.get("drills", [])
    values = [d for d in kept if d.get("name") not in chosen] + [one.values() for one in found]
    path = write_measurement(
        folder,
        Gate.RECOVERY,
        measured_utc=wall_utc(),
        embodiment=spec.embodiment,
        under=under,
        values={"drills": values},
    )
    if as_json:
        print_json([one.values() for one in found])
    else:
        table = Table(
            "drill", "went", "safe after", "restored after", "leaves behind", "seen", title="Drills"
        )
        for one in found:
            went = "[green]passed[/green]" if one.passed else "[red]failed[/red]"
            table.add_row(
                one.name, went, duration(one.safe_s), duration(one.restored_s), one.effects, one.why
            )
        Console().print(table)
        Console().print(f"Written: {path}")
    return 0 if all(one.passed for one in found) else 1


def invariants(as_json: bool) -> int:
    """Run every check and print what enforces what."""
    from rig.release.invariants import check_all

    found = check_all()
    broken = [c for c in found if c.holds is False]
    if as_json:
        print_json([
            {"name": c.invariant.name, "text": c.invariant.text, "enforced_by": c.invariant.enforced_by,
             "holds": c.holds, "found": c.found}
            for c in found
        ])  # fmt: skip
        return 1 if broken else 0
    table = Table(
        "invariant", "holds", "says", "enforced by", title="Invariants, by running what enforces them"
    )
    words = {True: "[green]yes[/green]", False: "[red]NO[/red]", None: "[yellow]not here[/yellow]"}
    for c in found:
        said = c.invariant.text + (f" ({c.found})" if c.found else "")
        table.add_row(c.invariant.name, words[c.holds], said, ", ".join(c.invariant.enforced_by))
    Console().print(table)
    covered = sum(c.holds is not None for c in found)
    Console().print(f"{covered} of {len(found)} checked here; the others are listed with the reason.")
    return 1 if broken else 0


def _setting(folder: Path, bench: str) -> tuple[BenchSpec, str, Fingerprint]:
    """Return bench, agent and configuration of what is measured.

    Raises:
        UsageError: If the bench cannot be measured from here.
    """
    spec = load_bench(bench)
    if spec.embodiment != "simulated":
        raise UsageError(
            f"bench {bench!r} is {spec.embodiment}: measure it with `runrig doctor {bench}`, on the bench"
        )
    policy, under = setting(folder)
    return spec, policy.agent, under


def setting(folder: Path) -> tuple[Policy, Fingerprint]:
    """Return the policy beside some records, and the configuration that anything measured for it now is of."""
    policy, _ = load_policy(folder / POLICY)
    return policy, fingerprint(installed(gather(folder, policy.agent)).items())
