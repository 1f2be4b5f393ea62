"""Reviews beside a record: append-only, chained, and never lost once acknowledged."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RecordError, UsageError
from rig.core.record.reviews import append_review, file_name, path_of, read_review, reviews_in

TRIAL = "ab" * 16


def say(record: Path, name: str = "ann", **body: object):
    return append_review(record, name, TRIAL, kind="labelled", by="Ann", role="reviewer", body=body)


def test_what_was_said_is_read_back_in_order(tmp_path):
    said = [say(tmp_path, n=n) for n in range(4)]
    assert read_review(tmp_path, "ann", TRIAL) == tuple(said)
    assert [e.seq for e in said] == [0, 1, 2, 3]
    assert reviews_in(tmp_path) == ("ann",)
    assert read_review(tmp_path, "bob", TRIAL) == ()


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_altered_bit_is_seen(tmp_path_factory, place, bit):
    record = tmp_path_factory.mktemp("r")
    for n in range(3):
        say(record, n=n, text="no harm")
    path = path_of(record, "ann")
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path.write_bytes(data)
    try:
        found = read_review(record, "ann", TRIAL)
    except RecordError:
        return
    assert len(found) < 3, "at most the last line may look cut off"


def test_a_line_taken_out_or_another_records_review_is_seen(tmp_path):
    for n in range(3):
        say(tmp_path, n=n)
    path = path_of(tmp_path, "ann")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(RecordError, match="line 2"):
        read_review(tmp_path, "ann", TRIAL)
    path.write_bytes(b"".join(lines))
    with pytest.raises(RecordError, match="line 1"):
        read_review(tmp_path, "ann", "cd" * 16)


@pytest.mark.parametrize("cut", [1, 5, 60, 150])
def test_a_cut_off_last_line_is_dropped_and_written_over(tmp_path, cut):
    for n in range(2):
        say(tmp_path, n=n)
    path = path_of(tmp_path, "ann")
    path.write_bytes(path.read_bytes()[:-cut])
    assert [e.body["n"] for e in read_review(tmp_path, "ann", TRIAL)] == [0]
    say(tmp_path, n=7)
    assert [e.body["n"] for e in read_review(tmp_path, "ann", TRIAL)] == [0, 7]


def test_names_cannot_lead_elsewhere(tmp_path):
    for name in ("../x", "a/b", "", ".", "..", "A", "x" * 80, "-x"):
        with pytest.raises(UsageError):
            path_of(tmp_path, name)
    for name in ("../../etc/passwd", "...", "Ann / Bob"):
        try:
            made = file_name(name)
        except UsageError:
            continue
        assert path_of(tmp_path, made).parent == tmp_path / "reviews"


def test_each_line_is_json_for_anybody(tmp_path):
    say(tmp_path, text='quotes " and \u2028 lines')
    (line,) = path_of(tmp_path, "ann").read_bytes().split(b"\n")[:-1]
    assert json.loads(line)["prev"] == TRIAL


def test_what_is_not_json_or_too_long_is_refused_and_nothing_is_written(tmp_path):
    say(tmp_path, n=1)
    for body in ({"x": float("nan")}, {"x": "y" * (1 << 19)}):
        with pytest.raises(UsageError):
            say(tmp_path, **body)
    assert len(read_review(tmp_path, "ann", TRIAL)) == 1
