"""Faults that others reported in public of their monitors, one test each: ours must not repeat them."""

import math
import struct
import time

import numpy as np
import pytest

from rig.core.channel import Channel, Layout, Trace
from safety_monitor import nodes as n
from safety_monitor import realtime
from safety_monitor.alarms import Alarm
from safety_monitor.cache import load_module
from safety_monitor.checks import chance_alarms
from safety_monitor.expression import parse
from safety_monitor.kernel import WORD, compile_source
from safety_monitor.monitor import Monitor
from safety_monitor.process import RemoteMonitor
from safety_monitor.realtime import Loop
from safety_monitor.reference import Reference
from safety_monitor.rule import Response
from safety_monitor.rules import load_rules
from safety_monitor.selftest import self_test
from safety_monitor.timeliness import Trial, report
from safety_monitor.vector import Evaluation
from tests.safety_monitor.machines import NO_DELAY, Machine
from tests.safety_monitor.test_process import Feed
from tests.safety_monitor.worlds import HEAD, LAYOUT, MS, World, rule, write

FORCE = n.Measured("force", "N", 0.0, 50.0, 20 * MS, 0.03)
GAP = n.Measured("gap", "m", -0.1, 1.0, 200 * MS, 0.001)
HIGH = n.Compare(">", FORCE, n.Constant(4.0, "N"))
NEAR = n.Compare("<", GAP, n.Constant(0.1, "m"))


def trace_of(force, gap=None, t_ns=None, layout=LAYOUT):
    """Return a trace of these readings, a millisecond apart unless told otherwise."""
    t = np.arange(len(force), dtype=np.int64) * MS if t_ns is None else np.array(t_ns, np.int64)
    values = np.zeros((len(t), len(layout)))
    values[:, layout.index("force")] = force
    values[:, layout.index("gap")] = 0.05 if gap is None else gap
    stamps = np.repeat(t[:, None], len(layout), axis=1)
    return Trace(layout, t, values, stamps, np.zeros(values.shape, np.uint8))


def said(node, trace):
    """Return verdicts by definition, vectors and kernel, having seen that they agree."""
    reference = Reference(trace)
    by_definition = [reference.truth(node, k) for k in range(len(trace))]
    tracks = Evaluation(trace).truth(node)
    by_vectors = [True if m else None if y else False for m, y in zip(tracks.must, tracks.may, strict=True)]
    raw = Machine([node], trace.layout).run(trace, WORD.raw)[:, 0]
    assert by_definition == by_vectors == [{0: False, 1: True, 2: None}[int(r)] for r in raw]
    return by_definition


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    paths, limits = write(
        tmp_path_factory.mktemp("rules"), rule("press", condition="force > 4 N", scope="gap < 0.1 m")
    )
    return load_rules(paths, LAYOUT, limit_paths=limits)


def test_rtamt_199_a_long_window_costs_no_more_than_a_short_one():
    """Timed until and since take time quadratic in the window (nested loops)."""
    for make in (n.Held, n.Within, lambda x, d: n.Since(x, NEAR, d), lambda x, d: n.Unanswered(x, NEAR, d)):
        short, long = (compile_source([make(HIGH, d)], [NO_DELAY], LAYOUT) for d in (3 * MS, 10**7 * MS))
        assert len(short.integers) == len(long.integers) and len(short.floats) == len(long.floats)
        assert short.source.count("\n") == long.source.count("\n")
        assert "while" not in short.source.split("def until")[0]


def test_rtamt_210_a_step_that_falls_on_the_trigger_counts_from_the_trigger_on():
    """Dense until and since have the wrong sign when the signal steps at the trigger itself."""
    since = n.Since(HIGH, NEAR, 10 * MS)
    #        trigger at 1, the force rises at the same tick, and falls at 3
    assert said(since, trace_of([0, 5, 5, 0, 5], [0.5, 0.05, 0.5, 0.5, 0.5])) == [
        False,
        True,
        True,
        False,
        False,
    ]
    #        the force falls at the trigger: the trigger is enough at its own tick, and no longer
    assert said(since, trace_of([5, 0, 0], [0.5, 0.05, 0.5])) == [False, True, False]


def test_rtamt_119_and_83_other_units_and_other_sampling_give_the_same_verdicts():
    """Equivalent monitors written in other units, or sampled at another period, disagree."""
    texts = ("held(force > 4 N, 20 ms)", "held(force > 4000 mN, 0.02 s)", "held(0.004 kN < force, 20000 us)")
    nodes = [parse(text, LAYOUT).node for text in texts]
    force = np.repeat([0.0, 5.0, 0.0, 5.0], 30)
    fine = trace_of(force)
    coarse = trace_of(force[::2], t_ns=fine.t_ns[::2])
    verdicts = said(nodes[0], fine)
    assert all(said(node, fine) == verdicts for node in nodes)
    assert said(nodes[0], coarse) == verdicts[::2]


def test_rtamt_85_the_same_readings_twice_give_the_same_verdicts(loaded):
    """A second evaluation of the same data differs: state leaks from the first."""
    monitor = Monitor(loaded, LAYOUT)
    trace = trace_of([0, 5, 5, 0, math.nan, 5, 0] * 40)

    def replayed():
        monitor.reset()
        return [(v.t_ns, v.rule.id, v.holds) for changes in monitor.replay(trace) for v in changes]

    first = replayed()
    assert first and replayed() == first
    on = Evaluation(trace)
    np.testing.assert_array_equal(on.truth(HIGH).must, on.truth(HIGH).must)


def test_rtamt_66_and_59_no_verdict_speaks_of_a_tick_that_has_not_come():
    """A delayed verdict is read as the present one in the first window."""
    node, force = n.Held(HIGH, 3 * MS), [5.0] * 8
    assert said(node, trace_of(force)) == [False] * 3 + [True] * 5
    for k in range(1, 9):
        assert said(node, trace_of(force[:k]))[-1] == said(node, trace_of(force))[k - 1]


def test_ogma_474_the_order_of_messages_within_a_tick_means_nothing():
    """Monitors that run at every message depend on which of a tick's messages comes first."""
    other = Layout(LAYOUT.channels[::-1])
    node = n.And((HIGH, n.Within(NEAR, 5 * MS)))
    force, gap = [0, 5, 5, 0, 5, 5], [0.5, 0.05, 0.5, 0.5, 0.05, 0.5]
    assert said(node, trace_of(force, gap)) == said(node, trace_of(force, gap, layout=other))


def test_ogma_219_a_notification_carries_the_readings_it_rests_on(loaded):
    """Notifications said that something was wrong, and not with which values."""
    monitor, world = Monitor(loaded, LAYOUT), World(gap=0.05)
    world.run(monitor, 10 * MS)
    world.set(force=5.0)
    assert monitor.step(world.snapshot())
    (verdict,) = monitor.changes()
    world.t_ns += MS
    world.set(force=7.0)
    monitor.step(world.snapshot())
    assert verdict.values == {"gap": 0.05, "force": 5.0}, "those of the tick that broke it, not of the newest"


def test_ogma_564_two_monitors_of_the_same_rules_know_nothing_of_each_other(loaded):
    """A second instance shared its state with the first."""
    force = [[0, 5, 5, 0, math.nan, 5, 0, 0, 5] * 10, [5, 5, 5, 5, 5, 0, 0, 0, 0] * 10]
    traces = [trace_of(f) for f in force]

    def told(monitors):
        seen = [[] for _ in monitors]
        for k in range(len(traces[0])):
            for i, monitor in monitors.items():
                if monitor.step(traces[i].row(k)):
                    seen[i % len(monitors)] += [(v.t_ns, v.rule.id, v.holds) for v in monitor.changes()]
        return seen

    together = told({i: Monitor(loaded, LAYOUT) for i in (0, 1)})
    assert [told({i: Monitor(loaded, LAYOUT)})[0] for i in (0, 1)] == together
    assert together[0] != together[1]


def test_rosmonitoring_18_rules_that_share_a_predicate_do_not_disturb_each_other():
    """User code that maps messages to shared predicates gave wrong verdicts."""
    nodes = [n.Held(HIGH, 2 * MS), n.And((HIGH, NEAR)), n.Within(HIGH, 4 * MS)]
    trace = trace_of([0, 5, 5, 5, 0, 0, 5, math.nan, 5], [0.05, 0.5] * 4 + [0.05])
    together = Machine(nodes, LAYOUT).run(trace)
    for i, node in enumerate(nodes):
        np.testing.assert_array_equal(Machine([node], LAYOUT).run(trace)[:, 0], together[:, i])


@pytest.mark.parametrize("offset_ns", [-200 * MS, 5 * MS, 10**15], ids=["stale", "ahead", "far ahead"])
def test_navigation2_3874_and_4863_a_source_with_old_or_odd_stamps_is_a_hazard(loaded, offset_ns):
    """The collision monitor ran on with stale sources, and left out one whose stamps were odd."""
    monitor, world = Monitor(loaded, LAYOUT), World(gap=0.05)
    world.run(monitor, 20 * MS)
    seen = []
    for _ in range(80):
        world.stamps["force"] = world.t_ns + offset_ns
        if monitor.step(world.snapshot()):
            seen += [(v.rule.id, v.holds) for v in monitor.changes()]
        world.t_ns += MS
    assert seen == [("press", None)]


def test_px4_9901_a_frozen_sensor_is_found_by_age_and_by_standing_still():
    """A magnetometer that had stopped was still fused."""
    stuck = n.Compare(">", n.Unchanged(FORCE), n.Constant(0.03, "s"))
    force = np.append(2.0 + 0.01 * np.arange(5), np.full(60, 2.04))
    assert said(stuck, trace_of(force))[-1] is True
    silent = trace_of(force)
    silent.sampled_ns[5:, LAYOUT.index("force")] = silent.t_ns[4]
    assert said(n.Valid(FORCE), silent)[-1] is False


def test_px4_ecl_219_and_px4_16480_a_stuck_test_knows_the_resolution_and_clears_again():
    """A stuck test alarmed on a coarse sensor that was well, and another could never clear."""
    coarse = Channel(
        name="c", unit="N", low=0, high=9, period_s=1.0, stale_after_s=5.0, noise=0.02, resolution=0.1
    )
    fine = Channel(
        name="c", unit="N", low=0, high=9, period_s=1.0, stale_after_s=5.0, noise=0.2, resolution=0.1
    )
    assert chance_alarms(coarse, 10.0) > 0.01 > chance_alarms(fine, 10.0)
    stuck = n.Compare(">", n.Unchanged(FORCE), n.Constant(0.03, "s"))
    force = np.concatenate([np.full(60, 2.0), 2.0 + 0.01 * (np.arange(10) % 3)])
    verdicts = said(stuck, trace_of(force))
    assert verdicts[59] is True and verdicts[-1] is False


def test_ardupilot_15489_unnecessary_failsafes_are_counted_as_cost_per_hour():
    """A cascade of failsafes nobody needed."""
    stops = tuple(
        Alarm(rule="r", protects="c", response=Response.HOLD, start_s=s, end_s=s + 1.0, unknown=True)
        for s in (10.0, 20.0, 30.0)
    )
    trial = Trial(scenario="s", duration_s=1800.0, hazards=(), alarms=stops)
    found = report([trial], np.random.default_rng(0))
    assert found.per_hour.value == pytest.approx(6.0)
    assert found.interruptions == {"fail_safe": 3}


def test_ardupilot_17834_a_rule_that_no_longer_fires_is_found_before_arming(loaded):
    """A failsafe was silently broken between two releases."""
    monitor = Monitor(loaded, LAYOUT)
    deaf = lambda *row: 0  # noqa: E731
    with pytest.raises(Exception, match="press: does not fire"):
        self_test(loaded, monitor.program, deaf)


def test_r2u2_31_a_tick_that_takes_too_long_is_an_event(tmp_path):
    """The worst-case execution time was not computed, and nothing noticed an overrun."""
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + rule("press", condition="force > 4 N", scope="gap < 0.1 m"))
    with RemoteMonitor([path], LAYOUT, Loop(budget_ns=0)) as monitor:
        feed = Feed(monitor, gap=0.05)
        assert feed.until(lambda: monitor.vitals().overruns > 3)
        assert monitor.vitals().worst_tick_ns > 0
        assert "overrun" in {c.kind for c in monitor.changes()}


def test_numba_1833_a_changed_rule_never_meets_an_old_kernel(loaded):
    """The cache of compiled code does not see changes in functions of other modules."""
    one, other = (compile_source([n.Held(HIGH, d)], [NO_DELAY], LAYOUT).source for d in (3 * MS, 4 * MS))
    assert load_module(one).__name__ != load_module(other).__name__
    assert {line for line in one.splitlines() if line.startswith(("import", "from"))} == {
        "import numba", "import numpy as np",
    }  # fmt: skip


def test_ros_comm_2336_the_time_of_the_monitor_cannot_be_set():
    """Clock synchronisation stepped the time that monitors ran on."""
    assert realtime._MONOTONIC == time.CLOCK_MONOTONIC


def test_metric_temporal_logic_217_since_is_its_definition_over_every_small_trace():
    """A wrong until: here every pair of courses of five ticks, and every window, zero-width too."""
    for width in (0, MS, 3 * MS):
        node = n.Since(HIGH, NEAR, width)
        for code in range(1 << 10):
            bits = [bool(code >> i & 1) for i in range(10)]
            p, q = bits[:5], bits[5:]
            trace = trace_of([5.0 if x else 0.0 for x in p], [0.05 if x else 0.5 for x in q])
            expected = [
                any(q[j] and all(p[j + 1 : k + 1]) for j in range(k + 1) if (k - j) * MS <= width)
                for k in range(5)
            ]
            assert list(Evaluation(trace).truth(node).must) == expected


def test_signal_temporal_logic_1_equal_stamps_do_not_crash():
    """Two samples at one time ended the program."""
    trace = trace_of([1.0, 1.0, 5.0, 5.0], t_ns=[0, 0, MS, MS])
    assert said(HIGH, trace) == [False, False, True, True]
    steep = n.Compare(">", n.Rate(FORCE, "N/s"), n.Constant(1000.0, "N/s"))
    assert said(steep, trace) == [None, None, True, True]


def test_nasa_lc_57_every_kind_of_nan_is_unknown():
    """A test for NaN by its bits missed some of them."""
    for bits in (
        0x7FF8000000000000,
        0xFFF8000000000000,
        0x7FF0000000000001,
        0x7FFFFFFFFFFFFFFF,
        0xFFF0000000000001,
    ):
        (value,) = struct.unpack("<d", struct.pack("<Q", bits))
        assert said(HIGH, trace_of([value])) == [None]


def test_libfranka_163_and_225_a_stop_says_why(loaded):
    """The reason of a stop was not told."""
    monitor, world = Monitor(loaded, LAYOUT), World(gap=0.05)
    world.run(monitor, 10 * MS)
    world.set(force=5.0)
    assert monitor.step(world.snapshot())
    (verdict,) = monitor.changes()
    assert verdict.rule.id == "press" and verdict.rule.sentence.startswith("While gap is below 100 mm")
    assert verdict.values == {"gap": 0.05, "force": 5.0} and verdict.margin == pytest.approx(-1.0)
    assert set(verdict.ages_s) == {"gap", "force"} and verdict.t_ns == world.t_ns
