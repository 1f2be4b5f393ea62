"""Logs of inspect-robots 0.60.0, made with its own mock (`CubePickEmbodiment`, two scenes, two epochs)."""

import json
from pathlib import Path

import pytest

from analysis.trial_files import read_trials
from analysis.trials import OUTCOMES
from rig.core.errors import ConfigError

DATA = Path(__file__).parent / "data"


def log() -> dict:
    return json.loads((DATA / "inspect_robots_scripted.json").read_text())


def outcomes(path: Path) -> list[str]:
    return [OUTCOMES[code].value for code in read_trials(path).outcome]


def test_a_log_is_a_trial_table() -> None:
    table = read_trials(DATA / "inspect_robots_scripted.json")
    assert len(table) == 4 and set(table.item) == {"cubes/near", "cubes/far"}
    assert set(table.duration_s) == {20.0, 60.0} and set(table.agent) == {"scripted"}
    assert (
        set(table.embodiment) == {"simulated"}
        and set(table.site) == {"cubepick"}
        and set(table.family) == {"pick"}
    )
    assert outcomes(DATA / "inspect_robots_scripted.json") == ["PASS"] * 4
    assert "PASS" not in outcomes(DATA / "inspect_robots_noop.json")


def test_a_trial_that_broke_says_nothing_of_the_policy(tmp_path: Path) -> None:
    broken = log()
    broken["samples"][0]["epochs"][1] = {}
    broken["samples"][1] |= {"epochs": [], "status": "error"}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(broken))
    assert outcomes(path) == ["PASS", "ABORTED", "ABORTED"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "schema 2"),
        ({"samples": None}, "not a whole log"),
        ({"samples": [{"scene_id": "a", "status": "success", "epochs": [{"length": 3.0}]}]}, "no score says"),
        (
            {"samples": [{"scene_id": "a", "status": "success", "epochs": [{"success_at_end": 1.0}]}]},
            "duration_s",
        ),
        (
            {
                "samples": [
                    {
                        "scene_id": "a",
                        "status": "success",
                        "epochs": [{"success_at_end": 0.5}],
                        "scene_metadata": {"duration_s": 1.0},
                    }
                ]
            },
            "0.5",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(change: dict, said: str, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**log(), **change}))
    with pytest.raises(ConfigError, match=said):
        read_trials(path)
