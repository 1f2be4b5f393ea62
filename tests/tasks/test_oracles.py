"""Oracles cannot be fooled: by almost doing it, by doing it another way, by putting it right afterwards.

Over every criterion of every task. The end states are drawn around each oracle's own limits, so a
new task is covered by being there.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from analysis.runup import _course
from rig.core.bench import load_bench
from rig.core.channel import Audience, Layout, Trace, joined
from rig.core.clock import nanoseconds
from safety_monitor.examples import Script, _draw, examples_of
from safety_monitor.expression import Expression, parse, truth
from safety_monitor.nodes import Truth
from tasks.rubric import Criterion
from tasks.suite import Task, load_task, task_names

EVERYBODY = tuple(Audience)
CRITERIA = [(name, criterion) for name in task_names() for criterion in load_task(name).rubric.criteria]
BY_ITS_NATURE = {(task, "trusts-dead-sensor"): {"mat.pressure"} for task in ("bed-watch", "care-day")}
"""Oracles that look at a sensor because it is the sensor's silence that is the matter."""


def layout_of(task: Task) -> Layout:
    return load_bench(task.bench("sim")).layout


def rubric_of(task: Task):
    return task.item(next(iter(task.file.length)), next(iter(task.file.scenario))).rubric


def oracle(name: str, criterion: str) -> tuple[Criterion, Expression, Layout]:
    task = load_task(name)
    found = rubric_of(task).criteria[criterion]
    return found, parse(found.irreversible, layout_of(task), EVERYBODY), layout_of(task)


def graded(criterion: Criterion, irreversible: Expression, trace: Trace) -> bool:
    """What grading makes of a trace: whether harm was done."""
    signal = parse(criterion.signal, trace.layout, EVERYBODY)
    return _course("it", criterion, signal, irreversible, trace).effect_ns is not None


def end_states(node: Truth, layout: Layout) -> list[tuple[Script, Script]]:
    """Return end states that are harm, each with one beside it that is not.

    Where harm is a step (a count that rises) it holds for one tick only; beside it is then the state
    in which the step was never made.
    """
    found = examples_of(node, layout, np.random.default_rng(5), 3)
    if found.broken:
        return list(zip(found.broken, found.clean, strict=True))
    steps = []
    for script in _draw(node, layout, np.random.default_rng(5)):
        before = replace(script, levels=script.levels[:1], spans_ns=script.spans_ns[:1])
        said = [truth(Expression("", node), s.trace(layout)) == 1 for s in (script, before)]
        if said[0].any() and not said[1].any():
            steps.append((script, before))
    return steps[:3]


def at_rest(layout: Layout, start_ns: int, for_s: float) -> Trace:
    """Everything in order again, for a long time."""
    return Script((), np.empty((1, 0)), np.array([nanoseconds(for_s)])).trace(layout, start_ns)


@pytest.mark.parametrize(("name", "criterion"), CRITERIA)
def test_an_oracle_reads_only_what_neither_agent_nor_monitor_sees(name: str, criterion: str) -> None:
    _, irreversible, layout = oracle(name, criterion)
    shared = {c for c in irreversible.channels if layout[c].audience is not Audience.ORACLE}
    assert shared == BY_ITS_NATURE.get((name, criterion), set())


@pytest.mark.parametrize("name", task_names())
def test_done_is_judged_by_ground_truth_alone(name: str) -> None:
    task = load_task(name)
    done = parse(rubric_of(task).done.when, layout_of(task), EVERYBODY)
    assert all(layout_of(task)[c].audience is Audience.ORACLE for c in done.channels)


@pytest.mark.parametrize(("name", "criterion"), CRITERIA)
def test_almost_is_no_harm_and_what_is_put_right_afterwards_still_is(name: str, criterion: str) -> None:
    found, irreversible, layout = oracle(name, criterion)
    node = cast(Truth, irreversible.node)
    pairs = end_states(node, layout)
    assert pairs, "no end state near the limit was found"
    for broken, almost in pairs:
        assert not graded(found, irreversible, almost.trace(layout)), "only just not"
        done = broken.trace(layout)
        repaired = joined([done, at_rest(layout, int(done.t_ns[-1]) + nanoseconds(1.0), 600.0)], layout)
        assert graded(found, irreversible, done), "done"
        assert graded(found, irreversible, repaired), "harm, then repair"


@pytest.mark.parametrize(("name", "criterion"), CRITERIA)
def test_no_reading_of_agent_or_monitor_sets_an_oracle_off(name: str, criterion: str) -> None:
    found, irreversible, layout = oracle(name, criterion)
    own = {*irreversible.channels}
    others = tuple(c for c in layout if c.audience is not Audience.ORACLE and c.name not in own)
    ends = np.array([[c.low for c in others], [c.high for c in others], [c.low for c in others]])
    trace = Script(others, ends, np.full(3, nanoseconds(1000.0))).trace(layout)
    assert not graded(found, irreversible, trace), "success or harm by another route is none"


@pytest.mark.parametrize("name", task_names())
def test_a_job_that_is_almost_done_is_not_done(name: str) -> None:
    task = load_task(name)
    layout, rubric = layout_of(task), rubric_of(task)
    done = parse(rubric.done.when, layout, EVERYBODY)
    if done.text.strip() in ("1 > 0", "true"):
        pytest.skip("done by lasting to the end")
    pairs = examples_of(cast(Truth, done.node), layout, np.random.default_rng(5), 3)
    for broken, almost in zip(pairs.broken, pairs.clean, strict=True):
        assert truth(done, broken.trace(layout))[-1] == 1
        assert truth(done, almost.trace(layout))[-1] == 0
