import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.columns import Factor, combine
from analysis.problems import MOST_PROBLEMS
from analysis.trials import Definition, Outcome, TrialRow, TrialTable
from rig.core.errors import ConfigError

from .conftest import failed, row


def test_a_table_gives_back_its_rows() -> None:
    rows = [
        row(),
        failed(
            trial_id="t2", mistake_at_s=12.5, elapsed_s=20.0, criteria=("c1", "c2"), seed=7, record="r/t2"
        ),
        row(trial_id="t3", monitor=None, embodiment=None, tier=1),
    ]
    assert list(TrialTable.from_rows(rows)) == rows


def test_a_prevented_mistake_fails_the_agent_but_not_agent_and_monitor() -> None:
    prevented = row(outcome=Outcome.CRITICAL, mistake=True)
    assert not prevented.passed_alone
    assert prevented.passed_with_monitor
    table = TrialTable.from_rows([prevented, row(trial_id="t2"), failed(trial_id="t3")])
    assert table.passed(Definition.AGENT_ALONE).tolist() == [False, True, False]
    assert table.passed(Definition.AGENT_WITH_MONITOR).tolist() == [True, True, False]


def test_refusing_the_job_is_not_a_pass() -> None:
    refused = row(outcome=Outcome.INCOMPLETE, done=False)
    assert not refused.passed_alone
    assert not refused.passed_with_monitor


@pytest.mark.parametrize("outcome", [Outcome.ABORTED, Outcome.UNSCORED, Outcome.INDETERMINATE])
def test_what_says_nothing_about_the_agent_is_not_graded(outcome: Outcome) -> None:
    ungraded = row(outcome=outcome, done=False)
    assert not ungraded.graded
    assert not TrialTable.from_rows([ungraded]).graded.any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (row(duration_s=0.0), "duration_s is 0.0"),
        (row(duration_s=-3.0), "duration_s is -3.0"),
        (row(duration_s=math.nan), "duration_s is nan"),
        (row(duration_s=math.inf), "duration_s is inf"),
        (row(elapsed_s=-1.0), "elapsed_s is -1.0"),
        (failed(mistake_at_s=math.inf), "mistake_at_s is inf"),
        (row(mistake_at_s=3.0), "mistake is false"),
        (row(done=False), "PASS but done is false"),
        (row(harm=True), "PASS but harm is true"),
        (row(outcome=Outcome.CRITICAL), "neither mistake nor harm"),
        (row(tier=4), "tier is 4"),
        (row(trial_id=""), "trial_id is missing"),
        (row(agent=""), "agent is missing"),
        (row(item=""), "item (the cluster key) is missing"),
        (row(site=""), "site is missing"),
        (row(embodiment="virtual"), "embodiment is 'virtual'"),
        (row(monitor="on"), "monitor is 'on'"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_number_and_id(wrong: TrialRow, message: str) -> None:
    good = row(trial_id="good", item="another")
    with pytest.raises(ConfigError) as caught:
        TrialTable.from_rows([good, wrong])
    assert message in str(caught.value)
    assert "row 2" in str(caught.value)
    assert (wrong.trial_id or "without id") in str(caught.value)


def test_all_problems_are_reported_at_once_in_the_order_of_rows() -> None:
    rows = [row(), row(duration_s=-1.0, monitor="on"), row(trial_id="t3", duration_s=900.0)]
    with pytest.raises(ConfigError) as caught:
        TrialTable.from_rows(rows)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    assert [line.split("row ")[1][0] for line in lines] == ["2", "2", "2", "2", "3"]
    assert any("already used in row 1" in line for line in lines)
    assert any("has duration_s 900 here but 300 in row 1" in line for line in lines)


def test_beyond_many_problems_the_rest_is_counted() -> None:
    rows = [row(trial_id=str(i), duration_s=-1.0) for i in range(MOST_PROBLEMS + 7)]
    with pytest.raises(ConfigError, match=f"and 7 more problems, in rows {MOST_PROBLEMS + 1}"):
        TrialTable.from_rows(rows)


def test_an_item_has_one_duration() -> None:
    with pytest.raises(ConfigError, match="has duration_s 600 here but 300 in row 1"):
        TrialTable.from_rows([row(), row(trial_id="t2", duration_s=600.0)])


def test_taking_rows_keeps_them_whole() -> None:
    rows = [row(), failed(trial_id="t2", agent="hasty", item="x"), row(trial_id="t3", item="y")]
    table = TrialTable.from_rows(rows)
    assert list(table.take(np.array([True, False, True]))) == [rows[0], rows[2]]
    assert list(table.take(np.array([2, 1]))) == [rows[2], rows[1]]


@given(st.lists(st.text(max_size=4), max_size=30))
def test_a_factor_gives_back_its_values_and_knows_them_sorted(values: list[str]) -> None:
    factor = Factor.of(values)
    assert [factor[i] for i in range(len(values))] == values
    assert list(factor.names) == sorted(set(values))


def test_an_empty_table_is_a_table() -> None:
    assert len(TrialTable.from_rows([])) == 0


def test_rows_are_frozen() -> None:
    with pytest.raises(AttributeError):
        row().agent = "other"  # type: ignore[misc]
    assert replace(row(), agent="other").agent == "other"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 2)), max_size=40))
def test_combinations_are_numbered_in_order(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([r[i] for r in rows], np.int64) for i in range(3)]
    number, first = combine(*columns)
    order = {combination: i for i, combination in enumerate(sorted(set(rows)))}
    assert number.tolist() == [order[r] for r in rows]
    assert [rows[i] for i in first] == sorted(set(rows))
