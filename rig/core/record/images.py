"""Camera frames in the telemetry files: ``foxglove.CompressedImage``, one message a frame, any viewer shows them.

A message's publish time and ``timestamp`` are the moment of the exposure, its log time is the moment the rig had
the frame, its sequence is the camera's own count. So the age of a frame, and frames that never came, can be read
off the file alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import foxglove
from rig.core.record.foxglove import BYTES, HEAD, Message, text, timestamp
from rig.core.record.walk import ChunkRef, DamagedChunk, unpack, walk

SCHEMA_ID = 3
FIRST_ID = 3  # MCAP channel of the first camera; the others follow
MESSAGE_TYPE = "foxglove.CompressedImage"
LARGEST = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What the record says of a camera.

    Attributes:
        name: Short name; the frames are on the topic ``/NAME``.
        content: ``picture``, or ``silhouette`` where faces may not be recorded.
        width: Pixels.
        height: Pixels.
        period_ns: Between two exposures.
        recorded_every_ns: Between two frames that are recorded; frames shown to the agent always are.
        sync_error_ns: How far the stamp of an exposure may be off against trial time.
        source: Where frames come from, in words.
    """

    name: str
    content: str
    width: int
    height: int
    period_ns: int
    recorded_every_ns: int
    sync_error_ns: int
    source: str

    def json(self) -> dict[str, Json]:
        """Return it for the manifest."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A frame for the record.

    Attributes:
        camera: Which camera.
        t_ns: Trial time at which the rig had it.
        exposed_ns: Trial time of its exposure.
        number: As the camera counts.
        data: The file: JPEG, or what ``format`` says.
        format: ``jpeg``, ``png`` or ``webp``.
    """

    camera: str
    t_ns: int
    exposed_ns: int
    number: int
    data: bytes
    format: str = "jpeg"

    @property
    def sha256(self) -> str:
        """Digest of the file."""
        return sha256(self.data).hexdigest()


def streams_of(entries: Sequence[Any] | Any) -> tuple[Stream, ...]:  # noqa: ANN401  as parsed from JSON
    """Return the cameras that a manifest lists; none where it lists none.

    Raises:
        RecordError: If what it lists is not cameras.
    """
    try:
        return tuple(Stream(**entry) for entry in entries or ())
    except TypeError as error:
        raise RecordError(f"manifest: cameras: not a list of cameras ({error})") from None


def check_streams(cameras: Sequence[Stream]) -> None:
    """Refuse cameras that cannot be told apart in a record.

    Raises:
        UsageError: With the name.
    """
    names = [camera.name for camera in cameras]
    for name in names:
        if names.count(name) > 1 or name in ("telemetry", "events"):
            raise UsageError(f"camera {name!r}: the name is taken in the record")


def check_image(image: Image, cameras: Sequence[Stream]) -> None:
    """Refuse a frame that does not fit the record.

    Raises:
        UsageError: With what is wrong.
    """
    if image.camera not in [camera.name for camera in cameras]:
        known = ", ".join(camera.name for camera in cameras) or "none"
        raise UsageError(f"image of camera {image.camera!r}: the record has {known}")
    if not 0 < len(image.data) <= LARGEST:
        raise UsageError(
            f"image of camera {image.camera}: {len(image.data)} bytes; 1 to {LARGEST} are allowed"
        )
    if image.exposed_ns > image.t_ns or image.number < 0:
        raise UsageError(f"image of camera {image.camera}: exposed after it came, or with a negative number")


def packed(
    images: Sequence[Image], channel: int, epoch_utc_ns: int
) -> tuple[bytes, NDArray[np.uint64], NDArray[np.uint64]]:
    """Return frames of one camera as MCAP message records, with the log time and the offset of each."""
    return foxglove.packed(channel, (_message(image, epoch_utc_ns) for image in images))


def _message(image: Image, epoch_utc_ns: int) -> Message:
    exposed_ns = epoch_utc_ns + image.exposed_ns
    data = (
        timestamp(1, exposed_ns) + text(4, image.camera.encode()) + text(2, image.data)
        + text(3, image.format.encode())
    )  # fmt: skip
    return Message(image.number & 0xFFFFFFFF, epoch_utc_ns + image.t_ns, max(0, exposed_ns), data)


@lru_cache(maxsize=1)
def descriptor() -> bytes:
    """Return the serialised FileDescriptorSet of ``foxglove.CompressedImage``."""
    fields = (
        (1, "timestamp", "MESSAGE", ".google.protobuf.Timestamp"),
        (4, "frame_id", "STRING", None),
        (2, "data", "BYTES", None),
        (3, "format", "STRING", None),
    )
    return foxglove.described("CompressedImage", fields, {})


def images_in(
    path: Path, data: bytes | memoryview, cameras: Sequence[Stream], epoch_utc_ns: int
) -> Iterator[Image]:
    """Give the frames of a segment in the order in which they were written.

    Raises:
        RecordError: If a chunk is damaged, or a message is not what its schema says.
    """
    yield from images_of(path, data, walk(data).chunks, cameras, epoch_utc_ns)


def images_of(
    path: Path,
    data: bytes | memoryview,
    chunks: Sequence[ChunkRef],
    cameras: Sequence[Stream],
    epoch_utc_ns: int,
) -> Iterator[Image]:
    """Give the frames in some chunks of a segment; chunks of anything else are passed over.

    Raises:
        RecordError: If a chunk is damaged, or a message is not what its schema says.
    """
    for ref in chunks:
        if not FIRST_ID <= ref.channel < FIRST_ID + len(cameras):
            continue
        try:
            raw = unpack(data, ref)
        except DamagedChunk as damage:
            raise RecordError(f"{path}: chunk at byte {ref.at}: {damage}; see `runrig verify`") from None
        at = 0
        while at < len(raw):
            end = at + 9 + int.from_bytes(raw[at + 1 : at + 9], "little")
            number = int.from_bytes(raw[at + 11 : at + 15], "little")
            log_time, published = (int.from_bytes(raw[at + k : at + k + 8], "little") for k in (15, 23))
            content, word = parts_of(raw[at + HEAD : end])
            name = cameras[ref.channel - FIRST_ID].name
            yield Image(name, log_time - epoch_utc_ns, published - epoch_utc_ns, number, content, word)
            at = end


def parts_of(message: bytes) -> tuple[bytes, str]:
    """Return data and format of a ``CompressedImage`` on the wire.

    Raises:
        RecordError: If it is none.
    """
    at, data, word = 0, b"", ""
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 != BYTES:
            raise RecordError("a picture's message is not what its schema says")
        size, at = _varint(message, at)
        part, at = message[at : at + size], at + size
        if tag >> 3 == 2:
            data = part
        elif tag >> 3 == 3:
            word = part.decode("ascii", "replace")
    return data, word


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value, at, shift = value | (byte & 0x7F) << shift, at + 1, shift + 7
        if not byte & 0x80:
            return value, at
    raise RecordError("a picture's message is cut off")
