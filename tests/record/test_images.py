"""Camera frames in a record: nothing lost silently, readable by anything, never in the way of ticks and events."""

import csv
import threading

import cv2
import numpy as np
import pytest
from mcap.reader import make_reader

from rig.core.errors import UsageError
from rig.core.record import (
    Full,
    Image,
    Options,
    RecordWriter,
    Stream,
    export_csv,
    read,
    recover,
    redact,
    verify,
)
from rig.core.record.disk import Disk
from tests.record.making import EPOCH_NS, KEY, LAYOUT, MS, NoSync, ended, said, short_record, ticks

FACE = Stream(
    name="face", content="picture", width=64, height=48, period_ns=33 * MS, recorded_every_ns=33 * MS,
    sync_error_ns=0, source="made for the test",
)  # fmt: skip
BED = Stream(
    name="bed", content="silhouette", width=64, height=48, period_ns=100 * MS, recorded_every_ns=100 * MS,
    sync_error_ns=MS, source="made for the test",
)  # fmt: skip


def writer(folder, cameras=(FACE, BED), disk=None, **options):
    settings = {"min_free_bytes": 0, "reserve_bytes": 4096, **options}
    return RecordWriter(
        folder, {"key": KEY}, LAYOUT, epoch_utc_ns=EPOCH_NS, flush_every_ns=100 * MS,
        options=Options(disk=disk or NoSync(), **settings), cameras=cameras,
    )  # fmt: skip


def shot(number, camera="face", size=0):
    picture = np.full((48, 64, 3), number % 250, np.uint8)
    picture[8:40, 8:56] = (number * 37) % 250
    data = cv2.imencode(".jpg", picture)[1].tobytes() + bytes(size)
    return Image(camera, (number * 33 + 40) * MS, number * 33 * MS, number, data)


def recorded(folder, n=12, **options):
    with writer(folder, **options) as record:
        for k in range(n):
            record.append(said(k, t_ns=k * 33 * MS))
            assert record.image(shot(k))
            if k % 3 == 0:
                record.image(shot(k, "bed"))
            record.telemetry(ticks(33, first=k * 33))
        record.close(ended())
    return read(folder)


def test_what_goes_in_comes_out(tmp_path):
    record = recorded(tmp_path / "r")
    found = list(record.images("face"))
    assert [(i.number, i.t_ns, i.exposed_ns, i.data, i.format) for i in found] == [
        (s.number, s.t_ns, s.exposed_ns, s.data, "jpeg") for s in map(shot, range(12))
    ]
    assert len(list(record.images("bed"))) == 4 and len(list(record.images())) == 16
    assert record.cameras == (FACE, BED)
    counts = record.events[-1].body["counts"]
    assert (counts["images"], counts["images_stored"], counts["images_dropped"]) == (16, 16, 0)
    assert len(record.trace()) == 12 * 33
    with pytest.raises(UsageError, match="bed, face"):
        list(record.images("room"))


def test_the_same_frames_give_the_same_bytes(tmp_path):
    one, two = recorded(tmp_path / "a"), recorded(tmp_path / "b")
    for name in ("events.jsonl", "telemetry.0000.mcap"):
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()


def test_any_viewer_reads_them_by_the_schema_in_the_file(tmp_path):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    record = recorded(tmp_path / "r")
    with record.segments[0].open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        assert summary.statistics.channel_count == 4 and summary.statistics.schema_count == 3
        seen = list(reader.iter_messages(["/face"]))
    schema, channel, message = seen[5]
    assert schema.name == "foxglove.CompressedImage" and channel.metadata["sync_error_ns"] == "0"
    pool = descriptor_pool.DescriptorPool()
    for part in descriptor_pb2.FileDescriptorSet.FromString(schema.data).file:
        pool.Add(part)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name))
    image = kind.FromString(message.data)
    assert image.frame_id == "face" and image.format == "jpeg"
    assert image.timestamp.seconds * 10**9 + image.timestamp.nanos == EPOCH_NS + 5 * 33 * MS
    assert (message.log_time - message.publish_time, message.sequence) == (40 * MS, 5)
    assert cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR).shape == (48, 64, 3)


def test_a_changed_bit_in_a_frame_is_seen(tmp_path):
    record = recorded(tmp_path / "r")
    assert verify(record.folder).ok
    path = record.segments[0]
    data = bytearray(path.read_bytes())
    at = bytes(data).index(shot(7).data[:24])  # zstd leaves JPEG as it is
    data[at + 100] ^= 1
    path.write_bytes(data)
    found = verify(record.folder)
    assert not found.ok and "was altered" in found["segments"].text


def test_a_record_without_cameras_says_nothing_of_them(tmp_path):
    short_record(tmp_path / "r")
    record = read(tmp_path / "r")
    assert "cameras" not in record.manifest and "images" not in record.events[-1].body["counts"]
    with writer(tmp_path / "s", cameras=()) as other:
        with pytest.raises(UsageError, match="the record has none"):
            other.image(shot(0))
        other.close(ended())


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (Image("room", 1, 0, 0, b"x"), "the record has face, bed"),
        (Image("face", 1, 0, 0, b""), "bytes"),
        (Image("face", 1, 2, 0, b"x"), "exposed after"),
    ],
)
def test_frames_that_do_not_fit_are_refused(tmp_path, image, why):
    with writer(tmp_path / "r") as record:
        with pytest.raises(UsageError, match=why):
            record.image(image)
        record.close(ended())


def test_names_must_be_told_apart(tmp_path):
    with pytest.raises(UsageError, match="taken"):
        writer(tmp_path / "r", cameras=(FACE, FACE))


class Held(Disk):
    """Lets no telemetry through until told."""

    def __init__(self):
        self.go = threading.Event()

    def write(self, fd, data):
        if threading.current_thread().name == "recorder":
            self.go.wait(20.0)
        super().write(fd, data)

    def sync(self, fd):
        pass


def test_in_real_time_frames_are_dropped_first_counted_and_said(tmp_path):
    disk = Held()
    with writer(tmp_path / "r", disk=disk, full=Full.DROP, image_bytes=100_000) as record:
        record.telemetry(ticks(100))
        taken = [record.image(shot(k, size=40_000)) for k in range(9)]
        record.telemetry(ticks(100, first=100))
        assert record.append(said(0, t_ns=0)) > 0  # an event waits for nothing
        disk.go.set()
        record.close(ended())
    assert not all(taken) and any(taken)
    found = read(tmp_path / "r")
    counts = found.events[-1].body["counts"]
    assert counts["ticks_dropped"] == 0 and counts["images"] == 9
    assert counts["images_dropped"] == taken.count(False) and counts["images_lost"] == 0
    said_so = [e for e in found.events if e.body.get("what") == "images dropped"]
    assert sum(e.body["images"]["face"] for e in said_so) == taken.count(False)
    check = verify(tmp_path / "r")
    assert check.ok and check["counts"].status == "weak"


def test_an_interrupted_record_keeps_its_frames(tmp_path):
    record = writer(tmp_path / "r")
    record.__enter__()
    for k in range(12):
        record.image(shot(k))
        record.telemetry(ticks(33, first=k * 33))
    record._pump.finish()  # everything on disk, and then nobody closes the record
    segment = tmp_path / "r" / "telemetry.0000.mcap"
    segment.write_bytes(segment.read_bytes()[:-200])
    record._release()
    done = recover(tmp_path / "r", NoSync())
    assert done.verification.ok
    found = read(tmp_path / "r")
    kept = list(found.images("face"))
    assert [i.data for i in kept] == [shot(k).data for k in range(12)]
    assert found.events[-1].body["counts"]["images_stored"] == 12


def test_an_export_has_every_frame_and_its_age(tmp_path):
    record = recorded(tmp_path / "r")
    *_, table = export_csv(record, tmp_path / "x")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 16 and {int(r["age_ns"]) for r in rows} == {40 * MS}
    assert (tmp_path / "x" / rows[0]["file"]).read_bytes() == shot(0).data


def test_a_redacted_copy_has_no_frames_and_says_so(tmp_path):
    record = recorded(tmp_path / "r")
    redact(record, tmp_path / "copy", by="records office")
    copy = read(tmp_path / "copy")
    assert copy.cameras == () and list(copy.images()) == []
    note = next(e for e in copy.events if e.source == "redaction")
    assert note.body["cameras"] == ["face", "bed"]
