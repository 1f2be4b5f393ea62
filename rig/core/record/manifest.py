"""The manifest: what a record is a record of, synced before anything else is written.

The file has a fixed frame, so that digests are taken over bytes as stored and never over a
re-serialised copy::

    {
    "record_schema": 1,
    "trial_id": "...",
    ...one line per entry: the part the chain covers, its digest is in event 0...
    "wall": {...wall-clock facts; the same trial run again differs here and only here...},
    "wall_sha256": "..."
    }
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import zstandard

from rig.core.channel import Audience, Channel, Layout
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import strict
from rig.core.record.images import Stream, streams_of

RECORD_SCHEMA = 1
FILE = "manifest.json"
EARLIEST_EPOCH_NS = 946_684_800_000_000_000  # 2000-01-01: viewers refuse log times near 1970
_WALL = b',\n"wall": '
_SEAL = b',\n"wall_sha256": "'
_END = b'"\n}\n'
RESERVED = (
    "record_schema", "trial_id", "epoch_utc_ns", "flush_every_ns", "cameras", "layout", "wall", "wall_sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest as read back.

    Attributes:
        entries: Every entry, the ``wall`` section included.
        trial_id: Which trial.
        layout: The channels of its telemetry.
        epoch_utc_ns: UTC at trial time 0, nanoseconds since 1970.
        digest: SHA-256 of the part the chain covers, bytes as stored.
        cameras: Whose frames are in the telemetry files.
    """

    entries: Mapping[str, Json]
    trial_id: str
    layout: Layout
    epoch_utc_ns: int
    digest: str
    cameras: tuple[Stream, ...] = ()


def trial_id(key: Mapping[str, Json]) -> str:
    """Return the identity of a trial: the first 128 bits of SHA-256 over its key, as hex.

    Args:
        key: Everything that makes this trial this trial: task, item, scenario, agent, bench, seed,
            repeat, configuration digests. The order of the entries does not matter.

    Raises:
        UsageError: If the key is empty or not strict JSON.

    >>> trial_id({"task": "spoon-feed", "seed": 7}) == trial_id({"seed": 7, "task": "spoon-feed"})
    True
    """
    if not key:
        raise UsageError("a trial needs a key (task, scenario, agent, bench, seed, ...)")
    return hashlib.sha256(strict.canonical(strict.plain(key), "trial key")).hexdigest()[:32]


def trial_key(entries: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the trial key among a manifest's entries.

    Raises:
        UsageError: If it is missing.
    """
    key = entries.get("key")
    if not isinstance(key, Mapping):
        raise UsageError('manifest: "key" (the trial key, a mapping) is missing')
    return key


def build(
    entries: Mapping[str, Json], layout: Layout, epoch_utc_ns: int, flush_every_ns: int, opened_utc: str,
    cameras: Sequence[Stream] = (),
) -> tuple[bytes, str]:  # fmt: skip
    """Return the bytes of a manifest and the digest of the part the chain covers.

    Args:
        entries: What the caller says of the trial; ``key`` (the trial key) is required, ``wall`` is not.
        layout: The channels.
        epoch_utc_ns: UTC at trial time 0.
        flush_every_ns: How often telemetry is made durable, in trial time.
        opened_utc: Wall time, ISO 8601.
        cameras: Whose frames the record may hold.

    Raises:
        UsageError: If an entry is missing, is the recorder's own, or is not strict JSON.
    """
    key = trial_key(entries)
    if taken := [name for name in entries if name in RESERVED and name != "wall"]:
        raise UsageError(f"manifest: {', '.join(taken)}: written by the recorder itself, leave it out")
    if epoch_utc_ns < EARLIEST_EPOCH_NS:
        raise UsageError(
            f"epoch_utc_ns is {epoch_utc_ns}; give nanoseconds since 1970 of a date from 2000 on"
        )
    covered: dict[str, object] = {
        "record_schema": RECORD_SCHEMA,
        "trial_id": trial_id(key),
        "epoch_utc_ns": epoch_utc_ns,
        "flush_every_ns": flush_every_ns,
        **{name: value for name, value in entries.items() if name != "wall"},
        **({"cameras": [camera.json() for camera in cameras]} if cameras else {}),
        "layout": [asdict(channel) for channel in layout],
    }
    lines = [
        strict.dumps(name, "manifest") + b": " + strict.dumps(strict.plain(value), f"manifest.{name}")
        for name, value in covered.items()
    ]
    body = b"{\n" + b",\n".join(lines)
    given = entries.get("wall") or {}
    if not isinstance(given, Mapping):
        raise UsageError('manifest: "wall" must be a mapping of wall-clock facts')
    # Compressed bytes, and so segment digests, may differ between versions of zstd: note which it was.
    facts = {"opened_utc": opened_utc, "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)), **given}
    wall = strict.dumps(strict.plain(facts), "manifest.wall")
    seal = hashlib.sha256(wall).hexdigest().encode()
    return body + _WALL + wall + _SEAL + seal + _END, hashlib.sha256(body).hexdigest()


def parse(data: bytes, source: Path) -> Manifest:
    """Return the manifest in ``data``.

    Raises:
        RecordError: If it is torn, altered where that shows, foreign, or of a version this program
            does not know.
    """
    try:
        entries = strict.loads(data)
    except ValueError as error:
        raise RecordError(f"{source}: not a manifest, or a torn one: {error}") from None
    if not isinstance(entries, dict) or "record_schema" not in entries:
        raise RecordError(f"{source}: not the manifest of a trial record (no record_schema)")
    version = entries["record_schema"]
    if version != RECORD_SCHEMA or isinstance(version, bool):
        raise RecordError(
            f"{source}: record schema {version!r}; this program reads schema {RECORD_SCHEMA}: "
            f"use the version of runrig that wrote it, or a newer one"
        )
    body, found, rest = data.rpartition(_WALL)
    wall, sealed, seal = rest.rpartition(_SEAL)
    if not found or not sealed or not body.startswith(b"{\n"):
        raise RecordError(f"{source}: the wall section is not where it belongs")
    if seal != hashlib.sha256(wall).hexdigest().encode() + _END:
        raise RecordError(f"{source}: altered between bytes {len(body)} and {len(data)}, the wall section")
    try:
        layout = Layout([Channel(**{**c, "audience": Audience(c["audience"])}) for c in entries["layout"]])
        name, epoch_utc_ns = entries["trial_id"], int(entries["epoch_utc_ns"])
        if name != trial_id(entries["key"]):
            raise RecordError(f"{source}: trial id {name} is not that of the key it lists")
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        raise RecordError(f"{source}: not a whole manifest: {error!r}") from None
    cameras = streams_of(entries.get("cameras"))
    return Manifest(entries, name, layout, epoch_utc_ns, hashlib.sha256(body).hexdigest(), cameras)
