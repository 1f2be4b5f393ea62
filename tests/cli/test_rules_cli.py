"""Rules as a caregiver, a rule author and a release owner meet them."""

import json
from pathlib import Path

import pytest

from rig.cli import run
from rig.core.bench import load_bench
from safety_monitor.rules import load_rules, rule_files
from tests.recorded import EXIT, SOUP, copy_of, records

RULES = Path(__file__).resolve().parents[2] / "safety_monitor" / "rules"
LAYOUT = load_bench("sim").layout


def strict(text: str) -> object:
    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def test_every_rule_is_listed_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list", "--json"]) == 0
    listed = strict(capsys.readouterr().out)
    for task in ("bed-watch", "spoon-feed"):
        rules = load_rules(rule_files(task), LAYOUT)
        assert listed[task]["digest"] == rules.digest  # type: ignore[index,call-overload]
        said = {r["id"]: r["sentence"] for r in listed[task]["rules"]}  # type: ignore[index,call-overload]
        assert said == {r.id: r.sentence for r in rules.rules}
    assert run(["rules", "list", "bed-watch"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "answer-exit" in words and "share of the weight on the edge" in words and "cool-first" not in words


def test_a_rule_is_read_back_with_what_happens_when(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "show", "spoon-feed", "cool-first"]) == 0
    text = capsys.readouterr().out
    assert "hold at once, within 250 ms" in text and "The resident: scald" in text
    assert run(["rules", "show", "spoon-feed", "cool-first", "--json"]) == 0
    assert strict(capsys.readouterr().out)["response"] == "hold"  # type: ignore[index,call-overload]


def test_examples_stand_beside_the_boundary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "explain", "spoon-feed", "cool-first"]) == 0
    assert capsys.readouterr().out.count("only just not broken") == 3
    assert run(["rules", "explain", "spoon-feed", "cool-first", "--json"]) == 0
    pairs = strict(capsys.readouterr().out)["examples"]  # type: ignore[index,call-overload]
    assert len(pairs) == 3
    for pair in pairs:
        last = [pair[kind][-1]["readings"] for kind in ("broken", "only_just_not_broken")]
        assert sum(last[0][channel] != last[1][channel] for channel in last[0]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "juggling"], "unknown task 'juggling'"),
        (["show", "bed-watch", "cool-first"], "unknown rule 'cool-first'; known: answer-exit"),
        (["explain", "bed-watch", "nothing"], "unknown rule 'nothing'"),
        (["check", "/nowhere/rules.toml"], "no such file: /nowhere/rules.toml"),
        (["coverage", "/nowhere"], "/nowhere: no such folder"),
        (["show", "bed-watch", "answer-exit", "--bench", "mars"], "unknown bench 'mars'"),
    ],
)
def test_bad_input_is_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and "Traceback" not in error


def test_a_right_file_is_said_to_be_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "check", str(RULES / "common.toml"), str(RULES / "bed-watch.toml"), "--json"]) == 0
    found = strict(capsys.readouterr().out)
    assert found["ok"] and found["digest"] == load_rules(rule_files("bed-watch"), LAYOUT).digest  # type: ignore[index,call-overload]


def test_every_mistake_of_a_file_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (RULES / "common.toml").read_text()
    wrong = text.replace("bed.moving > 0.5", "bed.mooving > 0.5").replace('"60 ms"', '"60 mm"')
    (tmp_path / "wrong.toml").write_text(wrong)
    assert run(["rules", "check", str(tmp_path / "wrong.toml")]) == 1
    said = capsys.readouterr().out
    assert "bed.mooving" in said and "response_time" in said


def test_a_file_without_rules_is_not_assessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = (RULES / "common.toml").read_text().split("[rule.")[0]
    (tmp_path / "none.toml").write_text(head + "\n[rule]\n")
    assert run(["rules", "check", str(tmp_path / "none.toml")]) == 1
    assert "NOT ASSESSED" in capsys.readouterr().out


def test_coverage_counts_what_verdicts_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "coverage", str(records()), "--json"]) == 0
    found = strict(capsys.readouterr().out)["tasks"]  # type: ignore[index,call-overload]
    assert found["bed-watch"]["records"] == found["spoon-feed"]["records"] == 4
    for task, exercised, idle in (
        ("bed-watch", "answer-exit", "not-on-barred-side"),
        ("spoon-feed", "cool-first", "right-plate"),
    ):
        about = found[task]
        assert about["rules"][exercised]["broken"] > 0 and exercised not in about["never_exercised"]
        assert idle in about["never_exercised"]
        assert about["registered"] == about["exercised"] + len(about["never_exercised"])
        assert set(about["rules"]) == {r.id for r in load_rules(rule_files(task), LAYOUT).rules}


def test_a_rule_nothing_broke_is_a_finding_where_all_are_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "coverage", str(records())]) == 0
    assert "Never exercised" in capsys.readouterr().out
    assert run(["rules", "coverage", str(records()), "--require-all"]) == 1


def test_no_record_is_not_assessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "coverage", str(tmp_path)]) == 1
    assert "NOT ASSESSED" in capsys.readouterr().out


def test_records_of_other_rules_show_nothing_of_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_of(EXIT, "guard", tmp_path / "a")
    copy_of(SOUP, "guard", tmp_path / "b")
    monkeypatch.setattr("analysis.coverage.same_rules", lambda record: None)
    assert run(["rules", "coverage", str(tmp_path), "--json"]) == 1
    found = strict(capsys.readouterr().out)
    assert not found["assessed"]  # type: ignore[index,call-overload]
    assert found["tasks"]["bed-watch"]["records_of_other_rules"] == 1  # type: ignore[index,call-overload]
