"""The machine the rig runs on: room on the disk, leave to be punctual, clocks that go forward."""

import os
import shutil
import tempfile
from pathlib import Path

from rig.core.clock import MonotonicClock, monotonic_ns, wall_utc
from rig.doctor.report import Check, judged, not_needed

FREE_BYTES = 2 << 30
"""Two hours of telemetry at 1 kHz with video take less (rig/core/record/README.md)."""
SYNC_S = 0.5
PRIORITY = 50
LATE_S = 0.010
"""A controller this late loses a heartbeat of 20 ms but no trip (100 ms)."""
WAKES = 100
OLDEST = 2026


def host_checks(folder: Path, simulated: bool) -> list[Check]:
    """Return the checks of the machine; ``folder`` is where records are written."""
    return [_disk(folder), _durable(folder), _real_time(simulated), _punctual(simulated), _wall_clock()]


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    return judged(
        "disk", "Room for records", free >= FREE_BYTES, f"{free / 2**30:.1f} GiB free in {folder}",
        f"at least {FREE_BYTES / 2**30:.0f} GiB", "move old records away, or write to another disk (--out)", float(free),
    )  # fmt: skip


def _durable(folder: Path) -> Check:
    title = "Records reach the disk"
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            begin_ns = monotonic_ns()
            file.write(b"\0" * 65536)
            file.flush()
            os.fdatasync(file.fileno())
            took_s = (monotonic_ns() - begin_ns) / 1e9
    except OSError as error:
        return judged(
            "durable", title, False, f"{folder}: {error.strerror}", "writable", f"make {folder} writable"
        )
    return judged(
        "durable", title, took_s <= SYNC_S, f"64 KiB durable in {took_s * 1000:.1f} ms", f"at most {SYNC_S * 1000:.0f} ms",
        "use a local disk; a network drive or a full one holds the recorder up", took_s,
    )  # fmt: skip


def _real_time(simulated: bool) -> Check:
    title = "Real-time priority for the monitor"
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setscheduler(0, *before)
        granted = f"granted (FIFO {PRIORITY})"
    except (OSError, AttributeError) as error:
        if simulated:
            return not_needed("real_time", title, f"refused ({error})", "not needed on a simulated clock")
        todo = (
            f"give this user rtprio {PRIORITY} in /etc/security/limits.d, or CAP_SYS_NICE, and log in again"
        )
        return judged("real_time", title, False, f"refused ({error})", f"FIFO {PRIORITY} granted", todo)
    return judged("real_time", title, True, granted, f"FIFO {PRIORITY} granted", "")


def _punctual(simulated: bool) -> Check:
    """Measure how late this process wakes from a millisecond's sleep."""
    clock, late = MonotonicClock(), []
    for _ in range(WAKES):
        due_ns = clock.now_ns() + 1_000_000
        clock.sleep_until(due_ns)
        late.append((clock.now_ns() - due_ns) / 1e9)
    worst_s = max(late)
    title, measured = "Wakes in time", f"up to {worst_s * 1000:.2f} ms late in {WAKES} sleeps of 1 ms"
    if simulated:
        return not_needed("punctual", title, measured, "not needed on a simulated clock")
    todo = "stop other work on this machine, or give the rig a machine of its own"
    return judged(
        "punctual", title, worst_s <= LATE_S, measured, f"at most {LATE_S * 1000:.0f} ms", todo, worst_s
    )


def _wall_clock() -> Check:
    now = wall_utc()
    return judged(
        "wall_clock", "Date and time", now.year >= OLDEST, now.isoformat(timespec="seconds"), f"not before {OLDEST}",
        "set the clock (timedatectl set-ntp true): manifests and permits carry it",
    )  # fmt: skip
