"""What the tests of the record share: a small bench, ticks, and file layers that misbehave."""

import errno
import os
import threading
from pathlib import Path

import numpy as np

from rig.core.channel import Channel, Layout, Trace
from rig.core.event import Event, Kind
from rig.core.record import Options, RecordWriter
from rig.core.record.disk import Disk

MS = 1_000_000
EPOCH_NS = 1_772_000_000_000_000_000  # 2026-02-25
NAMES = ("spoon.force", "bed.angle")
LAYOUT = Layout(
    [
        Channel(name=n, unit=u, low=-50, high=50, period_s=0.001, stale_after_s=0.1)
        for n, u in zip(NAMES, ("N", "deg"), strict=True)
    ]
)
KEY = {"task": "spoon-feed", "scenario": "calm", "agent": "careful", "bench": "sim", "seed": 7, "repeat": 0}


def ticks(n, first=0, layout=LAYOUT, seed=0):
    """Return n ticks at 1 kHz with every kind of awkward value in them."""
    rng = np.random.default_rng([seed, first])
    t_ns = np.arange(first, first + n, dtype=np.int64) * MS
    values = rng.normal(0, 5, (n, len(layout))).round(3)
    values[:: max(1, n // 3), 0] = np.nan
    sampled = t_ns[:, None] - rng.integers(0, 40 * MS, (n, len(layout)))
    return Trace(layout, t_ns, values, sampled, rng.integers(0, 4, (n, len(layout))).astype(np.uint8))


def writer(folder, *, key=KEY, flush_every_ns=100 * MS, disk=None, **options):
    """Return a writer with a reserve small enough for tests."""
    settings = {"min_free_bytes": 0, "reserve_bytes": 4096, **options}
    return RecordWriter(
        folder,
        {"key": key, "digests": {"rules": "ab" * 32}},
        LAYOUT,
        epoch_utc_ns=EPOCH_NS,
        flush_every_ns=flush_every_ns,
        options=Options(disk=disk or Disk(), **settings),
    )


def said(k, t_ns=None):
    return Event(
        k * MS if t_ns is None else t_ns, Kind.SAID, "agent", {"who": "agent", "text": f"line {k}, é"}
    )


def ended(t_ns=10_000 * MS, ending="done"):
    return Event(t_ns, Kind.TRIAL_ENDED, "trial", {"ending": ending, "reason": "", "elapsed_s": 10.0})


def short_record(folder, *, key=KEY, n_events=5, n_ticks=30, **options):
    """Write a whole short record; return how it ended."""
    with writer(folder, key=key, **options) as record:
        for k in range(n_events):
            record.append(said(k))
        record.telemetry(ticks(n_ticks))
        return record.close(ended())


class Journal(Disk):
    """Notes every operation by the file's name, in order."""

    def __init__(self):
        self.done = []
        self._names = {}

    def create(self, path):
        fd = super().create(path)
        self._names[fd] = path.name
        return fd

    def write(self, fd, data):
        super().write(fd, data)
        self.done.append(("write", self._names[fd]))

    def sync(self, fd):
        super().sync(fd)
        self.done.append(("sync", self._names[fd]))

    def sync_folder(self, folder):
        super().sync_folder(folder)
        self.done.append(("sync", folder.name))


class NoSync(Disk):
    """Skips waiting for the medium, for tests that do the same thing a thousand times."""

    def sync(self, fd):
        pass

    def sync_folder(self, folder):
        pass


class PowerCut(Disk):
    """Forgets, on `cut`, every byte that was not synced: what a power failure may do."""

    def __init__(self):
        self._paths, self._synced = {}, {}

    def create(self, path):
        fd = super().create(path)
        self._paths[fd] = path
        self._synced[path] = 0
        return fd

    def sync(self, fd):
        super().sync(fd)
        self._synced[self._paths[fd]] = os.fstat(fd).st_size

    def settled(self, path):
        return self._synced.get(path) == path.stat().st_size

    def cut(self):
        for path, size in self._synced.items():
            if path.exists():
                os.truncate(path, size)


class FullDisk(Disk):
    """Takes ``room`` bytes in files whose name holds ``which``; then writes in part and says ENOSPC."""

    def __init__(self, room, which=""):
        self.room, self.which = room, which
        self._names = {}

    def create(self, path):
        fd = super().create(path)
        self._names[fd] = path
        return fd

    def write(self, fd, data):
        if self.which in self._names[fd].name:
            if len(data) > self.room:
                super().write(fd, bytes(data[: self.room]))
                self.room = 0
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.room -= len(data)
        super().write(fd, data)


def flip(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(bytes(data))


def wait_until(condition):
    """Give another thread its turn until a condition holds; pytest's timeout is the limit."""
    pause = threading.Event()
    while not condition():
        pause.wait(0.001)
