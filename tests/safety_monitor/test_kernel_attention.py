"""From raw verdicts to attention: confirming, bearing the unknown, clearing late."""

from hypothesis import given, settings
from hypothesis import strategies as st

from safety_monitor import nodes as n
from safety_monitor.kernel import WORD, Timing
from tests.safety_monitor.attention import attention
from tests.safety_monitor.machines import Machine
from tests.safety_monitor.strategies import LAYOUT, MS, traces

FLAG = n.Compare(">", n.Measured("a", "N", -5.0, 5.0, 20 * MS), n.Constant(0.5, "N"))
SPANS = st.sampled_from([0, 1, 2, 3, 5, 10]).map(lambda ms: ms * MS)


@settings(max_examples=300, deadline=None)
@given(traces(), SPANS, SPANS, SPANS)
def test_attention_is_what_its_definition_says(trace, confirm, grace, clear):
    timing = Timing(confirm, grace, clear)
    machine = Machine([FLAG], LAYOUT, [timing])
    raw = machine.run(trace, WORD.raw)[:, 0]
    machine.reset()
    found = machine.run(trace, WORD.attention)[:, 0]
    assert list(found) == attention(trace.t_ns, raw, timing)


@settings(max_examples=100, deadline=None)
@given(traces(), SPANS, SPANS, SPANS)
def test_the_loop_is_stopped_exactly_when_attention_changes(trace, confirm, grace, clear):
    timing = Timing(confirm, grace, clear)
    machine = Machine([FLAG, n.Not(FLAG)], LAYOUT, [timing, timing])
    before = [0, 0]
    for k in range(len(trace)):
        asked = machine.step(
            int(trace.t_ns[k]),
            trace.values[k],
            trace.sampled_ns[k],
            trace.quality[k],
            machine.floats,
            machine.integers,
        )
        now = machine.words(WORD.attention)
        assert bool(asked) is (now != before)
        before = now
