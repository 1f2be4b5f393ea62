"""What there is to check in a record's folder, gathered once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.core.errors import RecordError
from rig.core.event import Json, Kind
from rig.core.record import chain, manifest
from rig.core.record.files import read_bytes
from rig.core.record.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Evidence:
    """The manifest and the chain as found, good or bad.

    Attributes:
        folder: The record.
        about: The manifest, None if it cannot be read.
        fault: Why it cannot.
        trial_id: Which trial, as the manifest says or else as the chain's first line does.
        scan: The chain.
    """

    folder: Path
    about: Manifest | None
    fault: str
    trial_id: str
    scan: chain.Scan

    @property
    def events(self) -> tuple[chain.StoredEvent, ...]:
        """The events that are intact and linked."""
        return self.scan.events

    @property
    def ending(self) -> chain.StoredEvent | None:
        """The last event if it ends the trial and nothing stands behind it."""
        last = self.events[-1] if self.events else None
        ended = last is not None and last.kind is Kind.TRIAL_ENDED and self.scan.problem is None
        return last if ended else None

    @property
    def segments(self) -> dict[str, Mapping[str, Json]]:
        """What the chain states of each closed segment, by file name."""
        return {str(e.body.get("file")): e.body for e in self.events if e.kind is Kind.TELEMETRY_CLOSED}

    @property
    def end(self) -> str:
        """The place behind the last good event."""
        return f"{chain.FILE}, behind seq {len(self.events) - 1}"


def gather(folder: Path) -> Evidence:
    """Read manifest and chain, whatever state they are in."""
    about, fault = None, ""
    try:
        about = manifest.parse(read_bytes(folder / manifest.FILE), folder / manifest.FILE)
    except RecordError as error:
        fault = str(error)
    path = folder / chain.FILE
    data = path.read_bytes() if path.exists() else b""
    trial_id = about.trial_id if about else chain.stated_start(data)
    return Evidence(folder, about, fault, trial_id, chain.scan(data, trial_id))


def total(images: Json) -> int:
    """Return how many camera frames an event states, over all cameras; 0 if it states none."""
    return sum(n for n in images.values() if isinstance(n, int)) if isinstance(images, dict) else 0


def number(body: Mapping[str, Json], name: str) -> int:
    """Return a whole number an event states; -1, which fits nothing, if it states none."""
    value = body.get(name)
    return value if isinstance(value, int) else -1
