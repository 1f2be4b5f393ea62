"""Golden examples of the rules that come with the project, and mutants of rules to try them on.

``python -m tests.safety_monitor.golden [FILE/RULE ...]`` writes, from the definitions, the examples of new rules
and of those named: do that only when a rule was changed on purpose, and read the difference.
"""

import json
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rig.core.bench import load_bench
from rig.core.channel import Layout, joined
from safety_monitor import nodes as n
from safety_monitor.examples import Script, _draw, is_whole
from safety_monitor.expression import Expression, truth
from safety_monitor.reference import Reference
from safety_monitor.rule import Rule
from safety_monitor.rules import load_rules, rule_files
from tasks.suite import load_task, task_names

FILE = Path(__file__).parent / "golden" / "rules.json"
OTHER = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="}
STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "==", "!=": "!="}
CODE = {True: 1, False: 0, None: -1}


class Shipped(NamedTuple):
    """A rule, and the channels of the bench it was checked against."""

    rule: Rule
    layout: Layout


def names_in(task):
    """Return, by id, the names ``file/id`` of a task's rules: an id may stand in the files of several tasks."""
    return {
        rule: f"{path.stem}/{rule}"
        for path in rule_files(task)
        for rule in tomllib.loads(path.read_text()).get("rule", ())
    }


def rules():
    """Return every rule that comes with the project by name, each on the bench of the first task it is in."""
    found = {}
    for task in task_names():
        layout, names = load_bench(load_task(task).bench("sim")).layout, names_in(task)
        for rule in load_rules(rule_files(task), layout).rules:
            found.setdefault(names[rule.id], Shipped(rule, layout))
    return found


def changed(node, old, new):
    """Return ``node`` with ``old`` replaced by ``new`` wherever it occurs."""
    if node == old:
        return new
    match node:
        case n.Arithmetic() | n.Compare():
            return replace(node, left=changed(node.left, old, new), right=changed(node.right, old, new))
        case n.And() | n.Or() | n.Extreme():
            return replace(node, args=tuple(changed(x, old, new) for x in node.args))
        case n.Since():
            return replace(node, x=changed(node.x, old, new), start=changed(node.start, old, new))
        case n.Unanswered():
            return replace(node, call=changed(node.call, old, new), answer=changed(node.answer, old, new))
        case n.Constant() | n.Measured():
            return node
        case _:
            return replace(node, x=changed(node.x, old, new))


def mutants(node, layout):
    """Yield (what was changed, mutant): flipped and loosened comparisons, dropped parts, other spans."""
    for old in n.walk(node):
        match old:
            case n.Compare(op=op, right=right):
                yield f"flip {op}", changed(node, old, replace(old, op=OTHER[op]))
                channel = layout[old.left.channel] if isinstance(old.left, n.Measured) else None
                if isinstance(right, n.Constant) and (channel is None or not is_whole(channel)):
                    if channel is not None:  # that a sum of readings hits a limit exactly tells nothing
                        yield f"loosen {op}", changed(node, old, replace(old, op=STRICT[op]))
                    for share in (-0.5, 0.5):
                        by = share * abs(right.value) if right.value else share
                        if channel is None and all(is_whole(layout[name]) for name in n.channels(old.left)):
                            by = np.copysign(max(1.0, round(abs(by))), share)  # between two counts is nothing
                        if channel is not None and abs(by) < channel.resolution:
                            continue
                        moved = replace(old, right=replace(right, value=right.value + by))
                        yield f"limit {right.value:g} {by:+g}", changed(node, old, moved)
            case n.And(args=args) | n.Or(args=args):
                yield "and for or", changed(node, old, (n.Or if isinstance(old, n.And) else n.And)(args))
                for i in range(len(args)):
                    rest = args[:i] + args[i + 1 :]
                    new = rest[0] if len(rest) == 1 else replace(old, args=rest)
                    yield f"drop part {i}", changed(node, old, new)
            case n.Not(x=x):
                yield "drop not", changed(node, old, x)
            case n.Held() | n.Within() | n.Unanswered() | n.Window() | n.Times():
                for factor in (0.5, 2):
                    yield (
                        f"span x{factor}",
                        changed(node, old, replace(old, span_ns=int(old.span_ns * factor))),
                    )
                if isinstance(old, n.Window):
                    other = "lowest" if old.op == "highest" else "highest"
                    yield f"{other} for {old.op}", changed(node, old, replace(old, op=other))
            case n.Arithmetic(op="-"):
                yield "+ for -", changed(node, old, replace(old, op="+"))
            case n.Absolute(x=x):
                yield "drop abs", changed(node, old, x)


def end_to_end(scripts, layout, apart_ns):
    """Return the scripts as one trace, one after another and far apart, and where each but the first begins."""
    traces, start_ns = [], 0
    for script in scripts:
        traces.append(script.trace(layout, start_ns))
        start_ns = int(traces[-1].t_ns[-1]) + apart_ns
    return joined(traces, layout), np.cumsum([len(t) for t in traces])[:-1]


def alone(node, script, layout):
    """Return the verdicts of one script by itself."""
    return truth(Expression("", node), script.trace(layout))


def chosen(rule, layout):
    """Return scripts that together tell the rule from every mutant, and the mutants nothing tells apart."""
    node, rng = rule.violated, np.random.default_rng(3)
    scripts = [s for _ in range(12) for s in _draw(node, layout, rng)]
    trace, begins = end_to_end(scripts, layout, 6 * 3600 * 10**9)
    base = np.split(truth(Expression("", node), trace), begins)
    left = {}
    for what, mutant in mutants(node, layout):
        other = np.split(truth(Expression("", mutant), trace), begins)
        left[what, mutant] = {
            i for i, (a, b) in enumerate(zip(base, other, strict=True)) if not np.array_equal(a, b)
        }
    kept, survivors = [], []
    for (what, mutant), telling in sorted(left.items(), key=lambda item: len(item[1])):
        if any(not np.array_equal(alone(node, s, layout), alone(mutant, s, layout)) for s in kept):
            continue
        best = next(
            (
                scripts[i]
                for i in sorted(telling)
                if not np.array_equal(alone(node, scripts[i], layout), alone(mutant, scripts[i], layout))
            ),
            None,
        )
        if best is None:
            survivors.append(what)
        else:
            kept.append(best)
    return kept, survivors


def as_json(script, rule, layout):
    """Return a script with what the definitions say of it."""
    trace = script.trace(layout)
    reference = Reference(trace)
    return {
        "spans_ns": [int(s) for s in script.spans_ns],
        "levels": {
            c.name: ["stale" if np.isinf(v) else float(v) for v in script.levels[:, j]]
            for j, c in enumerate(script.channels)
        },
        "broken": [CODE[reference.truth(rule.violated, k)] for k in range(len(trace))],
    }


def states(rule):
    """Return what a rule does, which no trace of conditions shows."""
    return {
        "response": rule.response.value,
        "when_unknown": rule.when_unknown.value,
        "protects": rule.protects,
        "confirm_ns": rule.confirm_ns,
        "grace_ns": rule.grace_ns,
        "clear_ns": rule.clear_ns,
    }


def from_json(entry, layout):
    """Return the script of a golden example."""
    names = tuple(entry["levels"])
    columns = [[np.inf if v == "stale" else v for v in entry["levels"][name]] for name in names]
    levels = np.array(columns).T
    return Script(tuple(layout[name] for name in names), levels, np.array(entry["spans_ns"], np.int64))


def main():
    """Write the examples of rules that have none, and anew those of the rules named; say what they do not tell apart."""
    anew, golden = set(sys.argv[1:]), json.loads(FILE.read_text())
    shipped = rules()
    for name, (rule, layout) in sorted(shipped.items()):
        if name in golden and name not in anew:
            continue
        kept, survivors = chosen(rule, layout)
        golden[name] = {**states(rule), "examples": [as_json(s, rule, layout) for s in kept]}
        print(f"{name}: {len(kept)} examples, not told apart: {survivors or 'none'}", flush=True)
        lines = [
            f"{json.dumps(name)}: {json.dumps(golden[name])}" for name in sorted(golden) if name in shipped
        ]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
