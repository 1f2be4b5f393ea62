"""Log, then act: what the writer promises, with file layers that do their worst."""

import errno
import json
import os

import pytest

from rig.core.channel import Trace
from rig.core.errors import RecorderFault, UsageError
from rig.core.event import Event, Kind
from rig.core.record import RecordWriter, read, trial_id, verify
from rig.core.record.disk import Disk
from tests.record.making import (
    EPOCH_NS,
    KEY,
    LAYOUT,
    MS,
    FullDisk,
    Journal,
    PowerCut,
    ended,
    said,
    short_record,
    ticks,
    wait_until,
    writer,
)


def test_an_event_is_acknowledged_only_after_it_was_written_and_synced(tmp_path):
    disk = Journal()
    with writer(tmp_path / "r", disk=disk) as record:
        for k in range(5):
            before = len(disk.done)
            assert record.append(said(k)) == k + 1
            assert disk.done[before:] == [("write", "events.jsonl"), ("sync", "events.jsonl")]


def test_several_events_are_acknowledged_after_one_sync(tmp_path):
    disk = Journal()
    with writer(tmp_path / "r", disk=disk) as record:
        before = len(disk.done)
        assert record.extend([said(k) for k in range(9)]) == 9
        assert disk.done[before:] == [("write", "events.jsonl"), ("sync", "events.jsonl")]


def test_the_manifest_is_durable_before_the_first_event(tmp_path):
    disk = Journal()
    with writer(tmp_path / "r", disk=disk):
        done = list(disk.done)
    first_event = done.index(("write", "events.jsonl"))
    assert done.index(("sync", "manifest.json")) < done.index(("sync", "r")) < first_event


def test_a_power_cut_after_an_acknowledgement_loses_nothing_acknowledged(tmp_path):
    disk = PowerCut()
    with writer(tmp_path / "r", disk=disk) as record:
        acknowledged = [record.append(said(k)) for k in range(20)]
        disk.cut()
        assert [e.seq for e in read(tmp_path / "r").events] == [0, *acknowledged]


def test_telemetry_older_than_the_flush_period_survives_a_power_cut(tmp_path):
    disk = PowerCut()
    with writer(tmp_path / "r", disk=disk, flush_every_ns=100 * MS) as record:
        record.telemetry(ticks(1050))
        segment = tmp_path / "r" / "telemetry.0000.mcap"
        wait_until(lambda: len(read(tmp_path / "r").trace()) >= 1000 and disk.settled(segment))
        disk.cut()
        assert len(read(tmp_path / "r").trace()) >= 1000


def test_the_same_trial_twice_gives_the_same_bytes(tmp_path):
    options = {"segment_bytes": 40_000, "chunk_bytes": 4_000, "n_ticks": 1500}
    first = short_record(tmp_path / "a", **options)
    second = short_record(tmp_path / "b", **options)
    assert first.head == second.head
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == sorted(p.name for p in (tmp_path / "b").iterdir())
    assert sum(name.endswith(".mcap") for name in names) > 2
    for name in names:
        if name.endswith((".mcap", ".jsonl")):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_how_the_ticks_are_handed_over_does_not_change_the_bytes(tmp_path):
    whole = ticks(1500)
    with writer(tmp_path / "a", segment_bytes=40_000) as record:
        record.telemetry(whole)
        record.close(ended())
    with writer(tmp_path / "b", segment_bytes=40_000) as record:
        for k in range(len(whole)):
            record.telemetry(part(whole, k, k + 1))
        record.close(ended())
    for path in sorted((tmp_path / "a").glob("*.mcap")):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def part(trace, start, end):
    return Trace(
        trace.layout, trace.t_ns[start:end], trace.values[start:end],
        trace.sampled_ns[start:end], trace.quality[start:end],
    )  # fmt: skip


def test_wall_time_is_in_the_wall_section_and_nowhere_else(tmp_path):
    short_record(tmp_path / "a")
    short_record(tmp_path / "b")
    a, b = (json.loads((tmp_path / x / "manifest.json").read_text()) for x in "ab")
    assert a.pop("wall") != b.pop("wall")
    a.pop("wall_sha256"), b.pop("wall_sha256")
    assert a == b


def test_the_trial_id_depends_on_every_part_of_the_key_and_not_on_their_order():
    assert trial_id(KEY) == trial_id(dict(reversed(KEY.items())))
    assert len({trial_id({**KEY, name: "other"}) for name in KEY} | {trial_id(KEY)}) == len(KEY) + 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), b"bytes", "\ud800"])
def test_what_is_not_strict_json_is_refused_and_named(tmp_path, value):
    with writer(tmp_path / "r") as record:
        with pytest.raises(UsageError, match=r"verdict event\.body\.values\.1\.margin"):
            record.append(Event(0, Kind.VERDICT, "monitor", {"values": [1.0, {"margin": value}]}))
        assert record.append(said(1)) == 1, "a refused event leaves no trace"
    assert verify(tmp_path / "r").ok


def test_keys_that_are_not_text_are_refused(tmp_path):
    with writer(tmp_path / "r") as record, pytest.raises(UsageError, match="key 1 is not text"):
        record.append(Event(0, Kind.VERDICT, "monitor", {"values": [{1: 2}]}))


def test_constructing_a_writer_touches_nothing(tmp_path):
    writer(tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_holds_a_record_is_refused(tmp_path):
    short_record(tmp_path / "r")
    before = (tmp_path / "r" / "events.jsonl").read_bytes()
    with pytest.raises(UsageError, match="already holds a record"), writer(tmp_path / "r"):
        pass
    assert (tmp_path / "r" / "events.jsonl").read_bytes() == before


def test_two_writers_on_one_folder_are_refused(tmp_path):
    with writer(tmp_path / "r") as first:
        with pytest.raises(UsageError, match="already holds a record"), writer(tmp_path / "r"):
            pass
        first.append(said(1))
    assert verify(tmp_path / "r").ok


class Refusing(Disk):
    def __init__(self, code):
        self.code = code

    def create(self, path):
        raise OSError(self.code, os.strerror(self.code))


def test_a_file_where_the_folder_should_be_is_bad_input(tmp_path):
    (tmp_path / "r").write_text("mine")
    with pytest.raises(UsageError, match="is a file; choose a folder"):
        writer(tmp_path / "r").__enter__()
    assert (tmp_path / "r").read_text() == "mine"


@pytest.mark.parametrize("room", [0, 10, 500, 1000])
def test_a_record_that_cannot_be_started_leaves_nothing_behind(tmp_path, room):
    with pytest.raises((UsageError, RecorderFault)):
        writer(tmp_path / "r", disk=FullDisk(room)).__enter__()
    assert not (tmp_path / "r").exists()
    short_record(tmp_path / "r")


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_bad_input_with_advice(tmp_path, code):
    with pytest.raises(UsageError, match=r"cannot write the record here.*choose a folder"):
        writer(tmp_path / "r", disk=Refusing(code)).__enter__()


def test_a_trial_does_not_start_without_enough_space(tmp_path):
    with pytest.raises(UsageError, match="MiB free, a trial asks for"):
        writer(tmp_path / "r", min_free_bytes=1 << 60).__enter__()
    assert not list((tmp_path / "r").iterdir())


def test_a_record_must_be_dated_so_that_viewers_open_it():
    with pytest.raises(UsageError, match="epoch_utc_ns"):
        RecordWriter("r", {"key": KEY}, LAYOUT, epoch_utc_ns=0, flush_every_ns=MS)


def test_a_manifest_cannot_speak_for_the_recorder():
    with pytest.raises(UsageError, match="trial_id"):
        RecordWriter("r", {"key": KEY, "trial_id": "x"}, LAYOUT, epoch_utc_ns=EPOCH_NS, flush_every_ns=MS)


@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyboardInterrupt()])
def test_a_trial_that_breaks_off_leaves_a_whole_record_that_says_aborted(tmp_path, error):
    with pytest.raises(type(error)), writer(tmp_path / "r") as record:
        record.telemetry(ticks(50))
        raise error
    last = read(tmp_path / "r").events[-1]
    assert (last.kind, last.body["ending"]) == (Kind.TRIAL_ENDED, "aborted")
    assert type(error).__name__ in last.body["reason"]
    assert verify(tmp_path / "r").ok
    assert len(read(tmp_path / "r").trace()) == 50


def test_the_ending_the_trial_gives_is_the_last_word(tmp_path):
    with pytest.raises(RuntimeError), writer(tmp_path / "r") as record:
        record.append(ended(5 * MS, "aborted by the operator"))
        raise RuntimeError
    assert [e.body["ending"] for e in read(tmp_path / "r").of_kind(Kind.TRIAL_ENDED)] == [
        "aborted by the operator"
    ]
    with pytest.raises(UsageError, match="closed"):
        record.append(said(9))


def test_telemetry_that_is_not_of_the_record_is_refused(tmp_path):
    good = ticks(10, 5)
    with writer(tmp_path / "r") as record:
        record.telemetry(good)
        with pytest.raises(UsageError, match="time must advance"):
            record.telemetry(good)
        with pytest.raises(UsageError, match="shape"):
            record.telemetry(
                Trace(LAYOUT, good.t_ns + 100 * MS, good.values[:, :1], good.sampled_ns, good.quality)
            )
        with pytest.raises(UsageError, match="quality"):
            record.telemetry(
                Trace(LAYOUT, good.t_ns + 100 * MS, good.values, good.sampled_ns, good.quality + 100)
            )
        assert record.close(ended()).counts.taken == 10


def test_a_key_that_cannot_be_kept_leaves_the_record_unsigned_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    end = short_record(tmp_path / "r")
    assert end.signer is None and "no signing key" in end.unsigned
    verdict = verify(tmp_path / "r")
    assert verdict.ok
    assert verdict["signature"].status == "absent"


def test_the_first_record_makes_a_key_that_only_its_owner_can_read_and_later_ones_use_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    first, second = short_record(tmp_path / "a"), short_record(tmp_path / "b")
    assert first.signer == second.signer is not None
    key = tmp_path / "config" / "runrig" / "signing.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in key.parent.iterdir()] == ["signing.pem"]


def test_a_key_others_can_read_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    short_record(tmp_path / "a")
    (tmp_path / "config" / "runrig" / "signing.pem").chmod(0o644)
    assert "others may read" in short_record(tmp_path / "b").unsigned


def test_the_reserve_is_gone_once_the_record_is_closed(tmp_path):
    short_record(tmp_path / "r")
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == [
        "checkpoint.dsse.json", "events.jsonl", "manifest.json", "telemetry.0000.mcap",
    ]  # fmt: skip
