"""Whatever is done to a record shows, with its place, and nothing that proves little reads as proof."""

import json
import shutil

import numpy as np
import pytest

from rig.core.errors import UsageError
from rig.core.event import Event, Kind
from rig.core.record import Anchor, Status, read, read_trusted, verify
from rig.core.record.chain import line_of
from tests.record.making import KEY, ended, flip, said, short_record, ticks, writer

EVIDENCE = ("manifest.json", "events.jsonl", "telemetry.0000.mcap", "checkpoint.dsse.json")


def anchors(folder, end, by="the campaign ledger"):
    return [Anchor(read(folder).trial_id, end.seq, end.head, by)]


def test_a_whole_record_holds_and_says_what_that_does_not_prove(tmp_path):
    end = short_record(tmp_path / "r")
    verdict = verify(tmp_path / "r")
    assert verdict.ok
    assert (verdict.seq, verdict.head) == (end.seq, end.head)
    assert verdict["signature"].status is Status.OK
    assert verdict["signer"].status is Status.WEAK
    assert verdict["anchor"].status is Status.ABSENT
    assert f"complete to seq {end.seq}, not anchored; nobody you trust vouches for it" in verdict.lines()[0]
    json.dumps(verdict.json(), allow_nan=False)


@pytest.mark.parametrize("name", EVIDENCE)
def test_every_flipped_byte_is_reported_with_its_file(tmp_path, name):
    short_record(tmp_path / "r", n_events=2, n_ticks=8)
    path = tmp_path / "r" / name
    good = path.read_bytes()
    silent = []
    for at in range(len(good)):
        flip(path, at, at % 8)
        verdict = verify(tmp_path / "r")
        failed = [c for c in verdict.checks if c.status is Status.FAILED]
        if verdict.ok or not any(name in c.place for c in failed):
            silent.append(at)
        path.write_bytes(good)
    assert silent == []
    assert verify(tmp_path / "r").ok


@pytest.mark.soak
@pytest.mark.parametrize("name", EVIDENCE)
def test_every_flipped_bit_of_a_longer_record_is_reported(tmp_path, name):
    short_record(tmp_path / "r", n_ticks=200)
    path = tmp_path / "r" / name
    good = path.read_bytes()
    for at in range(len(good)):
        for bit in range(8):
            flip(path, at, bit)
            assert not verify(tmp_path / "r").ok, f"bit {bit} of byte {at}"
            path.write_bytes(good)


def test_random_flips_over_the_whole_record_are_all_reported(tmp_path):
    short_record(tmp_path / "r", n_ticks=300)
    rng = np.random.default_rng(11)
    originals = {name: (tmp_path / "r" / name).read_bytes() for name in EVIDENCE}
    sizes = np.array([len(data) for data in originals.values()])
    for _ in range(300):
        name = EVIDENCE[rng.choice(len(EVIDENCE), p=sizes / sizes.sum())]
        flip(tmp_path / "r" / name, int(rng.integers(len(originals[name]))), int(rng.integers(8)))
        assert not verify(tmp_path / "r").ok
        (tmp_path / "r" / name).write_bytes(originals[name])


def test_the_place_of_an_altered_event_is_its_line_and_number(tmp_path):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"line 3", b"line 4"))
    verdict = verify(tmp_path / "r")
    start = path.read_bytes().index(b'{"seq":4')
    assert verdict["chain"].place == f"events.jsonl, line 5 (seq 4, byte {start})"
    assert verdict.seq == 3


def test_the_place_of_an_altered_chunk_is_its_offset(tmp_path):
    with writer(tmp_path / "r", chunk_bytes=1000) as record:
        record.telemetry(ticks(200))
        record.close(ended())
    path = tmp_path / "r" / "telemetry.0000.mcap"
    data = path.read_bytes()
    third = [k for k in range(len(data)) if data[k : k + 4] == b"zstd"][2]
    flip(path, third + 60, 2)
    check = verify(tmp_path / "r")["segments"]
    offset = int(check.place.removeprefix("telemetry.0000.mcap, byte "))
    assert offset < third < offset + 60


def test_an_event_of_another_trial_spliced_in_under_its_number_is_named(tmp_path):
    short_record(tmp_path / "a")
    short_record(tmp_path / "b", key={**KEY, "repeat": 1})
    a, b = (tmp_path / x / "events.jsonl" for x in "ab")
    lines, others = a.read_bytes().splitlines(True), b.read_bytes().splitlines(True)
    a.write_bytes(b"".join([*lines[:3], others[3], *lines[4:]]))
    check = verify(tmp_path / "a")["chain"]
    assert check.status is Status.FAILED
    assert "spliced" in check.text and "seq 3" in check.place


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ([0, 1, 3, 4, 5, 6, 7], "events 2 to 2 are missing"),
        ([0, 1, 2, 2, 3, 4, 5, 6, 7], "repeated or out of place"),
        ([0, 2, 1, 3, 4, 5, 6, 7], "events 1 to 1 are missing"),
    ],
)
def test_missing_repeated_and_swapped_events_are_named(tmp_path, order, text):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    lines = path.read_bytes().splitlines(True)
    path.write_bytes(b"".join(lines[k] for k in order))
    assert text in verify(tmp_path / "r")["chain"].text


def cut_tail(folder, keep):
    path = folder / "events.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:keep]))


def test_a_cut_tail_with_its_checkpoint_kept_is_named_by_the_checkpoint(tmp_path):
    end = short_record(tmp_path / "r")
    cut_tail(tmp_path / "r", 4)
    verdict = verify(tmp_path / "r")
    assert verdict["chain"].status is Status.OK, "the chain alone does not see it"
    assert (
        verdict["signature"].text == f"signed to seq {end.seq}, but the chain ends at seq 3: its tail was cut"
    )
    assert not verdict.ok


def test_a_cut_tail_with_its_checkpoint_cut_too_is_at_least_incomplete(tmp_path):
    short_record(tmp_path / "r")
    cut_tail(tmp_path / "r", 4)
    (tmp_path / "r" / "checkpoint.dsse.json").unlink()
    verdict = verify(tmp_path / "r")
    assert verdict["complete"].text.startswith("no trial_ended event: interrupted, or its tail was cut")
    assert verdict["signature"].status is Status.ABSENT
    assert not verdict.ok


def test_a_tail_cut_and_ended_anew_is_named_by_the_anchor_alone(tmp_path):
    end = short_record(tmp_path / "r")
    known = anchors(tmp_path / "r", end)
    cut_tail(tmp_path / "r", 4)
    (tmp_path / "r" / "checkpoint.dsse.json").unlink()
    (tmp_path / "r" / "telemetry.0000.mcap").unlink()
    body = {"ending": "done", "counts": {"events": 5, "ticks": 0, "ticks_dropped": 0, "ticks_lost": 0}}
    forged, _ = line_of(Event(9, Kind.TRIAL_ENDED, "x", body), 4, read(tmp_path / "r").head)
    with (tmp_path / "r" / "events.jsonl").open("ab") as file:
        file.write(forged)
    assert verify(tmp_path / "r").ok, "without an anchor nothing contradicts it"
    verdict = verify(tmp_path / "r", known)
    assert not verdict.ok
    assert "anchored by the campaign ledger" in verdict["anchor"].text and "cut" in verdict["anchor"].text


def test_a_rewritten_chain_is_named_by_its_anchor_and_its_checkpoint(tmp_path):
    end = short_record(tmp_path / "r")
    known = anchors(tmp_path / "r", end)
    path = tmp_path / "r" / "events.jsonl"
    lines, prev = [], read(tmp_path / "r").trial_id
    for event in read(tmp_path / "r").events:
        body = json.loads(json.dumps(event.body).replace("line 2", "line 9"))
        line, prev = line_of(
            Event(event.t_ns, event.kind, event.source, body, event.severity), event.seq, prev
        )
        lines.append(line)
    path.write_bytes(b"".join(lines))
    verdict = verify(tmp_path / "r", known)
    assert verdict["chain"].status is Status.OK
    assert "rewritten" in verdict["anchor"].text and "rewritten" in verdict["signature"].text
    assert not verdict.ok


def test_an_anchored_record_says_by_whom_and_to_where(tmp_path):
    end = short_record(tmp_path / "r")
    verdict = verify(tmp_path / "r", anchors(tmp_path / "r", end), require=["anchored"])
    assert verdict.ok
    assert f"complete to seq {end.seq}, anchored by the campaign ledger" in verdict.lines()[0]


def test_an_anchor_in_the_middle_does_not_count_for_the_end(tmp_path):
    short_record(tmp_path / "r")
    event = read(tmp_path / "r").events[2]
    middle = [Anchor(read(tmp_path / "r").trial_id, 2, event.hash, "the ledger")]
    assert verify(tmp_path / "r", middle)["anchor"].status is Status.WEAK
    assert not verify(tmp_path / "r", middle, require=["anchored"]).ok


def test_anchors_of_other_trials_prove_nothing(tmp_path):
    end = short_record(tmp_path / "r")
    foreign = [Anchor("0" * 32, end.seq, end.head, "the ledger")]
    assert (
        verify(tmp_path / "r", foreign)["anchor"].text == "not anchored: none of 1 anchors is of this trial"
    )


def test_a_throw_away_key_never_reads_as_trusted(tmp_path):
    end = short_record(tmp_path / "r")
    assert not verify(tmp_path / "r", require=["trusted"]).ok
    assert not verify(tmp_path / "r", trusted_keys=["ed25519:" + "0" * 64], require=["trusted"]).ok
    assert verify(tmp_path / "r", trusted_keys=[end.signer], require=["trusted", "signed"]).ok
    assert "verified" not in " ".join(verify(tmp_path / "r").lines()).lower()


def test_trusted_keys_are_read_from_a_file_a_person_can_write(tmp_path):
    end = short_record(tmp_path / "r")
    (tmp_path / "keys").write_text(f"# our lab\n\n{end.signer}  rig PC 3\n")
    assert read_trusted(tmp_path / "keys") == {end.signer}
    (tmp_path / "keys").write_text("ed25519:12\n")
    with pytest.raises(UsageError, match="is not a key id"):
        read_trusted(tmp_path / "keys")


def test_a_checkpoint_from_another_trial_under_the_same_key_is_named(tmp_path):
    short_record(tmp_path / "a")
    short_record(tmp_path / "b", key={**KEY, "seed": 8})
    shutil.copy(tmp_path / "b" / "checkpoint.dsse.json", tmp_path / "a")
    assert "the checkpoint is of trial" in verify(tmp_path / "a")["signature"].text


def test_a_signature_by_somebody_else_under_the_signers_name_fails(tmp_path, monkeypatch):
    short_record(tmp_path / "a")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    short_record(tmp_path / "b")
    envelopes = [json.loads((tmp_path / x / "checkpoint.dsse.json").read_text()) for x in "ab"]
    envelopes[0]["signatures"][0]["sig"] = envelopes[1]["signatures"][0]["sig"]
    text = json.dumps(envelopes[0], separators=(",", ":")) + "\n"
    (tmp_path / "a" / "checkpoint.dsse.json").write_text(text)
    verdict = verify(tmp_path / "a")
    assert "not a signature by" in verdict["signature"].text and not verdict.ok


def test_segments_missing_added_or_of_another_trial_are_named(tmp_path):
    short_record(tmp_path / "a")
    short_record(tmp_path / "b", key={**KEY, "seed": 8})
    (tmp_path / "a" / "telemetry.0000.mcap").rename(tmp_path / "a" / "telemetry.0001.mcap")
    assert verify(tmp_path / "a")["segments"].text == "telemetry.0000.mcap is missing"
    shutil.copy(tmp_path / "b" / "telemetry.0000.mcap", tmp_path / "a")
    assert (
        verify(tmp_path / "a")["segments"].text
        == f"telemetry.0000.mcap is from trial {read(tmp_path / 'b').trial_id}"
    )
    (tmp_path / "a" / "telemetry.0001.mcap").rename(tmp_path / "a" / "telemetry.0000.mcap")
    (tmp_path / "a" / "extra.mcap").write_bytes(b"")
    assert verify(tmp_path / "a")["segments"].text == "extra.mcap: not on the chain"


@pytest.mark.parametrize("missing", EVIDENCE[:3])
def test_a_half_copied_folder_does_not_hold(tmp_path, missing):
    short_record(tmp_path / "r")
    (tmp_path / "r" / missing).unlink()
    verdict = verify(tmp_path / "r")
    assert not verdict.ok
    assert any(missing in c.place for c in verdict.checks if c.status is Status.FAILED)


@pytest.mark.parametrize("name", EVIDENCE)
def test_emptied_and_foreign_files_do_not_hold_and_do_not_crash(tmp_path, name):
    short_record(tmp_path / "r")
    good = (tmp_path / "r" / name).read_bytes()
    for data in (
        b"",
        b"\x00",
        b"{}\n",
        b"null",
        good[: len(good) // 2],
        good + b"\n",
        good + good,
        good[::-1],
    ):
        (tmp_path / "r" / name).write_bytes(data)
        assert not verify(tmp_path / "r").ok, data[:20]


def test_a_record_being_written_is_called_so(tmp_path):
    with writer(tmp_path / "r") as record:
        record.append(said(1))
        verdict = verify(tmp_path / "r")
    assert verdict["complete"].text == "still being written"
    assert not verdict.ok
    assert verify(tmp_path / "r").ok


def test_time_that_goes_back_is_recorded_and_told(tmp_path):
    with writer(tmp_path / "r") as record:
        record.append(said(5))
        record.append(said(3))
        record.close(ended())
    check = verify(tmp_path / "r")["clock"]
    assert (check.status, check.place) == (Status.WEAK, "events.jsonl, seq 2")
    assert verify(tmp_path / "r").ok
    assert not verify(tmp_path / "r", require=["ordered"]).ok


def test_what_cannot_be_required_is_bad_input(tmp_path):
    short_record(tmp_path / "r")
    with pytest.raises(
        UsageError, match="cannot require blessed; choose from signed, trusted, anchored, ordered"
    ):
        verify(tmp_path / "r", require=["blessed"])


def test_a_chain_with_every_hash_right_and_every_member_wrong_fails_and_does_not_crash(tmp_path):
    short_record(tmp_path / "r")
    record = read(tmp_path / "r")
    odd = [{"file": 3}, {"file": "../../etc/passwd", "ticks": "many"}, {"ticks": True}]
    lines, prev = [], record.trial_id
    for seq, body in enumerate([dict(record.events[0].body), *odd, {"counts": {"ticks": "x"}}]):
        kind = (Kind.TRIAL_STARTED, *[Kind.TELEMETRY_CLOSED] * 3, Kind.TRIAL_ENDED)[seq]
        line, prev = line_of(Event(0, kind, "x", body), seq, prev)
        lines.append(line)
    (tmp_path / "r" / "events.jsonl").write_bytes(b"".join(lines))
    assert not verify(tmp_path / "r").ok


def test_ticks_missing_between_in_and_out_fail_the_count(tmp_path):
    short_record(tmp_path / "r", n_ticks=30)
    record = read(tmp_path / "r")
    lines, prev = [], record.trial_id
    for event in record.events:
        body = json.loads(
            json.dumps(event.body).replace('"ticks": 30, "ticks_stored"', '"ticks": 31, "ticks_stored"')
        )
        line, prev = line_of(
            Event(event.t_ns, event.kind, event.source, body, event.severity), event.seq, prev
        )
        lines.append(line)
    (tmp_path / "r" / "events.jsonl").write_bytes(b"".join(lines))
    assert verify(tmp_path / "r")["counts"].text == "31 ticks in; 30 stored, 0 dropped, 0 lost"
