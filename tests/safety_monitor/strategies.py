"""Random expressions and traces for the differential tests.

Values come from a small set, so that ties and equal extremes are common; spans include zero; time
bases are regular, jittered, in bursts and with gaps; readings go NaN, infinite, stale, late,
out of range, out of order and into the future.
"""

import numpy as np
from hypothesis import strategies as st

from rig.core.channel import Audience, Channel, Layout, Trace
from safety_monitor import nodes as n

MS = 1_000_000
LAYOUT = Layout(
    [
        Channel(name="a", unit="N", low=-5.0, high=5.0, period_s=1e-5, stale_after_s=0.02),
        Channel(name="b", unit="N", low=-5.0, high=5.0, period_s=1e-5, stale_after_s=0.05),
        Channel(name="c", unit="1", low=0.0, high=9.0, period_s=1e-5, stale_after_s=0.5),
        Channel(
            name="hidden",
            unit="1",
            low=0.0,
            high=1.0,
            period_s=1.0,
            stale_after_s=5.0,
            audience=Audience.ORACLE,
        ),
    ]
)
CHANNELS = st.sampled_from(
    [n.Measured(c.name, c.unit, c.low, c.high, round(c.stale_after_s * 1e9)) for c in LAYOUT.channels[:3]]
)
SPANS = st.sampled_from([0, 1, 2, 3, 5, 10, 19, 40, 200]).map(lambda ms: ms * MS)
CONSTANTS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]).map(lambda v: n.Constant(v, "N"))


@st.composite
def numbers(draw, depth=2):
    leaf = st.one_of(
        CHANNELS,
        CONSTANTS,
        CHANNELS.map(lambda x: n.Rate(x, "N/s")),
        CHANNELS.map(n.Age),
        CHANNELS.map(n.Unchanged),
        st.builds(
            lambda op, x, d: n.Window(op, x, d, "N"), st.sampled_from(["lowest", "highest"]), CHANNELS, SPANS
        ),
    )
    if depth == 0:
        return draw(leaf)
    inner = numbers(depth - 1)
    flag = st.builds(n.Compare, st.sampled_from(["<", ">", ">="]), CHANNELS, CONSTANTS)
    return draw(
        st.one_of(
            leaf,
            leaf,
            st.builds(lambda op, x, y: n.Arithmetic(op, x, y, "N"), st.sampled_from("+-*/"), inner, inner),
            inner.map(lambda x: n.Absolute(x, "N")),
            st.builds(n.Times, flag, SPANS),
            st.builds(lambda x, v: n.Stiffness(x, v, 0.5, 800.0, "N"), CHANNELS, CHANNELS),
            st.builds(
                lambda op, x, y: n.Extreme(op, (x, y), "N"), st.sampled_from(["min", "max"]), inner, inner
            ),
        )
    )


def comparisons():
    ops = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    return st.builds(n.Compare, ops, numbers(), st.one_of(CONSTANTS, numbers(1)))


@st.composite
def truths(draw, depth=3):
    leaf = st.one_of(
        comparisons(), comparisons(), CHANNELS.map(n.Rises), CHANNELS.map(n.Changes), CHANNELS.map(n.Valid)
    )
    if depth == 0:
        return draw(leaf)
    x = truths(depth - 1)
    return draw(
        st.one_of(
            leaf,
            x.map(n.Not),
            x.map(n.Begins),
            st.lists(x, min_size=2, max_size=3).map(lambda xs: n.And(tuple(xs))),
            st.lists(x, min_size=2, max_size=3).map(lambda xs: n.Or(tuple(xs))),
            st.builds(n.Held, x, SPANS),
            st.builds(n.Within, x, st.one_of(SPANS, st.just(n.FOREVER))),
            st.builds(n.Since, x, x, st.one_of(SPANS, st.just(n.FOREVER))),
            st.builds(n.Unanswered, x, x, SPANS),
        )
    )


@st.composite
def times(draw, size):
    kind = draw(st.sampled_from(["regular", "jittered", "bursts"]))
    if kind == "regular":
        return np.arange(size, dtype=np.int64) * MS
    steps = st.integers(1, 3 * MS) if kind == "jittered" else st.sampled_from([1, MS, MS, 10 * MS, 300 * MS])
    return np.cumsum(draw(st.lists(steps, min_size=size, max_size=size))).astype(np.int64)


@st.composite
def traces(draw, max_size=30, clean=False):
    size = draw(st.integers(1, max_size))
    t = draw(times(size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (size, len(LAYOUT))
    values = rng.integers(-2, 4, shape).astype(np.float64)
    if draw(st.booleans()):  # long constant stretches
        values = values[np.sort(rng.integers(0, size, size))]
    sampled = np.repeat(t[:, None], len(LAYOUT), axis=1)
    quality = np.zeros(shape, np.uint8)
    if not clean and draw(st.booleans()):
        share = draw(st.sampled_from([0.02, 0.1, 0.3]))
        bad = np.array([np.nan, np.inf, -np.inf, 7.0, -7.0, 1e308, 5e-324])
        values = np.where(rng.random(shape) < share, rng.choice(bad, shape), values)
        quality = np.where(rng.random(shape) < share, rng.integers(0, 4, shape), quality).astype(np.uint8)
        lag = rng.choice(np.array([0, 0, MS, 10 * MS, 30 * MS, 600 * MS, -1, -MS]), shape)
        sampled = np.where(rng.random(shape) < share, sampled - lag, sampled)
        if draw(st.booleans()):  # a slow sensor: stamps and values repeat
            hold = np.arange(size) // 3 * 3
            values[:, 1], sampled[:, 1] = values[hold, 1], sampled[hold, 1]
    return Trace(LAYOUT, t, values, sampled, quality)
