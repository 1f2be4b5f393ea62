"""Golden examples of the rules that come with the project, and mutants of rules to try them on.

``python -m tests.safety_monitor.golden`` writes the file anew from the definitions: do that only when
a rule was changed on purpose, and read the difference.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from rig.core.bench import load_bench
from rig.core.channel import joined
from safety_monitor import nodes as n
from safety_monitor.examples import Script, _draw, is_whole
from safety_monitor.expression import Expression, truth
from safety_monitor.reference import Reference
from safety_monitor.rules import load_rules, rule_files

FILE = Path(__file__).parent / "golden" / "rules.json"
LAYOUT = load_bench("sim").layout
TASKS = ("spoon-feed", "bed-watch")
OTHER = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="}
STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "==", "!=": "!="}
CODE = {True: 1, False: 0, None: -1}


def rules():
    """Return every rule of every task, each once."""
    found = {}
    for task in TASKS:
        for rule in load_rules(rule_files(task), LAYOUT).rules:
            found[rule.id] = rule
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


def mutants(node):
    """Yield (what was changed, mutant): flipped and loosened comparisons, dropped parts, other spans."""
    for old in n.walk(node):
        match old:
            case n.Compare(op=op, right=right):
                yield f"flip {op}", changed(node, old, replace(old, op=OTHER[op]))
                channel = LAYOUT[old.left.channel] if isinstance(old.left, n.Measured) else None
                if isinstance(right, n.Constant) and (channel is None or not is_whole(channel)):
                    if channel is not None:  # that a sum of readings hits a limit exactly tells nothing
                        yield f"loosen {op}", changed(node, old, replace(old, op=STRICT[op]))
                    for share in (-0.5, 0.5):
                        by = share * abs(right.value) if right.value else share
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


def verdicts(node, scripts, apart_ns):
    """Return the verdicts of each script, one after another in one trace and far apart."""
    traces, start_ns = [], 0
    for script in scripts:
        traces.append(script.trace(LAYOUT, start_ns))
        start_ns = int(traces[-1].t_ns[-1]) + apart_ns
    said = truth(Expression("", node), joined(traces, LAYOUT))
    return np.split(said, np.cumsum([len(t) for t in traces])[:-1])


def alone(node, script):
    """Return the verdicts of one script by itself."""
    return truth(Expression("", node), script.trace(LAYOUT))


def chosen(rule):
    """Return scripts that together tell the rule from every mutant, and the mutants nothing tells apart."""
    node, rng = rule.violated, np.random.default_rng(3)
    scripts = [s for _ in range(12) for s in _draw(node, LAYOUT, rng)]
    apart_ns = 6 * 3600 * 10**9
    base = verdicts(node, scripts, apart_ns)
    left = {}
    for what, mutant in mutants(node):
        other = verdicts(mutant, scripts, apart_ns)
        left[what, mutant] = {
            i for i, (a, b) in enumerate(zip(base, other, strict=True)) if not np.array_equal(a, b)
        }
    kept, survivors = [], []
    for (what, mutant), telling in sorted(left.items(), key=lambda item: len(item[1])):
        if any(not np.array_equal(alone(node, s), alone(mutant, s)) for s in kept):
            continue
        best = next(
            (
                scripts[i]
                for i in sorted(telling)
                if not np.array_equal(alone(node, scripts[i]), alone(mutant, scripts[i]))
            ),
            None,
        )
        if best is None:
            survivors.append(what)
        else:
            kept.append(best)
    return kept, survivors


def as_json(script, rule):
    """Return a script with what the definitions say of it."""
    trace = script.trace(LAYOUT)
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


def from_json(entry):
    """Return the script of a golden example."""
    names = tuple(entry["levels"])
    columns = [[np.inf if v == "stale" else v for v in entry["levels"][name]] for name in names]
    levels = np.array(columns).T
    return Script(tuple(LAYOUT[name] for name in names), levels, np.array(entry["spans_ns"], np.int64))


def main():
    """Write the golden file and say which mutants nothing tells apart."""
    golden = {}
    for name, rule in rules().items():
        kept, survivors = chosen(rule)
        golden[name] = {**states(rule), "examples": [as_json(s, rule) for s in kept]}
        print(f"{name}: {len(kept)} examples, not told apart: {survivors or 'none'}")
    FILE.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in golden.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
