"""Every mutant of the code the generator writes must be found by comparing it with the definitions."""

import ast
import copy
import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from rig.core.channel import Layout, Trace
from safety_monitor import nodes as n
from safety_monitor.emitter import OVERFLOWS
from safety_monitor.kernel import (
    ARRIVAL,
    ARRIVALS,
    BACKWARDS,
    DISORDERED,
    DUPLICATE,
    LATE,
    WORD,
    Timing,
    compile_source,
)  # fmt: skip
from safety_monitor.reference import Reference
from tests.safety_monitor.attention import attention
from tests.safety_monitor.machines import as_python
from tests.safety_monitor.strategies import LAYOUT as ANY_LAYOUT
from tests.safety_monitor.strategies import MS

# A sample per millisecond, so that a window of 3 ms remembers seven and can be made to overflow.
LAYOUT = Layout([replace(c, period_s=min(0.001, c.stale_after_s)) for c in ANY_LAYOUT])
A, B, C = (
    n.Measured(c.name, c.unit, c.low, c.high, round(c.stale_after_s * 1e9)) for c in LAYOUT.channels[:3]
)
ONE, HIGH = n.Constant(1.0, "N"), n.Constant(2.0, "N")
P, Q = n.Compare(">", A, ONE), n.Compare("<=", B, ONE)
SPAN = 3 * MS
KINDS = (
    n.Compare(">=", n.Arithmetic("/", A, B, "N"), ONE),
    n.Compare("<", n.Arithmetic("-", n.Absolute(A, "N"), B, "N"), ONE),
    n.Compare("==", n.Extreme("min", (A, B), "N"), ONE),
    n.Compare("!=", n.Extreme("max", (A, B), "N"), ONE),
    n.Compare(">", n.Rate(A, "N/s"), n.Constant(2000.0, "N/s")),
    n.Compare(">=", n.Window("lowest", A, SPAN, "N"), ONE),
    n.Compare("<", n.Window("highest", A, SPAN, "N"), HIGH),
    n.Compare(">=", n.Age(A), n.Constant(0.001, "s")),
    n.Compare(">=", n.Unchanged(A), n.Constant(0.002, "s")),
    n.Compare(">=", n.Times(P, 8 * MS), HIGH),
    n.And((P, n.Not(Q))),
    n.Or((P, Q)),
    n.Held(P, SPAN),
    n.Within(P, SPAN),
    n.Within(n.And((P, Q)), n.FOREVER),
    n.Since(P, Q, SPAN),
    n.Since(n.Not(P), Q, n.FOREVER),
    n.Unanswered(P, Q, SPAN),
    n.Begins(P),
    n.Rises(A),
    n.Changes(B),
    n.Valid(C),
    n.Compare(">=", n.Stiffness(A, B, 1.0, 800.0, "N/m"), n.Constant(500.0, "N/m")),
)
EVERY_KIND = (*KINDS, *map(n.Not, KINDS))  # both tracks of every kind decide a verdict
TIMING = Timing(2 * MS, 3 * MS, 4 * MS)
SELDOM = n.Held(P, SPAN), n.And((P, n.Not(Q))), n.Begins(n.And((P, Q)))  # quiet on most ticks


class Subject:
    """Rules with their kernel, and traces with what the definitions say of them."""

    def __init__(self, nodes, timings, traces):
        self.nodes, self.program = nodes, compile_source(nodes, timings, LAYOUT)
        self.judged = [(t, *by_definition(t, nodes, timings)) for t in traces]


def edge_traces(seed=0, count=60, size=40):
    """Return traces full of edges: values at limits and ends of ranges, ages at age limits, equal times."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        steps = rng.choice([MS, MS, MS, 2 * MS, 20 * MS] if i % 2 else [MS], size)
        t = np.cumsum(steps).astype(np.int64)
        shape = (size, len(LAYOUT))
        values = rng.choice(
            [-5.0, 5.0, 0.0, 1.0, 2.0, 3.0, 9.0, 5.5, -5.5],
            shape,
            p=[0.03, 0.03, 0.26, 0.3, 0.26, 0.06, 0.02, 0.02, 0.02],
        )
        values[rng.random(shape) < 0.03] = np.nan
        if i % 3 == 0:
            values = values[np.sort(rng.integers(0, size, size))]
        lag = rng.choice([0, MS, 20 * MS, 50 * MS, 500 * MS, -1], shape, p=[0.8, 0.1, 0.04, 0.03, 0.02, 0.01])
        quality = (rng.random(shape) < 0.03).astype(np.uint8)
        found.append(Trace(LAYOUT, t, values, t[:, None] - lag, quality))
    return found


def by_definition(trace, nodes, timings):
    """Return raw verdicts and attention of every rule, and whether each tick asks for attention."""
    reference, code = Reference(trace), {True: 1, False: 0, None: 2}
    raw = np.array([[code[reference.truth(x, k)] for x in nodes] for k in range(len(trace))])
    att = np.array([attention(trace.t_ns, raw[:, r], timing) for r, timing in enumerate(timings)]).T
    changed = (np.diff(np.vstack([np.zeros(att.shape[1]), att]), axis=0) != 0).any(axis=1)
    return raw, att, changed


ALL = Subject(EVERY_KIND, [TIMING] * len(EVERY_KIND), edge_traces())
FEW = Subject(SELDOM, [TIMING, Timing(0, 0, 0), Timing(0, 4 * MS, 2 * MS)], edge_traces(1))
PROGRAM = ALL.program


def differs(subject, step):
    """Return whether a kernel's source disagrees with the definitions anywhere."""
    program, shape = subject.program, (len(subject.nodes), len(WORD))
    table = slice(program.rules, program.rules + shape[0] * shape[1])
    for trace, raw, att, changed in subject.judged:
        floats, integers = program.floats.copy(), program.integers.copy()
        for k in range(len(trace)):
            row = (int(trace.t_ns[k]), trace.values[k], trace.sampled_ns[k], trace.quality[k])
            try:
                with np.errstate(all="ignore"):
                    asked = step(*row, floats, integers)
            except (IndexError, ZeroDivisionError, OverflowError, FloatingPointError):
                return True
            words = integers[table].reshape(shape)
            if (words[:, WORD.raw] != raw[k]).any() or (words[:, WORD.attention] != att[k]).any():
                return True
            if bool(asked) != changed[k] or (asked and not _kept(program, trace, k, floats, integers)):
                return True
    return subject is ALL and (_clock_differs(step) or _memory_differs(step) or _arrivals_differ(step))


def _arrivals_differ(step):
    """Return whether samples are counted otherwise than by their definition, channel by channel."""
    rng, t = np.random.default_rng(4), np.arange(60) * MS
    lag = rng.choice([0, 0, MS, 2 * MS, 9 * MS], (60, len(LAYOUT)))
    values = rng.choice([1.0, 2.0, np.nan], (60, len(LAYOUT)))
    floats, integers = PROGRAM.floats.copy(), PROGRAM.integers.copy()
    for k in range(60):
        with np.errstate(all="ignore"):
            step(int(t[k]), values[k], t[k] - lag[k], np.zeros(len(LAYOUT), np.uint8), floats, integers)
    totals = np.zeros(3, np.int64)
    for j in range(PROGRAM.watched):
        row = integers[PROGRAM.arrivals + j * ARRIVALS :][:ARRIVALS]
        c = int(row[ARRIVAL.column])
        oldest = round((LAYOUT.channels[c].period_s + LAYOUT.channels[c].latency_s) * 1e9)
        stamps = [int(s) for s in t - lag[:, c]]
        late = duplicate = disordered = 0
        for k in range(1, 60):
            value, before = values[k, c], values[k - 1, c]
            if stamps[k] == stamps[k - 1]:
                duplicate += not (value == before or (np.isnan(value) and np.isnan(before)))
            elif stamps[k] < max(stamps[:k]):
                disordered += 1
            else:
                late += t[k] - stamps[k] > oldest
        if list(row[ARRIVAL.late :]) != [late, duplicate, disordered]:
            return True
        totals += [late, duplicate, disordered]
    return list(integers[[LATE, DUPLICATE, DISORDERED]]) != list(totals)


def _kept(program, trace, k, floats, integers):
    """Return whether the inputs of a change are in the state."""
    (f, i), c = program.seen, len(LAYOUT)
    return (
        np.array_equal(floats[f : f + c], trace.values[k], equal_nan=True)
        and np.array_equal(integers[i : i + c], trace.sampled_ns[k])
        and np.array_equal(integers[i + c : i + 2 * c], trace.quality[k])
    )


def _memory_differs(step):
    """Return whether windows and counts that are full forget what they should not, or do not say so."""
    lowest, highest, times = (EVERY_KIND.index(KINDS[i]) for i in (5, 6, 9))

    def run(values, dt_ns):
        floats, integers = PROGRAM.floats.copy(), PROGRAM.integers.copy()
        said = []
        for k, a in enumerate(values):
            t = k * dt_ns
            x, s, q = np.full(len(LAYOUT), a), np.full(len(LAYOUT), t), np.zeros(len(LAYOUT), np.uint8)
            try:
                with np.errstate(all="ignore"):
                    step(t, x, s, q, floats, integers)
            except (IndexError, ZeroDivisionError, OverflowError, FloatingPointError):
                return None
            said.append([int(integers[PROGRAM.row(r)][WORD.raw]) for r in (lowest, highest, times)])
        return said, int(integers[OVERFLOWS])

    ramp = np.linspace(-4.0, 4.0, 60)  # faster than the channel may be: the memory of 7 readings is too short
    down, up, level = run(-ramp, MS // 10), run(ramp, MS // 10), run(np.full(60, 1.5), MS // 10)
    # A hundred beginnings in the window of 8 ms, of which 64 are counted; the last but one at 1.96 ms.
    many = run(np.append(np.tile([2.0, 0.0], 100), np.zeros(900)), MS // 100)
    unknown, calm = 2, 0
    return not (
        up is not None and down is not None and level is not None and many is not None
        and [row[0] for row in up[0]][:7] == [calm] * 7 and [row[0] for row in up[0]][7:] == [unknown] * 53
        and [row[1] for row in down[0]][7:] == [unknown] * 53
        and [row[0] for row in level[0]] == [1] * 60 and [row[1] for row in level[0]] == [1] * 60
        and up[1] == 8 and down[1] == 8 and level[1] == 0
        and [row[2] for row in many[0]] == [0] * 2 + [1] * 995 + [0] * 103
    )  # fmt: skip


def _clock_differs(step):
    """Return whether a kernel lets a broken clock pass: backwards, absurd, or standing still."""
    r = EVERY_KIND.index(n.Valid(C))

    def raws(times):
        floats, integers = PROGRAM.floats.copy(), PROGRAM.integers.copy()
        said = []
        for t in times:
            x, s, q = (
                np.ones(len(LAYOUT)),
                np.full(len(LAYOUT), min(max(t, -(2**62)), 2**62)),
                np.zeros(len(LAYOUT), np.uint8),
            )
            with np.errstate(all="ignore"):
                step(t, x, s, q, floats, integers)
            said.append(int(integers[PROGRAM.row(r)][WORD.raw]))
        return said if integers[BACKWARDS] == said.count(0) - max(0, len(times) - 101) else []

    def attended(value):
        """Return the attention to ``a > 1`` while the clock stands still."""
        floats, integers = PROGRAM.floats.copy(), PROGRAM.integers.copy()
        said, quality = [], np.zeros(len(LAYOUT), np.uint8)
        for _ in range(106):
            with np.errstate(all="ignore"):
                step(
                    0, np.full(len(LAYOUT), value), np.zeros(len(LAYOUT), np.int64), quality, floats, integers
                )
            said.append(int(integers[PROGRAM.row(EVERY_KIND.index(n.Within(P, SPAN)))][WORD.attention]))
        return said

    still = [1] * 101 + [0] * 5
    return not (
        attended(0.0) == attended(np.nan) == [0] * 101 + [2] * 5
        and raws([0, MS, MS - 1, 2 * MS]) == [1, 1, 0, 1]
        and raws([2**60 - 1]) == [1]
        and raws([2**60]) == [0]
        and raws([-(2**60) + 1]) == [1]
        and raws([-(2**60)]) == [0]
        and raws([0] * 106) == still
    )


SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip


def _sites(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from ((node, "ops", i) for i in range(len(node.ops)))
        elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
            yield node, "op", None
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "not", None


def mutants(source):
    """Yield every source in which one operator of ``step`` is another one, with the line it is in."""
    tree = ast.parse(source)
    count = len(list(_sites(_body(tree))))
    for i in range(count):
        mutant = copy.deepcopy(tree)
        node, what, k = list(_sites(_body(mutant)))[i]
        line = ast.unparse(node)
        if what == "ops":
            node.ops[k] = SWAPS[type(node.ops[k])]()
        elif what == "op":
            node.op = SWAPS[type(node.op)]()
        else:
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        yield line, ast.unparse(_bounded(mutant))


def _bounded(tree):
    """Return the source with every loop bounded: a mutant may never end."""
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            node.body += ast.parse("rounds = rounds + 1\nif rounds > 1000:\n    raise OverflowError").body
    _body(tree).body[0:0] = ast.parse("rounds = 0").body
    return tree


def _body(tree):
    return next(x for x in tree.body if isinstance(x, ast.FunctionDef))


@pytest.mark.parametrize("subject", [ALL, FEW], ids=["all", "few"])
def test_the_source_itself_agrees_with_the_definitions(subject):
    assert not differs(subject, as_python(subject.program.source))


MEANS_THE_SAME = {
    "v12 < v4": "of two equal numbers either is the smaller",
    "v15 > v4": "of two equal numbers either is the larger",
    "d11 - d11": "where d is 0 it is finite",
    "d14 - d14": "where d is 0 it is finite, elsewhere it differs",
    "w + 0": "the first word of a row",
    "F[18] * 800.0 <= w71": "where the two are equal, the force over the way is the stiffest thing there is",
}


def tried(subject, every=1, lines=None):
    """Return the lines all of whose mutants are found and those of which one survives, without numbers.

    ``every``: try one mutant of so many; ``lines``: of these lines alone.
    """
    found, survived, count = set(), set(), 0
    for line, source in islice(mutants(subject.program.source), 0, None, every):
        if lines is not None and re.sub(r"\d+", "#", line) not in lines:
            continue
        count += 1
        known = line in MEANS_THE_SAME or differs(subject, as_python(source))
        (found if known else survived).add(re.sub(r"\d+", "#", line))
    return found - survived, survived, count


def test_mutants_of_the_generated_code_are_found():
    """One of twenty-five; what rules that are always broken do not show, rules that are quiet do."""
    _, survived, count = tried(ALL, every=25)
    assert count > 15
    assert not survived or survived <= tried(FEW, lines=survived)[0]


@pytest.mark.soak
def test_every_mutant_of_the_generated_code_is_found():
    """Rules that are always broken somewhere never take the quiet path, and few rules not every line."""
    found, survived, count = tried(ALL)
    found_quiet, survived_quiet, _ = tried(FEW)
    assert count > 300
    assert survived <= found_quiet
    assert survived_quiet <= found
