"""Interrupted anywhere, a record becomes whole again with everything that was acknowledged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rig.core.errors import RecordError, UsageError
from rig.core.event import Kind
from rig.core.record import read, recover, verify
from tests.record.making import KEY, MS, FullDisk, NoSync, ended, flip, said, short_record, ticks, writer

ROOT = Path(__file__).resolve().parents[2]


class Killed(Exception):
    pass


def interrupted(folder, *, n_events=6, n_ticks=450, flush_every_ns=50 * MS):
    """Leave a record as a killed process would: nothing closed, nothing said."""
    record = writer(folder, chunk_bytes=2000, segment_bytes=12_000, flush_every_ns=flush_every_ns)
    record.__enter__()
    for k in range(n_events):
        record.append(said(k))
    record.telemetry(ticks(n_ticks))
    record._pump.finish()
    os.close(record._fd)
    newest = max(folder.glob("*.mcap"))
    data = newest.read_bytes()
    newest.write_bytes(data[: data.rindex(b"runrig.Telemetry") - 200])  # no index yet
    return record


def test_an_interrupted_record_is_closed_as_aborted_and_says_what_happened(tmp_path):
    interrupted(tmp_path / "r")
    before = read(tmp_path / "r")
    done = recover(tmp_path / "r")
    after = read(tmp_path / "r")
    assert done.changed and done.verification.ok and verify(tmp_path / "r").ok
    assert after.events[: len(before.events)] == before.events
    assert after.complete
    assert after.events[-1].body["ending"] == "aborted"
    (note,) = after.of_kind(Kind.NOTED)
    assert "interrupted" in note.body["text"] and note.source == "recovery"
    assert np.array_equal(after.trace().values, before.trace().values, equal_nan=True)
    assert len(after.trace()) == done.ticks > 300


def test_the_torn_files_are_kept(tmp_path):
    interrupted(tmp_path / "r")
    original = {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()}
    done = recover(tmp_path / "r")
    assert done.kept == tmp_path / "r" / "torn"
    for path in done.kept.iterdir():
        assert path.read_bytes() == original[path.name.removesuffix(".torn")]
    assert (done.kept / "events.jsonl.torn").exists()


def test_recovering_a_whole_record_changes_nothing(tmp_path):
    short_record(tmp_path / "r")
    before = {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()}
    assert not recover(tmp_path / "r").changed
    assert {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()} == before


def test_recovering_twice_changes_nothing_more(tmp_path):
    interrupted(tmp_path / "r")
    recover(tmp_path / "r")
    head = read(tmp_path / "r").head
    assert not recover(tmp_path / "r").changed
    assert read(tmp_path / "r").head == head


def test_a_record_being_written_is_left_alone(tmp_path):
    with writer(tmp_path / "r") as record:
        record.append(said(1))
        with pytest.raises(UsageError, match="still being written"):
            recover(tmp_path / "r")


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.soak)])
def test_events_cut_at_any_byte_recover_to_every_whole_line(tmp_path, step):
    interrupted(tmp_path / "a", n_events=3, n_ticks=20)
    data = (tmp_path / "a" / "events.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    for at in range(0, len(data) + 1, step):
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        (tmp_path / "b" / "events.jsonl").write_bytes(data[:at])
        if at < first:
            with pytest.raises(UsageError, match="nothing had been recorded yet"):
                recover(tmp_path / "b", NoSync())
            continue
        done = recover(tmp_path / "b", NoSync())
        assert done.events == data[:at].count(b"\n")
        assert done.verification.ok


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.soak)])
def test_a_segment_cut_at_any_byte_recovers_to_every_whole_chunk(tmp_path, step):
    interrupted(tmp_path / "a", n_events=1, n_ticks=100)
    (path,) = (tmp_path / "a").glob("*.mcap")
    data = path.read_bytes()
    whole = read(tmp_path / "a").trace()
    kept = set()
    for at in range(0, len(data) + 1, step):
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        (tmp_path / "b" / path.name).write_bytes(data[:at])
        done = recover(tmp_path / "b", NoSync())
        found = read(tmp_path / "b").trace()
        assert len(found) == done.ticks
        assert np.array_equal(found.values, whole.values[: len(found)], equal_nan=True)
        kept.add(len(found))
    assert len(kept) > 2, "the cuts fell into different chunks"


@pytest.mark.parametrize("tail", [b"\x00" * 4096, b"garbage", b'{"seq":7,"t_ns"'])
def test_what_a_power_cut_leaves_behind_the_last_line_is_left_out(tmp_path, tail):
    interrupted(tmp_path / "r")
    n = len(read(tmp_path / "r").events)
    with (tmp_path / "r" / "events.jsonl").open("ab") as file:
        file.write(tail)
    done = recover(tmp_path / "r")
    assert done.events == n and done.cut_bytes >= len(tail)


def test_an_altered_record_is_not_recovered_and_stays_as_it_is(tmp_path):
    interrupted(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"line 2", b"line 9"))
    before = {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()}
    with pytest.raises(RecordError, match=r"altered, not only interrupted(.|\n)*chain: line 4"):
        recover(tmp_path / "r")
    assert {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()} == before


def test_a_tail_cut_after_signing_is_not_recovered(tmp_path):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:4]))
    with pytest.raises(RecordError, match="its tail was cut"):
        recover(tmp_path / "r")


def test_an_altered_segment_that_the_chain_states_is_not_recovered(tmp_path):
    interrupted(tmp_path / "r")
    done = recover(tmp_path / "r")
    (tmp_path / "r" / "checkpoint.dsse.json").unlink()
    flip(next((tmp_path / "r").glob("*.mcap")), 900, 1)
    with pytest.raises(RecordError, match="segments: "):
        recover(tmp_path / "r")
    assert done.changed


def test_an_altered_manifest_is_not_recovered(tmp_path):
    interrupted(tmp_path / "r")
    path = tmp_path / "r" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"rules":"ab', b'"rules":"ba'))
    with pytest.raises(RecordError, match="the manifest was altered"):
        recover(tmp_path / "r")


def test_a_segment_of_another_trial_is_not_taken_in(tmp_path):
    interrupted(tmp_path / "r")
    short_record(tmp_path / "other", key={**KEY, "seed": 8})
    shutil.copy(tmp_path / "other" / "telemetry.0000.mcap", tmp_path / "r" / "telemetry.0009.mcap")
    with pytest.raises(RecordError, match="belongs to trial"):
        recover(tmp_path / "r")
    assert not (tmp_path / "r" / "torn").exists()


def test_an_output_that_does_not_verify_is_never_a_success(tmp_path, monkeypatch):
    from rig.core.record import recovery as module

    interrupted(tmp_path / "r")
    before = {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()}
    real = module.chain.line_of
    monkeypatch.setattr(module.chain, "line_of", lambda event, seq, prev: real(event, seq + 1, prev))
    with pytest.raises(RecordError, match="does not verify"):
        module.recover(tmp_path / "r")
    assert {p.name: p.read_bytes() for p in (tmp_path / "r").iterdir()} == before


def test_a_recovery_that_is_itself_interrupted_can_be_repeated(tmp_path, monkeypatch):
    interrupted(tmp_path / "r", n_ticks=900)
    before = read(tmp_path / "r")
    real, count, stop = Path.replace, 0, None

    def failing(self, target):
        nonlocal count
        if self.parent.name == ".recovering":
            count += 1
            if count == stop:
                raise Killed
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    for k in range(1, 4):
        count, stop = 0, k
        with pytest.raises(Killed):
            recover(tmp_path / "r")
    stop = None
    recover(tmp_path / "r")
    after = read(tmp_path / "r")
    assert after.events[: len(before.events)] == before.events
    assert len(after.trace()) == len(before.trace())
    assert verify(tmp_path / "r").ok


def test_an_ending_that_was_recorded_is_kept_when_a_segment_could_not_be_closed(tmp_path):
    disk = FullDisk(12_000, ".mcap")
    with writer(tmp_path / "r", disk=disk, chunk_bytes=2000) as record:
        record.telemetry(ticks(2000))
        record.close(ended(ending="done"))
    assert verify(tmp_path / "r")["segments"].text == "telemetry.0000.mcap: not on the chain"
    done = recover(tmp_path / "r")
    assert done.ticks > 100
    last = read(tmp_path / "r").events[-1]
    assert last.body["ending"] == "done"
    assert last.body["counts"]["ticks"] == 2000
    assert last.body["counts"]["ticks_lost"] == 2000 - done.ticks
    assert len(read(tmp_path / "r").trace()) == done.ticks


def test_a_copy_of_a_segment_is_not_taken_for_more_ticks(tmp_path):
    interrupted(tmp_path / "r")
    first, *_ = sorted((tmp_path / "r").glob("*.mcap"))
    shutil.copy(first, tmp_path / "r" / "telemetry.0009.mcap")
    with pytest.raises(RecordError, match="repeats ticks"):
        recover(tmp_path / "r")


def killed(tmp_path, n, seed):
    """Kill n trials at random moments; return their folders with the last acknowledged event of each."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.record.victim", tmp_path, str(n), str(seed)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [(tmp_path / name, told) for name, told in map(json.loads, run.stdout.splitlines())]


def survives(folder, told):
    """Check that a killed trial lost nothing acknowledged; return whether there was anything."""
    try:
        before = read(folder)
    except (UsageError, RecordError):
        before = None
    if before is None or not before.events:
        assert told == -1
        with pytest.raises(UsageError):
            recover(folder)
        return False
    assert before.events[-1].seq >= told
    done = recover(folder)
    assert done.verification.ok
    after = read(folder)
    assert after.events[: len(before.events)] == before.events
    assert after.complete
    return True


def test_trials_killed_at_random_moments_lose_nothing_acknowledged(tmp_path):
    trials = killed(tmp_path, 40, 1)
    assert sum(survives(folder, told) for folder, told in trials) > 25


@pytest.mark.soak
def test_five_hundred_trials_killed_at_random_moments_lose_nothing_acknowledged(tmp_path):
    trials = killed(tmp_path, 500, 2)
    assert sum(survives(folder, told) for folder, told in trials) > 350
