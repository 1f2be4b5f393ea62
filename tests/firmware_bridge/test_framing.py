"""Frames survive the wire or are seen not to have; both ends keep to the same golden vectors."""

import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import codec, generate, messages, schema
from firmware_bridge.framing import MAX_FRAME, Decoder, Frame, Status, cobs_decode, cobs_encode, encode
from rig.core.data import hardware_file
from rig.core.errors import ConfigError

GOLDEN = json.loads(hardware_file("vectors", "frames.json").read_text())
# An independent implementation of the encoding; without it the vectors still check ours.
NO_REFERENCE = "the package cobs is not installed"
FRAMES = st.builds(
    Frame,
    st.sampled_from(sorted(messages.MESSAGES)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=messages.MAX_PAYLOAD),
)


def test_generated_files_follow_from_the_description() -> None:
    assert generate.stale(schema.load_protocol()) == []


def test_the_vectors_carry_the_fingerprint_of_the_description() -> None:
    assert GOLDEN["fingerprint"] == messages.FINGERPRINT == schema.fingerprint(schema.load_protocol())


@pytest.mark.parametrize("vector", GOLDEN["good"], ids=lambda v: v["name"])
def test_golden_frames_are_written_and_read_as_the_vectors_say(vector: dict) -> None:
    wire = bytes.fromhex(vector["wire"])
    (frame,) = Decoder().feed(wire)
    assert (frame.status, frame.session, frame.seq, frame.t_us) == (
        Status.OK, vector["session"], vector["seq"], vector["t_us"])  # fmt: skip
    message = codec.unpack(frame.kind, frame.payload)
    assert message is not None
    assert type(message).__name__ == vector["message"]
    for name, value in vector["values"].items():
        seen = getattr(message, name)
        assert (list(seen) if isinstance(value, list) else seen) == value
    assert encode(codec.framed(message, frame.session, frame.seq, frame.t_us)) == wire


@pytest.mark.parametrize("vector", GOLDEN["bad"], ids=lambda v: v["name"])
def test_damaged_frames_are_rejected(vector: dict) -> None:
    frames = Decoder().feed(bytes.fromhex(vector["wire"]))
    assert frames
    assert all(f.status is not Status.OK for f in frames)


@given(st.binary(max_size=253))
def test_our_cobs_agrees_with_an_independent_one(data: bytes) -> None:
    reference = pytest.importorskip("cobs.cobs", reason=NO_REFERENCE)
    assert cobs_encode(data) == reference.encode(data)
    assert cobs_decode(cobs_encode(data)) == data


@given(st.binary(min_size=1, max_size=253).filter(lambda b: 0 not in b))
def test_cobs_decoding_agrees_with_an_independent_one_on_any_block(block: bytes) -> None:
    reference = pytest.importorskip("cobs.cobs", reason=NO_REFERENCE)
    try:
        expected = reference.decode(block)
    except reference.DecodeError:
        expected = None
    assert cobs_decode(block) == expected


@given(FRAMES)
def test_a_frame_comes_back_as_it_was_sent(frame: Frame) -> None:
    assert Decoder().feed(encode(frame)) == [frame]


@given(st.lists(FRAMES, max_size=6), st.lists(st.integers(0, 2000), max_size=12), st.binary(max_size=40))
def test_any_split_of_a_byte_stream_decodes_alike(frames: list[Frame], cuts: list[int], noise: bytes) -> None:
    stream = noise + b"".join(encode(f) for f in frames)
    edges = [0, *sorted(c for c in cuts if c < len(stream)), len(stream)]
    decoder, seen = Decoder(), []
    for start, end in itertools.pairwise(edges):
        seen += decoder.feed(stream[start:end])
    assert seen == Decoder().feed(stream)
    assert [f for f in seen if f.status is Status.OK][-len(frames) :] == frames or not frames


@given(st.binary(max_size=2000))
def test_garbage_never_raises_and_is_never_accepted(data: bytes) -> None:
    assert all(f.status is not Status.OK for f in Decoder().feed(data + b"\0"))


@given(FRAMES, st.data())
def test_one_damaged_byte_costs_at_most_that_frame_and_its_neighbour(
    frame: Frame, data: st.DataObject
) -> None:
    good = Frame(messages.EventAck.KIND, 7, 7, 7, b"\1\2")
    stream = bytearray(encode(good) + encode(frame) + encode(good) + encode(good))
    start = len(encode(good))
    place = data.draw(st.integers(start, start + len(encode(frame)) - 1))
    stream[place] ^= data.draw(st.integers(1, 255))
    seen = [f for f in Decoder().feed(bytes(stream)) if f.status is Status.OK]
    assert seen.count(good) >= 2
    assert all(f in (good, frame) for f in seen)


def garbage(n: int) -> int:
    """Return how many of ``n`` frames of random bytes are accepted."""
    rng = np.random.default_rng(20)
    accepted = 0
    for _ in range(n // 1000):
        noise = rng.integers(1, 256, (1000, 40), dtype=np.uint8)
        noise[:, 0] = rng.integers(2, 42, 1000)
        noise[:, -1] = 0
        frames = Decoder().feed(noise.tobytes())
        assert len(frames) == 1000
        accepted += sum(f.status is Status.OK for f in frames)
    return accepted


def test_no_garbage_frame_of_20_000_is_accepted() -> None:
    assert garbage(20_000) == 0


@pytest.mark.soak
def test_no_garbage_frame_of_a_million_is_accepted() -> None:
    assert garbage(1_000_000) == 0


def test_the_decoder_holds_no_more_than_a_frame() -> None:
    decoder = Decoder()
    rng = random.Random(1)
    for _ in range(200):
        decoder.feed(bytes(rng.randrange(1, 256) for _ in range(500)))
        assert len(decoder._block) <= MAX_FRAME + 1


def test_a_payload_of_another_length_or_kind_is_no_message() -> None:
    assert codec.unpack(messages.EventAck.KIND, b"\0") is None
    assert codec.unpack(200, b"") is None


def test_a_description_that_cannot_be_is_refused_with_all_its_mistakes(tmp_path) -> None:
    text = hardware_file("vectors", "protocol.toml").read_text()
    text = text.replace("id = 2\n", "id = 1\n").replace("range = [0.0, 80.0]", "range = [80.0, 0.0]")
    text = text.replace('follows = "bed.tilt"', 'follows = "bed.tild"').replace("safe = 1.0", "safe = 3.0")
    path = tmp_path / "protocol.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        schema.load_protocol(path)
    for words in ("message.Identity: id 1 is Identify's", "actuator.bed.back", "bed.tild", "safe 3.0"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("scale = 1e-3", "scale = 1e-4", False),
        ('["echo_us", "u32"], ["armed", "u8"]', '["armed", "u8"], ["echo_us", "u32"]', False),
        ("back-rest encoder", "encoder of the back-rest", True),
    ],
)
def test_the_fingerprint_changes_with_meaning_and_not_with_words(
    tmp_path, old: str, new: str, same: bool
) -> None:
    text = hardware_file("vectors", "protocol.toml").read_text()
    assert old in text
    path = tmp_path / "protocol.toml"
    path.write_text(text.replace(old, new))
    assert (schema.fingerprint(schema.load_protocol(path)) == messages.FINGERPRINT) is same
