"""Published horizons of other groups, met from their own data (read where it lies, skipped where absent)."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.bootstrap import quantile
from analysis.findings import Flag, Refusal
from analysis.fit import Cells, fit
from analysis.horizon import HorizonOptions, horizons
from analysis.trial_files import read_trials
from analysis.trials import Definition, TrialTable

from .conftest import failed, read_csv, row

TWO_AGENTS = {"gpt54": "GPT-5.4", "mythos": "Claude Mythos Preview (early)"}


def test_runs_as_published_give_the_published_horizons(
    data: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    """The whole path: a runs file in its own columns, the settings of its authors, their numbers."""
    lines = []
    for task in read_csv(data / "metr_th11_two_agents.csv"):
        for key, name in TWO_AGENTS.items():
            passes, runs = int(task[f"{key}_successes"]), int(task[f"{key}_runs"])
            lines += [
                json.dumps({
                    "run_id": f"{task['task_id']}/{key}/{n}", "alias": name, "task_id": task["task_id"],
                    "task_family": task["task_family"], "human_minutes": float(task["human_minutes"]),
                    "score_binarized": int(n < passes),
                })
                for n in range(runs)
            ]  # fmt: skip
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(lines))
    report = horizons(read_trials(path), HorizonOptions.metr(replicates=200, intervals=False))
    for name in TWO_AGENTS.values():
        (entry,) = report.of(name, Definition.AGENT_ALONE)
        answer = expected["metr_th11_two_agents"][name]
        found = entry.estimate
        assert found.horizon(0.5).t_s / 60.0 == pytest.approx(answer["t50_min"], rel=2e-7)
        assert found.horizon(0.5).t_s / 60.0 == pytest.approx(answer["published"]["t50_min"], rel=2e-4)
        assert found.horizon(0.8).t_s / 60.0 == pytest.approx(answer["t80_min"], rel=1e-6)
        intercept = found.fitted.alpha - found.fitted.beta * math.log(60.0)
        assert intercept == pytest.approx(answer["intercept"], abs=1e-7)
    certified = expected["metr_th11_two_agents"][TWO_AGENTS["mythos"]]["published"]["intercept_certified_box"]
    assert certified[0] - 5e-9 <= intercept <= certified[1] + 5e-9
    flags = report.of(TWO_AGENTS["mythos"], Definition.AGENT_ALONE)[0].estimate.horizon(0.5).flags
    assert Flag.REDUCED_RELIABILITY in flags


def test_a_heavy_penalty_moves_the_horizon_as_far_as_published(data: Path, expected: dict[str, Any]) -> None:
    table = expand(read_csv(data / "metr_th11_two_agents.csv"))
    report = horizons(table, HorizonOptions.metr(0.1, replicates=100, intervals=False))
    for key, name in (("GPT-5.4", TWO_AGENTS["gpt54"]), ("Mythos", TWO_AGENTS["mythos"])):
        found = report.of(name, Definition.AGENT_ALONE)[0].estimate
        answer = expected["metr_th11_two_agents"]["lambda_0.1"][key]["t50_min"]
        assert found.horizon(0.5).t_s / 60.0 == pytest.approx(answer, rel=2e-7)
        assert Flag.PENALISED in found.flags


def expand(tasks: list[dict[str, str]]) -> TrialTable:
    rows = []
    for task in tasks:
        for key, name in TWO_AGENTS.items():
            passes, runs = int(task[f"{key}_successes"]), int(task[f"{key}_runs"])
            rows += [
                (row if n < passes else failed)(
                    trial_id=f"{task['task_id']}/{key}/{n}",
                    agent=name,
                    family=task["task_family"],
                    item=task["task_id"],
                    duration_s=60.0 * float(task["human_minutes"]),
                )
                for n in range(runs)
            ]
    return TrialTable.from_rows(rows)


def test_swe_bench_horizons_and_losses_are_met_for_all_13_models(data: Path) -> None:
    scores = read_csv(data / "swe_bench_verified_scores.csv")
    minutes = np.array([float(r["minutes"]) for r in scores])
    order = np.argsort(minutes, kind="stable")
    for answer in read_csv(data / "swe_bench_verified_published_horizons.csv"):
        passes = np.array([float(r[answer["model"]]) / 100.0 for r in scores])
        fitted = fit(Cells(np.log(minutes[order]), passes[order], np.ones(len(passes))))
        assert fitted.t_s(0.5) == pytest.approx(float(answer["horizon"]), rel=1.2e-4)
        assert fitted.beta * math.log(2.0) == pytest.approx(float(answer["slope"]), abs=1e-4)
        assert -fitted.log_likelihood == pytest.approx(float(answer["loss"]), abs=2e-4)


def test_published_horizons_follow_from_their_coefficients(data: Path) -> None:
    for answer in read_csv(data / "metr_2025_headline_fits.csv"):
        slope, intercept = float(answer["coefficient"]), float(answer["intercept"])
        assert 2.0 ** (-intercept / slope) == pytest.approx(float(answer["p50"]), rel=2e-4)
        assert 2.0 ** ((math.log(4.0) - intercept) / slope) == pytest.approx(float(answer["p80"]), rel=2e-4)


def test_published_percentiles_are_ours(data: Path) -> None:
    """1,000 published replicates of 34 horizons; the missing ones were dropped there."""
    columns = defaultdict(list)
    for replicate in read_csv(data / "metr_2025_headline_bootstrap_1000.csv.gz"):
        for name, value in replicate.items():
            if value:
                columns[name].append(float(value))
    assert len(columns) == 34
    for answer in read_csv(data / "metr_2025_headline_fits.csv"):
        for level in ("p50", "p80"):
            ordered = np.sort(columns[f"{answer['agent']}_{level}"])
            for tail in (0.025, 0.975):
                printed = float(answer[f"{level}q{tail:g}"])
                assert quantile(ordered, tail) == pytest.approx(printed, rel=1e-6, abs=1e-6)


def test_agents_whose_horizon_was_printed_far_outside_the_tests_are_refused_or_flagged(data: Path) -> None:
    """Real runs of January 2025: one agent fails everything, another was printed at 90 microseconds."""
    rows = []
    for number, run in enumerate(read_csv(data / "metr_jan2025_runs_trimmed.csv.gz")):
        make = row if run["score_binarized"] == "1" else failed
        rows.append(
            make(
                trial_id=str(number),
                agent=run["alias"],
                family=run["task_family"],
                # One task of the file is listed with two durations; they are two items here.
                item=f"{run['task_id']} {run['human_minutes']}",
                duration_s=60.0 * float(run["human_minutes"]),
            )
        )
    report = horizons(TrialTable.from_rows(rows), HorizonOptions.metr(1e-5, replicates=100, intervals=False))
    found = {
        e.subject.agent: e.estimate for e in report.entries if e.subject.definition is Definition.AGENT_ALONE
    }
    assert len(found) == 11
    assert found["davinci-002"].refusal is Refusal.ALL_FAIL
    assert "below the shortest tested duration" in found["davinci-002"].statement
    for estimate in found.values():
        median = estimate.horizon(0.5)
        if median is not None and not estimate.shortest_s <= median.t_s <= estimate.longest_s:
            assert Flag.OUTSIDE_TESTED in median.flags


def test_every_published_table_row_lies_inside_its_own_interval(data: Path) -> None:
    rows = read_csv(data / "metr_published_tables.csv")
    assert len(rows) == 70
    for answer in rows:
        assert float(answer["p50_lo"]) <= float(answer["p50_min"]) <= float(answer["p50_hi"])
