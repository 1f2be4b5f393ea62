"""How fast the monitor is, beside public monitors, in one run: ``python -m tests.benchmarks.bench_monitor``.

The same 16 rules over 12 channels at 1 kHz for everybody; times are CPU times, and only ratios of
one run mean anything. Peers that are not installed are named and left out. The latency part starts
the monitor's own process and loads the other core.
"""

import argparse
import math
import multiprocessing
import re
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from rig.core.bench import load_bench
from rig.core.channel import Channel, Layout, Snapshot, Trace
from rig.core.clock import MonotonicClock
from safety_monitor import nodes as n
from safety_monitor.cache import is_cached, load_module
from safety_monitor.kernel import Timing, compile_source
from safety_monitor.margins import margin_source
from safety_monitor.process import RemoteMonitor
from safety_monitor.realtime import Loop
from safety_monitor.rules import load_rules, rule_files

MS = 1_000_000
NAMES = tuple(f"c{i}" for i in range(12))
LAYOUT = Layout(
    [Channel(name=c, unit="1", low=-100.0, high=100.0, period_s=0.001, stale_after_s=0.02) for c in NAMES]
)
X = [n.Measured(c, "1", -100.0, 100.0, 20 * MS) for c in NAMES]


def above(i, limit):
    """Return a comparison as ours, and as text for the peers."""
    return n.Compare(">", X[i], n.Constant(limit, "1")), f"(c{i} > {limit})"


def below(i, limit):
    """Return the opposite comparison."""
    return n.Compare("<", X[i], n.Constant(limit, "1")), f"(c{i} < {limit})"


def always(p, w):
    """Return historically over ``w`` steps."""
    return n.Not(n.Within(n.Not(p[0]), w * MS)), f"(historically[0{{0}}{w}] {p[1]})"


def once(p, w):
    """Return once over ``w`` steps."""
    return n.Within(p[0], w * MS), f"(once[0{{0}}{w}] {p[1]})"


def implies(p, q):
    """Return (not p) or q."""
    return n.Or((n.Not(p[0]), q[0])), f"((not {p[1]}) or {q[1]})"


def sixteen():
    """Return the 16 rules as (ours, text)."""
    added = n.Compare("<", n.Arithmetic("+", X[3], X[4], "1"), n.Constant(9.0, "1")), "((c3 + c4) < 9.0)"
    p, q = above(9, 2.5), once(above(10, 2.5), 300)
    a, b, c, d = below(0, 4.0), above(1, 2.0), above(2, 3.5), below(3, 4.5)
    e, f = below(6, 3.0), above(7, 2.0)
    return [
        always(below(0, 4.0), 50), always(below(1, 4.0), 200), always(below(2, 4.0), 1000), always(added, 500),
        always(below(5, 4.0), 2000),
        implies(above(0, 2.0), once(above(1, 1.0), 100)), implies(above(2, 2.0), once(above(3, 1.0), 500)),
        implies(above(4, 2.0), always(below(5, 4.0), 200)), implies(above(6, 2.0), once(below(7, 0.0), 1000)),
        implies(above(8, 2.0), always(below(9, 4.0), 100)),
        (n.Not(n.And((p[0], q[0]))), f"(not ({p[1]} and {q[1]}))"),
        once(above(11, 0.5), 300),
        (n.Since(a[0], b[0], n.FOREVER), f"({a[1]} since {b[1]})"),
        (n.Within(c[0], n.FOREVER), f"(once {c[1]})"),
        (n.Not(n.Within(n.Not(d[0]), n.FOREVER)), f"(historically {d[1]})"),
        (n.Since(e[0], f[0], 300 * MS), f"({e[1]} since[0{{0}}300] {f[1]})"),
    ]  # fmt: skip


def signals(ticks, seed=0):
    """Return a trace of smooth noise, regular at 1 kHz."""
    rng = np.random.default_rng(seed)
    values, state = np.empty((ticks, len(NAMES))), np.zeros(len(NAMES))
    for k in range(ticks):
        state = 0.98 * state + 0.3 * rng.standard_normal(len(NAMES))
        values[k] = state
    t = np.arange(ticks, dtype=np.int64) * MS
    stamps = np.repeat(t[:, None], len(NAMES), axis=1)
    return Trace(LAYOUT, t, values, stamps, np.zeros(values.shape, np.uint8))


def best_ns(work, per, repeats=7):
    """Return the least CPU time of ``work`` divided by ``per``, in ns."""
    least = math.inf
    for _ in range(repeats):
        begin = time.process_time_ns()
        work()
        least = min(least, time.process_time_ns() - begin)
    return least / per


def show(what, tick_ns, rules, against=None):
    """Print a line: ns per tick, per rule, and how many times ours it is."""
    each, ratio = tick_ns / rules, ""
    if against is not None:
        ratio = f"  {each / against[0]:>9,.0f}x loop  {each / against[1]:>8,.1f}x call"
    print(f"  {what:<44} {tick_ns:>12,.0f} ns/tick {each:>11,.1f} ns/rule{ratio}")


def looped(program, trace):
    """Return the work of running a kernel over a trace in its own compiled loop."""
    until = load_module(program.source).until
    columns = (trace.t_ns, trace.values, trace.sampled_ns, trace.quality)

    def work():
        floats, integers, k = program.floats.copy(), program.integers.copy(), 0
        while (k := until(k, *columns, floats, integers) + 1) < len(trace):
            pass

    return work


def ours(rules, trace):
    """Print our own figures; return ns per sample and rule in a loop and called from Python."""
    nodes = [x for x, _ in rules]
    program = compile_source(nodes, [Timing(0, 50 * MS, 100 * MS)] * len(rules), LAYOUT)
    cached, begin = is_cached(program.source), time.perf_counter()
    step = load_module(program.source).step
    print(f"  kernel ready in {time.perf_counter() - begin:.2f} s ({'from disk' if cached else 'compiled'})")
    rows = [
        (int(trace.t_ns[k]), trace.values[k], trace.sampled_ns[k], trace.quality[k]) for k in range(20_000)
    ]

    def called():
        floats, integers = program.floats.copy(), program.integers.copy()
        for t, x, s, q in rows:
            step(t, x, s, q, floats, integers)

    source, f, i = margin_source(nodes, LAYOUT)
    module, margins = load_module(source), np.empty((len(trace), len(rules)))

    def margin_loop():
        columns = (trace.t_ns, trace.values, trace.sampled_ns, trace.quality)
        module.replay(*columns, f.copy(), i.copy(), margins)

    loop = looped(program, trace)
    loop(), margin_loop()
    tick_ns, margin_ns = best_ns(loop, len(trace)), best_ns(margin_loop, len(trace))
    call_ns = best_ns(called, len(rows))
    show("ours, verdicts in three values, loop", tick_ns, len(rules))
    show("ours, margins, loop", margin_ns, len(rules))
    show("ours, verdicts and margins, loop", tick_ns + margin_ns, len(rules))
    show("ours, verdicts, one Python call a tick", call_ns, len(rules))
    return tick_ns / len(rules), call_ns / len(rules)


def variables(text):
    """Return the columns a rule's text uses."""
    return sorted({int(i) for i in re.findall(r"c(\d+)", text)})


def specified(spec, text):
    """Return one of RTAMT's specifications with a rule in it, and only the variables that uses."""
    for i in variables(text):
        spec.declare_var(NAMES[i], "float")
    spec.spec = text.format(":")
    spec.parse()
    return spec


def rtamt(rules, trace, base):
    """Print RTAMT's figures: one monitor per rule, only the variables it uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rtamt as peer
    ticks, total = 400, 0.0
    for _, text in rules:
        spec, used = specified(peer.StlDiscreteTimeOnlineSpecification(), text), variables(text)
        rows = [[(NAMES[i], float(trace.values[k, i])) for i in used] for k in range(ticks)]
        begin = time.process_time_ns()
        for k, row in enumerate(rows):
            spec.update(k, row)
        total += (time.process_time_ns() - begin) / ticks
    show("RTAMT, Python, online", total, len(rules), base)


def sentil(rules, trace, base):
    """Print sentil's figures: all rules in one call a tick, its cheapest form."""
    import sentil as peer

    monitor, ticks = peer.MultiMonitor(), 20_000
    for r, (_, text) in enumerate(rules):
        monitor.add(f"r{r}", peer.parse(text.format(",")))
    rows = [dict(zip(NAMES, map(float, trace.values[k]), strict=True)) for k in range(ticks)]
    begin = time.process_time_ns()
    for k, row in enumerate(rows):
        monitor.update(float(k), row)
    show("sentil, all rules in one call, online", (time.process_time_ns() - begin) / ticks, len(rules), base)


def replayed_by_sentil(rules, trace, base):
    """Print sentil's figures over a whole trace at once: per-sample verdicts, and per-sample robustness."""
    import sentil as peer

    ticks = 20_000
    whole = peer.Trace.indexed(ticks)
    for i, name in enumerate(NAMES):
        whole.add_signal(name, trace.values[:ticks, i].tolist())
    formulas = [peer.parse(text.format(",")) for _, text in rules]
    begin = time.process_time_ns()
    for formula in formulas:
        peer.OnlineMonitor(formula).run(whole)
    show("sentil, verdicts, replay", (time.process_time_ns() - begin) / ticks, len(rules), base)
    begin = time.process_time_ns()
    for formula in formulas:
        formula.robustness_signal(whole)
    show("sentil, robustness, replay", (time.process_time_ns() - begin) / ticks, len(rules), base)


def replayed_by_rtamt(rules, trace, base):
    """Print RTAMT's figures over a whole trace at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rtamt as peer
    ticks, total = 2000, 0.0
    for _, text in rules:
        spec = specified(peer.StlDiscreteTimeOfflineSpecification(), text)
        data = {"time": list(range(ticks))} | {
            NAMES[i]: trace.values[:ticks, i].tolist() for i in variables(text)
        }
        begin = time.process_time_ns()
        spec.evaluate(data)
        total += (time.process_time_ns() - begin) / ticks
    show("RTAMT, Python, replay", total, len(rules), base)


def reelay(rules, trace, base, semantics):
    """Print Reelay's figures: one monitor per rule; it has no sums, so one rule reads a single channel."""
    import reelay as peer

    ticks, total = 20_000, 0.0
    for _, text in rules:
        rye = re.sub(r"\(c(\d+) ([<>]) (-?[\d.]+)\)", r"{c\1 \2 \3}", text.replace("(c3 + c4)", "c3"))
        monitor = peer.discrete_timed_monitor(pattern=rye.replace("{0}", ":"), semantics=semantics)
        rows = [{NAMES[i]: float(trace.values[k, i]) for i in variables(text)} for k in range(ticks)]
        begin = time.process_time_ns()
        for row in rows:
            monitor.update(row)
        total += (time.process_time_ns() - begin) / ticks
    show(f"Reelay, discrete {semantics}, online", total, len(rules), base)


def shipped(ticks):
    """Print what the rule sets that come with the project cost on the simulated bench's channels."""
    layout, rng = load_bench("sim").layout, np.random.default_rng(0)
    t = np.arange(ticks, dtype=np.int64) * MS
    low = np.array([c.low for c in layout])
    high = np.array([min(c.high, c.low + 100) for c in layout])
    values = low + (high - low) * np.repeat(rng.random((ticks // 50, len(layout))), 50, axis=0)
    stamps = np.repeat(t[:, None], len(layout), axis=1)
    trace = Trace(layout, t, values, stamps, np.zeros(values.shape, np.uint8))
    for task in ("spoon-feed", "bed-watch"):
        rules = load_rules(rule_files(task), layout).rules
        program = compile_source([r.violated for r in rules], [r.timing for r in rules], layout)
        work = looped(program, trace)
        work()
        show(f"{task}: {len(rules)} rules, {len(layout)} channels", best_ns(work, ticks), len(rules))


TOGGLE = """
text = "a rule that changes on every tick"
author_role = "benchmark"
status = "draft-unsigned"
review_date = 2026-01-01
[rule.toggle]
template = "never"
condition = "c0 > 0.5"
protects = "c"
severity = "critical"
harm = "h"
irreversible = "i"
signal = "model"
max_age = "channel"
benign_margin = "b"
response = "hold"
response_time = "100 ms"
grace = "50 ms"
clear = "0 s"
"""


def hog():
    """Keep a core busy."""
    while True:
        pass


def latency(seconds, loop):
    """Print the time from a snapshot published to its verdict, with and without the other core loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.toml"
        path.write_text(TOGGLE)
        for loaded in (False, True):
            busy = multiprocessing.get_context("spawn").Process(target=hog, daemon=True) if loaded else None
            if busy is not None:
                busy.start()
            with RemoteMonitor([path], LAYOUT, loop) as monitor:
                took, vitals = latencies(monitor, seconds), monitor.vitals()
            if busy is not None:
                busy.kill()
                busy.join()
            p = np.quantile(took, [0.5, 0.99, 0.999, 1.0]) / 1e3
            print(
                f"  {'one core loaded' if loaded else 'otherwise idle':<16} {vitals.priority}: p50 {p[0]:.0f} us, "
                f"p99 {p[1]:.0f} us, p99.9 {p[2]:.0f} us, max {p[3]:.0f} us; {len(took)} verdicts, "
                f"{vitals.missed} rows lost, {vitals.overruns} overruns"
            )


def latencies(monitor, seconds):
    """Return the latency of every verdict, in ns, over some seconds at 1 kHz."""
    clock, values, took = MonotonicClock(), np.zeros(len(NAMES)), []
    stamps, quality = np.empty(len(NAMES), np.int64), np.zeros(len(NAMES), np.uint8)
    monitor.changes()
    for k in range(int(seconds * 1000)):
        clock.sleep_until((k + 1) * MS)
        values[0], stamps[:] = float(k % 2), clock.now_ns()
        monitor.send(Snapshot(LAYOUT, int(stamps[0]), values, stamps, quality))
        if k % 50 == 49:
            seen = (c for c in monitor.changes() if c.kind == "changed" and c.row >= 0)
            took += [c.verdict_ns - c.ingest_ns for c in seen]
    return np.array(took, dtype=np.float64)


def main():
    """Run the benchmark and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ticks", type=int, default=200_000, help="length of the trace")
    parser.add_argument("--latency", type=float, default=10.0, metavar="SECONDS", help="0 leaves latency out")
    parser.add_argument(
        "--pause", type=float, default=Loop().sleep_ns / 1e3, metavar="US", help="of the loop"
    )
    args = parser.parse_args()
    rules, trace = sixteen(), signals(max(args.ticks, 20_000))
    print(f"16 rules, 12 channels, 1 kHz, {len(trace)} ticks; CPU time")
    base = ours(rules, trace)
    peers = {
        "sentil": sentil,
        "Reelay (verdicts)": partial(reelay, semantics="boolean"),
        "Reelay (robustness)": partial(reelay, semantics="robustness"),
        "RTAMT": rtamt,
        "sentil (replay)": replayed_by_sentil,
        "RTAMT (replay)": replayed_by_rtamt,
    }
    for name, peer in peers.items():
        try:
            peer(rules, trace, base)
        except ImportError as error:
            print(f"  {name}: not installed, left out ({error})")
    print("rule sets of this project, in a loop")
    shipped(100_000)
    if args.latency > 0:
        print("snapshot published to verdict, own process, 1 kHz")
        latency(args.latency, Loop(sleep_ns=round(args.pause * 1e3)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
