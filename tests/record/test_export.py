"""What other programs are given, and what is taken out before people are."""

import csv
import json
import sys

import numpy as np
import pytest

from rig.core.channel import Quality
from rig.core.errors import UsageError
from rig.core.event import Event, Kind
from rig.core.record import export_csv, export_parquet, read, redact, verify
from tests.record.making import KEY, MS, NAMES, ended, said, short_record, ticks, writer


@pytest.fixture
def record(tmp_path):
    short_record(tmp_path / "r", n_ticks=300, chunk_bytes=2000)
    return read(tmp_path / "r")


def test_csv_telemetry_reads_back_to_the_bit(record):
    *_, path, _ = export_csv(record)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    trace = record.trace()
    assert [int(row["t_ns"]) for row in rows] == trace.t_ns.tolist()
    for name in NAMES:
        i = record.layout.index(name)
        values = [float(row[name]) if row[name] else np.nan for row in rows]
        assert np.array_equal(values, trace.values[:, i], equal_nan=True)
        assert [Quality[row[f"{name}.quality"].upper()] for row in rows] == trace.quality[:, i].tolist()
        ages = trace.t_ns - trace.sampled_ns[:, i]
        assert [int(row[f"{name}.age_ns"]) for row in rows] == ages.tolist()


def test_csv_events_hold_every_event_with_its_body(record):
    path, *_ = export_csv(record)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["seq"]) for row in rows] == [e.seq for e in record.events]
    assert [json.loads(row["body"]) for row in rows] == [dict(e.body) for e in record.events]


def test_an_export_says_what_it_was_made_from_and_leaves_the_record_as_it_was(record):
    *_, about = export_csv(record)
    assert json.loads(about.read_text())["head"] == record.head
    assert about.parent == record.folder / "exports"
    assert verify(record.folder).ok


def test_parquet_reads_back_to_the_bit_with_units(record, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    events, telemetry, _ = export_parquet(record, tmp_path / "out", ["bed.angle"])
    table = pq.read_table(telemetry)
    assert table.column_names == ["t_ns", "bed.angle", "bed.angle.quality", "bed.angle.sampled_ns"]
    trace = record.trace(["bed.angle"])
    assert table["t_ns"].to_numpy().tolist() == trace.t_ns.tolist()
    assert np.array_equal(table["bed.angle"].to_numpy(), trace.values[:, 0], equal_nan=True)
    assert table["bed.angle.sampled_ns"].to_numpy().tolist() == trace.sampled_ns[:, 0].tolist()
    assert table.schema.field("bed.angle").metadata[b"unit"] == b"deg"
    assert table.schema.metadata[b"runrig.head"].decode() == record.head
    assert [json.loads(body) for body in pq.read_table(events)["body"].to_pylist()] == [
        dict(e.body) for e in record.events
    ]


def test_without_pyarrow_the_message_names_the_extra(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"not installed: pip install 'runrig\[parquet\]'"):
        export_parquet(record)
    assert not (record.folder / "exports").exists()


def test_a_pyarrow_too_old_is_told_apart_from_a_missing_one(record, monkeypatch):
    monkeypatch.setattr(pytest.importorskip("pyarrow"), "__version__", "3.0.0")
    with pytest.raises(UsageError, match=r"3\.0\.0 is installed but too old"):
        export_parquet(record)


def test_an_export_that_fails_leaves_no_half_file(record, tmp_path):
    with pytest.raises(UsageError, match="unknown channel"):
        export_csv(record, tmp_path / "out", ["nonsense"])
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["events.csv"]


def test_a_place_that_cannot_be_written_is_bad_input(record, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the export here"):
        export_csv(record, tmp_path / "file" / "out")


def spoken(folder):
    with writer(folder) as record:
        record.append(said(1))
        body = {"tool": "say", "arguments": {"text": "Good morning, Mrs Alder", "more": {"text": ["Alder"]}}}
        record.append(Event(2 * MS, Kind.PROPOSED, "agent", body))
        record.append(Event(3 * MS, Kind.VERDICT, "monitor", {"rule": "force", "text": "over 8 N"}))
        record.telemetry(ticks(50))
        record.close(ended(60 * MS))
    return read(folder)


def test_a_redacted_copy_holds_no_free_text_and_verifies_by_itself(tmp_path):
    original = spoken(tmp_path / "r")
    done = redact(original, tmp_path / "copy", by="A. Reviewer")
    for path in (tmp_path / "copy").iterdir():
        assert b"Alder" not in path.read_bytes() and b"line 1" not in path.read_bytes()
    assert done.texts == {"said.text": 1, "proposed.text": 2, "trial_ended.reason": 1}
    copy = read(tmp_path / "copy")
    assert verify(tmp_path / "copy").ok
    (note,) = copy.of_kind(Kind.NOTED)
    assert note.body["by"] == "A. Reviewer" and note.body["texts"] == done.texts
    assert copy.of_kind(Kind.VERDICT)[0].body["text"] == "over 8 N", "what the rig itself says stays"
    assert np.array_equal(copy.trace().values, original.trace().values, equal_nan=True)


def test_a_redacted_copy_cannot_pass_for_the_original(tmp_path):
    original = spoken(tmp_path / "r")
    redact(original, tmp_path / "copy", by="A. Reviewer")
    copy = read(tmp_path / "copy")
    assert copy.trial_id != original.trial_id
    assert copy.manifest["key"] == {
        **KEY, "redacted_from": {"trial_id": original.trial_id, "head": original.head},
    }  # fmt: skip
    assert verify(tmp_path / "r").ok


def test_channels_can_be_left_out(tmp_path):
    redact(spoken(tmp_path / "r"), tmp_path / "copy", by="A. Reviewer", without=["spoon.force"])
    copy = read(tmp_path / "copy")
    assert copy.layout.names == ("bed.angle",)
    assert b"spoon" not in (tmp_path / "copy" / "telemetry.0000.mcap").read_bytes()
    with pytest.raises(UsageError, match="no channel would be left"):
        redact(spoken(tmp_path / "s"), tmp_path / "t", by="x", without=NAMES)


def test_only_a_complete_record_is_redacted(tmp_path):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(UsageError, match="only a complete record is redacted"):
        redact(read(tmp_path / "r"), tmp_path / "copy", by="x")
