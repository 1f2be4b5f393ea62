"""Full, slow and interrupted: what trouble costs, and that it is told."""

import itertools
import subprocess
import threading

import numpy as np
import pytest

from rig.core.errors import RecorderFault
from rig.core.event import Kind
from rig.core.record import Full, read, verify
from rig.core.record.disk import Disk
from tests.record.making import (
    MS,
    FullDisk,
    ended,
    said,
    ticks,
    writer,
)


class Interrupting(Disk):
    """Raises KeyboardInterrupt in the middle of one write."""

    armed = False

    def write(self, fd, data):
        if self.armed:
            self.armed = False
            super().write(fd, bytes(data[: len(data) // 2]))
            raise KeyboardInterrupt
        super().write(fd, data)


def test_control_c_in_the_middle_of_a_write_leaves_a_chain_that_goes_on(tmp_path):
    disk = Interrupting()
    with writer(tmp_path / "r", disk=disk) as record:
        record.append(said(1))
        disk.armed = True
        with pytest.raises(KeyboardInterrupt):
            record.append(said(2))
        assert record.append(said(3)) == 2
    assert verify(tmp_path / "r").ok
    assert [e.t_ns for e in read(tmp_path / "r").of_kind(Kind.SAID)] == [MS, 3 * MS]


def test_a_full_disk_loses_nothing_acknowledged_and_says_so(tmp_path):
    disk = FullDisk(6000, "events.jsonl")
    acknowledged = []
    with pytest.raises(RecorderFault, match="free some space"), writer(tmp_path / "r", disk=disk) as record:
        for k in range(100):
            acknowledged.append(record.append(said(k)))
    assert len(acknowledged) > 5
    assert [e.seq for e in read(tmp_path / "r").events] == [0, *acknowledged]


def test_a_trial_that_fills_the_disk_with_events_can_still_end_well(tmp_path):
    disk = FullDisk(6000, "events.jsonl")
    with writer(tmp_path / "r", disk=disk) as record:
        with pytest.raises(RecorderFault):
            for k in range(100):
                record.append(said(k))
        disk.room = 4096  # what the reserve gives back
        record.close(ended(ending="aborted"))
    assert verify(tmp_path / "r").ok


@pytest.mark.parametrize("room", [0, 500, 3000, 20_000])
def test_telemetry_that_fills_the_disk_stops_the_trial_and_keeps_every_whole_chunk(tmp_path, room):
    disk = FullDisk(room, ".mcap")
    with writer(tmp_path / "r", disk=disk, chunk_bytes=2000) as record:
        with pytest.raises(RecorderFault, match="telemetry cannot be written"):
            for k in itertools.count():
                record.telemetry(ticks(50, 50 * k))
        record.append(said(1, 10 * MS))
        disk.room = 4096
        end = record.close(ended(ending="aborted"))
    counts = end.counts
    assert "telemetry cannot be written" in end.fault
    assert counts.taken == counts.stored + counts.dropped + counts.lost
    assert counts.lost > 0
    verdict = verify(tmp_path / "r")
    assert verdict.ok, verdict.lines()
    assert verdict["counts"].status == "weak"
    assert len(read(tmp_path / "r").trace()) == counts.stored


def test_a_real_full_file_system_loses_nothing_acknowledged(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        acknowledged = []
        with pytest.raises(RecorderFault), writer(place / "r", reserve_bytes=16_384) as record:
            for k in range(100_000):
                acknowledged.append(record.append(said(k)))
        assert [e.seq for e in read(place / "r").of_kind(Kind.SAID)] == acknowledged
        assert len(acknowledged) > 300
        assert verify(place / "r").ok, verify(place / "r").lines()
    finally:
        subprocess.run(["umount", place], check=True)


class Stalled(Disk):
    """Lets no telemetry through until told to."""

    def __init__(self):
        self.go, self.stalled = threading.Event(), threading.Event()
        self._telemetry = set()

    def create(self, path):
        fd = super().create(path)
        if path.suffix == ".mcap":
            self._telemetry.add(fd)
        return fd

    def write(self, fd, data):
        if fd in self._telemetry:
            self.stalled.set()
            self.go.wait()
        super().write(fd, data)


def test_in_real_time_a_stalled_disk_costs_ticks_that_are_counted_and_never_events(tmp_path):
    disk = Stalled()
    with writer(
        tmp_path / "r", disk=disk, full=Full.DROP, queue_bytes=20_000, flush_every_ns=10 * MS
    ) as record:
        for k in range(40):
            record.telemetry(ticks(20, 20 * k))
            record.append(said(20 * k))
            if k == 0:
                disk.stalled.wait()
        disk.go.set()
        counts = record.close(ended(800 * MS)).counts
    assert counts.dropped > 0
    assert counts.taken == 800 == counts.stored + counts.dropped
    found = read(tmp_path / "r")
    assert len(found.of_kind(Kind.SAID)) == 40
    assert sum(e.body["ticks"] for e in found.of_kind(Kind.FAULT)) == counts.dropped
    assert len(found.trace()) == counts.stored
    assert verify(tmp_path / "r").ok


def test_in_simulation_a_slow_disk_makes_the_loop_wait_and_nothing_is_dropped(tmp_path):
    with writer(tmp_path / "r", queue_bytes=2000, chunk_bytes=500) as record:
        for k in range(100):
            record.telemetry(ticks(20, 20 * k))
        assert record.close(ended()).counts.stored == 2000
    assert np.array_equal(read(tmp_path / "r").trace().t_ns, np.arange(2000) * MS)
