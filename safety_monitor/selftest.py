"""Before the monitor may watch a person: every rule fires, keeps quiet, and notices a lost reading."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rig.core.channel import Trace
from rig.core.errors import RigFault
from rig.core.watch import KernelFunction
from safety_monitor.examples import TICK_NS, Script, examples
from safety_monitor.kernel import WORD, Program
from safety_monitor.rule import RuleSet

SEED = 20261130
CLEAR, VIOLATED, LOST = 0, 1, 2


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What arming showed: how many rules fired and kept quiet, and which are never unknown."""

    rules: int
    always_known: tuple[str, ...]


def _attention(kernel: KernelFunction, program: Program, index: int, trace: Trace) -> int:
    """Return a rule's attention at the end of a trace, from a fresh state."""
    floats, integers = program.floats.copy(), program.integers.copy()
    for k in range(len(trace)):
        kernel(int(trace.t_ns[k]), trace.values[k], trace.sampled_ns[k], trace.quality[k], floats, integers)
    return int(integers[program.row(index)][WORD.attention])


def _lost(script: Script, trace: Trace) -> Iterator[Trace]:
    """Yield the trace with each of the script's channels in turn reading NaN throughout."""
    for channel in script.channels:
        values = trace.values.copy()
        values[:, trace.layout.index(channel.name)] = np.nan
        yield Trace(trace.layout, trace.t_ns, values, trace.sampled_ns, trace.quality)


def self_test(ruleset: RuleSet, program: Program, kernel: KernelFunction) -> SelfTest:
    """Run the compiled kernel over one violating and one clean trace per rule, and over lost readings.

    Raises:
        RigFault: If any rule does not fire, fires without cause, or cannot be tested; all of them
            are named. The rig must then not be armed.
    """
    rng = np.random.default_rng(SEED)
    failed, always_known = [], []
    for index, rule in enumerate(ruleset.rules):
        found = examples(rule, ruleset.layout, rng)
        if not found.broken:
            failed.append(f"{rule.id}: no trace was found that breaks it")
            continue
        settle_ns = max(rule.confirm_ns, TICK_NS)
        broken, clean = found.broken[0].trace(ruleset.layout), found.clean[0].trace(ruleset.layout)
        if _attention(kernel, program, index, _going_on(broken, settle_ns)) != VIOLATED:
            failed.append(f"{rule.id}: does not fire on a trace that breaks it")
        if _attention(kernel, program, index, _going_on(clean, settle_ns)) != CLEAR:
            failed.append(f"{rule.id}: fires on a trace that does not break it")
        waiting = _going_on(broken, rule.grace_ns + settle_ns)
        ends = {_attention(kernel, program, index, t) for t in _lost(found.broken[0], waiting)}
        if not ends & {VIOLATED, LOST}:
            failed.append(f"{rule.id}: keeps quiet when a reading it rests on is lost")
        elif LOST not in ends:
            always_known.append(rule.id)
    if failed:
        raise RigFault("the monitor may not be armed: " + "; ".join(failed))
    return SelfTest(len(ruleset.rules), tuple(always_known))


def _going_on(trace: Trace, for_ns: int) -> Trace:
    """Return the trace with its last tick repeated once more, later."""
    return Trace(
        trace.layout,
        np.append(trace.t_ns, trace.t_ns[-1] + for_ns),
        np.concatenate([trace.values, trace.values[-1:]]),
        np.concatenate([trace.sampled_ns, trace.sampled_ns[-1:] + for_ns]),
        np.concatenate([trace.quality, trace.quality[-1:]]),
    )
