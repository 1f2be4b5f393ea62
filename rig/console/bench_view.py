"""From the bench's state to what a page shows of it."""

import math
import shutil
from pathlib import Path

from rig.console.access import Person
from rig.console.bench_shapes import (
    AlarmNow,
    CameraNow,
    CheckLine,
    Gauges,
    LastTrial,
    Preflight,
    PromptNow,
    StationNow,
    StopNow,
    TrialNow,
)
from rig.console.shelf import key_of, without_paths
from rig.console.station import Station
from rig.console.under_way import UnderWay
from rig.core.clock import seconds
from rig.trial.spec import RENDERED

BYTES_PER_HOUR = 600e6
"""What a bench at 1 kHz with a hundred channels writes, generously."""
LINKS = {"simulated": "in this machine", "emulated": "firmware on this machine", "physical": "serial line"}


def station_now(bench: Station, person: Person, runs: Path) -> StationNow:
    """Return the state as one person's page shows it."""
    running, last = bench.running, bench.last
    return StationNow(
        state=bench.state.value, version=bench.version, busy=bench.busy, ready=sorted(bench.ready),
        unfit={task: without_paths(why) for task, why in bench.unfit.items()}, problem=bench.problem,
        bench=bench.bench.name, embodiment=bench.bench.embodiment, text=bench.bench.text,
        preflight=_preflight(bench),
        control=bench.control.holder.name if bench.control.holder else None,
        mine=bench.control.has(person), asking=bench.control.asking.name if bench.control.asking else None,
        trial=_trial(bench, runs) if running else None,
        last=LastTrial(key=key_of(runs, last[0]), ending=last[1], reason=last[2]) if last else None,
        stop=stop_now(bench), gauges=_gauges(bench, runs),
    )  # fmt: skip


def stop_now(bench: Station) -> StopNow | None:
    """Return who stopped the bench."""
    s = bench.latch.stopped
    return StopNow(by=s.by, role=s.role, utc=s.utc, safe_after_s=s.safe_after_s) if s else None


def _preflight(bench: Station) -> Preflight:
    report, signed = bench.examination.report, bench.examination.signed
    if report is None:
        return Preflight(checks=[], by_hand=dict(bench.examination.by_hand))
    return Preflight(
        digest=report.digest(), examined_utc=report.examined_utc, ok=report.ok,
        checks=[
            CheckLine(
                name=c.name, title=c.title, light=c.light.value, measured=c.measured, allowed=c.allowed, todo=c.todo
            )
            for c in report.checks
        ],
        by_hand=dict(bench.examination.by_hand), signed_by=signed.by if signed else None,
        expires_utc=signed.expires.isoformat(timespec="seconds") if signed else None,
        stands=bench.examination.stands,
    )  # fmt: skip


def _trial(bench: Station, runs: Path) -> TrialNow | None:
    running = bench.running
    if running is None:
        return None
    spec, standing = running.spec, running.standing
    return TrialNow(
        key=key_of(runs, running.folder), item=spec.item, agent=spec.agent, monitor=spec.monitor, seed=spec.seed,
        by=running.by, nominal_s=running.nominal_s, limit_s=running.limit_s, t_s=running.t_s,
        pace=running.pace if math.isfinite(running.pace) else None, interlock=standing.interlock, doing=standing.doing,
        rendered=spec.cameras == RENDERED, cameras=[_camera(name, running) for name in running.cameras],
        alarms=[
            AlarmNow(rule=a.rule, response=a.response, text=a.text, since_s=a.since_s, unknown=a.unknown)
            for a in list(standing.alarms.values())
        ],
        prompts=[
            PromptNow(seq=p.seq, t_s=p.t_s, text=p.text, urgent=p.urgent) for p in list(standing.prompts.values())
        ],
    )  # fmt: skip


def _camera(name: str, running: UnderWay) -> CameraNow:
    frame = running.frames.get(name)
    if frame is None:
        return CameraNow(name=name)
    return CameraNow(
        name=name, number=frame.number, t_s=seconds(frame.t_ns), exposed_s=seconds(frame.exposed_ns)
    )


def _gauges(bench: Station, runs: Path) -> Gauges:
    free, running = shutil.disk_usage(runs).free, bench.running
    return Gauges(
        link=LINKS[bench.bench.embodiment], lag_s=running.lag_s if running else 0.0, disk_free_bytes=free,
        disk_hours=free / BYTES_PER_HOUR, clock_drift_s=bench.drift.now_s,
    )  # fmt: skip
