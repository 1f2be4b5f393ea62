"""The staffed queue against its closed form, and what a spike does to thin staffing."""

import numpy as np
import pytest

from analysis.release.queue import Load, erlang_c_wait, serve, simulate
from rig.core.errors import UsageError


@pytest.mark.parametrize(("staff", "load"), [(1, 0.5), (2, 1.5), (4, 3.0)])
def test_poisson_alarms_wait_as_erlang_c_says(staff: int, load: float) -> None:
    rng = np.random.default_rng(7)
    n, service = 200_000, 60.0
    arrivals = np.cumsum(rng.exponential(service / load, n))
    waits = serve(arrivals, rng.exponential(service, n), staff)[n // 10 :]
    waiting, mean = erlang_c_wait(load / service, service, staff)
    assert np.mean(waits > 0) == pytest.approx(waiting, rel=0.03)
    assert np.mean(waits) == pytest.approx(mean, rel=0.1)


def test_the_simulated_ward_is_the_same_queue() -> None:
    """Residents whose trials hold one alarm at a random time are together nearly Poisson."""
    rng = np.random.default_rng(3)
    loads = [Load(duration_s=1200.0, alarms_s=(float(t),)) for t in rng.uniform(0, 1200, 400)]
    found = simulate(loads, staff=2, residents=20, shift_s=8 * 3600, mean_service_s=80, useful_s=120,
                     rng=np.random.default_rng(1), replicates=60)  # fmt: skip
    rate = 20 / 1200.0
    waiting, _ = erlang_c_wait(rate, 80, 2)
    assert found.busy == pytest.approx(rate * 80 / 2, rel=0.05)
    # Alarms of one resident are not independent, so only near.
    assert found.late < waiting and found.p95_s > 0


def test_alarms_that_come_at_once_wait_for_each_other() -> None:
    waits = serve(np.zeros(6), np.full(6, 10.0), 2)
    assert waits.tolist() == [0.0, 0.0, 10.0, 10.0, 20.0, 20.0]


def test_a_spike_breaks_thin_staffing_and_not_thick() -> None:
    loads = [Load(duration_s=3600.0, alarms_s=(1800.0,))]
    setting = {"residents": 4, "shift_s": 8 * 3600.0, "mean_service_s": 120.0, "useful_s": 120.0, "spike": 12}
    thin = simulate(loads, staff=1, rng=np.random.default_rng(0), **setting)  # type: ignore[arg-type]
    thick = simulate(loads, staff=8, rng=np.random.default_rng(0), **setting)  # type: ignore[arg-type]
    assert thin.late > 0.15 > thick.late
    assert thin.p95_s > thick.p95_s


def test_the_rate_of_alarms_is_that_of_the_records_however_long_each_is() -> None:
    loads = [Load(duration_s=100.0, alarms_s=(50.0,)), Load(duration_s=900.0, alarms_s=())]
    found = simulate(loads, staff=5, residents=10, shift_s=100_000.0, mean_service_s=1.0, useful_s=1.0,
                     rng=np.random.default_rng(0), replicates=20)  # fmt: skip
    assert found.alarms / (20 * 10 * 100_000.0) == pytest.approx(1 / 1000.0, rel=0.05)


def test_no_alarm_no_wait_and_no_time_no_answer() -> None:
    quiet = simulate([Load(duration_s=60.0, alarms_s=())], staff=1, residents=1, shift_s=60.0, mean_service_s=1.0,
                     useful_s=1.0, rng=np.random.default_rng(0), replicates=2)  # fmt: skip
    assert (quiet.alarms, quiet.late) == (0, 0.0)
    with pytest.raises(UsageError, match="no recorded time"):
        simulate(
            [],
            staff=1,
            residents=1,
            shift_s=60.0,
            mean_service_s=1.0,
            useful_s=1.0,
            rng=np.random.default_rng(0),
        )
    with pytest.raises(UsageError, match="grows without end"):
        erlang_c_wait(1.0, 2.0, 2)
