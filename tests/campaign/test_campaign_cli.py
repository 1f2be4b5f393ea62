"""The commands, as their user types them."""

import json
from pathlib import Path

import pytest
from plans import GRID, plan_file

from rig.cli import run
from rig.core.record import records_under

TWO = GRID.replace("count = 6", "count = 2")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        assert (
            run(["campaign", "run", str(plan_file(home, TWO)), "--out", str(home / "out"), "--workers", "0"])
            == 0
        )
    return home / "out"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["campaign", *arguments])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


def test_check_says_what_would_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "check", str(plan_file(tmp_path, TWO)))
    assert code == 0 and "2 trials in 1 cells, 1.0 hours of job time" in text
    code, text = said(capsys, "check", str(plan_file(tmp_path, TWO, decision="")))
    assert code == 0 and "--exploratory" in text


def test_status_report_and_verify(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "status", str(done), "--json")
    status = json.loads(text)
    assert (
        code == 0 and status["complete"] and status["outcomes"] == {"INCOMPLETE": 2} and not status["running"]
    )
    table = done / "report" / "trials.csv"
    before = table.read_bytes()
    table.unlink()
    assert said(capsys, "report", str(done))[0] == 0 and table.read_bytes() == before
    code, text = said(capsys, "verify", str(done))
    assert code == 0 and "their records hold" in text


def test_a_finished_campaign_can_fail_a_build(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("run", str(done.parent / "night.toml"), "--out", str(done), "--json")
    code, text = said(capsys, *command)
    assert code == 0 and json.loads(text)["report"]["junit"].endswith("junit.xml")
    assert said(capsys, *command, "--fail-on", "incomplete")[0] == 1
    assert said(capsys, *command, "--fail-on", "luck")[0] == 2


def test_an_altered_record_is_found_by_its_anchor(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = next(records_under(done / "records")) / "events.jsonl"
    whole = chain.read_bytes()
    chain.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    try:
        code, text = said(capsys, "verify", str(done))
        assert code == 1 and "1 are wrong" in text
    finally:
        chain.write_bytes(whole)


def test_diff_names_what_changed_between_two_files(
    done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = (done / "configurations").glob("*.json")
    facts = json.loads(path.read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**facts, "monitor": "shadow"}))
    code, text = said(capsys, "diff", str(path), str(other))
    assert code == 1
    assert text == 'monitor (whether the monitor\'s verdicts are enforced): was "guard", is "shadow"\n'
    assert said(capsys, "diff", str(done), str(done)) == (0, "the same configuration\n")
    record = next(records_under(done / "records"))
    assert said(capsys, "diff", str(record), str(path))[0] == 0


def test_deviations_are_shown_with_their_bias(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--what", "the mat was replaced", "--why", "it broke", "--owner", "test lead")
    assert said(capsys, "deviate", str(done), *words, "--bias", "towards-pass")[0] == 0
    assert (
        "deviation 1 (material, bias towards-pass): the mat was replaced"
        in said(capsys, "status", str(done))[1]
    )
    code, text = said(capsys, "deviate", str(done), *words, "--bias", "good")
    assert code == 2 and "choose from towards-pass" in text


@pytest.mark.parametrize("command", ["status", "report", "verify"])
def test_a_folder_without_a_campaign_is_bad_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(capsys, command, str(tmp_path))
    assert code == 2 and str(tmp_path) in text
