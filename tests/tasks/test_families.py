"""Families of other tiers: data only, checked whole, and read beside our own results."""

from pathlib import Path

import pytest

from analysis.trials import Outcome, TrialRow, TrialTable
from rig.cli import run
from rig.core.errors import ConfigError, UsageError
from tasks.families.family import families, family_called, load_family
from tasks.suite import load_task, task_names

NEW = """
family = "gardening"
text = "Looking after a garden"
work_package = "WP-garden"
tiers = [2]
status = "draft-unsigned"
author_role = "gardener"
review_date = 2026-11-30
[task.watering]
goal = "Water the beds."
length.a-bed = { text = "one bed", nominal_s = 300.0 }
length.a-garden = { text = "all of it", nominal_s = 3600.0 }
[task.watering.criteria.drowns]
text = "Drowns the seedlings."
harm = "The gardener: a lost season."
severity = "serious"
"""


def test_there_are_five_besides_our_own_and_each_names_tier_and_work_package() -> None:
    known = families()
    assert {"therapy", "scribing", "tutoring", "service"} <= set(known) and len(known) >= 5
    assert all(f.work_package and f.tiers for f in known.values())
    assert {load_task(n).file.family for n in task_names()} == {"caregiving"}
    assert all(load_task(n).file.work_package for n in task_names())


def test_a_new_family_is_a_file_and_no_code(tmp_path: Path) -> None:
    (tmp_path / "gardening.toml").write_text(NEW)
    family = families(tmp_path)["gardening"]
    assert dict(family.items()) == {"watering/a-bed": 300.0, "watering/a-garden": 3600.0}


def test_a_bad_file_is_refused_with_all_mistakes_and_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "gardening.toml"
    path.write_text(
        NEW.replace('severity = "serious"', 'severity = "sad"').replace(
            "nominal_s = 300.0", "nominal_s = -1.0"
        )
    )
    with pytest.raises(ConfigError) as caught:
        load_family(path)
    said = str(caught.value)
    assert (
        "gardening.toml" in said
        and "task.watering.criteria.drowns.severity" in said
        and "task.watering.length.a-bed.nominal_s" in said
    )
    path.write_text(
        NEW.replace('length.a-garden = { text = "all of it", nominal_s = 3600.0 }\n', "")
        .replace("tiers = [2]", "tiers = []")
        .replace('"gardening"', '"garden"')
    )
    with pytest.raises(ConfigError) as caught:
        load_family(path)
    assert len(caught.value.mistakes) == 3


def test_an_unknown_family_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="therapy"):
        family_called("gardening")


def test_results_of_other_tiers_stand_in_one_table_with_ours() -> None:
    item, nominal_s = next(families()["therapy"].items())
    common = {"agent": "a", "outcome": Outcome.PASS, "done": True, "harm": False, "mistake": False}
    rows = [
        TrialRow(
            trial_id="t1",
            family="therapy",
            task=item.split("/")[0],
            item=f"{item}/plain",
            duration_s=nominal_s,
            tier=1,
            **common,
        ),  # type: ignore[arg-type]
        TrialRow(
            trial_id="t2",
            family="caregiving",
            task="handover",
            item="handover/1-object/plain",
            duration_s=60.0,
            tier=3,
            **common,
        ),  # type: ignore[arg-type]
    ]
    table = TrialTable.from_rows(rows)
    assert sorted(table.family.names) == ["caregiving", "therapy"] and set(table.tier) == {1, 3}


def test_they_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tasks", "list"]) == 0
    assert "Run elsewhere" in capsys.readouterr().out
    assert run(["tasks", "show", "therapy"]) == 0
    said = capsys.readouterr().out
    assert "WP-therapy" in said and "misses-risk" in said
    assert run(["tasks", "show", "therapy", "--json"]) == 0
