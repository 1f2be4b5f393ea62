"""The generated kernel means what the definitions say, tick by tick."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safety_monitor.reference import Reference
from tests.safety_monitor.machines import Machine
from tests.safety_monitor.strategies import LAYOUT, traces, truths

CODE = {True: 1, False: 0, None: 2}


def by_definition(nodes, trace):
    reference = Reference(trace)
    return np.array([[CODE[reference.truth(x, k)] for x in nodes] for k in range(len(trace))])


@settings(max_examples=200, deadline=None)
@given(st.lists(truths(), min_size=1, max_size=3), traces())
def test_the_generated_source_means_what_the_definitions_say(nodes, trace):
    np.testing.assert_array_equal(Machine(nodes, LAYOUT).run(trace), by_definition(nodes, trace))


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(truths(), min_size=10, max_size=10), st.lists(traces(), min_size=30, max_size=30))
def test_the_compiled_kernel_means_what_the_definitions_say(nodes, many):
    machine = Machine(nodes, LAYOUT, compiled=True)
    for trace in many:
        machine.reset()
        np.testing.assert_array_equal(machine.run(trace), by_definition(nodes, trace))
