"""How a record is written: what may be lost, how much may wait, where keys are."""

from dataclasses import dataclass, field
from enum import Enum

from rig.core.errors import UsageError
from rig.core.record.disk import Disk

MIB = 1 << 20


class Full(Enum):
    """What happens to telemetry when the disk does not keep up."""

    WAIT = "wait"  # the loop waits: right where time can wait, on a simulated clock
    DROP = "drop"  # the loop goes on and ticks are dropped, counted and logged: right in real time


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a record is written; the defaults suit a simulated bench.

    Attributes:
        full: What happens when the queue is full.
        queue_bytes: Telemetry that may wait to be written.
        image_bytes: Camera frames that may wait to be written; beyond that frames are dropped or waited for.
        chunk_bytes: Largest uncompressed chunk.
        segment_bytes: Uncompressed telemetry per segment; 128 MiB is about a minute at 1 kHz x 85 channels.
        level: zstd level; 1 keeps up with 500,000 ticks/s, higher ones save a few per cent.
        min_free_bytes: Space asked for before a trial starts.
        reserve_bytes: Space set aside so that a trial ends well on a full disk.
        close_timeout_s: How long closing waits for telemetry to reach the disk.
        disk: The file layer.
    """

    full: Full = Full.WAIT
    queue_bytes: int = 64 * MIB
    image_bytes: int = 32 * MIB
    chunk_bytes: int = MIB
    segment_bytes: int = 128 * MIB
    level: int = 1
    min_free_bytes: int = 64 * MIB
    reserve_bytes: int = 256 * 1024
    close_timeout_s: float = 60.0
    disk: Disk = field(default_factory=Disk)

    def __post_init__(self) -> None:
        sizes = (self.queue_bytes, self.image_bytes, self.chunk_bytes, self.segment_bytes, self.reserve_bytes)
        if min(sizes) <= 0 or self.min_free_bytes < 0 or not self.close_timeout_s > 0:
            raise UsageError("record options: sizes and times must be positive")
        if self.chunk_bytes > MIB:
            raise UsageError(f"record options: chunk_bytes is {self.chunk_bytes}; at most {MIB}")
