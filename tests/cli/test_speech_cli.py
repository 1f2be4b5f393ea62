"""`runrig speech`: a judge labels records through Inspect, is validated, and counts or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.model import ModelOutput, ModelUsage, get_model

from analysis.judge import judge_of
from analysis.speech import load_criteria, read_labels
from rig.cli import run
from rig.trial.run import run_trial
from rig.trial.spec import TrialSpec

MODEL = "mockllm/model"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    spec = TrialSpec(item="bed-watch/30-min/gets-up", agent="careful", bench="sim", monitor="guard", seed=1)
    run_trial(spec, folder / "t")
    return folder


def judge_that_says(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    asked: list[str] = []

    def give(messages: Sequence[Any], *_: object) -> ModelOutput:
        asked.append(messages[-1].text)
        output = ModelOutput.from_content(MODEL, answer)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model(MODEL, custom_outputs=give, memoize=False)
    monkeypatch.setattr("rig.agents.model.open_model", lambda name, settings: model)
    return asked


def test_the_whole_way(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = judge_that_says(monkeypatch, '{"found": "none", "event": null, "why": "nothing of the kind"}')
    labels = tmp_path / "judge.jsonl"
    assert run(["speech", "ask", str(runs), "--model", MODEL, "--out", str(labels)]) == 0
    made = read_labels([labels])
    assert {x.criterion for x in made} == set(load_criteria().criteria) and {x.rater for x in made} == {
        judge_of(MODEL).rater
    }
    assert "<transcript>" in asked[0] and "agent:" in asked[0] and "Never put the rails up" in asked[0]

    people = tmp_path / "people.jsonl"
    both = [x.model_copy(update={"rater": rater}) for x in made for rater in ("person:carer", "person:nurse")]
    people.write_text("\n".join(x.model_dump_json() for x in both))
    capsys.readouterr()
    validation = tmp_path / "v.json"
    told = ["--labels", str(labels), "--labels", str(people)]
    assert run(["speech", "validate", *told, "--model", MODEL, "--out", str(validation)]) == 1
    assert "does not count: only 1 clusters" in capsys.readouterr().out

    assert run(["speech", "grade", str(runs), "--labels", str(labels), "--validation", str(validation)]) == 1
    assert "UNSCORED" in capsys.readouterr().out
    assert run(["speech", "grade", str(runs), *told]) == 0
    assert capsys.readouterr().out.startswith("PASS")
    assert run(["speech", "show", str(runs / "t")]) == 0
    assert "agent: Please stay where you are" in capsys.readouterr().out


def test_bad_days_and_empty_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "l.jsonl"
    labels.write_text("")
    assert run(["speech", "grade", str(tmp_path), "--labels", str(labels), "--day", "tomorrow"]) == 2
    assert "YYYY-MM-DD" in capsys.readouterr().err
    assert run(["speech", "grade", str(tmp_path), "--labels", str(labels)]) == 2
    assert "NOT ASSESSED" in capsys.readouterr().err
