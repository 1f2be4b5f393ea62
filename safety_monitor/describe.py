"""Rules for people to read and check: lists, read-backs, timeline pictures, examples near the boundary.

Everything is a plain value or plain text; the command line prints it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rig.core.channel import FloatArray, Layout, Trace
from rig.core.errors import ConfigError
from rig.core.event import Json
from safety_monitor.examples import Script, examples
from safety_monitor.reference import Reference, Ternary
from safety_monitor.rule import Rule, RuleSet
from safety_monitor.rules import load_rules
from safety_monitor.words import quantity, span

WIDTH = 56
PAIRS = 3
SEED = 7
_BARS = "▁▂▃▄▅▆▇█"
_VERDICT: Mapping[Ternary, str] = {True: "█", False: "·", None: "?"}


def rule_line(rule: Rule) -> str:
    """Return one line on a rule: its id, what it protects, what it does, and what it says."""
    return f"{rule.id:<24} {rule.protects:<24} {rule.response:<8} {rule.sentence}"


def _rounded(lasts_ns: int) -> int:
    """Return a time to three digits: the end of an axis is read, not computed with."""
    step = int(10 ** max(0, len(str(lasts_ns)) - 3))
    return -(-lasts_ns // step) * step


def list_rules(ruleset: RuleSet) -> str:
    """Return all rules, one line each."""
    head = f"{'rule':<24} {'protects':<24} {'response':<8} says"
    return "\n".join([head, *map(rule_line, ruleset.rules)])


def as_json(rule: Rule) -> dict[str, Json]:
    """Return everything a rule states as strict JSON."""
    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "template": rule.template,
        "slots": {**rule.slots},
        "protects": rule.protects,
        "harm": rule.harm,
        "irreversible": rule.irreversible,
        "signal": rule.signal.text if rule.signal else "model",
        "severity": rule.severity,
        "response": rule.response.value,
        "when_unknown": rule.when_unknown.value,
        "response_time_s": rule.response_ns / 1e9,
        "confirm_s": rule.confirm_ns / 1e9,
        "grace_s": rule.grace_ns / 1e9,
        "clear_s": rule.clear_ns / 1e9,
        "channels": list(rule.channels),
        "benign_margin": rule.benign_margin,
        "author_role": rule.author_role,
        "status": rule.status,
        "rationale": rule.rationale,
    }


def show_rule(rule: Rule, layout: Layout) -> str:
    """Return a rule's read-back: what it says, why, and what happens when."""
    confirm = f" once it has lasted {span(rule.confirm_ns)}" if rule.confirm_ns else " at once"
    lines = [
        f"{rule.id} ({rule.status}, by {rule.author_role})",
        "",
        f"  {rule.sentence}",
        "",
        f"  guards against    {rule.protects}: {rule.harm}",
        f"  cannot be undone  {rule.irreversible}",
        f"  first sign        {rule.signal.text if rule.signal else 'decided by a model of the motion'}",
        f"  severity          {rule.severity}",
        f"  if broken         {rule.response}{confirm}, within {span(rule.response_ns)}",
        f"  if not known      {rule.when_unknown} after {span(rule.grace_ns)}",
        f"  clears            when it has held for {span(rule.clear_ns)}",
        f"  harmless motion   {rule.benign_margin}",
    ]
    if rule.rationale:
        lines.append(f"  because           {rule.rationale}")
    lines.append("  rests on")
    for name in rule.channels:
        c = layout[name]
        shared = "seen by the agent too" if c.audience == "agent" else "the monitor's own"
        lines.append(f"    {name:<20} every {span(round(c.period_s * 1e9))}, {shared}: {c.text}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An example drawn over time: one row of bars per channel and one of verdicts."""

    rows: tuple[tuple[str, str, str], ...]  # channel, bars, range in words
    verdicts: tuple[Ternary, ...]  # whether the rule is broken, at each column
    lasts_ns: int


def draw(script: Script, rule: Rule, layout: Layout) -> Drawn:
    """Return an example at `WIDTH` moments evenly spread over it, judged by the definitions."""
    coarse = script.trace(layout)
    lasts_ns = int(coarse.t_ns[-1])
    t_ns = np.unique(np.concatenate([np.linspace(0, lasts_ns, WIDTH).astype(np.int64), coarse.t_ns]))
    at = np.searchsorted(coarse.t_ns, t_ns, side="right") - 1
    stamps = coarse.sampled_ns[at] + (t_ns - coarse.t_ns[at])[:, None]
    dense = Trace(layout, t_ns, coarse.values[at], stamps, coarse.quality[at])
    broken = Reference(dense)
    shown = np.searchsorted(t_ns, np.linspace(0, lasts_ns, WIDTH).astype(np.int64))
    rows = []
    for channel in script.channels:
        values = dense.values[shown, layout.index(channel.name)]
        stale = shown[np.isin(at[shown] // 3, _stale_phases(script, channel.name))]
        rows.append((channel.name, _bars(values, np.isin(shown, stale)), _reach(values, channel.unit)))
    verdicts = tuple(broken.truth(rule.violated, int(k)) for k in shown)
    return Drawn(tuple(rows), verdicts, lasts_ns)


def _stale_phases(script: Script, name: str) -> list[int]:
    j = [c.name for c in script.channels].index(name)
    return [int(p) for p in np.flatnonzero(np.isinf(script.levels[:, j]))]


def _bars(values: FloatArray, stale: NDArray[np.bool_]) -> str:
    low, high = float(values.min()), float(values.max())
    level = (values - low) / (high - low) * (len(_BARS) - 1) if high > low else np.zeros(len(values))
    return "".join("x" if old else _BARS[round(float(v))] for v, old in zip(level, stale, strict=True))


def _reach(values: FloatArray, unit: str) -> str:
    low, high = quantity(float(values.min()), unit), quantity(float(values.max()), unit)
    return low if low == high else f"{low} to {high}"


def picture(script: Script, rule: Rule, layout: Layout) -> str:
    """Return an example as text: bars over time, ``x`` where a reading is too old, and the verdicts."""
    drawn = draw(script, rule, layout)
    lines = [f"    {name:<20} {bars}  {reach}" for name, bars, reach in drawn.rows]
    verdicts = "".join(_VERDICT[v] for v in drawn.verdicts)
    lines.append(f"    {'rule':<20} {verdicts}  █ broken  · holds  ? not known")
    lines.append(f"    {'':<20} 0{span(_rounded(drawn.lasts_ns)):>{WIDTH - 1}}")
    return "\n".join(lines)


def explain_rule(rule: Rule, layout: Layout) -> str:
    """Return the read-back with examples: what breaks the rule, beside what only just does not.

    Each rejected example is followed by an accepted one that differs from it in one reading.
    """
    found = examples(rule, layout, np.random.default_rng(SEED), PAIRS)
    parts = [show_rule(rule, layout)]
    for n, (broken, clean) in enumerate(zip(found.broken, found.clean, strict=True), start=1):
        parts.append(f"\n  example {n}: broken\n{picture(broken, rule, layout)}")
        parts.append(f"\n  example {n}: only just not broken\n{picture(clean, rule, layout)}")
    if not found.broken:
        parts.append("\n  no example was found that breaks this rule; it may not be armed")
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of rule files found."""

    rules: int
    mistakes: tuple[str, ...]
    digest: str | None

    @property
    def ok(self) -> bool:
        """Whether the files may be used: a file without rules may not."""
        return not self.mistakes and self.rules > 0

    def text(self) -> str:
        """Return the findings in words."""
        if self.mistakes:
            return "\n".join(self.mistakes)
        if not self.rules:
            return "NOT ASSESSED: the files hold no rules"
        return f"{self.rules} rules, nothing wrong; digest {(self.digest or '')[:12]}"


def check_rules(paths: Sequence[Path], layout: Layout) -> Checked:
    """Check rule files without using them."""
    try:
        ruleset = load_rules(paths, layout)
    except ConfigError as error:
        return Checked(0, tuple(f"{error.source}: {m}" for m in error.mistakes), None)
    return Checked(len(ruleset.rules), (), ruleset.digest)


def coverage(ruleset: RuleSet, exercised: Iterable[str]) -> dict[str, Json]:
    """Return rules registered against rules exercised.

    Args:
        ruleset: The rules.
        exercised: Id of the rule of every verdict in the records, repeated or not.
    """
    seen = set(exercised)
    known = [rule.id for rule in ruleset.rules]
    return {
        "registered": len(known),
        "exercised": sum(name in seen for name in known),
        "never_exercised": [*(name for name in known if name not in seen)],
        "unknown_to_these_rules": [*sorted(seen - set(known))],
    }
