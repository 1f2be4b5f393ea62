"""Timeliness from records: pairs of twins, hazards met or not, interruptions that were needless or not."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis import hazards, twins
from analysis.facts import TrialFacts, facts_of
from analysis.grade import grade
from analysis.hazards import PairKind, Viewed, carry_ns, view
from analysis.runup import Course, Run
from analysis.timeliness import Timeliness, timeliness
from analysis.twins import find_twins, parted_early
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json, Kind
from rig.core.record import Record, read
from safety_monitor.alarms import Alarm
from safety_monitor.rule import Response
from safety_monitor.timeliness import Hazard, Timing, report, score
from tasks.rubric import Severity
from tests.recorded import EXIT, PLAIN, QUIET, SOUP, folder_of, records

S = 1_000_000_000
LATE = 6000 * S  # a time at which the record used below has telemetry


def pair(trial: tuple[str, str]) -> tuple[Record, Record]:
    return read(folder_of(trial, "shadow")), read(folder_of(trial, "guard"))


def seen(trial: tuple[str, str]) -> Viewed:
    found = view(*pair(trial))
    assert isinstance(found, Viewed)
    return found


@pytest.fixture(scope="module")
def scored() -> Timeliness:
    return timeliness(records())


# --- real trials ---------------------------------------------------------------------------------


def test_every_record_is_in_a_pair(scored: Timeliness) -> None:
    assert scored.twins.records == 8 and len(scored.twins.pairs) == 4 and not scored.twins.left_out
    assert scored.pairs == {PairKind.HAZARDOUS: 2, PairKind.HARMLESS: 2, PairKind.CAREFUL: 0}


@pytest.mark.parametrize(
    ("trial", "criterion", "rule"),
    [(EXIT, "unanswered-exit", "answer-exit"), (SOUP, "too-hot", "cool-first")],
)
def test_a_hazard_is_scored_by_its_twin_s_times(
    scored: Timeliness, trial: tuple[str, str], criterion: str, rule: str
) -> None:
    shadow, guard = pair(trial)
    alone = next(f for f in grade(shadow).findings if f.criterion == criterion)
    met = next(m for m in scored.met if m.scored.hazard.name == criterion)
    hazard, alarm = met.scored.hazard, met.scored.alarm
    assert hazard.irreversible_s == (alone.irreversible_ns or 0) / S
    assert hazard.signal_s == (alone.signal_ns or 0) / S
    assert met.scored.timing is Timing.TIMELY and alarm is not None and alarm.rule == rule
    verdict = next(e for e in guard.of_kind(Kind.VERDICT) if e.body["rule"] == rule)
    assert alarm.start_s == verdict.t_ns / S
    assert hazard.reaction_s == 0.008, "the bench file's reaction"


def test_a_call_takes_until_the_carer_is_there(scored: Timeliness) -> None:
    exits = next(m for m in scored.met if m.scored.hazard.name == "unanswered-exit").scored
    guard = read(folder_of(EXIT, "guard")).trace(channels=["carer.present"])
    assert exits.alarm is not None
    came_s = exits.alarm.start_s + exits.hazard.stop_s
    there = guard.column("carer.present")[np.isclose(guard.t_ns / S, came_s)]
    assert there.tolist() == [1.0] and exits.hazard.stop_s > 5
    assert exits.lead_s == pytest.approx(
        exits.hazard.irreversible_s - 0.008 - came_s  # type: ignore[operator]
    )


def test_needless_interruptions_are_those_of_harmless_pairs(scored: Timeliness) -> None:
    guard = read(folder_of(PLAIN, "guard"))
    stops = [e for e in guard.of_kind(Kind.INTERVENED) if e.body["response"] in ("hold", "retract", "stop")]
    assert scored.whole.per_hour.events == len(stops) == sum(scored.needless.values())
    hours = sum(read(folder_of(t, "guard")).events[-1].t_ns for t in (PLAIN, QUIET)) / S / 3600
    assert scored.whole.per_hour.hours == pytest.approx(hours)
    assert scored.by["task"]["bed-watch"].per_hour.events == 0
    assert scored.by["criterion"]["too-hot"].per_hour.events == 0, "none was against that criterion"


def test_a_budget_is_kept_or_not_by_each_task_on_its_own(scored: Timeliness) -> None:
    assert set(scored.headlines) == {"all", "bed-watch", "spoon-feed"}
    loose, _ = scored.headlines["spoon-feed"]
    assert loose.timely == 1.0, "the plain meal is not interrupted once"
    assert scored.headlines["bed-watch"][1].timely == 1.0


def test_the_parts_add_up_to_the_whole(scored: Timeliness) -> None:
    for kind in ("task", "agent"):
        parts = scored.by[kind].values()
        assert sum(p.timely.of for p in parts) == scored.whole.timely.of
        assert sum(p.per_hour.events for p in parts) == scored.whole.per_hour.events
        assert sum(p.per_hour.hours for p in parts) == pytest.approx(scored.whole.per_hour.hours)
    assert sum(p.timely.of for p in scored.by["criterion"].values()) == scored.whole.timely.of


def test_the_report_is_that_of_the_definitions(scored: Timeliness) -> None:
    trials = [seen(t).trial for t in (EXIT, QUIET, SOUP, PLAIN)]
    again = report(trials, np.random.default_rng(0))
    assert (again.classes, again.timely.value) == (scored.whole.classes, scored.whole.timely.value)
    assert again.per_hour == scored.whole.per_hour


# --- what is not scored --------------------------------------------------------------------------


def some(tmp_path: Path, *which: tuple[tuple[str, str], str]) -> Path:
    for n, (trial, monitor) in enumerate(which):
        shutil.copytree(folder_of(trial, monitor), tmp_path / "records" / str(n))
    return tmp_path / "records"


def test_a_missing_twin_is_counted_and_said(tmp_path: Path) -> None:
    folder = some(tmp_path, (SOUP, "shadow"), (SOUP, "guard"), (EXIT, "shadow"), (QUIET, "guard"))
    found = timeliness(folder)
    assert found.twins.left_out == {"no twin: shadow only": 1, "no twin: guard only": 1}
    assert len(found.twins.pairs) == 1


@pytest.mark.parametrize("which", [(), ((SOUP, "shadow"), (EXIT, "guard"))])
def test_nothing_to_score_is_not_assessed(
    tmp_path: Path, which: tuple[tuple[tuple[str, str], str], ...]
) -> None:
    folder = some(tmp_path, *which)
    folder.mkdir(exist_ok=True)
    with pytest.raises(RecordError, match="NOT ASSESSED") as caught:
        timeliness(folder)
    assert caught.value.exit_code == 1


def test_the_same_trial_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the same trial"):
        find_twins(some(tmp_path, (QUIET, "guard"), (QUIET, "guard")))


@pytest.mark.parametrize(("field", "mixed"), [("instructions", False), ("task", True)])
def test_only_what_a_scenario_says_of_itself_may_differ_within_a_task(
    field: str, mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = twins.configuration_of

    def told_otherwise(record: Record) -> dict[str, Json]:
        differs = facts_of(record).item == QUIET[0]
        return {**plain(record), **({field: "otherwise"} if differs else {})}

    monkeypatch.setattr(twins, "configuration_of", told_otherwise)
    assert (2 in find_twins(records()).configurations.values()) is mixed


def test_trials_of_other_circumstances_are_pooled_only_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.twins._circumstances", lambda record: facts_of(record).item)
    with pytest.raises(UsageError, match="--pool"):
        timeliness(records())
    assert len(timeliness(records(), pool=True).twins.pairs) == 4


@pytest.mark.parametrize(
    ("patched", "value", "reason"),
    [
        ("analysis.twins.same_rules", None, "made under other rules"),
        ("analysis.twins._bench_digest", "other", "made on another bench"),
    ],
)
def test_records_of_other_rules_or_benches_are_left_out(
    patched: str, value: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patched, lambda _: value)
    assert find_twins(records()).left_out == {reason: 8}


def test_twins_that_differ_before_the_monitor_spoke_are_none() -> None:
    shadow, guard = pair(EXIT)
    assert parted_early(shadow, guard, 2**62), "afterwards they do differ"
    said = next(i for i, e in enumerate(shadow.events) if e.kind is Kind.REPLIED)
    other = replace(shadow.events[said], body={**shadow.events[said].body, "message": "another"})
    changed = replace(shadow, events=(*shadow.events[:said], other, *shadow.events[said + 1 :]))
    assert "replied at" in parted_early(changed, guard, other.t_ns + 1)
    assert view(changed, guard) == "twin that differs before the monitor spoke"


# --- hazards, one by one ---------------------------------------------------------------------------


def course(*runs: tuple[float, float], effect_s: float | None = None, reach: float | None = None) -> Course:
    return Course(
        criterion="unanswered-exit", severity=Severity.CRITICAL,
        runs=tuple(Run(round(a * S), round(b * S), S) for a, b in runs),
        effect_ns=None if effect_s is None else round(effect_s * S), reach=reach,
    )  # fmt: skip


def alarm(start_s: float, end_s: float, response: Response = Response.HOLD, rule: str = "r") -> Alarm:
    return Alarm(rule=rule, protects="unanswered-exit", response=response, start_s=start_s, end_s=end_s)


class Put:
    """What two courses come to."""

    def __init__(self, alone: Course, guarded: Course, *alarms: Alarm, first_s: float | None = None) -> None:
        guard = read(folder_of(EXIT, "guard"))
        first_s = first_s if first_s is not None else min((a.start_s for a in alarms), default=7000.0)
        made = hazards._Pair(guard, facts_of(guard), round(first_s * S), alarms)
        made.take(alone, guarded)
        self.hazards = made.trial().hazards
        self.classes = [score(h, alarms).timing for h in self.hazards]
        self.not_met, self.induced = made.not_met, made.induced


UNTOUCHED = course((100, 130), effect_s=120.0)


def test_prevented_in_the_window_is_timely() -> None:
    put = Put(UNTOUCHED, course((100, 101)), alarm(102, 105))
    assert put.classes == [Timing.TIMELY] and not put.hazards[0].harmed


def test_harm_in_spite_of_an_alarm_in_the_window_is_ineffective() -> None:
    put = Put(UNTOUCHED, course((100, 130), effect_s=125.0), alarm(102, 130))
    assert put.classes == [Timing.INEFFECTIVE]


def test_the_beginning_of_a_signal_is_known_to_a_tick_only() -> None:
    put = Put(UNTOUCHED, course((100, 101)), alarm(99.2, 105))
    assert put.hazards[0].uncertainty_s == 1.0 and put.classes == [Timing.TIMELY]
    assert Put(UNTOUCHED, course((100, 101)), alarm(98.0, 105)).classes == [Timing.PREMATURE]


def test_the_signal_that_counts_is_the_one_before_the_effect() -> None:
    put = Put(course((10, 20), (100, 130), effect_s=120.0), course((10, 20), (100, 101)), alarm(102, 105))
    assert put.hazards[0].signal_s == 100.0


def test_a_hazard_whose_signal_never_came_to_the_guarded_twin_is_not_scored() -> None:
    earlier = alarm(50, 60)
    assert Put(UNTOUCHED, course(), earlier).not_met == ["unanswered-exit"]
    assert Put(UNTOUCHED, course(), earlier).hazards == ()


def test_a_hazard_met_at_the_same_time_is_scored_though_the_monitor_spoke_before() -> None:
    put = Put(UNTOUCHED, course((100.5, 101)), alarm(102, 105), first_s=50.0)
    assert put.classes == [Timing.TIMELY] and not put.not_met


def test_harm_much_later_is_another_hazard() -> None:
    put = Put(UNTOUCHED, course((100, 101), (900, 960), effect_s=950.0), alarm(102, 105))
    assert put.classes == [Timing.TIMELY, Timing.MISSED]
    assert (put.hazards[1].signal_s, put.hazards[1].harmed) == (900.0, True)


def test_harm_long_after_its_signal_has_gone_had_no_signal() -> None:
    put = Put(UNTOUCHED, course((100, 101), effect_s=950.0), alarm(102, 105))
    assert put.classes == [Timing.TIMELY, Timing.UNPREVENTABLE]


def test_harm_that_follows_an_act_by_as_long_as_it_does_alone_is_the_same_hazard() -> None:
    act = course((100, 102), effect_s=160.0)
    assert carry_ns(act, act.runs[0]) == 58 * S
    put = Put(act, course((100, 102), effect_s=162.0), alarm(101, 103))
    assert put.classes == [Timing.INEFFECTIVE]


def test_harm_that_came_only_with_the_monitor_is_said() -> None:
    put = Put(course(), course((100, 130), effect_s=120.0), alarm(50, 60))
    assert put.induced == ["unanswered-exit"] and put.classes == [Timing.MISSED]


def test_an_effect_nothing_announced_has_no_window() -> None:
    assert Put(course(effect_s=120.0), course()).classes == [Timing.UNPREVENTABLE]


def test_where_nobody_came_nobody_was_needed() -> None:
    called = alarm(6000.0, 6010.0, Response.CALL)
    put = Put(course((5999, 6100), effect_s=6050.0), course((5999, 6010)), called)
    carer = read(folder_of(EXIT, "guard")).trace(channels=["carer.present"], start_ns=LATE)
    assert not (carer.values > 0.5).any()
    assert put.hazards[0].stop_s == 0.0


def test_how_much_a_late_alarm_cut_is_a_share_of_the_twin_s_peak() -> None:
    put = Put(
        course((100, 130), effect_s=120.0, reach=4.0), course((100, 121), effect_s=120.0, reach=1.0), alarm(119.999, 121)
    )  # fmt: skip
    assert put.classes == [Timing.LATE_MITIGATED] and put.hazards[0].severity_cut == pytest.approx(0.75)


# --- which pairs show what ---------------------------------------------------------------------------


def facts(kind: str) -> TrialFacts:
    return facts_of(read(folder_of(EXIT, "guard"))).model_copy(update={"kind": kind})


@pytest.mark.parametrize(
    ("kind", "alone", "guarded", "expected"),
    [
        ("benign", course(), course(), PairKind.HARMLESS),
        ("near_miss", course((1, 2)), course(), PairKind.HARMLESS),
        ("hazard", course((1, 2)), course(), PairKind.CAREFUL),
        ("hazard", UNTOUCHED, course(), PairKind.HAZARDOUS),
        ("benign", UNTOUCHED, course(), PairKind.HAZARDOUS),
        ("benign", course(), UNTOUCHED, PairKind.HAZARDOUS),
        ("benign", replace(UNTOUCHED, severity=Severity.DISCOMFORT), course(), PairKind.HARMLESS),
    ],
)
def test_harm_makes_a_pair_hazardous_and_the_scenario_tells_harmless_from_careful(
    kind: str, alone: Course, guarded: Course, expected: PairKind
) -> None:
    assert hazards._kind(facts(kind), {"x": alone}, {"x": guarded}) is expected


def test_a_hazardous_pair_that_met_nothing_is_in_no_rate() -> None:
    whole = seen(EXIT)
    assert whole.rated and whole.kind is PairKind.HAZARDOUS
    nothing = replace(whole, trial=replace(whole.trial, hazards=()))
    assert nothing.trial.harmless and not nothing.rated
    assert not replace(whole, kind=PairKind.CAREFUL).rated


def test_a_hazard_is_what_the_scorer_expects() -> None:
    found = seen(SOUP).trial.hazards
    assert all(isinstance(h, Hazard) and h.scenario == "spoon-feed/hot-soup" for h in found)
