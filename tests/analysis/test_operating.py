"""The operating curve of a predictor and its calibration, on recorded trials, against the rule itself."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.operating import (
    KAPPAS,
    Watched,
    alarms_at,
    calibrate_on,
    curve,
    needed_kappas,
    predictor_of,
    watched,
)
from rig.cli import run
from rig.core.errors import RecordError, UsageError
from rig.core.record import read
from safety_monitor.expression import Expression, truth
from safety_monitor.nodes import Ahead, And, Compare
from safety_monitor.rule import Rule
from tests.recorded import EXIT, PLAIN, SOUP, folder_of, records

PROPOSED = """
text = "Looking ahead of a press by the force alone"
author_role = "test"
status = "draft-unsigned"
review_date = 2026-11-30

[rule.press-ahead]
protects = "forces-spoon"
template = "never"
scope = "face.gap < 100 mm"
condition = "ahead(wrist.force, predict.press.ahead, predict.press.kappa, predict.press.walk) > limit.lip_force.harm"
response = "retract"
response_time = "80 ms"
severity = "critical"
harm = "The resident: hurt mouth."
irreversible = "more than 10 N on lips, teeth or face"
signal = "model"
max_age = "channel"
grace = "50 ms"
benign_margin = "calibrated on harmless meals"
"""
Seen = tuple[tuple[Watched, ...], Rule]


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "press-ahead.toml"
    path.write_text(PROPOSED)
    return path


@pytest.fixture(scope="module")
def seen(proposed: Path) -> Seen:
    return watched(records(), "spoon-feed", "press-ahead", [proposed])


def at_kappa(rule: Rule, kappa: float) -> Expression:
    """Return the rule's condition with another kappa."""
    assert isinstance(rule.violated, And) and rule.leading is not None
    ahead, _ = predictor_of(rule)
    other: list[Compare] = [
        replace(part, left=replace(ahead, kappa=kappa)) if part is rule.leading else part  # type: ignore[misc]
        for part in rule.violated.args
    ]
    return Expression("", And(tuple(other)))


def test_only_watched_trials_of_the_task_are_taken(seen: Seen) -> None:
    trials, rule = seen
    assert rule.id == "press-ahead" and isinstance(predictor_of(rule)[0], Ahead)
    assert {w.facts.item for w in trials} == {SOUP[0], PLAIN[0]}
    assert {w.facts.key.monitor for w in trials} == {"shadow"}
    harmless = {w.facts.item: w.harmless for w in trials}
    assert harmless == {SOUP[0]: False, PLAIN[0]: True}, "the soup is a hazard, whatever it does to the lips"


def test_the_least_kappa_is_where_the_rule_itself_begins_to_be_broken(seen: Seen) -> None:
    """At every tick, for every kappa: the rule with this kappa is broken exactly where less was needed."""
    record, rule = read(folder_of(PLAIN, "shadow")), seen[1]
    _, needed = needed_kappas(record, rule)
    trace = record.trace(channels=sorted(rule.channels))
    finite = needed[np.isfinite(needed)]
    assert len(finite) > 1000 and np.isinf(needed).any()
    for kappa in np.quantile(finite, [0.01, 0.5]):
        clear = np.abs(needed - kappa) > 1e-9 * np.maximum(1.0, np.abs(kappa))  # not on the very boundary
        assert (needed < kappa).any()
        broken = truth(at_kappa(rule, float(kappa)), trace) == 1
        np.testing.assert_array_equal(broken[clear], (needed < kappa)[clear])


def test_more_kappa_never_means_fewer_ticks_in_alarm_or_a_later_first_alarm(seen: Seen) -> None:
    trials, rule = seen
    for w in trials:
        firsts, ticks = [], []
        for kappa in sorted(KAPPAS):
            alarms = alarms_at(kappa, w, rule)
            assert all(a.rule == rule.id and a.end_s >= a.start_s for a in alarms)
            firsts.append(min((a.start_s for a in alarms), default=np.inf))
            ticks.append(int((w.needed < kappa).sum()))
        assert firsts == sorted(firsts, reverse=True) and ticks == sorted(ticks)


def test_the_curve_scores_harmless_trials_for_needless_alarms(seen: Seen) -> None:
    trials, rule = seen
    calm = next(w for w in trials if w.harmless)
    below, above = calm.least - 0.01, calm.least + 0.01
    points = curve(trials, rule, [below, above])
    assert [p.kappa for p in points] == [below, above]
    assert points[0].report.per_hour.events == 0 and points[1].report.per_hour.events >= 1
    assert points[0].report.per_hour.hours == pytest.approx(calm.trial.duration_s / 3600)


def test_a_curve_of_nothing_is_not_assessed(seen: Seen) -> None:
    trials, rule = seen
    neither = [w for w in trials if not w.harmless and not w.trial.hazards]
    assert neither, "nobody was pressed in the trial of the soup"
    with pytest.raises(RecordError, match="NOT ASSESSED: none of 1 trials is harmless or harmed"):
        curve(neither, rule, KAPPAS)


def test_calibration_takes_the_budget_of_a_trial_of_mean_length(seen: Seen) -> None:
    trials, _ = seen
    calm = next(w for w in trials if w.harmless)
    many = [replace(calm, needed=calm.needed + i) for i in range(19)]
    hours = calm.trial.duration_s / 3600
    found = calibrate_on([*many, *(w for w in trials if not w.harmless)], budget_per_h=0.11 / hours)
    assert found.calibration.allowed == pytest.approx(0.11) and found.hours == pytest.approx(19 * hours)
    assert found.calibration.guaranteed == pytest.approx(0.1), "the second of nineteen, of twenty"
    assert found.calibration.kappa == sorted(w.least for w in many)[1] and found.least == many[0].least
    assert (found.items, found.agents, found.seeds) == ((PLAIN[0],), ("hasty",), (4,))
    b = found.binding
    assert (b.item, b.agent, b.seed) == (PLAIN[0], "hasty", 4)
    assert b.t_s == pytest.approx(calm.t_ns[calm.needed == calm.least][0] / 1e9)


def test_too_few_or_no_harmless_trials_are_refused(seen: Seen) -> None:
    trials, _ = seen
    with pytest.raises(UsageError, match="1 harmless trials cannot promise"):
        calibrate_on(trials, budget_per_h=0.1)
    with pytest.raises(UsageError, match="no harmless trial"):
        calibrate_on([w for w in trials if not w.harmless], budget_per_h=0.1)


def test_a_rule_that_predicts_nothing_is_named(seen: Seen) -> None:
    with pytest.raises(UsageError, match="rule cool-first predicts nothing"):
        watched(records(), "spoon-feed", "cool-first")
    with pytest.raises(UsageError, match="press-ahed"):
        watched(records(), "spoon-feed", "press-ahed")
    with pytest.raises(RecordError, match="NOT ASSESSED: no complete trial of handover"):
        watched(records(), "handover", "hold-until-carried")


# --- the commands ----------------------------------------------------------------------------------


def test_the_curve_is_printed_for_people_and_programs(
    proposed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["timeliness", str(records()), "--curve", "spoon-feed/press-ahead", "--rules", str(proposed)]
    assert run(command) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "press-ahead alone on 2 trials" in out and "1 harmless trials" in out and "Open loop" in out
    assert "within 0.1 needless interruptions per hour" in out
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [p["kappa"] for p in told["points"]] == list(KAPPAS) and told["trials"] == 2


def test_a_calibration_prints_the_lines_of_its_entry(
    proposed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["rules", "calibrate", str(records()), "press", "--rules", str(proposed)]
    assert run([*command, "--budget", "9.5"]) == 0
    out, told = capsys.readouterr()
    assert f"decided by {PLAIN[0]}, hasty, seed 4, at " in told
    lines = dict(line.split(" = ", 1) for line in out.strip().splitlines())
    assert set(lines) == {
        "kappa", "budget_per_h", "trials", "hours", "allowed", "guaranteed", "least", "source",
    }  # fmt: skip
    assert lines["trials"] == "1" and lines["budget_per_h"] == "9.5" and PLAIN[0] in lines["source"]
    assert float(lines["kappa"]) <= float(lines["least"]) + 1e-3, "rounded down, never up"
    assert run([*command, "--budget", "9.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rule"] == "press-ahead"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rules", "calibrate", "RECORDS", "press"], "give the file of one that does with --rules"),
        (["rules", "calibrate", "RECORDS", "pres"], "unknown prediction 'pres'"),
        (["rules", "calibrate", "RECORDS", "press", "--rules", "PROPOSED"], "are needed"),
        (["timeliness", "RECORDS", "--curve", "spoon-feed/cool-first"], "predicts nothing"),
        (["timeliness", "RECORDS", "--curve", f"{EXIT[0].split('/')[0]}/nothing"], "nothing"),
    ],
    ids=["no rule", "no entry", "too few", "predicts nothing", "unknown rule"],
)
def test_what_cannot_be_calibrated_is_said_and_ends_with_two(
    arguments: list[str], says: str, proposed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = {"RECORDS": str(records()), "PROPOSED": str(proposed)}
    assert run([here.get(word, word) for word in arguments]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
