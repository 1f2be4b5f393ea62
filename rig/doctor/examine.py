"""One examination of one bench, from its file to a report."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rig.core.bench import BenchSpec, load_bench
from rig.core.clock import wall_utc
from rig.core.errors import RigFault
from rig.doctor.host import host_checks
from rig.doctor.report import Check, Report, judged
from rig.doctor.state import state_folder


def examine(bench: str | Path, records: Path | None = None) -> Report:
    """Measure whether a bench is fit for use now.

    Takes seconds; moves simulated and emulated actuators. A device that does not answer is a red
    light, never a reason to look at something else instead.

    Args:
        bench: Name of a bench, or its file.
        records: Folder records will be written to; by default the present one.

    Raises:
        UsageError: If there is no such bench.
        ConfigError: If its file says something that cannot be.
    """
    spec = load_bench(bench)
    simulated = spec.embodiment == "simulated"
    checks = host_checks((records or Path()).absolute(), simulated)
    devices: Sequence[str] = ()
    try:
        found, devices = _of(spec)
        checks += found
    except RigFault as fault:
        checks.append(
            judged("bench", "The bench answers", False, str(fault), "no fault", "put right what it says, then again")
        )  # fmt: skip
    return Report(
        bench=spec.name, embodiment=spec.embodiment, bench_digest=spec.digest,
        examined_utc=wall_utc().isoformat(timespec="seconds"), devices=tuple(devices), checks=tuple(checks),
    )  # fmt: skip


def _of(spec: BenchSpec) -> tuple[list[Check], Sequence[str]]:
    state_folder(spec.name)
    examiner = _EXAMINERS.get(spec.embodiment)
    if examiner is None:
        raise RigFault(f"bench {spec.name} is {spec.embodiment}: there is no examination for it yet")
    return examiner(spec)


def _simulated(spec: BenchSpec) -> tuple[list[Check], Sequence[str]]:
    from rig.doctor.simulated import simulated_checks

    return simulated_checks(spec), ()


def _emulated(spec: BenchSpec) -> tuple[list[Check], Sequence[str]]:
    from rig.doctor.emulated import emulated_checks

    return emulated_checks(spec)


def _physical(spec: BenchSpec) -> tuple[list[Check], Sequence[str]]:
    from rig.doctor.physical import physical_checks

    return physical_checks(spec)


_EXAMINERS: dict[str, Callable[[BenchSpec], tuple[list[Check], Sequence[str]]]] = {
    "simulated": _simulated,
    "emulated": _emulated,
    "physical": _physical,
}
