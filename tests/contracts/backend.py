"""What every backend must keep to: subclass `BackendContract` and give it the backend.

The kit makes no assumption about what is behind the door: it moves nothing further than to where
it already is.
"""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from rig.core.backend import Backend, Stop, StretchBackend
from rig.core.channel import Quality
from rig.core.command import Command, Plan, steady
from rig.core.errors import RigFault, RunError, UsageError
from rig.core.watch import Guard, Watch


class BackendContract:
    """Laws of `rig.core.backend.Backend`."""

    @pytest.fixture
    def closed(self) -> Backend:
        """A backend that has not been entered."""
        raise NotImplementedError

    def position(self, backend: Backend) -> list[float]:
        """Return where each actuator is, in order."""
        raise NotImplementedError

    def now_ns(self, backend: Backend) -> int:
        """Return the backend's time."""
        raise NotImplementedError

    @pytest.fixture
    def backend(self, closed: Backend) -> Iterator[Backend]:
        with closed as opened:
            yield opened

    def test_every_reading_belongs_to_a_declared_channel(self, backend: Backend) -> None:
        snapshot = backend.read(self.now_ns(backend))
        assert snapshot.layout == backend.layout
        n = len(backend.layout)
        assert snapshot.values.shape == snapshot.sampled_ns.shape == snapshot.quality.shape == (n,)
        assert len(set(backend.layout.names)) == n

    def test_good_readings_are_finite_within_range_and_not_stale(self, backend: Backend) -> None:
        t_ns = self.now_ns(backend)
        snapshot = backend.read(t_ns)
        for channel in backend.layout:
            reading = snapshot[channel.name]
            if reading.quality is Quality.GOOD:
                assert channel.low <= reading.value <= channel.high, channel.name
                assert 0 <= t_ns - reading.t_ns < channel.stale_after_s * 1e9, channel.name

    def test_a_reading_that_is_not_renewed_grows_stale(self, backend: Backend) -> None:
        longest_s = max(c.stale_after_s for c in backend.layout if c.stale_after_s < 1000)
        later = backend.read(self.now_ns(backend) + round(longest_s * 1e9) + 1)
        for channel in backend.layout:
            if channel.stale_after_s <= longest_s:
                assert later[channel.name].quality is not Quality.GOOD, channel.name

    def test_an_unknown_channel_lists_those_there_are(self, backend: Backend) -> None:
        with pytest.raises(
            UsageError, match=r"unknown channel 'no\.such'; known: .*" + backend.layout.names[0]
        ):
            backend.read(self.now_ns(backend))["no.such"]

    def test_a_reading_does_not_change_afterwards(self, backend: Backend) -> None:
        snapshot = backend.read(self.now_ns(backend))
        before = snapshot.values.copy()
        backend.make_safe()
        backend.read(self.now_ns(backend))
        np.testing.assert_array_equal(snapshot.values, before)

    def test_make_safe_may_be_repeated(self, backend: Backend) -> None:
        backend.make_safe()
        first = self.position(backend)
        backend.make_safe()
        assert self.position(backend) == first

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_a_command_that_is_not_finite_is_refused(self, backend: Backend, value: float) -> None:
        name = backend.actuators[0].name
        with pytest.raises(RigFault, match=name):
            backend.write([Command(name, value, self.now_ns(backend) + 10**9)])

    def test_a_command_outside_the_hardware_is_refused(self, backend: Backend) -> None:
        for actuator in backend.actuators:
            width = actuator.high - actuator.low
            for value in (actuator.low - 1e-6 * width, actuator.high + 1e-6 * width):
                with pytest.raises(RigFault, match=actuator.name):
                    backend.write([Command(actuator.name, value, self.now_ns(backend) + 10**9)])

    def test_a_command_at_the_limit_is_taken(self, backend: Backend) -> None:
        for actuator in backend.actuators:
            backend.write([Command(actuator.name, actuator.high, self.now_ns(backend) + 10**9)])

    def test_an_expired_command_is_refused(self, backend: Backend) -> None:
        actuator = backend.actuators[0]
        with pytest.raises(RigFault, match="expired"):
            backend.write([Command(actuator.name, actuator.low, self.now_ns(backend) - 1)])

    def test_a_command_to_an_unknown_actuator_is_refused(self, backend: Backend) -> None:
        with pytest.raises(RigFault, match=r"no\.such"):
            backend.write([Command("no.such", 0.0, self.now_ns(backend) + 10**9)])

    def test_one_bad_command_spoils_the_batch(self, backend: Backend) -> None:
        backend.make_safe()
        before = self.position(backend)
        good, bad = backend.actuators[0], backend.actuators[-1]
        t_ns = self.now_ns(backend) + 10**9
        with pytest.raises(RigFault):
            backend.write([Command(good.name, good.high, t_ns), Command(bad.name, math.nan, t_ns)])
        assert self.position(backend) == before

    def test_leaving_the_block_leaves_it_safe(self, closed: Backend) -> None:
        with closed as backend:
            a = backend.actuators[0]
            backend.write([Command(a.name, a.high, self.now_ns(backend) + 10**9)])
        with pytest.raises(RunError, match="closed"):
            backend.read(self.now_ns(backend))

    def test_it_is_left_safe_when_the_work_fails(self, closed: Backend) -> None:
        with pytest.raises(ZeroDivisionError), closed as backend:
            raise ZeroDivisionError
        with pytest.raises(RunError, match="closed"):
            backend.read(self.now_ns(backend))


class StretchContract(BackendContract):
    """Laws of `rig.core.backend.StretchBackend` beyond those of `Backend`."""

    def indifferent(self) -> Watch:
        """Return a watch that never asks for attention."""
        raise NotImplementedError

    def alarmed(self, after: int) -> Watch:
        """Return a watch that asks for attention from its ``after``-th tick on."""
        raise NotImplementedError

    def stay(self, backend: StretchBackend, n: int, period_ns: int) -> Plan:
        return steady(backend.actuators, np.array(self.position(backend)), self.now_ns(backend), period_ns, n)

    def tick_ns(self) -> int:
        return 1_000_000

    def test_a_plan_is_run_to_its_end(self, backend: StretchBackend) -> None:
        start, tick = self.now_ns(backend), self.tick_ns()
        stretch = backend.stretch(self.stay(backend, 25, tick), self.indifferent())
        assert stretch.stop is Stop.END
        np.testing.assert_array_equal(stretch.trace.t_ns, start + tick * np.arange(1, 26))
        assert self.now_ns(backend) == start + 25 * tick

    def test_the_last_row_is_the_snapshot(self, backend: StretchBackend) -> None:
        trace = backend.stretch(self.stay(backend, 7, self.tick_ns()), self.indifferent()).trace
        snapshot, row = backend.read(self.now_ns(backend)), trace.row(6)
        np.testing.assert_array_equal(snapshot.values, row.values)
        np.testing.assert_array_equal(snapshot.sampled_ns, row.sampled_ns)
        np.testing.assert_array_equal(snapshot.quality, row.quality)

    @pytest.mark.parametrize("after", [1, 2, 13])
    def test_the_watch_stops_it_at_the_very_tick(self, backend: StretchBackend, after: int) -> None:
        stretch = backend.stretch(self.stay(backend, 40, self.tick_ns()), self.alarmed(after))
        assert stretch.stop is Stop.WATCH
        assert len(stretch.trace) == after

    def test_the_watch_sees_the_tick_on_which_a_guard_holds(self, backend: StretchBackend) -> None:
        channel = backend.layout.names[0]
        stretch = backend.stretch(
            self.stay(backend, 40, self.tick_ns()), self.alarmed(1), [Guard(channel, above=-math.inf)]
        )
        assert stretch.stop is Stop.WATCH

    def test_a_guard_stops_it_after_the_first_tick_on_which_it_holds(self, backend: StretchBackend) -> None:
        channel = backend.layout.names[0]
        plan = self.stay(backend, 40, self.tick_ns())
        stretch = backend.stretch(plan, self.indifferent(), [Guard(channel, above=-math.inf)])
        assert stretch.stop is Stop.GUARD
        assert len(stretch.trace) == 1

    def test_a_guard_that_does_not_hold_lets_it_go_on(self, backend: StretchBackend) -> None:
        channel = backend.layout.names[0]
        stretch = backend.stretch(self.stay(backend, 9, self.tick_ns()), self.indifferent(), [Guard(channel)])
        assert stretch.stop is Stop.END

    def test_a_guard_on_an_unknown_channel_is_refused(self, backend: StretchBackend) -> None:
        with pytest.raises(UsageError, match=r"no\.such"):
            backend.stretch(self.stay(backend, 3, self.tick_ns()), self.indifferent(), [Guard("no.such")])

    @pytest.mark.parametrize("value", [math.nan, math.inf, 1e12])
    def test_nothing_of_a_plan_with_a_bad_setpoint_is_run(
        self, backend: StretchBackend, value: float
    ) -> None:
        plan = self.stay(backend, 12, self.tick_ns())
        plan.setpoints[11, 0] = value
        before = self.now_ns(backend)
        with pytest.raises(RigFault, match=backend.actuators[0].name):
            backend.stretch(plan, self.indifferent())
        assert self.now_ns(backend) == before

    def test_nothing_of_a_plan_that_outlives_its_lease_is_run(self, backend: StretchBackend) -> None:
        plan = self.stay(backend, 12, self.tick_ns())
        short = Plan(plan.actuators, plan.start_ns, plan.period_ns, plan.setpoints, plan.time_ns(11) - 1)
        with pytest.raises(RigFault, match="lease"):
            backend.stretch(short, self.indifferent())
        assert self.now_ns(backend) == plan.start_ns

    def test_a_plan_for_another_time_is_refused(self, backend: StretchBackend) -> None:
        plan = self.stay(backend, 3, self.tick_ns())
        late = Plan(plan.actuators, plan.start_ns + 5, plan.period_ns, plan.setpoints, plan.expires_ns + 5)
        with pytest.raises(RunError, match="starts at"):
            backend.stretch(late, self.indifferent())

    def test_a_plan_for_other_actuators_is_refused(self, backend: StretchBackend) -> None:
        plan = self.stay(backend, 3, self.tick_ns())
        other = Plan(plan.actuators[::-1], plan.start_ns, plan.period_ns, plan.setpoints, plan.expires_ns)
        with pytest.raises(UsageError, match="the bench has"):
            backend.stretch(other, self.indifferent())

    def test_an_empty_plan_does_nothing(self, backend: StretchBackend) -> None:
        before = self.now_ns(backend)
        stretch = backend.stretch(self.stay(backend, 0, self.tick_ns()), self.indifferent())
        assert (stretch.stop, len(stretch.trace), self.now_ns(backend)) == (Stop.END, 0, before)
