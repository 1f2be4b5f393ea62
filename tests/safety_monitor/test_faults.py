"""The table of faults: whatever goes wrong with a reading, the clock or the process, what must come of it.

One rule watches a force near a face, grace 50 ms; another a limit on how fast the force may change;
another that it does not stand still. Each row breaks one thing and names the reaction: ``violated``
(the rule acts), ``lost`` (unknown past its grace: it acts as well) or ``withheld`` (motion is no
longer permitted). None of them may pass in silence.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from rig.core.channel import Quality
from safety_monitor.kernel import BACKWARDS, FROZEN, FROZEN_TICKS
from safety_monitor.monitor import Monitor
from safety_monitor.process import RemoteMonitor
from safety_monitor.ring import CAPACITY, WORD, word
from safety_monitor.rules import load_rules
from tests.safety_monitor.test_process import Feed
from tests.safety_monitor.worlds import HEAD, LAYOUT, MS, World, rule, write

GRACE_NS = 50 * MS
RULES = (
    rule("press", condition="force > 4 N", scope="gap < 0.1 m")
    + rule("jump", condition="abs(rate(force)) > 1000 N/s")
    + rule("stuck", condition="unchanged(force) > 3 s")
    + rule("pair", condition="abs(flag - 0) > 0.5")
)


@pytest.fixture(scope="module")
def ruleset(tmp_path_factory):
    paths, limits = write(tmp_path_factory.mktemp("rules"), RULES)
    return load_rules(paths, LAYOUT, limit_paths=limits)


@pytest.fixture
def monitor(ruleset):
    return Monitor(ruleset, LAYOUT)


class Bench:
    """A live force sensor: 2 N with noise, a millisecond a tick; a fault changes the world at each tick."""

    def __init__(self, monitor):
        self.monitor, self.world = monitor, World(LAYOUT, force=2.0, gap=0.05)
        self._rng = np.random.default_rng(0)
        self.k = 0
        for _ in range(50):
            self.tick(nothing)
        assert not self.attention()
        self.k = 0

    def tick(self, fault):
        self.before = float(self.world.values[LAYOUT.index("force")])
        self.world.set(force=2.0 + 0.01 * float(self._rng.integers(-3, 4)))
        fault(self)
        self.monitor.step(self.world.snapshot())
        self.k += 1
        self.world.t_ns += MS

    def attention(self):
        """Return the rules that do not hold, and how: violated or lost."""
        return {
            v.rule.id: "lost" if v.holds is None else "violated"
            for v in self.monitor.verdicts()
            if v.holds is not True
        }


def nothing(bench):
    pass


def reads(value):
    return lambda bench: bench.world.set(force=value)


def missing(bench):
    bench.world.lose("force")


def silent(bench):  # the last sample grows old
    bench.world.stamps.setdefault("force", bench.world.t_ns - MS)


def late_spike(bench):  # nothing for 15 ms, then samples that were 15 ms on the way; the age limit is 20 ms
    held = bench.k < 15
    bench.world.stamps["force"] = bench.world.t_ns - (bench.k + 1 if held else 15) * MS
    bench.world.set(force=bench.before if held else 5.0)


def duplicate_spike(bench):
    if bench.k:
        bench.world.stamps["force"] = bench.world.t_ns - bench.k * MS
        bench.world.set(force=5.0)


def disordered_spike(bench):
    if bench.k == 3:
        bench.world.stamps["force"] = bench.world.t_ns - 4 * MS
        bench.world.set(force=5.0)
    else:
        bench.world.stamps.pop("force", None)


def clock_back(bench):
    if bench.k == 0:
        bench.world.t_ns -= 1000 * MS


def clock_forward(bench):  # an hour in one tick; the readings are an hour old then
    if bench.k == 0:
        bench.world.stamps = {c.name: bench.world.t_ns for c in LAYOUT}
        bench.world.t_ns += 3_600_000 * MS


def clock_frozen(bench):
    bench.world.t_ns -= MS


def wrapped(bench):  # a counter of 32 bits of nanoseconds starts again
    if bench.k == 0:
        bench.world.t_ns -= 1 << 32


def unit_slip(bench):  # grams-force for newtons: 2 N read as 204, beyond the sensor's range
    bench.world.set(force=2.0 * 101.97)


def swapped(bench):  # the cable of another sensor: a gap of 0.05 in a channel of newtons, a force in the gap
    bench.world.set(force=0.05, gap=2.0)


def half_rate(bench):  # every other sample is missing, and the force is too high
    bench.world.stamps["force"] = bench.world.t_ns - bench.k % 2 * MS
    bench.world.set(force=5.0)


def flood(bench):  # jumps faster than any force can
    bench.world.set(force=0.5 if bench.k % 2 else 3.5)


@dataclass(frozen=True)
class Row:
    """One fault: what is done for how many ticks, which rule must react, and how."""

    fault: Callable
    ticks: int
    rule: str
    reaction: str


TABLE = {
    "NaN": Row(reads(np.nan), 60, "press", "lost"),
    "plus infinity": Row(reads(np.inf), 60, "press", "lost"),
    "minus infinity": Row(reads(-np.inf), 60, "press", "lost"),
    "denormal": Row(reads(5e-324), 3200, "stuck", "violated"),
    "missing": Row(missing, 60, "press", "lost"),
    "silent": Row(silent, 90, "press", "lost"),
    "late, with a spike": Row(late_spike, 17, "press", "violated"),
    "duplicate, with a spike": Row(duplicate_spike, 2, "press", "violated"),
    "out of order, with a spike": Row(disordered_spike, 4, "press", "violated"),
    "clock steps back": Row(clock_back, 900, "press", "lost"),
    "clock steps forward": Row(clock_forward, 60, "press", "lost"),
    "clock freezes": Row(clock_frozen, FROZEN_TICKS + 60, "press", "lost"),
    "counter wraps": Row(wrapped, 900, "press", "lost"),
    "stuck": Row(reads(2.0), 3200, "stuck", "violated"),
    "unit slip": Row(unit_slip, 60, "press", "lost"),
    "swapped channels": Row(swapped, 3200, "stuck", "violated"),
    "halved rate, with a spike": Row(half_rate, 2, "press", "violated"),
    "jumps": Row(flood, 10, "jump", "violated"),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_fault_has_the_reaction_the_table_declares(name, monitor):
    row, bench = TABLE[name], Bench(monitor)
    seen = {}
    for _ in range(row.ticks):
        bench.tick(row.fault)
        seen.update(bench.attention())
        if seen.get(row.rule) == row.reaction:
            break
    assert seen.get(row.rule) == row.reaction, seen


def test_how_samples_arrive_is_counted_apart_and_no_spike_is_dropped(monitor):
    bench = Bench(monitor)
    assert set(monitor.arrivals()) == {"force", "gap", "flag"}
    assert (monitor.arrivals()["force"].late, monitor.arrivals()["force"].disordered) == (0, 0)
    for fault, count in (
        (late_spike, "late"),
        (duplicate_spike, "duplicate"),
        (disordered_spike, "disordered"),
    ):
        monitor.reset()
        bench = Bench(monitor)
        broken = 0
        for _ in range(17):
            bench.tick(fault)
            broken += bench.attention().get("press") == "violated"
        counted = monitor.arrivals()["force"]
        assert getattr(counted, count) >= 1 and broken >= 1
        assert getattr(monitor.arrivals_by_rule()["press"], count) == getattr(counted, count)
        others = {"late", "duplicate", "disordered"} - {count}
        assert [getattr(counted, other) for other in others] == [0, 0]


def test_a_broken_clock_is_counted(monitor):
    bench = Bench(monitor)
    bench.tick(clock_back)
    bench.tick(nothing)
    assert monitor.watch.integers[BACKWARDS] == 2
    for _ in range(5):
        bench.tick(clock_frozen)
    assert monitor.watch.integers[FROZEN] >= 4


# --- the process ---------------------------------------------------------------------------------


def stop(feed):
    os.kill(feed.monitor.pid, signal.SIGSTOP)


def go_on(feed):
    os.kill(feed.monitor.pid, signal.SIGCONT)


def kill(feed):
    os.kill(feed.monitor.pid, signal.SIGKILL)


def overrun(feed):
    """More rows than the ring holds while the reader stands still."""
    stop(feed)
    for _ in range(CAPACITY + 200):
        feed.send()
    go_on(feed)


PROCESS = {
    "SIGSTOP": (stop, lambda feed: not feed.monitor.permits(), go_on),
    "ring overrun": (overrun, lambda feed: feed.monitor.vitals().missed > 0, lambda feed: None),
    "SIGKILL": (kill, lambda feed: not feed.monitor.permits(), lambda feed: None),
}


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    path.write_text(HEAD + rule("press", condition="force > 4 N", scope="gap < 0.1 m"))
    with RemoteMonitor([path], LAYOUT) as running:
        yield running


@pytest.mark.parametrize("name", PROCESS)  # in this order: the last one ends it
def test_a_fault_of_the_process_withholds_permission_or_is_known(name, process):
    cause, reaction, undo = PROCESS[name]
    feed = Feed(process, gap=0.05)
    process.reset()
    assert feed.until(process.permits)
    cause(feed)
    try:
        assert feed.until(lambda: reaction(feed), sending=name == "ring overrun")
    finally:
        undo(feed)
    if name == "ring overrun":
        events = [c.kind for c in process.changes()]
        assert "missed" in events, "what was lost is an event"
    assert name != "SIGKILL" or word(process._rows, WORD.quit) == 0


def test_the_tables_have_every_fault_that_is_promised():
    promised = {
        "NaN", "infinity", "missing", "late", "duplicate", "clock steps", "clock freezes", "counter wraps", "stuck",
        "unit slip", "swapped", "halved rate", "ring overrun", "SIGSTOP", "SIGKILL", "out of order",
    }  # fmt: skip
    rows = [*TABLE, *PROCESS]
    assert {p for p in promised if not any(p in row for row in rows)} == set()


# --- garbage -------------------------------------------------------------------------------------

JUNK = np.array([np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e308, -1e308, 0.0, -0.0, 2.0, 5.0, 50.0, 51.0])


def _garbage(ruleset, samples, seed):
    """Feed random garbage; return how often a reading that could not be known was taken for known."""
    monitor, rng = Monitor(ruleset, LAYOUT), np.random.default_rng(seed)
    force, wrong, done = LAYOUT.index("force"), 0, 0
    step, watch = monitor.watch.kernel, monitor.watch
    raw = monitor.program.row(0).start + 1
    newest, still = -(1 << 62), 0
    while done < samples:
        n = min(100_000, samples - done)
        values = rng.choice(JUNK, (n, len(LAYOUT)))
        quality = rng.choice(np.array([0, 0, 0, 1, 3, 200], np.uint8), (n, len(LAYOUT)))
        steps = rng.choice(np.array([MS, MS, MS, 0, -MS, 3 * MS, -(10**9), 10**9, 1 << 40, -(1 << 41)]), n)
        t_ns = np.cumsum(steps) + int(rng.integers(-(1 << 62), 1 << 62))
        age = rng.choice(np.array([0, MS, 19 * MS, 20 * MS, 500 * MS, -1, 1 << 61, -(1 << 61)]), values.shape)
        with np.errstate(over="ignore"):
            sampled = t_ns[:, None] - age
        gap = LAYOUT.index("gap")
        values[:, gap], quality[:, gap], sampled[:, gap] = 0.05, 0, t_ns  # the rule always applies
        for k in range(n):
            t = int(t_ns[k])
            step(t, values[k], sampled[k], quality[k], watch.floats, watch.integers)
            sane = newest <= t < 1 << 60 and t > -(1 << 60)
            now = t if sane else max(newest, -(1 << 60))
            still = still + 1 if now == newest else 0
            newest = now
            old = now - int(sampled[k, force])
            v = values[k, force]
            known = (
                sane and still <= FROZEN_TICKS and quality[k, force] == Quality.GOOD and 0 <= old < 20 * MS
                and 0.0 <= v <= 50.0
            )  # fmt: skip
            wrong += (watch.integers[raw] != 2) != bool(known)
        done += n
    return wrong


def test_garbage_raises_nothing_and_no_lost_reading_is_taken_for_known(ruleset):
    assert _garbage(ruleset, 100_000, 1) == 0


@pytest.mark.soak
def test_ten_million_samples_of_garbage(ruleset):
    assert _garbage(ruleset, 10_000_000, 2) == 0
