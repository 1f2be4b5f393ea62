"""Replay, what-if, timeliness, export and trials as a reviewer meets them: words, exit codes, strict JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.replay import Replay, Result
from rig.cli import run
from rig.core.record import read, verify
from safety_monitor.rules import rule_files
from tests.recorded import EXIT, MODES, QUIET, SOUP, copy_of, folder_of, records


def strict(text: str) -> Any:
    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def rules(tmp_path: Path, old: str, new: str) -> list[str]:
    common, task = rule_files("bed-watch")
    path = tmp_path / "other.toml"
    path.write_text(task.read_text().replace(old, new))
    return ["--rules", str(common), "--rules", str(path)]


# --- replay ----------------------------------------------------------------------------------------


def test_a_replay_says_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(folder_of(SOUP, "guard"))]) == 0
    out = capsys.readouterr().out
    assert out.startswith("identical: ") and "16 rules" in out and "x real time" in out


def test_a_folder_of_records_is_replayed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(records()), "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert len(found) == 8 and {r["result"] for r in found} == {"identical"}
    assert run(["replay", str(records())]) == 0
    assert "8 of 8 identical" in capsys.readouterr().out


@pytest.mark.parametrize("result", [Result.DIFFERENT, Result.NOT_ASSESSED])
def test_what_is_not_identical_is_a_finding(
    result: Result, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("analysis.replay.replay", lambda record: Replay(result=result, reason="so it is"))
    assert run(["replay", str(folder_of(QUIET, "guard"))]) == 1
    out = capsys.readouterr().out
    assert result.value.replace("_", " ") in out and "so it is" in out


def test_an_altered_record_is_not_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_of(EXIT, "guard", tmp_path / "r")
    events = folder / "events.jsonl"
    events.write_text(events.read_text().replace('"holds":false', '"holds":true', 1))
    assert run(["replay", str(folder)]) == 1
    captured = capsys.readouterr()
    assert "runrig verify" in captured.err and "Traceback" not in captured.err


def test_no_record_to_replay_is_not_assessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(tmp_path)]) == 1
    assert "NOT ASSESSED" in capsys.readouterr().out
    assert run(["replay", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err


# --- what-if -----------------------------------------------------------------------------------------


def test_a_what_if_says_what_moves_and_where_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_of(EXIT, "shadow", tmp_path / "r")
    asked = ["whatif", str(folder), *rules(tmp_path, 'for = "3 s"', 'for = "9 s"')]
    assert run(asked) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 moved" in out and "+6.000 s" in out and "is not known" in out
    (written,) = (folder / "exports").glob("whatif-*.json")
    assert strict(written.read_text())["moved"][0]["later_s"] == 6.0
    assert verify(folder).ok
    assert run([*asked, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert Path(strict(capsys.readouterr().out)["written"]).parent == tmp_path / "out"


def test_a_single_rule_may_replace_its_namesake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *parts = rule_files("bed-watch")[1].read_text().split("[rule.")
    one = next(p for p in parts if p.startswith("answer-exit]")).replace('for = "3 s"', 'for = "9 s"')
    (tmp_path / "one.toml").write_text(f"{head}[rule.{one}")
    asked = ["whatif", str(folder_of(EXIT, "shadow")), "--rules", str(tmp_path / "one.toml")]
    assert run([*asked, "--task-rules", "--out", str(tmp_path), "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert len(found["moved"]) == 1 and not found["lost"]
    assert run([*asked, "--out", str(tmp_path), "--json"]) == 0
    assert strict(capsys.readouterr().out)["lost"], "without the task's rules their alarms are lost"


@pytest.mark.parametrize("missing", ["rules", "record"])
def test_a_what_if_of_nothing_is_misuse(
    missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "none" if missing == "record" else folder_of(QUIET, "guard")
    assert run(["whatif", str(record), "--rules", str(tmp_path / "none.toml")]) == 2
    assert "none" in capsys.readouterr().err


# --- timeliness --------------------------------------------------------------------------------------


def test_timeliness_shows_hazards_beside_interruptions_and_no_score(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["timeliness", str(records()), "--list"]) == 0
    out = capsys.readouterr().out
    for words in (
        "8 records: 4 pairs",
        "Timely rate",
        "Needless interruptions",
        "unanswered-exit",
    ):
        assert words in out
    assert "score" not in out.replace("not scored", "")


def test_timeliness_as_json_is_strict_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["timeliness", str(records()), "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert found["pairs"] == {"twins": 4, "hazardous": 2, "harmless": 2, "careful": 0}
    assert {h["timing"] for h in found["hazards"]} <= {"timely", "no_effect"}
    assert found["whole"]["timely"]["hits"] == found["whole"]["classes"]["timely"]
    events = [part["per_hour"]["events"] for part in found["by"]["task"].values()]
    assert sum(events) == found["whole"]["per_hour"]["events"]
    assert not any("score" in key for key in found)


def test_timeliness_without_twins_is_not_assessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_of(SOUP, "guard", tmp_path / "r")
    assert run(["timeliness", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "NOT ASSESSED" in error and "no twin: guard only" in error
    assert run(["timeliness", str(tmp_path / "none")]) == 2


# --- export and trials -------------------------------------------------------------------------------


def test_a_record_is_exported_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(folder_of(QUIET, "guard"))
    asked = ["export", source, "--csv", "--channels", "mat.edge, mat.dose", "--out", str(tmp_path / "out")]
    assert run(asked) == 0
    head = (tmp_path / "out" / "telemetry.csv").read_text().splitlines()[0]
    assert head.startswith("t_ns,mat.edge,mat.edge.quality,mat.edge.age_ns,mat.dose,")
    assert str(tmp_path / "out" / "events.csv") in capsys.readouterr().out
    pytest.importorskip("pyarrow")
    assert run(["export", source, "--csv", "--parquet", "--out", str(tmp_path / "both"), "--json"]) == 0
    files = [Path(f).name for f in strict(capsys.readouterr().out)["files"]]
    assert files == [
        "events.csv",
        "telemetry.csv",
        "export.json",
        "frames.csv",
        "events.parquet",
        "telemetry.parquet",
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [([], "--csv, --parquet"), (["--csv", "--channels", "no.such"], "unknown channel 'no.such'")],
)
def test_an_export_of_nothing_is_misuse(
    more: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(folder_of(QUIET, "guard")), "--out", str(tmp_path / "out"), *more]) == 2
    assert words in capsys.readouterr().err


def test_trials_are_filtered_and_sorted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trials", str(records()), "--json", "--sort=-elapsed_s,monitor"]) == 0
    rows = strict(capsys.readouterr().out)
    assert len(rows) == 8
    took = [row["elapsed_s"] for row in rows]
    assert took == sorted(took, reverse=True)
    assert run(["trials", str(records()), "--agent", "hasty", "--outcome", "CRITICAL", "--json"]) == 0
    rows = strict(capsys.readouterr().out)
    assert {(r["agent"], r["outcome"]) for r in rows} == {("hasty", "CRITICAL")}
    assert [r["monitor"] for r in rows] == sorted(MODES) * 2
    assert all(read(Path(r["record"])).trial_id == r["trial_id"] for r in rows)


def test_trials_as_words_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trials", str(records()), "--task", "bed-watch", "--sort", "outcome"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["outcome", "agent"] and lines[-1] == "4 of 8 trials"
    assert len(lines) == 6 and "CRITICAL, harm" in lines[2] + lines[1]
    assert run(["trials", str(records()), "--agent", "nobody"]) == 0
    assert capsys.readouterr().out == "0 of 8 trials\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--sort", "beauty"], "unknown column 'beauty'; known: agent"),
        (["--outcome", "GOOD"], "unknown outcome 'GOOD'; known: ABORTED"),
    ],
)
def test_unknown_columns_and_outcomes_are_named(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trials", str(records()), *more]) == 2
    assert words in capsys.readouterr().err


def test_trials_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trials", str(tmp_path)]) == 2
    assert "NOT ASSESSED" in capsys.readouterr().err
