"""Trials that are killed: forked children record, the parent kills them at random moments.

Run as a program, so that forking happens in a process without threads. Prints, per trial, how many
events had been acknowledged when the child died.
"""

import contextlib
import json
import os
import signal
import struct
import sys
from pathlib import Path

import numpy as np

from tests.record.making import MS, ended, said, ticks, writer


def trial(folder, report, k):
    """Record without end, telling the parent every acknowledged event."""
    with writer(folder, chunk_bytes=2000, segment_bytes=20_000, flush_every_ns=7 * MS) as record:
        end = 40 + k % 60
        for n in range(end):
            record.telemetry(ticks(20, 20 * n))
            report(record.append(said(20 * n)))
        report(record.append(ended(20 * end * MS)))


def kill_at_random(folder, rng, k):
    """Return the sequence number of the last event acknowledged before the kill, -1 if none."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        with contextlib.suppress(BaseException):
            trial(folder, lambda seq: os.write(into, struct.pack("<i", seq)), k)
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as acknowledged:
        heard = acknowledged.read(4 * int(rng.integers(0, 110)))
        for _ in range(int(rng.integers(0, 30_000))):
            pass  # a moment more, so that the kill falls anywhere between two events
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        heard += acknowledged.read()
    whole = len(heard) // 4 * 4
    return struct.unpack("<i", heard[whole - 4 : whole])[0] if whole else -1


def main(out, n, seed):
    rng = np.random.default_rng(seed)
    for k in range(n):
        folder = Path(out) / f"{k:03d}"
        print(json.dumps([folder.name, kill_at_random(folder, rng, k)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
