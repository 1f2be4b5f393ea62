"""Numbers of a rule that a reviewer may change."""

import pytest

from rig.console.whatif import numbers_of
from rig.core.bench import load_bench
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_task, task_names


@pytest.mark.parametrize("task", task_names())
def test_a_number_is_a_number_with_its_unit_and_no_word_more(task):
    layout = load_bench(load_task(task).bench("sim")).layout
    for rule in load_rules(rule_files(task), layout).rules:
        for number in numbers_of(task, rule.id):
            value, _, unit = number.text.partition(" ")
            assert float(value) == float(value), number
            assert unit not in ("and", "or", "not"), (rule.id, number)
