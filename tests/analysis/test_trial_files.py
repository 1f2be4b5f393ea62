import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from analysis.trial_files import from_mappings, read_trials, write_trials
from analysis.trials import Definition, Outcome, TrialTable
from rig.core.errors import ConfigError, UsageError

from .conftest import campaign, failed, row

MINIMAL = "trial_id,agent,item,duration_s,passed\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    rows = [
        *campaign({60.0: [5, 3], 600.0: [1]}),
        failed(trial_id="x", item="x", criteria=("c1", "c2"), mistake_at_s=0.1, seed=2**53, record="a b/c"),
        row(trial_id="y", monitor=None, embodiment=None, item="y, with comma"),
    ]
    path = tmp_path / f"trials{suffix}"
    write_trials(TrialTable.from_rows(rows), path)
    assert list(read_trials(path)) == rows


def test_a_verdict_alone_is_enough(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", MINIMAL + "a,x,i,60,1\nb,x,i,60,0\nc,x,i,60,true\n")
    table = read_trials(path)
    assert table.passed(Definition.AGENT_ALONE).tolist() == [True, False, True]
    assert [trial.site for trial in table] == ["sim"] * 3


@pytest.mark.parametrize("value", ["2", "0.5", "-1", "yes", "nan", ""])
def test_a_verdict_outside_0_and_1_is_refused(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "t.csv", MINIMAL + f"a,x,i,60,1\nb,x,i,60,{value}\n")
    with pytest.raises(ConfigError, match=r"row 2 \(trial b\)"):
        read_trials(path)


def test_every_row_is_looked_at_before_complaining(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", MINIMAL + "a,x,i,abc,1\n,x,i,60,1\nc,x,i,60,7\n")
    with pytest.raises(ConfigError) as caught:
        read_trials(path)
    assert len(caught.value.mistakes) == 3


def test_an_unknown_column_is_named_with_those_that_are_known(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "trial_id,agent,item,duration,passed\na,x,i,60,1\n")
    with pytest.raises(ConfigError) as caught:
        read_trials(path)
    assert "column 'duration_s' is missing" in str(caught.value)
    assert "unknown column 'duration'" in str(caught.value)


def test_a_verdict_and_an_outcome_together_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "trial_id,agent,item,duration_s,passed,outcome\na,x,i,60,1,PASS\n")
    with pytest.raises(ConfigError, match="not both"):
        read_trials(path)


@pytest.mark.parametrize("text", ["", MINIMAL])
def test_a_file_without_trials_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="no trials"):
        read_trials(write(tmp_path / "t.csv", text))


def test_a_ragged_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="row 2"):
        read_trials(write(tmp_path / "t.csv", MINIMAL + "a,x,i,60,1\nb,x,i,60\n"))


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'passed' appears twice"):
        read_trials(write(tmp_path / "t.csv", "trial_id,agent,item,duration_s,passed,passed\na,x,i,60,1,1\n"))


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    good = json.dumps({"trial_id": "a", "agent": "x", "item": "i", "duration_s": 60, "passed": 1})
    with pytest.raises(ConfigError, match=r"row 2 \(trial without id\): is not JSON") as caught:
        read_trials(write(tmp_path / "t.jsonl", f"{good}\n{{oops\n[1]\n"))
    assert len(caught.value.mistakes) == 2


def test_the_same_runs_as_csv_have_the_same_durations(tmp_path: Path) -> None:
    header = "run_id,alias,task_id,task_family,human_minutes,score_binarized,fatal_error_from\n"
    path = write(tmp_path / "runs.csv", header + "r1,m,a,f,2.0,1,\nr2,m,b,f,8,0,usageLimits\n")
    table = read_trials(path)
    assert table.duration_s.tolist() == [120.0, 480.0]
    assert [trial.outcome for trial in table] == [Outcome.PASS, Outcome.ABORTED]


def test_every_problem_of_a_file_is_listed_at_once(tmp_path: Path) -> None:
    header = "trial_id,agent,item,duration_s,outcome,done,harm,mistake,tier\n"
    rows = [
        "a,x,i,60,PASS,1,0,0,3",
        "a,x,i,60,PASS,1,0,0,3",
        "b,x,i,-5,PASS,1,0,0,3",
        "c,x,i,60,GREAT,1,0,0,3",
        "d,x,i,60,PASS,maybe,0,,9",
        "e,x,i",
        "f,,i,6o,PASS,1,0,0,3",
    ]
    with pytest.raises(ConfigError) as caught:
        read_trials(write(tmp_path / "t.csv", header + "\n".join(rows)))
    said = "\n".join(caught.value.mistakes)
    for words in (
        "row 2 (trial a): trial_id is already used in row 1",
        "row 3 (trial b): duration_s is -5.0",
        "row 3 (trial b): item 'i' has duration_s -5",
        "row 4 (trial c): outcome is 'GREAT'",
        "row 5 (trial d): done is 'maybe'",
        "row 5 (trial d): mistake is missing",
        "row 5 (trial d): tier is '9'",
        "row 6 (trial e): has 3 fields, the header 9",
        "row 7 (trial f): duration_s is '6o'",
    ):
        assert words in said
    assert len(caught.value.mistakes) == 9


def test_a_missing_file_or_an_unknown_kind_is_a_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_trials(tmp_path / "none.csv")
    with pytest.raises(UsageError, match=r"known: \.csv, \.eval, \.json, \.jsonl, \.parquet"):
        read_trials(write(tmp_path / "t.xlsx", ""))


def test_metr_runs_are_read_in_their_own_columns(tmp_path: Path) -> None:
    runs = [
        {"run_id": "r1", "alias": "m", "task_id": "f/a", "task_family": "f", "human_minutes": 2.0,
         "score_binarized": 1, "score_cont": 1.0, "model": "m-1"},
        {"run_id": "r2", "alias": "m", "task_id": "f/a", "task_family": "f", "human_minutes": 2.0,
         "score_binarized": 0, "score_cont": 0.0, "model": "m-1"},
        {"run_id": "r3", "alias": "m", "task_id": "f/b", "task_family": "f", "human_minutes": 8.0,
         "score_binarized": 0, "score_cont": 0.0, "model": "m-1", "fatal_error_from": "usageLimits"},
    ]  # fmt: skip
    path = write(tmp_path / "runs.jsonl", "".join(json.dumps(run) + "\n" for run in runs))
    table = read_trials(path)
    assert table.duration_s.tolist() == [120.0, 120.0, 480.0]
    assert [trial.outcome for trial in table] == [Outcome.PASS, Outcome.INCOMPLETE, Outcome.ABORTED]


def inspect_log() -> dict[str, Any]:
    """The parts of a log that are read, as Inspect writes them."""
    samples = []
    for number, (grade, error) in enumerate((("C", None), ("I", None), (1, None), ("C", {"message": "x"}))):
        samples.append({
            "id": f"soup-{number % 2}", "epoch": number // 2 + 1, "input": "feed", "target": "",
            "scores": {"oracle": {"value": grade}}, "error": error, "total_time": 12.5,
            "metadata": {"duration_s": 300.0, "family": "feeding", "tier": 3, "monitor": "guard"},
        })  # fmt: skip
    header = {"run_id": "r", "task": "spoon-feed", "model": "mockllm/model"}
    return {"version": 2, "status": "success", "samples": samples, "eval": header}


def write_archive(path: Path, log: dict[str, Any], zstd: bool) -> Path:
    """Write an archive; a Zstandard one the way Inspect does, which zipfile cannot yet."""
    files = {"header.json": {"eval": log["eval"]}}
    files |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in log["samples"]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if zstd else zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            text = json.dumps(value).encode()
            archive.writestr(name, zstandard.compress(text) if zstd else text)
            if zstd:
                archive.filelist[-1].compress_type = 93
    return path


@pytest.mark.parametrize("kind", ["json", "deflate", "zstd"])
def test_inspect_logs_are_read_and_broken_samples_are_aborted(tmp_path: Path, kind: str) -> None:
    if kind == "json":
        path = write(tmp_path / "log.json", json.dumps(inspect_log()))
    else:
        path = write_archive(tmp_path / "log.eval", inspect_log(), zstd=kind == "zstd")
    table = read_trials(path)
    outcomes = {trial.trial_id: trial.outcome for trial in table}
    assert outcomes == {
        "r/soup-0/1": Outcome.PASS,
        "r/soup-1/1": Outcome.INCOMPLETE,
        "r/soup-0/2": Outcome.PASS,
        "r/soup-1/2": Outcome.ABORTED,
    }
    assert {(trial.item, trial.family, trial.monitor) for trial in table} == {
        ("spoon-feed/soup-0", "feeding", "guard"),
        ("spoon-feed/soup-1", "feeding", "guard"),
    }


def test_a_torn_inspect_archive_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "log.eval", inspect_log(), zstd=True)
    stored = path.read_bytes()
    at = stored.index(b"\x28\xb5\x2f\xfd")  # the mark of a Zstandard frame
    path.write_bytes(stored[:at] + b"\x00" * 4 + stored[at + 4 :])
    with pytest.raises(ConfigError, match="not a finished Inspect archive"):
        read_trials(path)


def test_an_inspect_sample_without_duration_or_with_half_a_grade_is_refused(tmp_path: Path) -> None:
    log = inspect_log()
    log["samples"][0]["metadata"] = {}
    log["samples"][1]["scores"] = {"oracle": {"value": 0.5}}
    with pytest.raises(ConfigError) as caught:
        read_trials(write(tmp_path / "log.json", json.dumps(log)))
    assert "r/soup-0/1): duration_s is nan" in str(caught.value)
    assert "r/soup-1/1): passed is 0.5" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "{}"), ("b.json", "[1]"), ("c.json", "{"), ("d.eval", "x")]
)
def test_what_is_no_inspect_log_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError):
        read_trials(write(tmp_path / name, text))


@given(
    st.dictionaries(st.sampled_from(["trial_id", "agent", "item", "duration_s", "passed", "tier"]), st.text())
)
def test_garbage_is_refused_and_never_crashes(values: dict[str, str]) -> None:
    try:
        table = from_mappings([values], "garbage")
    except ConfigError as error:
        assert error.mistakes
    else:
        assert len(table) == 1
