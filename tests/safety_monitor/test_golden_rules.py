"""The rules that come with the project, against golden examples that tell each from all its mutants."""

import json

import numpy as np
import pytest

from safety_monitor.kernel import WORD
from safety_monitor.reference import Reference
from tests.safety_monitor.golden import CODE, FILE, alone, from_json, mutants, rules, states
from tests.safety_monitor.machines import Machine

RULES = rules()
GOLDEN = json.loads(FILE.read_text())
NAMES = sorted(RULES)


def test_every_rule_has_golden_examples_and_no_other_has():
    assert sorted(GOLDEN) == NAMES
    assert all(entry["examples"] for entry in GOLDEN.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_does_what_it_did(name):
    stated = {k: v for k, v in GOLDEN[name].items() if k != "examples"}
    assert states(RULES[name].rule) == stated


@pytest.mark.parametrize("name", NAMES)
def test_definitions_vectors_and_kernel_agree_with_the_golden_verdicts(name):
    rule, layout = RULES[name]
    node = rule.violated
    machine = Machine([node], layout)
    for entry in GOLDEN[name]["examples"]:
        script = from_json(entry, layout)
        trace = script.trace(layout)
        reference = Reference(trace)
        assert [CODE[reference.truth(node, k)] for k in range(len(trace))] == entry["broken"]
        assert list(alone(node, script, layout)) == entry["broken"]
        machine.reset()
        raw = machine.run(trace, WORD.raw)[:, 0]
        assert [-1 if r == 2 else r for r in raw] == entry["broken"]


@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_of_a_rule_is_found_by_its_golden_examples(name):
    rule, layout = RULES[name]
    node = rule.violated
    scripts = [(from_json(e, layout), np.array(e["broken"])) for e in GOLDEN[name]["examples"]]
    tried = list(mutants(node, layout))
    assert len(tried) >= 3
    survived = [
        what
        for what, mutant in tried
        if all(np.array_equal(alone(mutant, s, layout), said) for s, said in scripts)
    ]
    assert survived == []
