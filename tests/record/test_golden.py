"""Records of every released schema stay readable: those under tests/records were written once and are kept.

To add one after a change of schema: `python -m tests.record.test_golden FOLDER`.
"""

import hashlib
import os
import sys
from pathlib import Path

import numpy as np

from rig.core.channel import Trace
from rig.core.event import Kind
from rig.core.record import Anchor, read, verify
from rig.core.record.signing import KEY_ENVIRONMENT
from tests.record.making import LAYOUT, MS, ended, said, writer

SCHEMA_1 = Path(__file__).parents[1] / "records" / "schema1"
HEAD = "28bb98318f8af279e60fe8eb0c2e93d979365bbe2b7fb92f9a4abd0e2bc27206"
SIGNER = "ed25519:1ca298c531a5c83479cc31b090aee02ff54023119d721d5ab0a6c309fb3f189e"
TELEMETRY = "ee59ed28f96f43eb870be612c9df64ae2432cd042672d2cdbb7c489ddc1a4f25"


def fixed_ticks(n, first):
    """Return ticks by arithmetic alone: no generator's stream may change under a golden record."""
    k = np.arange(first, first + n, dtype=np.int64)[:, None] * 7919 + np.arange(len(LAYOUT)) * 104_729
    values = (k % 1000) / 8.0
    values[::37, 0] = np.nan
    t_ns = np.arange(first, first + n, dtype=np.int64) * MS
    return Trace(LAYOUT, t_ns, values, t_ns[:, None] - k % 40 * MS, (k % 4).astype(np.uint8))


def write(folder):
    """Write the golden trial."""
    with writer(folder, chunk_bytes=4000, segment_bytes=20_000, flush_every_ns=100 * MS) as record:
        for k in range(4):
            record.append(said(100 * k))
            record.telemetry(fixed_ticks(100, 100 * k))
        return record.close(ended(401 * MS))


def telemetry_digest(trace):
    parts = (trace.t_ns, trace.values, trace.sampled_ns, trace.quality)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def test_the_record_of_schema_1_reads_as_when_it_was_written():
    record = read(SCHEMA_1)
    assert record.complete and record.head == HEAD
    assert record.layout == LAYOUT
    assert [e.t_ns for e in record.of_kind(Kind.SAID)] == [0, 100 * MS, 200 * MS, 300 * MS]
    assert record.of_kind(Kind.SAID)[2].body == {"who": "agent", "text": "line 200, é"}
    assert telemetry_digest(record.trace()) == TELEMETRY


def test_the_record_of_schema_1_verifies_to_its_signer_and_anchor():
    record = read(SCHEMA_1)
    anchor = Anchor(record.trial_id, len(record.events) - 1, HEAD, "this test")
    assert verify(SCHEMA_1, [anchor], [SIGNER], ["signed", "trusted", "anchored", "ordered"]).ok


def test_what_is_written_today_says_the_same(tmp_path):
    write(tmp_path / "r")
    old, new = read(SCHEMA_1), read(tmp_path / "r")
    assert telemetry_digest(new.trace()) == TELEMETRY
    assert {k: v for k, v in new.manifest.items() if not k.startswith("wall")} == {
        k: v for k, v in old.manifest.items() if not k.startswith("wall")
    }
    # Only compressed sizes and digests may differ, with the version of zstd.
    bare = [[(e.seq, e.t_ns, e.kind, e.source, e.body.get("ticks")) for e in r.events] for r in (old, new)]
    assert bare[0] == bare[1]
    if old.manifest["wall"]["zstd"] == new.manifest["wall"]["zstd"]:
        assert new.head == HEAD


if __name__ == "__main__":
    os.environ.pop(KEY_ENVIRONMENT, None)
    end = write(Path(sys.argv[1]))
    print(f"HEAD = {end.head!r}\nSIGNER = {end.signer!r}")
    print(f"TELEMETRY = {telemetry_digest(read(Path(sys.argv[1])).trace())!r}")
