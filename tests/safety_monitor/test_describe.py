"""Rules read back to people: sentences, examples, checks."""

import json

import numpy as np
import pytest

from rig.core.bench import load_bench
from safety_monitor.describe import (
    WIDTH,
    as_json,
    check_rules,
    coverage,
    draw,
    explain_rule,
    list_rules,
    show_rule,
)
from safety_monitor.examples import examples
from safety_monitor.reference import Reference
from safety_monitor.rules import load_rules, rule_files
from tests.safety_monitor.worlds import HEAD, rule

LAYOUT = load_bench("sim").layout
TASKS = ("spoon-feed", "bed-watch")
RULES = [(task, r) for task in TASKS for r in load_rules(rule_files(task), LAYOUT).rules]
IDS = [f"{task}:{r.id}" for task, r in RULES]


@pytest.mark.parametrize(("task", "rule"), RULES, ids=IDS)
def test_examples_break_the_rule_or_only_just_do_not(task, rule):
    found = examples(rule, LAYOUT, np.random.default_rng(1), wanted=2)
    assert len(found.broken) == len(found.clean) > 0
    for broken, clean in zip(found.broken, found.clean, strict=True):
        judged = [Reference(s.trace(LAYOUT)) for s in (broken, clean)]
        ticks = range(3 * len(broken.spans_ns))
        assert judged[0].truth(rule.violated, ticks[-1]) is True
        assert all(judged[1].truth(rule.violated, k) is False for k in ticks)
        assert (broken.levels[-1] != clean.levels[-1]).sum() == 1
        assert np.array_equal(broken.spans_ns, clean.spans_ns)


@pytest.mark.parametrize(("task", "rule"), RULES, ids=IDS)
def test_an_explanation_shows_the_sentence_and_broken_and_clean_examples(task, rule):
    text = explain_rule(rule, LAYOUT)
    assert rule.sentence in text
    assert "█ broken" in text
    assert text.count(": broken") == text.count(": only just not broken") >= 1


def test_a_picture_breaks_where_the_definitions_say(tmp_path):
    rules = load_rules(rule_files("bed-watch"), LAYOUT)
    found = examples(rules["answer-exit"], LAYOUT, np.random.default_rng(1))
    drawn = draw(found.broken[0], rules["answer-exit"], LAYOUT)
    assert len(drawn.verdicts) == WIDTH
    first = drawn.verdicts.index(True)
    assert first * drawn.lasts_ns / (WIDTH - 1) >= 3e9  # not before the three seconds are over
    assert True not in draw(found.clean[0], rules["answer-exit"], LAYOUT).verdicts


def test_a_read_back_names_response_grace_and_what_the_agent_sees():
    rules = load_rules(rule_files("bed-watch"), LAYOUT)
    text = show_rule(rules["answer-exit"], LAYOUT)
    for words in (
        "call at once, within 5 s",
        "after 10 s",
        "edge.load",
        "the monitor's own",
        "draft-unsigned",
    ):
        assert words in text


def test_the_list_has_a_line_per_rule():
    rules = load_rules(rule_files("spoon-feed"), LAYOUT)
    assert [line.split()[0] for line in list_rules(rules).splitlines()[1:]] == [r.id for r in rules.rules]


def test_the_machine_form_is_strict_json():
    for _, r in RULES:
        assert json.loads(json.dumps(as_json(r), allow_nan=False))["id"] == r.id


def test_a_check_reports_mistakes_and_calls_nothing_not_assessed(tmp_path):
    good = check_rules(rule_files("spoon-feed"), LAYOUT)
    assert good.ok
    assert good.text().startswith("16 rules, nothing wrong")
    (tmp_path / "bad.toml").write_text(HEAD + rule("r", condition="farce > 1 N"))
    bad = check_rules([tmp_path / "bad.toml"], LAYOUT)
    assert not bad.ok
    assert "bad.toml: rule.r.condition: column 1" in bad.text()
    (tmp_path / "empty.toml").write_text(HEAD + "[rule]\n")
    empty = check_rules([tmp_path / "empty.toml"], LAYOUT)
    assert not empty.ok
    assert empty.text().startswith("NOT ASSESSED")


def test_coverage_names_what_was_never_exercised():
    rules = load_rules(rule_files("spoon-feed"), LAYOUT)
    seen = coverage(rules, ["cool-first", "cool-first", "right-plate", "gone"])
    assert (seen["registered"], seen["exercised"]) == (16, 2)
    assert "heed-no" in seen["never_exercised"]
    assert seen["unknown_to_these_rules"] == ["gone"]
