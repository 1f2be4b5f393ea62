"""Camera pictures in a record's segments: JPEG as ``foxglove.CompressedImage``, one message per picture."""

from dataclasses import dataclass, field
from pathlib import Path

from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.records import Schema

from rig.core.errors import RecordError, UsageError
from rig.core.record import Record
from rig.core.record.images import LARGEST, MESSAGE_TYPE, parts_of

KINDS = {"jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}


def cameras(record: Record) -> tuple[str, ...]:
    """Return the topics with pictures; a camera that nobody looked through has none."""
    found: set[str] = set()
    for path in record.segments:
        try:
            with path.open("rb") as file:
                summary = make_reader(file).get_summary()
        except (OSError, McapError, ValueError):
            continue  # still being written, or torn: what `verify` is for
        if summary is not None:
            counts = summary.statistics.channel_message_counts if summary.statistics else {}
            found |= {
                c.topic.strip("/")
                for c in summary.channels.values()
                if counts.get(c.id) and _is_picture(summary.schemas.get(c.schema_id))
            }
    return tuple(sorted(found))


def _is_picture(schema: Schema | None) -> bool:
    return schema is not None and schema.name == MESSAGE_TYPE


@dataclass(slots=True)
class Pictures:
    """The pictures of one record; remembers where each is."""

    record: Record
    _places: dict[str, list[tuple[int, Path]]] = field(default_factory=dict)

    def times_ns(self, camera: str) -> list[int]:
        """Return when each picture was taken, trial time.

        Raises:
            UsageError: If there is no such camera.
        """
        return [t_ns - self.record.epoch_utc_ns for t_ns, _ in self._find(camera)]

    def frame(self, camera: str, number: int) -> tuple[bytes, str]:
        """Return a picture and its media type.

        Raises:
            UsageError: If there is no such picture.
            RecordError: If it is not a picture a page may show.
        """
        places = self._find(camera)
        if not number < len(places):
            raise UsageError(f"camera {camera} has pictures 0 to {len(places) - 1}")
        t_ns, path = places[number]
        with path.open("rb") as file:
            there = make_reader(file).iter_messages([f"/{camera}"], starting_at=t_ns, ending_at=t_ns)
            for _, _, message in there:
                data, word = parts_of(message.data)
                if word.lower() in KINDS and len(data) <= LARGEST:
                    return data, KINDS[word.lower()]
        raise RecordError(f"{path}: picture {number} of {camera} is not a JPEG, PNG or WebP picture")

    def _find(self, camera: str) -> list[tuple[int, Path]]:
        if camera not in self._places:
            if camera not in cameras(self.record):
                raise UsageError(f"no camera {camera!r} in this record")
            found: list[tuple[int, Path]] = []
            for path in self.record.segments:
                try:
                    with path.open("rb") as file:
                        messages = make_reader(file).iter_messages([f"/{camera}"])
                        found += [(message.log_time, path) for _, _, message in messages]
                except (OSError, McapError, ValueError):
                    continue
            self._places[camera] = found
        return self._places[camera]
