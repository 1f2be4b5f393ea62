"""The live view sees what the record holds, no more and nothing twice."""

import numpy as np
import pytest

from rig.core.channel import joined
from rig.core.errors import RecordError, UsageError
from rig.core.record import Tail, read
from tests.record import test_images as pictures
from tests.record.making import LAYOUT, MS, ended, said, short_record, ticks, wait_until, writer


def test_following_a_trial_gives_every_event_and_tick_once_and_in_order(tmp_path):
    tail = Tail(tmp_path / "r")
    events, parts = [], []

    def look():
        events.extend(tail.events())
        parts.append(tail.ticks())

    with writer(tmp_path / "r", chunk_bytes=1000, segment_bytes=20_000, flush_every_ns=10 * MS) as record:
        for k in range(30):
            record.telemetry(ticks(50, 50 * k))
            record.append(said(50 * k))
            look()
            assert not tail.ended
        record.close(ended())
    look()
    assert tail.ended
    whole = read(tmp_path / "r")
    assert tuple(events) == whole.events
    seen = joined(parts, LAYOUT)
    assert np.array_equal(seen.t_ns, whole.trace().t_ns)
    assert np.array_equal(seen.values, whole.trace().values, equal_nan=True)
    assert tail.events() == () and len(tail.ticks()) == 0


def test_ticks_show_up_while_the_trial_goes_on(tmp_path):
    tail = Tail(tmp_path / "r")
    with writer(tmp_path / "r", flush_every_ns=10 * MS) as record:
        record.telemetry(ticks(35))
        found = []
        wait_until(lambda: found.extend(tail.ticks(["bed.angle"]).t_ns.tolist()) or len(found) >= 30)
        assert found == [k * MS for k in range(30)]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_file_seen_at_any_length_gives_the_same_in_the_end(tmp_path, step):
    short_record(tmp_path / "r", n_ticks=120, chunk_bytes=1500)
    events, segment = (
        (tmp_path / "r" / name).read_bytes() for name in ("events.jsonl", "telemetry.0000.mcap")
    )
    whole = read(tmp_path / "r")
    tail, n_events, n_ticks = Tail(tmp_path / "r"), 0, 0
    for share in range(0, max(len(events), len(segment)) + step, step):
        (tmp_path / "r" / "events.jsonl").write_bytes(events[:share])
        (tmp_path / "r" / "telemetry.0000.mcap").write_bytes(segment[:share])
        n_events += len(tail.events())
        n_ticks += len(tail.ticks())
    assert (n_events, n_ticks) == (len(whole.events), 120)


def test_a_tail_that_turns_into_something_else_is_an_error(tmp_path):
    tail = Tail(tmp_path / "r")
    short_record(tmp_path / "r")
    tail.events()
    path = tmp_path / "r" / "events.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(True)[2])
    with pytest.raises(RecordError, match="repeated or out of place"):
        tail.events()


def test_there_is_nothing_to_follow_without_a_record(tmp_path):
    tail = Tail(tmp_path)
    with pytest.raises(UsageError, match="not a trial record"):
        tail.events()
    with pytest.raises(UsageError, match="not a trial record"):
        tail.ticks()


def test_of_frames_the_newest_of_each_camera_is_given_once(tmp_path):
    tail = Tail(tmp_path / "r")
    with pictures.writer(tmp_path / "r") as record:
        assert tail.images() == {}
        for k in range(6):
            record.image(pictures.shot(k))
            record.telemetry(ticks(33, first=k * 33))
        record.image(pictures.shot(3, "bed"))
        record.close(ended())
    found = tail.images()
    assert {name: image.number for name, image in found.items()} == {"face": 5, "bed": 3}
    assert found["face"].data == pictures.shot(5).data
    assert tail.images() == {}
