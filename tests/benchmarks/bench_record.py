"""How fast records are written, read and followed, each against what the plain mcap package does.

    python -m tests.benchmarks.bench_record [--quick]

Prints one table; ratios are of figures measured in the same run. Not part of the test suite. Lateness of
the real-time loop means little on a busy machine without the priority a rig gives it: put
`chrt -f 50` in front.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.reader import make_reader
from mcap.writer import Writer

from rig.core.channel import Channel, Layout, Trace
from rig.core.clock import MonotonicClock
from rig.core.event import Event, Kind
from rig.core.record import Full, Options, RecordWriter, read, verify, wire

EPOCH_NS = 1_772_000_000_000_000_000
MS = 1_000_000
END = Event(0, Kind.TRIAL_ENDED, "benchmark", {"ending": "done"})


def layout_of(c: int) -> Layout:
    return Layout(
        [
            Channel(name=f"channel.{i}", unit="N", low=-9, high=9, period_s=0.001, stale_after_s=1)
            for i in range(c)
        ]
    )


def trace_of(layout: Layout, n: int, first: int) -> Trace:
    """Return ticks as a bench gives them: a third noisy, a third held for 10 ms, a third constant."""
    rng, c = np.random.default_rng(first), len(layout)
    k = c // 3
    t_ns = np.arange(first, first + n, dtype=np.int64) * MS
    values = np.tile(np.arange(c, dtype=np.float64), (n, 1))
    values[:, :k] = rng.normal(0, 1, (n, k)).round(3)
    values[:, k : 2 * k] = np.repeat(rng.normal(0, 1, (n // 10 + 1, k)).round(4), 10, 0)[:n]
    sampled = np.repeat(t_ns[:, None], c, 1)
    sampled[:, k : 2 * k] = (t_ns // (10 * MS) * (10 * MS))[:, None]
    return Trace(layout, t_ns, values, sampled, np.zeros((n, c), np.uint8))


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of some runs."""
    best = float("inf")
    for _ in range(repeats):
        clock = MonotonicClock()
        work()
        best = min(best, clock.now_ns() / 1e9)
    return best


def record(folder: Path, layout: Layout, traces: Sequence[Trace], flush_every_ns: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with RecordWriter(
        folder,
        {"key": {"benchmark": len(layout)}},
        layout,
        epoch_utc_ns=EPOCH_NS,
        flush_every_ns=flush_every_ns,
    ) as out:
        for trace in traces:
            out.telemetry(trace)
        out.close(END)


def message_class(layout: Layout) -> type:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(wire.descriptor(layout)).file:
        pool.Add(file)
    kind: type = message_factory.GetMessageClass(pool.FindMessageTypeByName(wire.MESSAGE_TYPE))
    return kind


def plainly(path: Path, layout: Layout, trace: Trace) -> None:
    """Write the same messages the usual way: a protobuf object per tick, `Writer.add_message`."""
    kind, names = message_class(layout), wire.field_names(layout)
    ages = (trace.t_ns[:, None] - trace.sampled_ns).tolist()
    values, quality = trace.values.tolist(), trace.quality.tolist()
    with path.open("wb") as file:
        out = Writer(file)
        out.start()
        schema = out.register_schema(wire.MESSAGE_TYPE, "protobuf", wire.descriptor(layout))
        channel = out.register_channel(wire.TOPIC, "protobuf", schema)
        for k, t_ns in enumerate(trace.t_ns.tolist()):
            message = kind(
                t_ns=t_ns,
                age_ns=dict(zip(names, ages[k], strict=True)),
                quality=dict(zip(names, quality[k], strict=True)),
                **dict(zip(names, values[k], strict=True)),
            )
            out.add_message(channel, EPOCH_NS + t_ns, message.SerializeToString(), EPOCH_NS + t_ns, k)
        out.finish()


def encoded(path: Path, layout: Layout, trace: Trace) -> None:
    """Write messages that are serialised already: the container's cost alone."""
    rows = np.repeat(wire.template(len(layout)), len(trace))
    wire.encode(trace, 0, EPOCH_NS, rows)
    data = [row.tobytes()[31:] for row in rows]
    with path.open("wb") as file:
        out = Writer(file)
        out.start()
        schema = out.register_schema(wire.MESSAGE_TYPE, "protobuf", wire.descriptor(layout))
        channel = out.register_channel(wire.TOPIC, "protobuf", schema)
        for k, t_ns in enumerate(trace.t_ns.tolist()):
            out.add_message(channel, EPOCH_NS + t_ns, data[k], EPOCH_NS + t_ns, k)
        out.finish()


def decoded_plainly(path: Path, layout: Layout, n: int) -> None:
    kind, names = message_class(layout), wire.field_names(layout)
    with path.open("rb") as file:
        for k, (_, _, message) in enumerate(make_reader(file).iter_messages(topics=wire.TOPIC)):
            tick = kind.FromString(message.data)
            [getattr(tick, name) for name in names]
            if k == n:
                return


def writing(place: Path, c: int, n: int) -> None:
    layout = layout_of(c)
    traces = [trace_of(layout, 5000, first) for first in range(0, n, 5000)]
    for flush_ms in (1000, 100):
        ours = n / seconds(lambda f=flush_ms: record(place / "r", layout, traces, f * MS))
        line(f"write, {c} channels, durable each {flush_ms} ms of trial", ours, "ticks/s")
    few = trace_of(layout, min(n, 5000), 0)
    plain = len(few) / seconds(lambda: plainly(place / "plain.mcap", layout, few), 1)
    line("  plain mcap writer, a protobuf object per tick", plain, "ticks/s", ours / plain)
    ready = len(few) / seconds(lambda: encoded(place / "ready.mcap", layout, few), 1)
    line("  plain mcap writer, messages serialised in bulk by us", ready, "ticks/s", ours / ready)
    size = sum(p.stat().st_size for p in (place / "r").glob("*.mcap")) / n
    line("  size on disk", size, "bytes/tick")


def reading(place: Path, c: int, n: int) -> None:
    layout = layout_of(c)
    record(place / "r", layout, [trace_of(layout, 5000, first) for first in range(0, n, 5000)], 100 * MS)
    found = read(place / "r")
    whole = n / seconds(found.trace)
    line(f"read, {c} channels, one trace", whole, "ticks/s")
    fed = n / seconds(lambda: [len(part) for part in read(place / "r").stretches()])
    line("  stretch by stretch (what a replay is fed)", fed, "ticks/s")
    line("  as a multiple of real time at 1 kHz", fed / 1000, "x")
    first = sorted((place / "r").glob("*.mcap"))[0]
    few = min(n, 20_000)
    plain = few / seconds(lambda: decoded_plainly(first, layout, few), 1)
    line("  plain mcap reader and protobuf", plain, "ticks/s", fed / plain)
    line("  verify (hashes of everything)", n / seconds(lambda: verify(place / "r")), "ticks/s")


def events(place: Path, n: int) -> None:
    layout, clock, taken = layout_of(2), MonotonicClock(), []
    with RecordWriter(
        place / "e", {"key": {"b": 1}}, layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=MS
    ) as out:
        for k in range(n):
            start = clock.now_ns()
            out.append(Event(k, Kind.NOTED, "benchmark", {"text": "x" * 80}))
            taken.append((clock.now_ns() - start) / 1e3)
    line("event acknowledged (written and synced), median", statistics.median(taken), "us")
    line("  99th percentile", float(np.percentile(taken, 99)), "us")
    line("read events", n / seconds(lambda: read(place / "e")), "events/s")
    shutil.rmtree(place / "e")


def lateness(place: Path, c: int, span_s: float) -> None:
    """Run a 1 kHz loop in real time, by turns with and without recording; how late does it wake?"""
    layout, turns = layout_of(c), 5
    n = int(span_s * 1000 / turns)
    late: dict[bool, list[int]] = {False: [], True: []}

    def loop(first: int, out: RecordWriter | None) -> None:
        rows = [trace_of(layout, 1, first + k) for k in range(n)]
        clock = MonotonicClock()
        for k, row in enumerate(rows, 1):
            clock.sleep_until(k * MS)
            late[out is not None].append(clock.now_ns() - k * MS)
            if out is not None:
                out.telemetry(row)

    with RecordWriter(
        place / "l", {"key": {"b": 2}}, layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=100 * MS,
        options=Options(full=Full.DROP),
    ) as out:  # fmt: skip
        for turn in range(turns):
            loop(turn * n, None)
            loop(turn * n, out)
        dropped = out.close(END).counts.dropped
    idle, busy = (np.percentile(late[on], [50, 99]) / 1e3 for on in (False, True))
    line(f"1 kHz loop, {c} channels, lateness without recording, median", idle[0], "us")
    line("  with recording", busy[0], "us", busy[0] / idle[0])
    line("  without recording, 99th percentile", idle[1], f"us ({sum(x > MS for x in late[False])} > 1 ms)")
    told = f"us ({sum(x > MS for x in late[True])} > 1 ms, {dropped} dropped)"
    line("  with recording, 99th percentile", busy[1], told, busy[1] / idle[1])
    shutil.rmtree(place / "l")


def line(what: str, figure: float, unit: str, ratio: float | None = None) -> None:
    times = "" if ratio is None else f"   x{ratio:,.1f}"
    sys.stdout.write(f"{what:<62} {figure:>14,.1f} {unit}{times}\n")
    sys.stdout.flush()


def main() -> None:
    quick = argparse.ArgumentParser(description=__doc__)
    quick.add_argument("--quick", action="store_true", help="a tenth of the work")
    share = 10 if quick.parse_args().quick else 1
    place = Path(tempfile.mkdtemp(prefix="bench-record-"))
    try:
        writing(place, 85, 200_000 // share)
        reading(place, 32, 500_000 // share)
        events(place, 5000 // share)
        lateness(place, 32, 10 / share)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
