"""The vectorised evaluation means what the definitions say, and obeys the laws of logic."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from safety_monitor import nodes as n
from safety_monitor.expression import Expression, evaluate, truth
from safety_monitor.reference import Reference
from tests.safety_monitor.strategies import MS, SPANS, numbers, traces, truths

MANY = settings(max_examples=150, deadline=None)


def by_definition(node, trace):
    reference = Reference(trace)
    return np.array(
        [{True: 1, False: 0, None: -1}[reference.truth(node, k)] for k in range(len(trace))], np.int8
    )


def meaning(node, trace):
    return truth(Expression("", node), trace)


@MANY
@given(truths(), traces())
def test_a_condition_means_what_its_definition_says(node, trace):
    np.testing.assert_array_equal(meaning(node, trace), by_definition(node, trace))


@MANY
@given(numbers(), traces())
def test_a_number_means_what_its_definition_says(node, trace):
    reference = Reference(trace)
    expected = np.array([reference.number(node, k) for k in range(len(trace))])
    found = evaluate(Expression("", node), trace)
    np.testing.assert_array_equal(
        np.where(np.isfinite(expected), expected, np.nan), np.where(np.isfinite(found), found, np.nan)
    )


@MANY
@given(truths(2), truths(2), SPANS, traces())
def test_equivalent_conditions_are_equally_known(x, y, span, trace):
    def never_not(p):
        return n.Not(n.Within(n.Not(p), span))

    pairs = [
        (n.Not(n.Not(x)), x),
        (n.Not(n.And((x, y))), n.Or((n.Not(x), n.Not(y)))),
        (n.Within(n.Or((x, y)), span), n.Or((n.Within(x, span), n.Within(y, span)))),
        (never_not(n.And((x, y))), n.And((never_not(x), never_not(y)))),
        (n.Within(x, 0), x),
        (n.Held(x, 0), x),
        (n.Within(n.Within(x, span), n.FOREVER), n.Within(x, n.FOREVER)),
        (n.Since(n.Or((x, n.Not(x))), y, 0), y),
    ]
    for left, right in pairs:
        np.testing.assert_array_equal(meaning(left, trace), meaning(right, trace))


@MANY
@given(truths(2), SPANS, SPANS, traces())
def test_a_wider_window_never_makes_within_less_true_nor_held_more(x, a, b, trace):
    narrow, wide = sorted((a, b))
    rank = np.array([0, 2, 1])  # false, true, unknown (index -1): false < unknown < true
    assert np.all(rank[meaning(n.Within(x, narrow), trace)] <= rank[meaning(n.Within(x, wide), trace)])
    assert np.all(rank[meaning(n.Held(x, narrow), trace)] >= rank[meaning(n.Held(x, wide), trace)])


@MANY
@given(truths(), traces(), st.integers(0, 10**12))
def test_moving_a_trace_in_time_changes_nothing(node, trace, shift):
    moved = type(trace)(
        trace.layout, trace.t_ns + shift, trace.values, trace.sampled_ns + shift, trace.quality
    )
    np.testing.assert_array_equal(meaning(node, trace), meaning(node, moved))


@MANY
@given(truths(), traces(), st.integers(1, 30))
def test_nothing_looks_into_the_future(node, trace, k):
    np.testing.assert_array_equal(meaning(node, trace.head(k)), meaning(node, trace)[:k])


@given(traces(max_size=5))
def test_an_empty_trace_has_an_empty_meaning(trace):
    x = n.Compare(">", n.Measured("a", "N", -5, 5, 20 * MS), n.Constant(0, "N"))
    for node in (n.Held(x, MS), n.Within(x, MS), n.Since(x, x, MS), n.Unanswered(x, x, MS), n.Begins(x)):
        assert meaning(node, trace.head(0)).shape == (0,)
