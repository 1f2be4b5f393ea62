"""Alarms against the first sufficient signal and the last useful moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rig.core.errors import UsageError
from safety_monitor.alarms import Alarm, load, time_in_alarm_s
from safety_monitor.rates import clopper_pearson, poisson_per_hour, rate, zero_miss_bound
from safety_monitor.rule import Response
from safety_monitor.timeliness import (
    COUNTED,
    Hazard,
    Interruption,
    Point,
    Timing,
    Trial,
    chance_baseline,
    headlines,
    interruption,
    report,
    score,
)


def hazard(**changes):
    given = {
        "name": "h", "scenario": "s", "signal_s": 10.0, "irreversible_s": 12.0, "harmed": False,
        "reaction_s": 0.3, "stop_s": 0.2, "uncertainty_s": 0.1,
    }  # fmt: skip
    return Hazard(**{**given, **changes})


def alarm(start_s, end_s=None, **changes):
    given = {"rule": "r", "protects": "h", "response": Response.HOLD}
    return Alarm(start_s=start_s, end_s=start_s + 1.0 if end_s is None else end_s, **{**given, **changes})


@pytest.mark.parametrize(
    ("start_s", "harmed", "timing"),
    [
        (9.8, False, Timing.PREMATURE),
        (9.9, False, Timing.TIMELY),
        (10.0, False, Timing.TIMELY),
        (11.5, False, Timing.TIMELY),
        (11.5, True, Timing.INEFFECTIVE),
        (11.51, False, Timing.LATE_MITIGATED),
        (11.99, True, Timing.LATE_MITIGATED),
        (12.0, True, Timing.POST_HOC),
        (13.0, False, Timing.POST_HOC),
    ],
)
def test_an_alarm_is_classed_by_its_window(start_s, harmed, timing):
    assert score(hazard(harmed=harmed), [alarm(start_s)]).timing is timing


def test_no_alarm_is_a_miss_and_an_alarm_for_something_else_is_no_alarm():
    assert score(hazard(), []).timing is Timing.MISSED
    assert score(hazard(), [alarm(10.5, protects="other")]).timing is Timing.MISSED


def test_the_first_alarm_of_an_episode_counts():
    assert score(hazard(), [alarm(11.9), alarm(10.5)]).timing is Timing.TIMELY
    assert score(hazard(), [alarm(9.0, 20.0), alarm(10.5)]).timing is Timing.PREMATURE


def test_an_episode_that_ended_before_the_window_has_nothing_to_do_with_it():
    assert score(hazard(), [alarm(3.0, 4.0), alarm(10.5)]).timing is Timing.TIMELY
    assert score(hazard(), [alarm(3.0, 4.0)]).timing is Timing.MISSED


def test_leads_and_delays_are_measured_from_the_last_useful_moment_and_the_signal():
    scored = score(hazard(), [alarm(10.5)])
    assert scored.lead_s == pytest.approx(1.0)
    assert scored.delay_s == pytest.approx(0.5)


def test_a_hazard_without_a_window_is_the_rigs_gap_not_the_monitors():
    gap = hazard(signal_s=11.6)
    assert score(gap, [alarm(11.7)]).timing is Timing.UNPREVENTABLE
    assert score(hazard(signal_s=None), []).timing is Timing.UNPREVENTABLE
    assert Timing.UNPREVENTABLE not in COUNTED


def test_without_an_effect_in_the_twin_there_is_nothing_to_be_in_time_for():
    assert score(hazard(irreversible_s=None), [alarm(10.5)]).timing is Timing.NO_EFFECT


@given(
    st.floats(0, 100), st.floats(0, 100), st.floats(0, 5), st.floats(0, 5), st.floats(0, 1), st.booleans(),
    st.floats(0, 100),
)  # fmt: skip
def test_a_timely_alarm_is_never_after_the_last_useful_moment(s, i, reaction, stop, delta, harmed, at):
    h = hazard(
        signal_s=s, irreversible_s=i, reaction_s=reaction, stop_s=stop, uncertainty_s=delta, harmed=harmed
    )
    scored = score(h, [alarm(at)])
    if scored.timing is Timing.TIMELY:
        assert at + reaction + stop <= i + 1e-9
        assert not harmed
    if scored.timing in (Timing.POST_HOC, Timing.LATE_MITIGATED):
        assert scored.lead_s < 0


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"unknown": True, "near": 0.01}, Interruption.FAIL_SAFE),
        ({"near": 0.09}, Interruption.NEAR_MISS),
        ({"near": 0.1}, Interruption.NUISANCE),
        ({}, Interruption.NUISANCE),
    ],
)
def test_interruptions_of_harmless_trials_are_told_apart(changes, kind):
    assert interruption(alarm(1.0, **changes)) is kind


def trial(hazards=(), alarms=(), duration_s=3600.0, scenario="s"):
    return Trial(scenario=scenario, duration_s=duration_s, hazards=tuple(hazards), alarms=tuple(alarms))


def test_a_report_keeps_everything_apart():
    trials = [
        trial([hazard()], [alarm(10.5)]),
        trial([hazard(scenario="t")], [alarm(11.0)], scenario="t"),
        trial([hazard()], []),
        trial([hazard(irreversible_s=None)], [alarm(10.0)]),
        trial([], [alarm(1.0), alarm(5.0, unknown=True), alarm(6.0, response=Response.ADVISE)]),
        trial([hazard(signal_s=None, irreversible_s=None)], []),
    ]
    r = report(trials, np.random.default_rng(0))
    assert r.classes == {Timing.TIMELY: 2, Timing.MISSED: 1, Timing.NO_EFFECT: 2}
    assert (r.timely.hits, r.timely.of) == (2, 3)
    assert r.timely.clustered is not None
    assert r.miss_bound is None
    assert r.interruptions == {Interruption.NUISANCE: 1, Interruption.FAIL_SAFE: 1}
    assert (r.per_hour.events, r.per_hour.hours, r.per_hour.value) == (2, 2.0, 1.0)
    assert (r.per_run, r.advisories) == (1.0, 1)
    assert (r.lead.n, r.lead.least) == (2, pytest.approx(0.5))
    assert r.recall_at_lead == {0.1: 2 / 3, 0.25: 2 / 3, 0.5: 2 / 3, 1.0: 1 / 3}


def test_always_on_alarms_are_not_timely_and_beat_no_chance():
    trials = [trial([hazard()], [alarm(0.0, 3600.0)]) for _ in range(5)]
    r = report(trials, np.random.default_rng(0))
    assert r.classes == {Timing.PREMATURE: 5}
    assert r.timely.value == 0
    assert r.chance.improvement < 0
    assert r.load.time_in_alarm == 1.0


def test_nothing_to_score_is_not_assessed():
    with pytest.raises(UsageError, match="not assessed"):
        report([], np.random.default_rng(0))
    r = report([trial()], np.random.default_rng(0))
    assert r.timely.value is None
    assert r.recall_at_lead[0.1] is None


def test_chance_is_a_poisson_process_of_as_many_alarms():
    t = trial([hazard()], [alarm(float(k)) for k in range(0, 3600, 36)])
    found = chance_baseline([t], [score(t.hazards[0], t.alarms)])
    window_s = 11.5 - 10.0 + 0.1
    assert found.timely == pytest.approx(1 - np.exp(-100 / 3600 * window_s))


def test_headlines_quote_only_what_keeps_the_budget():
    def point(kappa, timely, needless):
        hazards = [trial([hazard()], [alarm(10.5)] if k < timely else []) for k in range(10)]
        calm = trial([], [alarm(float(k)) for k in range(needless)], duration_s=36000.0)
        return Point(kappa, report([*hazards, calm], np.random.default_rng(0)))

    curve = [point(0.0, 4, 0), point(1.0, 7, 8), point(2.0, 10, 60)]
    loose, tight = headlines(curve)
    assert (loose.budget_per_h, loose.kappa, loose.timely) == (1.0, 1.0, 0.7)
    assert (tight.budget_per_h, tight.kappa, tight.timely) == (0.1, 0.0, 0.4)
    assert headlines([point(2.0, 10, 60)])[0].timely is None


@given(st.integers(0, 40), st.integers(1, 40))
def test_exact_limits_cover_what_they_should(hits, of):
    hits = min(hits, of)
    interval = clopper_pearson(hits, of)
    expected = stats.binomtest(hits, of).proportion_ci(method="exact")
    assert (interval.low, interval.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_bounds_without_events_are_those_of_the_textbook():
    assert poisson_per_hour(0, 100.0).exact.high == pytest.approx(3.689 / 100, rel=1e-3)
    assert zero_miss_bound(30) == pytest.approx(0.09503, rel=1e-3)
    assert poisson_per_hour(3, 0.0).value is None


def test_a_cluster_interval_is_wider_when_scenarios_differ():
    rng = np.random.default_rng(0)
    hits = [True] * 50 + [False] * 50
    alike = rate(hits, [str(k % 10) for k in range(100)], rng).clustered
    apart = rate(hits, [str(k // 10) for k in range(100)], rng).clustered
    assert apart.high - apart.low > 2 * (alike.high - alike.low)


def test_time_in_alarm_counts_overlap_once():
    assert time_in_alarm_s([alarm(0.0, 10.0), alarm(5.0, 7.0), alarm(8.0, 12.0), alarm(20.0, 21.0)]) == 13.0


def test_alarm_load_finds_floods_chatter_and_standing_alarms():
    flood = [alarm(float(k), rule=f"r{k}") for k in range(0, 110, 10)]
    chatter = [alarm(700.0 + 29.0 * k, rule="c") for k in range(3)]
    standing = [alarm(800.0, 800.0 + 3601.0, rule="d")]
    found = load([([*flood, *chatter, *standing], 6000.0)])
    assert found.alarms == 15
    assert found.per_period == pytest.approx(1.5)
    assert found.flooded == pytest.approx(0.1)
    assert found.chattering == ("c",)
    assert found.standing == 1
    assert load([([], 60.0)]).flooded == 0.0
    with pytest.raises(UsageError, match="longer than nothing"):
        load([])


def test_impossible_values_are_refused():
    with pytest.raises(UsageError, match="not before end"):
        alarm(5.0, 4.0)
    with pytest.raises(UsageError, match="must not be negative"):
        hazard(reaction_s=-1.0)
