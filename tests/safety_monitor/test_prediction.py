"""Prediction: the filter, its calibration, and what it buys on a toy tool pressing on tissue."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rig.core.channel import Channel, Layout, Trace
from rig.core.errors import UsageError
from safety_monitor import nodes as n
from safety_monitor.expression import Expression, evaluate, parse
from safety_monitor.kernel import WORD
from safety_monitor.predict import Filter, calibrate
from safety_monitor.reference import Reference
from tests.safety_monitor.machines import Machine
from tests.safety_monitor.strategies import LAYOUT, MS, traces

X = n.Measured("a", "N", -5.0, 5.0, 20 * MS, 0.1)
AHEAD = [
    n.Ahead(X, span, kappa, walk, "N")
    for span, kappa, walk in ((0, 1.0, 10.0), (20 * MS, 2.0, 300.0), (5 * MS, -1.0, 50.0))
]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(traces(), st.sampled_from(AHEAD))
def test_the_filter_is_the_textbook_one(trace, node):
    assume((np.diff(trace.t_ns) >= MS).all())  # nanosecond steps are ill-conditioned
    reference = Reference(trace)
    expected = [reference.number(node, k) for k in range(len(trace))]
    np.testing.assert_allclose(evaluate(Expression("", node), trace), expected, rtol=1e-6, atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(traces(), st.sampled_from(AHEAD), st.sampled_from([-1.0, 0.0, 1.0, 3.0]))
def test_kernel_and_vectors_predict_the_same_bit_for_bit(trace, node, limit):
    reach = evaluate(Expression("", node), trace)
    machine = Machine([n.Compare(">", node, n.Constant(limit, "N"))], LAYOUT)
    raw = machine.run(trace, WORD.raw)[:, 0]
    with np.errstate(all="ignore"):
        expected = np.where(np.isfinite(reach - limit), reach - limit > 0, 2)
    np.testing.assert_array_equal(raw, expected)


def test_the_present_reading_is_never_predicted_away():
    t = np.arange(50, dtype=np.int64) * MS
    values = np.zeros((50, len(LAYOUT)))
    values[-1] = 4.0  # a spike
    stamps = np.repeat(t[:, None], len(LAYOUT), axis=1)
    stamps[-1] = stamps[-2] - MS  # that comes late
    trace = Trace(LAYOUT, t, values, stamps, np.zeros(values.shape, np.uint8))
    assert evaluate(Expression("", n.Ahead(X, 0, 0.0, 10.0, "N")), trace)[-1] == 4.0


def test_a_filter_follows_a_ramp_and_knows_how_well():
    rng = np.random.default_rng(0)
    errors, claimed = [], []
    for _ in range(1000):
        f = Filter(noise=0.15, walk=1.0)
        for k in range(200):
            f.take(3.0 * k * 1e-3 + 0.15 * rng.standard_normal(), k * MS)
        at_ns = 219 * MS
        errors.append(f.mean(at_ns) - 3.0 * 0.219)
        claimed.append(f.deviation(at_ns))
    assert np.mean(errors) == pytest.approx(0.0, abs=4 * np.std(errors) / math.sqrt(1000))
    assert np.std(errors) <= 1.1 * np.mean(claimed)


def test_ahead_is_written_with_a_span_deviations_and_a_second_derivative():
    layout = Layout(
        [
            Channel(
                name="f", unit="N", low=0.0, high=9.0, period_s=0.001, stale_after_s=0.02, noise=0.03,
                resolution=0.01,
            ),
            Channel(name="flag", unit="1", low=0.0, high=1.0, period_s=0.001, stale_after_s=0.02),
        ]
    )  # fmt: skip
    node = parse("ahead(f, 20 ms, 2, 300 N/s) > 4 N", layout).node.left
    assert (node.span_ns, node.kappa, node.walk) == (20 * MS, 2.0, 300.0)
    assert node.x.noise == pytest.approx(math.hypot(0.03, 0.01 / math.sqrt(12)))
    for text, says in (
        ("ahead(f, 20 ms, 2 s, 300 N/s) > 4 N", "deviations is a plain number"),
        ("ahead(f, 20 ms, 2, 0 N/s) > 4 N", "is a positive quantity of N/s"),
        ("ahead(f, 20 ms, 2, 3 N) > 4 N", "not a quantity in"),
        ("ahead(flag, 20 ms, 2, 3 1/s) > 4", "column"),
    ):
        with pytest.raises(UsageError, match=says):
            parse(text, layout)


# --- calibration ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.1, 0.3]), st.integers(20, 80))
def test_a_calibrated_kappa_is_a_rank_of_the_least_ones(seed, allowed, runs):
    least = np.random.default_rng(seed).exponential(size=runs)
    found = calibrate(list(least), allowed)
    assert found.guaranteed <= allowed
    assert np.sum(least < found.kappa) == math.floor(allowed * (runs + 1)) - 1


def test_calibration_keeps_its_promise_whatever_the_distribution():
    rng = np.random.default_rng(1)
    for draw in (rng.standard_normal, rng.standard_cauchy, lambda size: rng.exponential(size=size) ** 3):
        broken = 0
        for _ in range(4000):
            runs = draw(size=40)
            broken += runs[-1] < calibrate(list(runs[:-1]), 0.1).kappa
        assert broken / 4000 <= 0.1 + 3 * math.sqrt(0.1 * 0.9 / 4000)


def test_too_few_runs_promise_nothing():
    with pytest.raises(UsageError, match="at least 99 are needed"):
        calibrate([1.0] * 50, 0.01)
    with pytest.raises(UsageError, match="between 0 and 1"):
        calibrate([1.0] * 50, 0.0)
    with pytest.raises(UsageError, match="without a single prediction"):
        calibrate([1.0, math.nan], 0.5)


# --- what it buys --------------------------------------------------------------------------------

LIMIT_N, REACTION_S, BRAKE = 15.0, 0.017, 1.0


def presses(hazard, runs, rng):
    """Return forces, speeds, stiffness of tools pressing on tissue, shape (runs, ticks), 1 kHz for 1 s."""
    t = np.arange(1000) * 1e-3
    stiffness = rng.uniform(600.0, 2500.0, (runs, 1))
    speed = rng.uniform(0.005, 0.08, (runs, 1))
    depth = speed * np.maximum(t - 0.2, 0.0)
    if not hazard:  # stops pressing well below the limit
        depth = np.minimum(depth, rng.uniform(4.0, 12.5, (runs, 1)) / stiffness)
    moving = np.gradient(depth, axis=1) / 1e-3
    tremor = 0.1 * np.sin(2 * np.pi * 5.0 * t + rng.uniform(0, 6.28, (runs, 1)))
    force = stiffness * depth
    return force, force + tremor + 0.15 * rng.standard_normal(force.shape), moving, stiffness


def judged(alarm, hazard_force, speed, stiffness):
    """Return whether each run is stopped in time: the force at standstill stays under the limit."""
    timely = []
    for i, row in enumerate(alarm):
        if not row.any():
            timely.append(False)
            continue
        at = int(np.argmax(row))
        v = speed[i, at]
        peak = hazard_force[i, at] + stiffness[i, 0] * (v * REACTION_S + v * v / (2 * BRAKE))
        timely.append(peak < LIMIT_N)
    return np.mean(timely)


def filtered(measured, kappa):
    """Return the mean and deviation of every run one reaction time ahead, all runs at once."""
    runs, ticks = measured.shape
    reach = np.empty((runs, ticks))
    for i in range(runs):
        f = Filter(noise=0.15, walk=700.0)
        for k in range(ticks):
            f.take(float(measured[i, k]), k * MS)
            at_ns = k * MS + round(REACTION_S * 1e9)
            reach[i, k] = f.mean(at_ns) + kappa * f.deviation(at_ns) if k > 20 else 0.0
    return reach


def test_prediction_turns_post_mortems_into_prevention():
    rng = np.random.default_rng(5)
    force, measured, speed, stiffness = presses(True, 120, rng)
    reached = force[:, -1] > LIMIT_N
    force, measured, speed, stiffness = force[reached], measured[reached], speed[reached], stiffness[reached]
    calm, calm_measured, calm_speed, _ = presses(False, 120, rng)
    worst = 2500.0
    alarms = {
        "limit": (measured > LIMIT_N, calm_measured > LIMIT_N),
        "kalman": (filtered(measured, 2.0) > LIMIT_N, filtered(calm_measured, 2.0) > LIMIT_N),
        "reach": tuple(
            m + worst * (v * REACTION_S + v * v / (2 * BRAKE)) > LIMIT_N
            for m, v in ((measured, speed), (calm_measured, calm_speed))
        ),
    }
    timely = {k: judged(a, force, speed, stiffness) for k, (a, _) in alarms.items()}
    needless = {k: float(np.mean(b.any(axis=1))) for k, (_, b) in alarms.items()}
    assert timely["limit"] < 0.1
    assert timely["kalman"] > 0.6
    assert timely["reach"] > 0.9
    assert needless["limit"] == 0.0
    assert needless["kalman"] < 0.3
    assert needless["reach"] < 0.4
    assert len(force) > 60
    assert calm.max() < 12.6
