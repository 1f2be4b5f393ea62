"""A trial's record: written so that nothing acknowledged is lost and nothing altered goes unseen.

A record is a folder: ``manifest.json``, ``events.jsonl`` (the chain), ``telemetry.NNNN.mcap`` and
``checkpoint.dsse.json``. Write one with `RecordWriter`, read it with `read`, check it with `verify`.
"""

from rig.core.record.chain import StoredEvent
from rig.core.record.checking import verify
from rig.core.record.export import export_csv, export_parquet
from rig.core.record.images import Image, Stream
from rig.core.record.manifest import RECORD_SCHEMA, trial_id
from rig.core.record.options import Full, Options
from rig.core.record.reader import Record, read, records_under
from rig.core.record.recovery import Recovery, recover
from rig.core.record.redact import Redaction, redact
from rig.core.record.signing import read_trusted
from rig.core.record.tail import Tail
from rig.core.record.verdicts import Anchor, Check, Status, Verification
from rig.core.record.writer import Ended, RecordWriter

__all__ = [
    "RECORD_SCHEMA",
    "Anchor",
    "Check",
    "Ended",
    "Full",
    "Image",
    "Options",
    "Record",
    "RecordWriter",
    "Recovery",
    "Redaction",
    "Status",
    "StoredEvent",
    "Stream",
    "Tail",
    "Verification",
    "export_csv",
    "export_parquet",
    "read",
    "read_trusted",
    "records_under",
    "recover",
    "redact",
    "trial_id",
    "verify",
]
