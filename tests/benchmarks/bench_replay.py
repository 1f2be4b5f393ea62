"""How fast verify replay runs, end to end from disk, as a multiple of real time at 1 kHz.

    python -m tests.benchmarks.bench_replay [--minutes 10] [--repeats 5]

A fed meal is run once; its telemetry, repeated to the length asked for, is recorded with 32 channels
(those the rules read, and more of the bench's) and with all of the bench's. Beside the whole replay
stand its parts, alone: unpacking zstd, which nothing that reads the files can avoid, decoding, and the
kernel. Not part of the test suite.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from analysis.decisions import Decision
from analysis.recorded_rules import rules_now
from analysis.replay import Replayer, Result, replay
from rig.core.channel import Layout, Trace
from rig.core.clock import MonotonicClock
from rig.core.event import Event, Json, Kind
from rig.core.record import Record, RecordWriter, read
from rig.core.record.files import mapped
from rig.core.record.manifest import RESERVED
from rig.core.record.walk import unpack, walk
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec

TASK, ITEM, CHANNELS = "spoon-feed", "spoon-feed/4-bites/hot-soup", 32
MS = 1_000_000


def seconds(work: Callable[[], object]) -> float:
    clock = MonotonicClock()
    work()
    return clock.now_ns() / 1e9


def narrow(layout: Layout, n: int) -> Layout:
    """Return n channels of a layout: those the rules read first, then others, in the layout's order."""
    read_by_rules = {name for rule in rules_now(TASK, layout).rules for name in rule.channels}
    ranked = sorted(layout, key=lambda c: (c.name not in read_by_rules, layout.index(c.name)))
    return Layout(sorted(ranked[:n], key=lambda c: layout.index(c.name)))


def repeated(trace: Trace, ticks: int) -> Iterator[Trace]:
    """Give a trace over and over, each time later, until there are ``ticks``."""
    left, offset = ticks, 0
    while left > 0:
        part = trace.head(left)
        yield Trace(part.layout, part.t_ns + offset, part.values, part.sampled_ns + offset, part.quality)
        left, offset = left - len(part), offset + int(part.t_ns[-1])


def at_1_khz(trace: Trace) -> Trace:
    """Return the ticks of the fast world alone, one after the other from 1 ms on, as old as they were."""
    fast = np.append(False, np.diff(trace.t_ns) == MS)
    t_ns = np.arange(1, 1 + int(fast.sum())) * MS
    ages_ns = trace.t_ns[fast, None] - trace.sampled_ns[fast]
    return Trace(trace.layout, t_ns, trace.values[fast], t_ns[:, None] - ages_ns, trace.quality[fast])


def chosen(trace: Trace, names: Sequence[str]) -> Trace:
    """Return some channels of a trace."""
    at = [trace.layout.index(name) for name in names]
    values, sampled_ns, quality = (
        np.ascontiguousarray(x[:, at]) for x in (trace.values, trace.sampled_ns, trace.quality)
    )
    return Trace(Layout([trace.layout[name] for name in names]), trace.t_ns, values, sampled_ns, quality)


def verdict_event(d: Decision) -> Event:
    body: dict[str, Json] = {
        "rule": d.rule, "holds": d.holds, "margin": d.margin, "unit": d.unit, "values": {**d.values},
        "ages_s": {**d.ages_s},
    }  # fmt: skip
    return Event(d.t_ns, Kind.VERDICT, "monitor", body)


def write(folder: Path, like: Record, layout: Layout, minutes: float) -> None:
    """Record repeated telemetry with the decisions of the monitor over it."""
    rules = rules_now(TASK, layout)
    configuration = like.manifest["configuration"]
    assert isinstance(configuration, Mapping)
    entries: dict[str, Json] = {k: v for k, v in like.manifest.items() if k not in RESERVED}
    entries["configuration"] = {**configuration, "rules": rules.digest}
    replayer = Replayer(rules, layout)
    trace = at_1_khz(like.trace(channels=layout.names))
    with RecordWriter(
        folder, entries, layout, epoch_utc_ns=like.epoch_utc_ns, flush_every_ns=60_000 * MS
    ) as out:
        for part in repeated(trace, round(minutes * 60_000)):
            for decision in replayer.feed(chosen(part, replayer.channels)):
                out.append(verdict_event(decision))
            out.telemetry(part)
        out.close(Event(replayer.last_ns, Kind.TRIAL_ENDED, "benchmark", {"ending": "finished"}))


def unpacked(record: Record) -> None:
    for path in record.segments:
        data = mapped(path)
        for ref in walk(data).chunks:
            unpack(data, ref)


def measure(record: Record, repeats: int) -> dict[str, list[float]]:
    """Return multiples of real time of the whole replay and of its parts, interleaved."""
    rules = rules_now(TASK, record.layout)
    found: dict[str, list[float]] = {}
    seen = record.trace(channels=Replayer(rules, record.layout).channels)
    span_s = float(seen.t_ns[-1]) / 1e9

    def whole() -> None:
        result = replay(record)
        assert result.result is Result.IDENTICAL and result.ticks == len(seen), result

    parts: dict[str, Callable[[], object]] = {
        "unpack zstd and check its sums, one thread": lambda: unpacked(record),
        "decode what the rules read": lambda: sum(
            len(t) for t in record.stretches(Replayer(rules, record.layout).channels)
        ),
        "kernel": lambda: list(Replayer(rules, record.layout).feed(seen)),
        "verify replay from disk": whole,
    }
    for _ in range(repeats):
        for name, work in parts.items():
            found.setdefault(name, []).append(span_s / seconds(work))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        source = Path(out) / "source"
        run_trial(TrialSpec(item=ITEM, agent="hasty", bench="sim", monitor="guard", seed=1), source)
        like = read(source)
        for layout in (narrow(like.layout, CHANNELS), like.layout):
            folder = Path(out) / str(len(layout))
            write(folder, like, layout, args.minutes)
            record = read(folder)
            rules = rules_now(TASK, layout)
            print(
                f"\n{len(layout)} channels at 1 kHz for {args.minutes:g} min, {len(rules.rules)} rules over "
                f"{len(Replayer(rules, layout).channels)} of them, {len(record.of_kind(Kind.VERDICT))} decisions"
            )
            for name, times in measure(record, args.repeats).items():
                print(f"  {name:44s} {statistics.median(times):7,.0f} x real time (best {max(times):,.0f})")


if __name__ == "__main__":
    main()
