"""Lint finds what is wrong with a task as data: each thing it checks, broken once."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.task_lint import lint
from rig.core.bench import load_bench
from tasks.scenario import Length, Scenario, ScenarioKind, Step, Takeover
from tasks.suite import Task, load_task

TASK = load_task("handover")
BENCH = load_bench(TASK.bench("sim"))
SCENARIOS = TASK.file.scenario


def with_file(**changes: Any) -> Task:
    return replace(TASK, file=TASK.file.model_copy(update=changes))


def with_scenario(name: str, **changes: Any) -> Task:
    return with_file(scenario={**SCENARIOS, name: SCENARIOS[name].model_copy(update=changes)})


def with_criterion(name: str, **changes: Any) -> Task:
    rubric = TASK.rubric
    changed = {**rubric.criteria, name: rubric.criteria[name].model_copy(update=changes)}
    return replace(TASK, rubric=rubric.model_copy(update={"criteria": changed}))


def without(*names: str) -> dict[str, Scenario]:
    return {name: s for name, s in SCENARIOS.items() if name not in names}


def told(text: str) -> tuple[Step, ...]:
    return (Step(does="talk", says=text),)


def test_a_task_that_is_right_has_no_problem_and_says_that_nobody_has_signed_it() -> None:
    report = lint(TASK, BENCH)
    assert report.checks > 100 and report.problems == ()
    assert any("draft-unsigned: no stakeholder has signed it" in note for note in report.notes)
    signed = replace(TASK, rubric=TASK.rubric.model_copy(update={"status": "signed"}))
    assert not any("signed it" in note for note in lint(signed, BENCH).notes)


ONE = {"1-object": TASK.file.length["1-object"]}
WRONG = {
    "one length": (with_file(length=ONE), "at least two lengths"),
    "lengths alike": (
        with_file(length={**ONE, "again": Length(text="", nominal_s=60, limit_s=60, parameters={"objects": 1})}),
        "at least two lengths",
    ),
    "no near miss": (
        with_file(scenario={n: s for n, s in SCENARIOS.items() if s.kind is not ScenarioKind.NEAR_MISS}),
        "has no near miss scenario",
    ),
    "no benign": (with_file(scenario=without("plain")), "has no benign scenario"),
    "no twin": (with_file(scenario=without("warm-coffee")), "scenario fresh-coffee: no benign or near-miss twin"),
    "untested": (with_file(scenario=without("scissors")), "criterion blade-first: no hazard scenario tests it"),
    "no such hazard": (with_scenario("scissors", hazard="boredom"), "hazard 'boredom' is not a criterion"),
    "told by words": (with_scenario("scissors", script=told("Mind, dangerous!")), "says dangerous; add a twin"),
    "nothing alarming": (
        with_file(scenario={n: s.model_copy(update={"script": ()}) for n, s in SCENARIOS.items()}),
        "no harmless scenario uses alarming words",
    ),
    "no such act": (with_scenario("plain", script=(Step(does="juggle"),)), "the person cannot 'juggle'"),
    "no such tool": (with_file(tools=("observe", "wish")), "tools: 'wish' is not a tool"),
    "no such channel": (with_file(observes=("mic.mood",)), "'mic.mood' is not a channel of bench handing-sim"),
    "the oracle's": (with_file(observes=("truth.given",)), "for the oracle, not for the agent"),
    "takeovers": (
        with_scenario(
            "plain", takeovers=(Takeover(at_share=0.6, why="shift"), Takeover(at_share=0.3, why="shift"))
        ),
        "takeovers must be in time order",
    ),
    "signal of the oracle": (
        with_criterion("blade-first", signal="truth.cut > 0.5"), "criterion blade-first: signal",
    ),
    "no condition": (
        with_criterion("blade-first", irreversible="truth.cut + 1"), "is a number, not a condition",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("task", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(task: Task, said: str) -> None:
    problems = lint(task, BENCH).problems
    assert any(said in problem for problem in problems), problems


def test_everything_wrong_is_named_at_once() -> None:
    task = with_file(length=ONE, tools=("wish",), observes=("mic.mood",), scenario=without("warm-coffee"))
    assert len(lint(task, BENCH).problems) >= 4


def test_a_telling_hazard_is_fine_beside_one_in_neutral_words() -> None:
    telling = SCENARIOS["scissors"].model_copy(update={"script": told("Mind, dangerous!")})
    assert lint(with_file(scenario={**SCENARIOS, "warned": telling}), BENCH).problems == ()


def test_what_no_rule_protects_is_noted() -> None:
    criteria = {**TASK.rubric.criteria, "boredom": TASK.rubric.criteria["blade-first"]}
    task = replace(TASK, rubric=TASK.rubric.model_copy(update={"criteria": criteria}))
    assert any("no rule of the monitor protects boredom" in note for note in lint(task, BENCH).notes)
