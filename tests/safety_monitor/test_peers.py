"""Ours against public monitors, on random past-time formulas, tick by tick: verdicts and margins.

The peers are for tests only. Where one is not installed its test is skipped, visibly. They count
samples, so the trace has a tick per second; constants are of size one, so that our relative margins
are their robustness.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rig.core.channel import Trace
from safety_monitor import nodes as n
from safety_monitor.kernel import WORD
from tests.safety_monitor.machines import Machine
from tests.safety_monitor.strategies import LAYOUT
from tests.safety_monitor.test_margins import generated

S = 1_000_000_000
A, B = (n.Measured(c, "N", -5.0, 5.0, S) for c in "ab")
SPANS = st.sampled_from([0, 1, 2, 3, 7, 19])


@st.composite
def formulas(draw, depth=3):
    """Draw a formula as (ours, the peers' text with {} for the separator of bounds)."""
    if depth == 0 or draw(st.booleans()):
        x, op = draw(st.sampled_from([A, B])), draw(st.sampled_from([">", "<"]))
        limit = draw(st.sampled_from([1.0, -1.0]))
        return n.Compare(op, x, n.Constant(limit, "N")), f"({x.channel} {op} {limit})"
    left, right = formulas(depth - 1), formulas(depth - 1)
    kind = draw(st.sampled_from(["not", "and", "or", "once", "historically", "since"]))
    (x, s), w = draw(left), draw(SPANS)
    match kind:
        case "not":
            return n.Not(x), f"(not {s})"
        case "once":
            return n.Within(x, w * S), f"(once[0{{0}}{w}] {s})"
        case "historically":
            return n.Not(n.Within(n.Not(x), w * S)), f"(historically[0{{0}}{w}] {s})"
    y, u = draw(right)
    if kind == "since":
        return n.Since(x, y, w * S), f"({s} since[0{{0}}{w}] {u})"
    return (n.And if kind == "and" else n.Or)((x, y)), f"({s} {kind} {u})"


@st.composite
def samples(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return np.clip(rng.normal(0, 1.5, (draw(st.integers(1, 40)), 2)), -5, 5)


def trace_of(values):
    t = np.arange(len(values), dtype=np.int64) * S
    wide = np.zeros((len(t), len(LAYOUT)))
    wide[:, :2] = values
    return Trace(LAYOUT, t, wide, np.repeat(t[:, None], len(LAYOUT), axis=1), np.zeros(wide.shape, np.uint8))


def repeats(node):
    """Return whether a part with memory occurs twice: RTAMT 0.4.10 then feeds its one state twice a tick."""
    seen = []

    def visit(x):
        if isinstance(x, n.Within | n.Since):
            seen.append(x)
        for child in n.children(x):
            visit(child)

    visit(node)
    return len(seen) != len(set(seen))


def agree(node, values, robustness):
    trace = trace_of(values)
    np.testing.assert_allclose(-generated([node], trace)[:, 0], robustness, rtol=1e-12, atol=1e-12)
    verdicts = Machine([node], LAYOUT).run(trace, WORD.raw)[:, 0]
    np.testing.assert_array_equal(verdicts, np.array(robustness) > 0)


@pytest.fixture(scope="module")
def rtamt():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("rtamt", reason="rtamt is not installed: its differential test is skipped")


@settings(max_examples=100, deadline=None)
@given(formulas(), samples())
@pytest.mark.filterwarnings("ignore")
def test_ours_and_rtamt_agree(rtamt, formula, values):
    node, text = formula
    assume(not repeats(node))
    spec = rtamt.StlDiscreteTimeOnlineSpecification()
    for name in "ab":
        spec.declare_var(name, "float")
    spec.spec = text.format(":")
    spec.parse()
    robustness = [spec.update(k, [("a", float(a)), ("b", float(b))]) for k, (a, b) in enumerate(values)]
    agree(node, values, robustness)


@pytest.fixture(scope="module")
def sentil():
    return pytest.importorskip("sentil", reason="sentil is not installed: its differential test is skipped")


@settings(max_examples=200, deadline=None)
@given(formulas(), samples())
def test_ours_and_sentil_agree(sentil, formula, values):
    node, text = formula
    monitor = sentil.OnlineMonitor(sentil.parse(text.format(",")))
    robustness = [
        monitor.update(float(k), {"a": float(a), "b": float(b)}).value for k, (a, b) in enumerate(values)
    ]
    agree(node, values, robustness)
