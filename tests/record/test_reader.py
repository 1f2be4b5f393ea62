"""What was recorded comes back, to the bit, from any record that is whole so far."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from rig.core.channel import Channel, Layout, Trace, joined
from rig.core.errors import RecordError, UsageError
from rig.core.event import Event, Kind, Severity
from rig.core.record import read, records_under
from rig.core.record.wire import decode, decode_into, encode, field_names, row_type, template
from tests.record.making import EPOCH_NS, KEY, LAYOUT, MS, NAMES, ended, said, short_record, ticks, writer


def same(a, b):
    return all(
        np.array_equal(getattr(a, part).view(np.uint8), np.ascontiguousarray(getattr(b, part)).view(np.uint8))
        for part in ("t_ns", "values", "sampled_ns", "quality")
    )


def test_events_come_back_as_they_were_given(tmp_path):
    short_record(tmp_path / "r", n_events=3)
    record = read(tmp_path / "r")
    assert record.complete and not record.problem
    assert [e.seq for e in record.events] == list(range(len(record.events)))
    spoken = record.of_kind(Kind.SAID)
    assert [dict(e.body) for e in spoken] == [dict(said(k).body) for k in range(3)]
    assert record.events[0].kind is Kind.TRIAL_STARTED
    assert {k: record.events[0].body[k] for k in KEY} == KEY
    assert record.layout == LAYOUT and record.epoch_utc_ns == EPOCH_NS
    assert record.head == record.events[-1].hash


def test_telemetry_comes_back_to_the_bit_across_chunks_and_segments(tmp_path):
    parts = [ticks(700, 700 * k, seed=3) for k in range(3)]
    with writer(tmp_path / "r", chunk_bytes=1000, segment_bytes=30_000) as record:
        for one in parts:
            record.telemetry(one)
        record.close(ended())
    record = read(tmp_path / "r")
    assert len(record.segments) > 3
    assert same(record.trace(), joined(parts, LAYOUT))


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (0, 1), (100, 101), (99, 350), (299, 9999), (400, 300)]
)
def test_a_window_holds_its_start_and_not_its_end(tmp_path, start, end):
    with writer(tmp_path / "r", chunk_bytes=3000) as record:
        record.telemetry(ticks(400))
        record.close(ended())
    window = [None if edge is None else edge * MS for edge in (start, end)]
    found = read(tmp_path / "r").trace(None, *window)
    k = np.arange(400)
    expected = k[(k >= (start or 0)) & (k < (400 if end is None else end))]
    assert found.t_ns.tolist() == (expected * MS).tolist()


def test_channels_come_in_the_order_asked_for(tmp_path):
    short_record(tmp_path / "r")
    both = read(tmp_path / "r").trace()
    turned = read(tmp_path / "r").trace(NAMES[::-1])
    assert turned.layout.names == NAMES[::-1]
    assert np.array_equal(turned.values, both.values[:, ::-1], equal_nan=True)
    assert np.array_equal(turned.sampled_ns, both.sampled_ns[:, ::-1])
    with pytest.raises(UsageError, match=r"unknown channel 'spoon\.speed'; known: bed\.angle, spoon\.force"):
        read(tmp_path / "r").trace(["spoon.speed"])


@settings(max_examples=50, deadline=None)
@given(data=st.data(), c=st.integers(1, 40), n=st.integers(1, 6))
def test_any_tick_survives_the_wire(data, c, n):
    layout = Layout(
        [Channel(name=f"x.{i}", unit="1", low=0, high=1, period_s=1, stale_after_s=1) for i in range(c)]
    )
    trace = Trace(
        layout,
        np.cumsum(data.draw(some.arrays(np.int64, n, elements=st.integers(1, 10**15)))),
        data.draw(some.arrays(np.float64, (n, c), elements=st.floats(allow_nan=True, allow_infinity=True))),
        data.draw(some.arrays(np.int64, (n, c), elements=st.integers(-(10**17), 10**17))),
        data.draw(some.arrays(np.uint8, (n, c), elements=st.integers(0, 3))),
    )
    rows = np.repeat(template(c), n)
    encode(trace, 5, EPOCH_NS, rows)
    found = Trace(
        layout, *(np.empty_like(part) for part in (trace.t_ns, trace.values, trace.sampled_ns, trace.quality))
    )
    decode_into(decode(rows.tobytes(), c), None, found)
    assert same(found, trace)


@pytest.mark.parametrize("c", [1, 2, 12, 13, 127, 128, 1638, 1639, 2000])
def test_a_row_is_the_message_protobuf_itself_would_read(c):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    from rig.core.record.wire import descriptor

    layout = Layout(
        [Channel(name=f"x.{i}", unit="1", low=0, high=1, period_s=1, stale_after_s=1) for i in range(c)]
    )
    trace = ticks(3, 7, layout)
    rows = np.repeat(template(c), 3)
    encode(trace, 0, EPOCH_NS, rows)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor(layout)).file:
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("runrig.Telemetry"))
    head = 9 + 2 + 4 + 8 + 8
    message = kind.FromString(rows[1].tobytes()[head:])
    assert message.t_ns == trace.t_ns[1]
    for i in {0, c // 2, c - 1}:
        name = field_names(layout)[i]
        assert np.array_equal(getattr(message, name), trace.values[1, i], equal_nan=True)
        assert getattr(message.age_ns, name) == trace.t_ns[1] - trace.sampled_ns[1, i]
        assert getattr(message.quality, name) == trace.quality[1, i]
    assert not kind.DESCRIPTOR.fields_by_name["t_ns"].is_required
    assert row_type(c).itemsize == len(rows[1].tobytes())


def test_names_that_protobuf_does_not_take_are_replaced_and_stay_apart():
    names = ("t_ns", "spoon.force", "spoon_force", "9lives", "é")
    layout = Layout([Channel(name=n, unit="1", low=0, high=1, period_s=1, stale_after_s=1) for n in names])
    assert field_names(layout) == ("t_ns_2", "spoon_force", "spoon_force_2", "c_9lives", "c__")


@pytest.mark.parametrize("number", [0, 2001])
def test_a_layout_no_message_can_hold_is_refused_before_anything_is_written(tmp_path, number):
    from rig.core.record import RecordWriter

    layout = Layout(
        [Channel(name=f"x.{i}", unit="1", low=0, high=1, period_s=1, stale_after_s=1) for i in range(number)]
    )
    with pytest.raises(UsageError, match="1 to 2000 channels"):
        RecordWriter(tmp_path / "r", {"key": KEY}, layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=MS)


def test_the_files_open_in_mcap_with_every_checksum_checked(tmp_path):
    from mcap.reader import NonSeekingReader, make_reader

    with writer(tmp_path / "r", chunk_bytes=1000, segment_bytes=30_000) as record:
        record.telemetry(ticks(1000))
        record.close(ended())
    count = 0
    for path in read(tmp_path / "r").segments:
        with path.open("rb") as file:
            reader = make_reader(file, validate_crcs=True)
            times = [m.log_time for _, channel, m in reader.iter_messages(topics="/telemetry")]
            assert times == [EPOCH_NS + (count + k) * MS for k in range(len(times))]
            summary = reader.get_summary()
            assert summary.statistics.channel_message_counts[1] == len(times)
            assert summary.statistics.chunk_count == len(summary.chunk_indexes) >= 1
            late = [m for *_, m in reader.iter_messages("/telemetry", starting_at=times[-3:][0])]
            assert len(late) == min(3, len(times)), "seeking by time works"
            file.seek(0)
            messages = NonSeekingReader(file, validate_crcs=True).iter_messages("/telemetry")
            assert sum(1 for _ in messages) == len(times)
        count += len(times)
    assert count == 1000


def test_any_viewer_sees_the_events_on_the_timeline(tmp_path):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from mcap.reader import make_reader

    with writer(tmp_path / "r", chunk_bytes=1000) as record:
        for k in range(4):
            record.append(said(100 * k))
            record.telemetry(ticks(100, 100 * k))
        record.append(Event(401 * MS, Kind.FAULT, "rig", {"what": "x" * 300}, Severity.CRITICAL))
        record.close(ended(402 * MS))
    with (tmp_path / "r" / "telemetry.0000.mcap").open("rb") as file:
        found = list(make_reader(file, validate_crcs=True).iter_messages("/events"))
    pool = descriptor_pool.DescriptorPool()
    for one in descriptor_pb2.FileDescriptorSet.FromString(found[0][0].data).file:
        pool.Add(one)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("foxglove.Log"))
    logs = [kind.FromString(m.data) for *_, m in found]
    assert [m.log_time - EPOCH_NS for *_, m in found] == [
        0,
        0,
        *(100 * k * MS for k in (1, 2, 3)),
        401 * MS,
        402 * MS,
    ]
    assert all(log.timestamp.ToNanoseconds() == m.log_time for log, (*_, m) in zip(logs, found, strict=True))
    assert logs[1].message == 'said {"who":"agent","text":"line 0, é"}'
    assert [log.name for log in logs] == ["recorder", *["agent"] * 4, "rig", "trial"]
    assert [log.level for log in logs] == [2, 2, 2, 2, 2, 5, 2]
    lines = (tmp_path / "r" / "events.jsonl").read_text().splitlines()
    for log in logs[:-1]:
        assert json.loads(lines[log.line - 1])["kind"] == log.message.split()[0]


def test_a_record_too_long_for_memory_is_read_stretch_by_stretch(tmp_path, monkeypatch):
    monkeypatch.setattr("rig.core.record.telemetry._GROUP_BYTES", 8000)
    with writer(tmp_path / "r", chunk_bytes=1000, segment_bytes=30_000) as record:
        record.telemetry(ticks(1000))
        record.close(ended())
    record = read(tmp_path / "r")
    parts = list(record.stretches(["bed.angle"], 100 * MS, 900 * MS))
    assert len(parts) > 3
    assert same(joined(parts, parts[0].layout), record.trace(["bed.angle"], 100 * MS, 900 * MS))


def test_a_record_that_is_being_written_reads_to_its_last_whole_event(tmp_path):
    with writer(tmp_path / "r") as record:
        for k in range(4):
            record.append(said(k))
        live = read(tmp_path / "r")
        assert not live.complete and "still being written" in live.problem
        assert len(live.of_kind(Kind.SAID)) == 4
        assert len(live.trace()) == 0


@pytest.mark.parametrize("tail", [b'{"seq":7', b"\x00" * 500, b"x\n\n\ngarbage\n", b"\xff\xfe\n"])
def test_a_torn_tail_leaves_the_valid_beginning(tmp_path, tail):
    short_record(tmp_path / "r")
    whole = read(tmp_path / "r")
    with (tmp_path / "r" / "events.jsonl").open("ab") as file:
        file.write(tail)
    torn = read(tmp_path / "r")
    assert torn.events == whole.events
    assert not torn.complete and "byte" in torn.problem


def test_damage_in_the_middle_is_an_error_that_says_where(tmp_path):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"line 2", b"line 9"))
    with pytest.raises(RecordError, match=r"events\.jsonl: line 4 \(seq 3, byte \d+\).*altered"):
        read(tmp_path / "r")


def test_altered_telemetry_is_an_error_that_says_where(tmp_path):
    short_record(tmp_path / "r")
    path = tmp_path / "r" / "telemetry.0000.mcap"
    data = bytearray(path.read_bytes())
    at = data.index(b"zstd") + 40
    data[at] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"telemetry\.0000\.mcap: chunk at byte \d+"):
        read(tmp_path / "r").trace()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a manifest"),
        (b"{", "torn"),
        (b"[]", "no record_schema"),
        (b'{"record_schema": 2}', "record schema 2; this program reads schema 1"),
        (b'{"record_schema": true}', "record schema True"),
        (b'{"record_schema": 1}', "wall section"),
        (b"\xff\xfe", "not a manifest"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused_with_the_reason(tmp_path, data, message):
    short_record(tmp_path / "r")
    (tmp_path / "r" / "manifest.json").write_bytes(data)
    with pytest.raises(RecordError, match=message):
        read(tmp_path / "r")


def test_records_are_found_wherever_they_lie_and_nothing_inside_them(tmp_path):
    for name in ("b/2", "b/1", "a"):
        short_record(tmp_path / name)
    short_record(tmp_path / "b" / "1" / ".recovering")
    short_record(tmp_path / ".hidden")
    (tmp_path / "c").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in records_under(tmp_path)]
    assert found == ["a", "b/1", "b/2"]
    assert list(records_under(tmp_path / "a")) == [tmp_path / "a"]
    with pytest.raises(UsageError, match="no such folder"):
        list(records_under(tmp_path / "nowhere"))


def test_a_folder_that_is_no_record_is_bad_input(tmp_path):
    with pytest.raises(UsageError, match="not a trial record"):
        read(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        read(tmp_path / "nowhere")


def test_the_chain_of_another_trial_under_this_manifest_is_refused(tmp_path):
    short_record(tmp_path / "a")
    short_record(tmp_path / "b", key={**KEY, "seed": 8})
    (tmp_path / "a" / "events.jsonl").write_bytes((tmp_path / "b" / "events.jsonl").read_bytes())
    with pytest.raises(RecordError, match="from another record"):
        read(tmp_path / "a")


def test_other_programs_read_the_events_as_plain_json_lines(tmp_path):
    short_record(tmp_path / "r")
    lines = (tmp_path / "r" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(len(lines)))
