"""The monitor in its own process: permission to move is withdrawn by a verdict, by silence and by death."""

import os
import signal
from threading import Event

import numpy as np
import pytest

from rig.core.clock import monotonic_ns
from rig.core.errors import RigFault
from safety_monitor.process import RemoteMonitor
from safety_monitor.realtime import FREE, LATCH, WITHHOLD, withholding
from safety_monitor.ring import CAPACITY, WORD, word
from safety_monitor.rules import load_rules
from tests.safety_monitor.worlds import HEAD, LAYOUT, MS, World, rule

POLLS = 5000


class Feed:
    """Sends snapshots of a hand-set world in real time until something is so."""

    def __init__(self, monitor, **values):
        self.monitor, self.world = monitor, World(LAYOUT, **values)
        self._start_ns = monotonic_ns()
        self._pause = Event()

    def send(self):
        self.world.t_ns = monotonic_ns() - self._start_ns
        self.monitor.send(self.world.snapshot())

    def until(self, condition, sending=True):
        for _ in range(POLLS):
            if condition():
                return True
            if sending:
                self.send()
            self._pause.wait(0.001)
        return False


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    path = tmp_path_factory.mktemp("rules") / "rules.toml"
    text = 'order = ["stop", "hold"]\n' + rule(
        "press", condition="force > 4 N", scope="gap < 0.1 m", confirm="3 ms"
    )
    text += rule("trip", condition="flag > 0.5", response="stop")
    path.write_text(HEAD + text)
    return [path]


@pytest.fixture(scope="module")
def monitor(paths):
    with RemoteMonitor(paths, LAYOUT) as running:
        yield running


@pytest.fixture
def feed(monitor):
    feed = Feed(monitor, gap=0.05)
    monitor.reset()
    assert feed.until(monitor.permits)
    monitor.changes()
    return feed


def test_motion_is_permitted_while_every_rule_holds(feed):
    taken = feed.monitor.vitals().taken
    assert feed.until(lambda: feed.monitor.vitals().taken >= taken + 50)
    assert feed.until(feed.monitor.permits)


def test_a_broken_rule_withdraws_permission_and_its_clearing_gives_it_back(feed):
    feed.world.set(force=5.0)
    assert feed.until(lambda: not feed.monitor.permits())
    changes = [c for c in feed.monitor.changes() if c.kind == "changed"]
    assert changes[0].attention == (1, 0)
    assert changes[0].verdict_ns >= changes[0].ingest_ns
    feed.world.set(force=0.0)
    assert feed.until(feed.monitor.permits)


def test_a_stop_stays_until_a_person_resets(feed):
    feed.world.set(flag=1.0)
    assert feed.until(lambda: word(feed.monitor._rows, WORD.permit) == 0)
    feed.world.set(flag=0.0)
    assert feed.until(lambda: any(c.attention == (0, 0) for c in feed.monitor.changes()))
    assert word(feed.monitor._rows, WORD.permit) == 0
    feed.monitor.reset()
    assert feed.until(feed.monitor.permits)


def test_silence_makes_readings_old_and_withdraws_permission(feed):
    assert feed.until(lambda: word(feed.monitor._rows, WORD.permit) == 0, sending=False)
    lost = [c for c in feed.monitor.changes() if c.kind == "changed"]
    assert lost[0].row < 0
    assert 2 in lost[0].attention


def test_a_paused_monitor_permits_nothing_and_knows_what_it_missed(feed):
    missed = feed.monitor.vitals().missed
    os.kill(feed.monitor.pid, signal.SIGSTOP)
    try:
        assert feed.until(lambda: not feed.monitor.permits(), sending=False)
        for _ in range(CAPACITY + 100):
            feed.send()
    finally:
        os.kill(feed.monitor.pid, signal.SIGCONT)
    assert feed.until(lambda: feed.monitor.vitals().missed > missed)
    assert any(c.kind == "missed" for c in feed.monitor.changes())
    assert feed.until(feed.monitor.permits)


def test_a_killed_monitor_permits_nothing(paths):
    with RemoteMonitor(paths, LAYOUT) as monitor:
        feed = Feed(monitor, gap=0.05)
        assert feed.until(monitor.permits)
        os.kill(monitor.pid, signal.SIGKILL)
        assert feed.until(lambda: not monitor.permits())
        for _ in range(50):
            feed.send()
            assert not monitor.permits()


def test_a_monitor_that_cannot_be_armed_does_not_start(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(HEAD + rule("never-fires", condition="flag > 0.5 and flag < 0.4"))
    with pytest.raises(RigFault, match=r"not armed: .*never-fires"), RemoteMonitor([path], LAYOUT):
        pass


def test_what_each_attention_withholds_follows_the_response(paths, tmp_path):
    table = withholding(load_rules(paths, LAYOUT))
    np.testing.assert_array_equal(table, [[FREE, WITHHOLD, WITHHOLD], [FREE, LATCH, LATCH]])
    other = tmp_path / "r.toml"
    other.write_text(HEAD + rule("r", condition="flag > 0.5", response="advise", when_unknown="hold"))
    np.testing.assert_array_equal(withholding(load_rules([other], LAYOUT)), [[FREE, FREE, WITHHOLD]])


def test_the_ring_keeps_what_was_sent(feed):
    feed.world.set(force=1.25)
    feed.world.stamps["gap"] = -40 * MS
    feed.send()
    rows = feed.monitor._rows
    k = (word(rows, WORD.head) - 1) % CAPACITY
    assert rows.t_ns[k] == feed.world.t_ns
    assert rows.values[k, LAYOUT.index("force")] == 1.25
    assert rows.sampled_ns[k, LAYOUT.index("gap")] == -40 * MS
