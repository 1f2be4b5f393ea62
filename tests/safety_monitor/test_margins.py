"""Margins: what they are, and that the generated kernel has them."""

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.bench import load_bench
from rig.core.channel import Trace
from safety_monitor import nodes as n
from safety_monitor.cache import load_module
from safety_monitor.margins import EXACT, MarginMeter, margin_source
from safety_monitor.reference import Reference
from safety_monitor.reference_margins import Margins
from safety_monitor.rules import load_rules, rule_files
from tests.safety_monitor.golden import FILE, from_json, names_in
from tests.safety_monitor.machines import as_python
from tests.safety_monitor.strategies import LAYOUT, MS, SPANS, traces, truths

INF = np.inf


def by_definition(nodes, trace):
    margins = Margins(trace)
    return np.array([[-margins.margin(x, k)[1] for x in nodes] for k in range(len(trace))])


def generated(nodes, trace, load=as_python):
    source, floats, integers = margin_source(nodes, LAYOUT)
    step = as_python(source) if load is as_python else load(source).step
    found = np.empty((len(trace), len(nodes)))
    for k in range(len(trace)):
        with np.errstate(all="ignore"):
            step(
                int(trace.t_ns[k]),
                trace.values[k],
                trace.sampled_ns[k],
                trace.quality[k],
                floats,
                integers,
                found[k],
            )
    return found


@settings(max_examples=200, deadline=None)
@given(st.lists(truths(), min_size=1, max_size=2), traces())
def test_the_generated_margins_are_what_the_definitions_say(nodes, trace):
    np.testing.assert_array_equal(generated(nodes, trace), by_definition(nodes, trace))


@settings(max_examples=150, deadline=None)
@given(truths(), traces())
def test_the_sign_of_a_margin_is_the_verdict(node, trace):
    margins, reference = Margins(trace), Reference(trace)
    for k in range(len(trace)):
        low, high = margins.margin(node, k)
        truth = reference.truth(node, k)
        assert low <= high
        if low > 0:
            assert truth is True
        if high < 0:
            assert truth is False
        if truth is None:
            assert low <= 0 <= high


@settings(max_examples=100, deadline=None)
@given(truths(2), truths(2), SPANS, traces())
def test_equivalent_conditions_have_equal_margins(x, y, span, trace):
    margins = Margins(trace)

    def never_not(p):
        return n.Not(n.Within(n.Not(p), span))

    pairs = [
        (n.Not(n.And((x, y))), n.Or((n.Not(x), n.Not(y)))),
        (n.Within(n.Or((x, y)), span), n.Or((n.Within(x, span), n.Within(y, span)))),
        (never_not(n.And((x, y))), n.And((never_not(x), never_not(y)))),
        (n.Held(x, 0), x),
    ]
    for left, right in pairs:
        for k in range(len(trace)):
            assert margins.margin(left, k) == margins.margin(right, k)


@settings(max_examples=60, deadline=None)
@given(st.floats(-0.5, 0.5), traces(clean=True), SPANS)
def test_a_margin_moves_no_more_than_its_channel(shift, trace, span):
    x = n.Measured("a", "N", -5.0, 5.0, 20 * MS)
    p, q = n.Compare(">", x, n.Constant(1.0, "N")), n.Compare("<", x, n.Constant(2.0, "N"))
    node = n.And((n.Within(p, span), n.Not(n.Held(q, span)), n.Since(p, q, span)))
    moved = Trace(trace.layout, trace.t_ns, trace.values + shift, trace.sampled_ns, trace.quality)
    a, b = (Margins(t) for t in (trace, moved))
    for k in range(len(trace)):
        (_, low), (_, high) = a.margin(node, k), b.margin(node, k)
        assert low == high or abs(low - high) <= abs(shift) + 1e-9


def test_long_windows_come_and_go_a_slice_late_at_most():
    span = 60_000 * MS
    x = n.Measured("a", "N", -5.0, 5.0, 20 * MS)
    node = n.Within(n.Compare(">", x, n.Constant(1.0, "N")), span)
    t = np.arange(0, 130_000, 7, dtype=np.int64) * MS
    values = np.zeros((len(t), len(LAYOUT)))
    peak = 3000
    values[peak, 0] = 4.0
    trace = Trace(
        LAYOUT, t, values, np.repeat(t[:, None], len(LAYOUT), axis=1), np.zeros(values.shape, np.uint8)
    )
    source, floats, integers = margin_source([node], LAYOUT)
    found = np.empty((len(t), 1))
    load_module(source).replay(t, values, trace.sampled_ns, trace.quality, floats, integers, found)
    inside = found[:, 0] == -3.0
    assert inside[peak]
    assert not inside[:peak].any()
    last = t[np.flatnonzero(inside)[-1]] - t[peak]
    assert span <= last + 7 * MS
    assert last <= span + span // 400


def exact(rule):
    """Return whether every window of a rule is kept tick by tick."""
    return all(getattr(x, "span_ns", 0) <= EXACT * MS for x in n.walk(rule.violated))


def test_margins_of_the_rules_follow_the_golden_examples():
    layout, golden, judged = load_bench("sim").layout, json.loads(FILE.read_text()), 0
    for task in ("spoon-feed", "bed-watch"):
        rules, names = load_rules(rule_files(task), layout), names_in(task)
        meter = MarginMeter(rules, layout)
        for r, rule in enumerate(rules.rules):
            for entry in golden[names[rule.id]]["examples"] if exact(rule) else ():
                meter.reset()
                margins = meter.over(from_json(entry, layout).trace(layout))[:, r]
                for margin, broken in zip(margins, entry["broken"], strict=True):
                    assert margin <= 0 if broken == 1 else margin >= 0 if broken == 0 else margin == -INF
                    judged += 1
    assert judged > 300


def test_step_by_step_and_at_once_are_the_same():
    layout = load_bench("sim").layout
    rules = load_rules(rule_files("spoon-feed"), layout)
    rng = np.random.default_rng(0)
    t = np.arange(400, dtype=np.int64) * MS
    low, high = (np.array([getattr(c, k) for c in layout]) for k in ("low", "high"))
    values = low + (np.minimum(high, low + 100) - low) * rng.random((400, len(layout)))
    trace = Trace(
        layout, t, values, np.repeat(t[:, None], len(layout), axis=1), np.zeros(values.shape, np.uint8)
    )
    a, b = MarginMeter(rules, layout), MarginMeter(rules, layout)
    at_once = a.over(trace)
    stepped = np.array([b.step(trace.row(k)).copy() for k in range(400)])
    np.testing.assert_array_equal(at_once, stepped)
    assert EXACT > 400
