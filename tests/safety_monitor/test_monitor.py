"""The monitor: what it says, when, and on what."""

import math

import numpy as np
import pytest

from rig.core.channel import Layout, Quality, Snapshot, Trace
from rig.core.errors import RigFault, UsageError
from safety_monitor.monitor import Monitor
from safety_monitor.rules import Response, load_rules
from tests.safety_monitor.worlds import LAYOUT, MS, S, World, rule, write

TEXT = rule("press", condition="force > limit.force.trip", scope="gap < 0.1 m", confirm="3 ms") + rule(
    "flagged", condition="flag > 0.5", response="advise"
)


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    paths, limits = write(tmp_path_factory.mktemp("rules"), TEXT)
    return load_rules(paths, LAYOUT, limit_paths=limits)


@pytest.fixture
def monitor(rules):
    return Monitor(rules, LAYOUT)


def test_a_broken_rule_is_reported_after_it_is_confirmed_and_not_before(monitor):
    world = World(gap=0.05, force=5.0)
    assert world.run(monitor, 10 * MS) == [(3 * MS, "press", False)]


def test_a_violation_shorter_than_the_time_to_confirm_is_no_violation(monitor):
    world = World(gap=0.05)
    for _ in range(5):
        world.set(force=5.0)
        assert world.run(monitor, 3 * MS) == []
        world.set(force=0.0)
        assert world.run(monitor, 1 * MS) == []


def test_the_limit_itself_is_allowed(monitor):
    assert World(gap=0.05, force=4.0).run(monitor, 20 * MS) == []


def test_a_change_names_margin_values_and_ages(monitor):
    world = World(gap=0.05, force=5.5)
    world.stamps["gap"] = -40 * MS
    world.run(monitor, 3 * MS)
    assert monitor.step(world.snapshot())
    (verdict,) = monitor.changes()
    assert verdict.margin == pytest.approx(-1.5)
    assert (verdict.unit, verdict.t_ns, verdict.holds) == ("N", 3 * MS, False)
    assert verdict.values == {"gap": 0.05, "force": 5.5}
    assert verdict.ages_s == {"gap": pytest.approx(0.043), "force": 0.0}
    assert "press is violated" in verdict.text()
    assert "force 5.5 (0 ms old)" in verdict.text()


def test_a_change_is_reported_once(monitor):
    world = World(flag=1.0)
    assert monitor.step(world.snapshot())
    assert len(monitor.changes()) == 1
    world.t_ns += MS
    assert not monitor.step(world.snapshot())
    assert monitor.changes() == ()


def test_a_rule_clears_late_and_rises_at_once(monitor):
    world = World(flag=1.0)
    assert world.run(monitor, MS) == [(0, "flagged", False)]
    world.set(flag=0.0)
    assert world.run(monitor, 100 * MS) == [(100 * MS, "flagged", True)]
    world.set(flag=1.0)
    assert world.run(monitor, MS) == [(101 * MS, "flagged", False)]


def test_chatter_at_the_limit_does_not_clear(monitor):
    world, seen = World(), []
    for k in range(500):
        world.set(flag=float(k % 50 == 0))
        seen += world.run(monitor, MS)
    assert seen == [(0, "flagged", False)]


@pytest.mark.parametrize("how", [Quality.STALE, Quality.OUT_OF_RANGE, Quality.FAULT])
def test_a_reading_lost_longer_than_the_grace_is_attention(monitor, how):
    world = World(gap=0.05)
    world.run(monitor, 10 * MS)
    world.lose("force", how)
    assert world.run(monitor, 200 * MS) == [(59 * MS, "press", None)]  # last known at 9 ms
    assert [v.holds for v in monitor.verdicts()] == [None, True]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 50.1, -0.1])
def test_a_reading_that_cannot_be_is_unknown_not_safe(monitor, value):
    world = World(gap=0.05, force=value)
    assert world.run(monitor, 200 * MS) == [(50 * MS, "press", None)]


def test_a_sensor_that_stops_is_stale_from_its_age_limit_on(monitor):
    world = World(gap=0.05)
    world.run(monitor, 10 * MS)
    world.stamps["force"] = world.t_ns
    assert world.run(monitor, 200 * MS) == [(79 * MS, "press", None)]  # known until 29 ms, grace 50 ms


def test_a_stamp_from_the_future_is_unknown(monitor):
    world = World(gap=0.05)
    world.stamps["force"] = S
    assert world.run(monitor, 100 * MS) == [(50 * MS, "press", None)]


def test_what_does_not_matter_may_be_unknown(monitor):
    world = World(gap=0.5)  # outside the scope
    world.lose("force")
    assert world.run(monitor, 200 * MS) == []


def test_a_lost_reading_neither_clears_nor_hides_a_violation(monitor):
    world = World(gap=0.05, force=5.0)
    world.run(monitor, 10 * MS)
    world.lose("force")
    assert world.run(monitor, 500 * MS) == []
    assert monitor.verdicts()[0].holds is False


def test_coming_back_needs_the_time_to_clear(monitor):
    world = World(gap=0.05)
    world.lose("force")
    world.run(monitor, 100 * MS)
    world.find("force")
    assert world.run(monitor, 200 * MS) == [(199 * MS, "press", True)]


def test_a_clock_that_runs_backwards_makes_everything_unknown(monitor):
    world = World(gap=0.05)
    world.run(monitor, 20 * MS)
    seen = []
    for k in range(100):
        world.t_ns = 10 * MS - k * MS  # backwards
        if monitor.step(world.snapshot()):
            seen += [(v.rule.id, v.holds) for v in monitor.changes()]
    world.t_ns = 500 * MS
    world.lose("force")
    monitor.step(world.snapshot())
    assert monitor.verdicts()[0].holds is None


def test_a_clock_that_stands_still_makes_everything_unknown(monitor):
    world = World(gap=0.05)
    for _ in range(200):
        monitor.step(world.snapshot())
    assert {v.rule.id for v in monitor.preview(world.snapshot()) if v.holds is None} == {"press", "flagged"}


def test_garbage_never_raises_and_never_hides_a_lost_sensor(monitor):
    rng = np.random.default_rng(1)
    bad = np.array([np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e308, 0.0, 3.0, 100.0])
    for _ in range(2000):
        n = len(LAYOUT)
        t = int(rng.choice([0, -(2**63), 2**63 - 1, int(rng.integers(0, 2**40))]))
        stamps = rng.integers(-(2**63), 2**63 - 1, n)
        snapshot = Snapshot(LAYOUT, t, rng.choice(bad, n), stamps, rng.integers(0, 256, n).astype(np.uint8))
        assert monitor.step(snapshot) in (True, False)
    monitor.reset()
    world = World(gap=0.05, force=math.nan)
    assert world.run(monitor, 100 * MS) == [(50 * MS, "press", None)]


def test_a_preview_changes_nothing_and_does_not_wait(monitor):
    world = World(gap=0.05)
    world.run(monitor, 10 * MS)
    before = monitor.save()
    world.set(force=5.0, flag=1.0)
    foreseen = {v.rule.id: v.holds for v in monitor.preview(world.snapshot())}
    assert foreseen == {"press": False, "flagged": False}
    after = monitor.save()
    np.testing.assert_array_equal(before.integers, after.integers)
    np.testing.assert_array_equal(before.floats, after.floats)


def test_a_preview_says_what_cannot_be_shown_to_hold(monitor):
    world = World(gap=0.05)
    world.lose("force")
    assert [(v.rule.id, v.holds) for v in monitor.preview(world.snapshot())] == [("press", None)]


def test_restored_memory_goes_on_as_if_never_interrupted(rules):
    def script(world, k):
        world.set(gap=0.05, force=5.0 if k % 7 < 4 else 0.0, flag=float(k % 11 == 0))

    straight, broken, world = Monitor(rules, LAYOUT), Monitor(rules, LAYOUT), World()
    for k in range(300):
        script(world, k)
        world.t_ns = k * MS
        expected = straight.step(world.snapshot())
        if k % 13 == 0:
            saved = broken.save()
            for _ in range(5):
                broken.step(world.snapshot())
            broken.restore(saved)
        assert broken.step(world.snapshot()) == expected
        np.testing.assert_array_equal(straight.watch.integers, broken.watch.integers)


def test_memory_of_other_rules_is_refused(monitor, tmp_path):
    paths, limits = write(tmp_path, rule("other", condition="flag > 0.2"))
    other = Monitor(load_rules(paths, LAYOUT, limit_paths=limits), LAYOUT)
    with pytest.raises(UsageError, match="another rule set"):
        other.restore(monitor.save())


def test_restoring_keeps_the_arrays_a_backend_holds(monitor):
    watch = monitor.watch
    world = World(flag=1.0)
    saved = monitor.save()
    watch.kernel(0, *_arrays(world), watch.floats, watch.integers)
    monitor.restore(saved)
    assert monitor.watch.integers is watch.integers
    assert monitor.changes() == ()


def _arrays(world):
    s = world.snapshot()
    return s.values, s.sampled_ns, s.quality


def test_the_watch_and_step_are_the_same_kernel(rules):
    a, b, world = Monitor(rules, LAYOUT), Monitor(rules, LAYOUT), World(gap=0.05, force=5.0)
    for _ in range(10):
        by_step = a.step(world.snapshot())
        by_watch = b.watch.kernel(world.t_ns, *_arrays(world), b.watch.floats, b.watch.integers)
        assert bool(by_watch) == by_step
        world.t_ns += MS
    np.testing.assert_array_equal(a.watch.integers, b.watch.integers)


def test_another_layout_is_refused(rules):
    with pytest.raises(UsageError, match="other channels"):
        Monitor(rules, Layout(LAYOUT.channels[:3]))


def test_arming_tests_every_rule_and_forgets(monitor):
    world = World(flag=1.0)
    world.run(monitor, 5 * MS)
    assert monitor.arm(again=True).rules == 2
    assert all(v.holds for v in monitor.verdicts())


def test_a_kernel_that_does_not_fire_cannot_be_armed(monitor):
    monitor._kernel = lambda *_: 0
    with pytest.raises(RigFault, match=r"press: does not fire.*flagged: does not fire"):
        monitor.arm(again=True)


def test_a_rule_nothing_can_break_cannot_be_armed(tmp_path):
    paths, limits = write(tmp_path, rule("never-fires", condition="flag > 0.5 and flag < 0.4"))
    monitor = Monitor(load_rules(paths, LAYOUT, limit_paths=limits), LAYOUT)
    with pytest.raises(RigFault, match="never-fires: no trace was found that breaks it"):
        monitor.arm()


def test_the_response_to_the_unknown_may_be_another(tmp_path):
    text = rule("r", condition="force > limit.force.trip", response="call", when_unknown="advise")
    paths, limits = write(tmp_path, text)
    monitor = Monitor(load_rules(paths, LAYOUT, limit_paths=limits), LAYOUT)
    world = World(force=math.nan)
    world.run(monitor, 100 * MS)
    assert monitor.verdicts()[0].response is Response.ADVISE
    world.set(force=9.0)
    world.run(monitor, 10 * MS)
    assert monitor.verdicts()[0].response is Response.CALL


def test_a_replay_gives_the_same_verdicts_as_the_ticks_did(rules):
    world, live, rows, said = World(gap=0.05), Monitor(rules, LAYOUT), [], []
    for k in range(600):
        world.t_ns = k * MS
        world.set(force=5.0 if k % 200 > 150 else 0.0, flag=float(k % 300 > 290))
        rows.append(world.snapshot())
        if live.step(rows[-1]):
            said.append([(v.rule.id, v.holds, v.t_ns, v.margin) for v in live.changes()])
    names = ("t_ns", "values", "sampled_ns", "quality")
    trace = Trace(LAYOUT, *(np.array([getattr(row, name) for row in rows]) for name in names))
    replayed = Monitor(rules, LAYOUT)
    again = [[(v.rule.id, v.holds, v.t_ns, v.margin) for v in changed] for changed in replayed.replay(trace)]
    assert again == said
    assert len(said) > 4
    np.testing.assert_array_equal(live.watch.integers, replayed.watch.integers)
