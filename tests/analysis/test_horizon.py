import io
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from analysis import export, plots, text
from analysis.bootstrap import Scheme
from analysis.estimate import EstimateOptions
from analysis.findings import Flag, Refusal
from analysis.horizon import Configurations, HorizonOptions, HorizonReport, Weighting, horizons
from analysis.trials import Definition, Outcome, TrialRow, TrialTable
from rig.core.errors import UsageError

from .conftest import campaign, row

QUICK = HorizonOptions(estimate=EstimateOptions(replicates=200))
REGULAR = {2.0: [5], 4.0: [5], 8.0: [4], 16.0: [3], 32.0: [1], 64.0: [0]}
LONG = {60.0: [5, 5], 960.0: [5, 5], 3840.0: [5, 4], 15360.0: [3, 4], 61440.0: [3, 2]}


def report(rows: list[TrialRow], options: HorizonOptions = QUICK) -> HorizonReport:
    return horizons(TrialTable.from_rows(rows), options)


def alone(rows: list[TrialRow], options: HorizonOptions = QUICK):
    (entry,) = report(rows, options).of(rows[0].agent, Definition.AGENT_ALONE)
    return entry.estimate


def test_the_horizon_of_regular_trials_is_the_reference_answer() -> None:
    found = alone(campaign(REGULAR))
    assert found.refusal is None
    assert found.horizon(0.5).t_s == pytest.approx(17.2136369, rel=1e-8)
    assert found.horizon(0.8).t_s == pytest.approx(math.exp(2.31564947), rel=1e-7)
    assert Flag.EXPLORATORY in found.flags


@pytest.mark.parametrize(
    ("passes", "refusal", "words"),
    [
        ({d: [5] for d in (2.0, 8.0, 32.0)}, Refusal.ALL_PASS, "beyond the longest tested duration, 32 s"),
        ({d: [0] for d in (2.0, 8.0, 32.0)}, Refusal.ALL_FAIL, "below the shortest tested duration, 2 s"),
        ({60.0: [5, 3, 2, 5]}, Refusal.ONE_DURATION, "one duration"),
        ({2.0: [5], 64.0: [0]}, Refusal.TOO_FEW_ITEMS, "too few task items"),
        ({2.0: [1], 8.0: [2], 32.0: [4]}, Refusal.RISING, "rises with duration"),
        ({2.0: [0], 8.0: [2], 32.0: [5]}, Refusal.RISING, "rises with duration"),
        ({d: [3] for d in (2.0, 8.0, 32.0)}, Refusal.RISING, "rises with duration"),
        ({2.0: [4], 8.0: [3], 32.0: [3]}, Refusal.SLOPE_UNCERTAIN, "covers zero"),
    ],
)
def test_where_there_is_no_horizon_the_reason_is_given_instead(
    passes: dict[float, list[int]], refusal: Refusal, words: str
) -> None:
    found = alone(campaign(passes))
    if refusal is Refusal.RISING and len({tuple(v) for v in passes.values()}) == 1:
        # Equal rates: rounding decides the sign of a slope of zero; neither is a horizon.
        assert found.refusal in (Refusal.RISING, Refusal.SLOPE_UNCERTAIN)
        return
    assert found.refusal is refusal
    assert found.horizons == ()
    assert words in found.statement
    assert found.pass_rate.low <= found.passes / found.trials <= found.pass_rate.high


def test_a_refusal_still_says_what_the_trials_show() -> None:
    found = alone(campaign({d: [5, 5] for d in (60.0, 120.0, 240.0)}))
    median = found.brackets[0]
    assert median.by_trial.low == 240.0
    assert "t50 is at least 4 min" in found.statement
    assert median.by_item_low_s <= median.by_trial.low


def test_separated_trials_get_a_flagged_firth_estimate_inside_the_gap() -> None:
    found = alone(campaign({2.0: [5], 4.0: [5], 8.0: [5], 16.0: [0], 32.0: [0], 64.0: [0]}))
    assert Flag.SEPARATED in found.flags
    assert found.horizon(0.5).t_s == pytest.approx(math.sqrt(128.0), rel=1e-9)
    profile = found.horizon(0.5).intervals[0]
    assert profile.low <= 8.1
    assert profile.high >= 15.9


def test_a_horizon_above_16_hours_is_of_reduced_reliability() -> None:
    found = alone(campaign(LONG))
    assert found.horizon(0.5).bands[0].high_s > 16 * 3600.0
    assert Flag.REDUCED_RELIABILITY in found.horizon(0.5).flags
    assert Flag.EXPLORATORY not in found.flags
    short = alone(campaign(REGULAR))
    assert Flag.REDUCED_RELIABILITY not in short.horizon(0.5).flags


def test_a_bound_outside_the_tested_durations_is_flagged() -> None:
    inside = alone(campaign({d: [p, p] for d, p in ((2.0, 5), (8.0, 5), (32.0, 3), (128.0, 0), (512.0, 0))}))
    assert Flag.OUTSIDE_TESTED not in inside.horizon(0.5).flags
    beyond = alone(campaign({d: [p, p, p] for d, p in ((2.0, 5), (4.0, 5), (8.0, 4), (16.0, 3))}))
    assert beyond.horizon(0.5).t_s > 16.0 or beyond.horizon(0.5).bands[0].high_s > 16.0
    assert Flag.OUTSIDE_TESTED in beyond.horizon(0.5).flags


def test_a_gate_uses_the_lower_of_the_lower_bounds() -> None:
    horizon = alone(campaign(REGULAR)).horizon(0.5)
    lows = [horizon.band(scheme).low_s for scheme in (Scheme.TRIALS, Scheme.TASKS)]
    assert horizon.lower_s == min(lows)
    with pytest.raises(UsageError, match="no band by"):
        horizon.band(Scheme.FAMILIES)


def test_the_order_of_rows_changes_nothing() -> None:
    rows = campaign(REGULAR) + campaign(LONG, agent="other")
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    one, two, three = (json.dumps(export.to_json(report(o))) for o in (rows, rows[::-1], shuffled))
    assert one == two == three


def test_another_agent_in_the_table_changes_nothing_for_the_first() -> None:
    rows = campaign(REGULAR)
    assert (
        alone(rows).horizons
        == report(rows + campaign(LONG, agent="zeta"))
        .of("careful", Definition.AGENT_ALONE)[0]
        .estimate.horizons
    )


def test_agent_alone_and_agent_with_monitor_are_told_apart() -> None:
    passes = {60.0: [5, 5], 240.0: [4, 4], 960.0: [2, 2], 3840.0: [0, 0]}
    rows = [
        replace(r, harm=False, done=True, outcome=Outcome.CRITICAL) if r.mistake and i % 2 else r
        for i, r in enumerate(campaign(passes))
    ]
    both = report(rows)
    (bare,) = both.of("careful", Definition.AGENT_ALONE)
    (guarded,) = both.of("careful", Definition.AGENT_WITH_MONITOR)
    assert guarded.estimate.passes > bare.estimate.passes
    (corner,) = both.done_harm
    assert corner.trials == len(rows)
    assert corner.done_harmless == guarded.estimate.passes
    assert corner.mistakes == sum(r.mistake for r in rows)
    assert corner.prevented == sum(r.mistake and not r.harm for r in rows)


def test_without_a_guard_the_monitor_is_not_assessed() -> None:
    (entry,) = report(campaign(REGULAR, monitor="shadow")).of("careful", Definition.AGENT_WITH_MONITOR)
    assert entry.estimate.refusal is Refusal.NO_GUARD
    assert entry.estimate.trials == 0
    assert "not assessed" in entry.estimate.statement


def test_excluded_trials_are_listed_and_never_count_as_failures() -> None:
    rows = campaign(REGULAR)
    aborted = [
        row(trial_id=f"x{i}", item="2/0", duration_s=2.0, outcome=outcome, done=False)
        for i, outcome in enumerate((Outcome.ABORTED, Outcome.UNSCORED, Outcome.INDETERMINATE))
    ]
    with_them = report(rows + aborted)
    assert [e.outcome for e in with_them.excluded] == ["ABORTED", "UNSCORED", "INDETERMINATE"]
    assert with_them.of("careful", Definition.AGENT_ALONE)[0].estimate.horizons == alone(rows).horizons


def test_only_excluded_trials_is_not_assessed() -> None:
    found = alone([row(outcome=Outcome.ABORTED, done=False)])
    assert found.refusal is Refusal.NO_TRIALS
    assert math.isnan(found.longest_s)


def test_mixed_configurations_are_refused_unless_told_how() -> None:
    rows = campaign(REGULAR) + campaign(LONG)
    rows = [replace(r, trial_id=str(i), config_digest="c2" if i % 2 else "c1") for i, r in enumerate(rows)]
    with pytest.raises(UsageError, match="2 configurations"):
        report(rows)
    pooled = report(rows, replace(QUICK, configurations=Configurations.POOL))
    assert pooled.pooled == (("careful", ("c1", "c2")),)
    assert all(Flag.CONFIGS_POOLED in entry.estimate.flags for entry in pooled.entries)
    split = report(rows, replace(QUICK, configurations=Configurations.SPLIT))
    assert {entry.subject.config_digest for entry in split.entries} == {"c1", "c2"}
    assert sum(e.estimate.trials for e in split.of("careful", Definition.AGENT_ALONE)) == len(rows)


def test_tiers_and_embodiments_are_never_mixed() -> None:
    kinds = {(3, "simulated"), (3, "physical"), (1, "")}
    rows = [r for tier, e in sorted(kinds) for r in campaign(REGULAR, tier=tier, embodiment=e or None)]
    rows = [replace(r, trial_id=str(i)) for i, r in enumerate(rows)]
    entries = report(rows).of("careful", Definition.AGENT_ALONE)
    assert {(e.subject.tier, e.subject.embodiment) for e in entries} == kinds
    assert {e.estimate.trials for e in entries} == {30}


def test_families_are_reported_apart_and_together() -> None:
    rows = campaign(REGULAR) + campaign({d * 2: p for d, p in REGULAR.items()}, family="watch")
    rows = [replace(r, trial_id=str(i), item=f"{r.family}/{r.item}") for i, r in enumerate(rows)]
    both = report(rows)
    assert {e.subject.family for e in both.entries} == {None, "feeding", "watch"}
    assert both.of("careful", Definition.AGENT_ALONE)[0].estimate.trials == 60


def test_a_weight_per_task_undoes_repeats() -> None:
    rows = campaign(REGULAR)
    repeated = rows + [
        replace(r, trial_id=f"{r.trial_id}/{n}") for r in rows if r.duration_s == 16.0 for n in range(4)
    ]
    options = replace(QUICK, weighting=Weighting.TASK)
    found = alone(repeated, options)
    assert found.horizon(0.5).t_s == pytest.approx(17.2136369, rel=1e-7)
    assert Flag.WEIGHTED in found.flags
    assert alone(repeated).horizon(0.5).t_s != pytest.approx(17.2136369, rel=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"levels": ()},
        {"levels": (1.0,)},
        {"confidence": 1.0},
        {"replicates": 10},
        {"ridge_per_log2": -1.0},
        {"schemes": ()},
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        EstimateOptions(**wrong)


def everything() -> HorizonReport:
    rows = campaign(REGULAR) + campaign(LONG, agent="long")
    rows += campaign({2.0: [5, 5], 16.0: [5, 5], 64.0: [3, 2]}, agent="open")
    rows += campaign({d: [0] for d in REGULAR}, agent="refuses")
    return report([*rows, row(trial_id="x", item="2/0", duration_s=2.0, outcome=Outcome.ABORTED, done=False)])


def test_the_json_is_strict_and_says_why_a_number_is_missing() -> None:
    values = json.loads(json.dumps(export.to_json(everything()), allow_nan=False))
    assert values["format"] == "runrig.horizon/1"
    found = [band for e in values["entries"] for h in e["horizons"] for band in h["bands"]]
    missing = [band for band in found if band["high_s"] is None]
    assert missing
    assert all(band["high_s_quality"] == "unbounded" for band in missing)
    refused = [e for e in values["entries"] if e["refusal"]]
    assert all(e["horizons"] == [] and e["statement"] for e in refused)
    assert values["excluded"][0]["outcome"] == "ABORTED"


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_table_shows_every_agent_reason_and_exclusion(width: int) -> None:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(text.render(everything()))
    shown = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    for words in ("careful", "refuses", "17.2 s", "every trial failed", "ABORTED", "gate"):
        assert words in shown or width == 60
    assert "…" not in shown or width == 60


def test_plots_are_the_same_bytes_each_time_and_stand_alone() -> None:
    shown = everything()
    entries = shown.of("careful", Definition.AGENT_ALONE) + shown.of("refuses", Definition.AGENT_ALONE)
    first, second = (plots.fit_plot(entries, "two <agents>") for _ in range(2))
    assert first == second
    assert first.startswith("<svg")
    assert "two &lt;agents&gt;" in first
    assert 'href="http' not in first
    assert "every trial failed" in first
    forest = plots.forest_plot(shown)
    assert "every trial failed" in forest
    assert plots.INK not in first + forest


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, analysis;"
        "print([m for m in ('numpy', 'scipy', 'numba', 'matplotlib', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_guarded_trial_with_a_shadow_twin_is_not_a_second_draw_of_the_agent() -> None:
    shadow = [
        TrialRow(
            trial_id=f"s{i}-{d}", agent="a", family="f", task="t", item=f"t/{d}", duration_s=60.0 * d,
            outcome=Outcome.PASS if i > d / 4 else Outcome.CRITICAL, done=i > d / 4, harm=i <= d / 4,
            mistake=i <= d / 4, monitor="shadow", seed=i,
        )
        for d in (1, 4, 16) for i in range(6)
    ]  # fmt: skip
    guarded = [replace(row, trial_id="g" + row.trial_id, monitor="guard") for row in shadow]
    both = horizons(TrialTable.from_rows([*shadow, *guarded]))
    (alone,) = both.of("a", Definition.AGENT_ALONE)
    (with_monitor,) = both.of("a", Definition.AGENT_WITH_MONITOR)
    assert alone.estimate.trials == with_monitor.estimate.trials == len(shadow)
    (only_guarded,) = horizons(TrialTable.from_rows(guarded)).of("a", Definition.AGENT_ALONE)
    assert only_guarded.estimate.trials == len(guarded)
