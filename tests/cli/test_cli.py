"""The command line as a user meets it: words, exit codes, no traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rig.cli import run

ROOT = Path(__file__).resolve().parents[2]
WATCH = "bed-watch/30-min/quiet"


@pytest.fixture(autouse=True)
def keys_of_our_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))


def trial(out: Path, *more: str) -> list[str]:
    return ["trial", "--task", WATCH, "--agent", "careful", "--out", str(out), *more]


def test_a_trial_prints_its_grade_and_leaves_a_record_that_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(trial(tmp_path)) == 0
    assert "PASS" in capsys.readouterr().out
    (manifest,) = tmp_path.rglob("manifest.json")
    assert run(["verify", str(manifest.parent)]) == 0
    assert run(["grade", str(manifest.parent)]) == 0
    assert "job done" in capsys.readouterr().out


def test_json_is_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(text: str) -> float:
        raise AssertionError(f"{text} is not strict JSON")

    commands = [
        trial(tmp_path / "t", "--json"),
        ["tasks", "list", "--json"],
        ["tasks", "show", "bed-watch", "--json"],
        ["tasks", "lint", "--json"],
    ]
    for command in commands:
        run(command)
        json.loads(capsys.readouterr().out, parse_constant=refuse)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trial", "--task", "juggling", "--agent", "careful", "--out", "x"], "unknown task 'juggling'; known: bed-bath, "),
        (["trial", "--task", "bed-watch", "--agent", "gpt", "--out", "x"], "unknown agent 'gpt'"),
        (["trial", "--task", "bed-watch", "--agent", "planted(-1)", "--out", "x"], "must be positive and finite"),
        (["trial", "--task", "bed-watch", "--agent", "planted(nan)", "--out", "x"], "must be positive and finite"),
        (["trial", "--task", "bed-watch", "--agent", "careful", "--bench", "mars", "--out", "x"], "unknown bench 'mars'; known: "),
        (["trial", "--task", "bed-watch", "--agent", "careful", "--scenario", "fire", "--out", "x"], "unknown scenario"),
        (["trial", "--task", "bed-watch", "--agent", "careful", "--length", "1-s", "--out", "x"], "unknown length"),
        (["trial", "--task", WATCH, "--scenario", "quiet", "--agent", "careful", "--out", "x"], "whole item"),
        (["trial", "--task", WATCH, "--agent", "careful", "--seed", "-1", "--out", "x"], "seed -1"),
        (["trial", "--task", WATCH, "--agent", "careful", "--seed", str(2**70), "--out", "x"], "seed"),
        (["trial", "--task", WATCH, "--agent", "careful", "--trials", "0", "--out", "x"], "nothing is assessed"),
        (["trial", "--task", WATCH, "--agent", "careful", "--trials", "-3", "--out", "x"], "--trials -3"),
        (["trial", "--task", WATCH, "--agent", "careful", "--monitor", "off", "--out", "x"], "shadow or guard"),
        (["tasks", "show", "juggling"], "unknown task"),
        (["bench", "show", "mars"], "unknown bench"),
        (["horizon", "/nowhere"], "no such file or folder"),
        (["frobnicate"], "No such command"),
        (["trial", "--task", WATCH], "Missing"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_what_is_allowed(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error
    assert not any(tmp_path.iterdir()), "nothing is written before everything is known to be right"


def test_an_output_place_that_is_a_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(trial(tmp_path / "file")) == 2
    assert "cannot be written to" in capsys.readouterr().err


def test_a_trial_that_was_run_before_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(trial(tmp_path)) == 0
    assert run(trial(tmp_path)) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_nothing_to_fit_is_not_assessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["horizon", str(tmp_path)]) == 2
    assert "NOT ASSESSED" in capsys.readouterr().err


def test_horizons_of_a_folder_of_records_and_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(trial(tmp_path, "--trials", "2")) == 0
    capsys.readouterr()
    assert run(["horizon", str(tmp_path)]) == 1  # all passed: no horizon, and it says so
    assert "all passed" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["grade", "verify"])
def test_what_is_not_a_record_is_said_so(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(tmp_path / "none")]) in (1, 2)
    captured = capsys.readouterr()
    assert "none" in captured.out + captured.err and "Traceback" not in captured.err


def test_an_edited_event_is_found_and_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(trial(tmp_path)) == 0
    (events,) = tmp_path.rglob("events.jsonl")
    events.write_text(events.read_text().replace('"the time is up"', '"the time was up"', 1))
    capsys.readouterr()
    assert run(["verify", str(events.parent)]) == 1
    assert "events.jsonl" in capsys.readouterr().out


def test_tasks_lint_is_clean_and_counts_its_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tasks", "lint"]) == 0
    assert "0 wrong" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_makes_safe_closes_the_record_and_exits_130(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "rig.cli",
        "trial",
        "--task",
        "spoon-feed/36-bites/plain",
        "--agent",
        "careful",
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background shell ignores it
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not any(p.stat().st_size > 6000 for p in tmp_path.rglob("events.jsonl")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "ABORTED" in out and "Traceback" not in error
    (manifest,) = tmp_path.rglob("manifest.json")
    assert run(["verify", str(manifest.parent)]) == 0
    last = json.loads((manifest.parent / "events.jsonl").read_text().splitlines()[-1])
    assert last["body"]["ending"] == "aborted"


def test_horizon_options_that_exclude_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, words in (
        (["--penalty", "0.1"], "--penalty goes with --metr"),
        (["--weighting", "gold"], "none, task, invsqrt_family"),
        (["--metr", "--weighting", "task"], "brings its own weights"),
        (["--pool", "--split"], "exclude each other"),
        (["--schemes", "trials,gold"], "trials, within, tasks, nested, families"),
        (["--compare", str(tmp_path / "none.csv")], "no such file"),
    ):
        assert run(["horizon", str(tmp_path), *more]) == 2
        assert words in capsys.readouterr().err


def test_horizon_shows_what_was_asked_for_beside_the_horizons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two configurations, a floor, other schemes and a published table: on the terminal and for machines."""
    header = "trial_id,agent,family,task,item,duration_s,outcome,done,harm,mistake,tier,config_digest\n"
    lines = []
    for config in ("c1", "c2"):
        for item, passes in enumerate((6, 6, 5, 4, 2, 1)):
            for number in range(6):
                ok = number < passes
                cells = (
                    f"{config}-{item}-{number}",
                    "able",
                    "feeding",
                    "spoon-feed",
                    f"i{item}",
                    60 * 2**item,
                )
                verdict = ("PASS", "true", "false", "false") if ok else ("CRITICAL", "false", "true", "true")
                lines.append(",".join(map(str, (*cells, *verdict, 1, config))))
    (tmp_path / "trials.csv").write_text(header + "\n".join(lines))
    (tmp_path / "published.csv").write_text("agent,t50_min\nable,10\n")
    asked = [
        "horizon",
        str(tmp_path / "trials.csv"),
        "--replicates",
        "100",
        "--compare",
        str(tmp_path / "published.csv"),
    ]
    assert run(asked) == 2  # two configurations of one agent: say what to do
    assert "say whether to pool or to split" in capsys.readouterr().err
    more = ["--split", "--schemes", "nested,within", "--guess", "0.1"]
    assert run([*asked, *more]) == 0
    shown = capsys.readouterr().out
    for words in ("Beside published t50s", "above a guess floor of 10 %", "Counted differently"):
        assert words in shown
    assert run([*asked, *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {entry["config_digest"] for entry in found["entries"]} == {"c1", "c2"}
    bands = found["entries"][0]["horizons"][0]["bands"]
    assert [band["scheme"] for band in bands] == ["tasks then trials", "trials within tasks"]
    assert len(found["published"]) == 2
    assert found["supplement"]["sensitivities"][0]["variants"][-1]["choice"].startswith("above a guess floor")


def test_a_bundle_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(tmp_path / "none"), "--out", str(tmp_path / "site")]) == 2
    assert "none" in capsys.readouterr().err
