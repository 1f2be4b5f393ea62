"""Running campaigns in processes of their own, and killing parts of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from rig.campaign.entries import CampaignStatus
from rig.campaign.ledger import Ledger
from rig.campaign.storage import FILE


def start(plan: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rig.cli", "campaign", "run", str(plan), "--out", str(out), *more],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def status(out: Path) -> CampaignStatus | None:
    if not (out / FILE).exists():
        return None
    with Ledger.reading(out) as ledger:
        return ledger.status()


def heads(out: Path) -> dict[str, str]:
    with Ledger.reading(out) as ledger:
        return {e.trial_id: e.ended.head for e in ledger.entries() if e.ended is not None}


def children(pid: int) -> list[int]:
    """Return the worker processes of a coordinator (not the resource tracker)."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == pid and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except (OSError, IndexError):
            continue  # it has left meanwhile
    return found


def until_done(
    plan: Path, out: Path, rng: np.random.Generator, *more: str, every_ended: int
) -> dict[str, int]:
    """Kill a worker or the coordinator each time so many more trials have ended; return what was killed."""
    killed = {"worker": 0, "coordinator": 0}
    next_at = every_ended
    while True:
        process = start(plan, out, *more)
        try:
            while process.poll() is None:
                time.sleep(0.2)
                now = status(out)
                if now is None or now.ended < next_at or now.complete:
                    continue
                next_at = now.ended + int(rng.integers(1, 2 * every_ended))
                workers = children(process.pid)
                if rng.random() < 0.4 or not workers:
                    killed["coordinator"] += 1
                    process.kill()
                else:
                    killed["worker"] += 1
                    os.kill(int(rng.choice(workers)), signal.SIGKILL)
            text = process.communicate()[0]
        finally:
            process.kill()
            process.wait()
        if process.returncode >= 0:
            assert process.returncode == 0, text
            return killed
