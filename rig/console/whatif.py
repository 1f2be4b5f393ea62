"""What other limits would have said: a task's rules with some numbers changed, over one record or many."""

import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.facts import facts_of
from analysis.recorded_rules import rules_now
from analysis.whatif import as_json, merged, what_if
from rig.core.channel import Layout
from rig.core.errors import RunError, UsageError
from rig.core.record import read
from safety_monitor.limits import constants, limit_files, load_limits
from safety_monitor.rules import load_rules, rule_files

_NAMED = re.compile(r"\blimit\.[a-z_]+\.[a-z_]+")
_NUMBER = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?: (?!(?:and|or|not)\b)(?:[a-zA-Z%]+(?:/[a-zA-Z]+)?(?:\^\d)?))?"
)
_FIXED = ("template", "protects", "response", "when_unknown", "severity", "harm", "irreversible", "signal", "status",
          "author_role", "rationale", "benign_margin", "text", "max_age", "response_time")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """One number in a rule that may be changed.

    Attributes:
        slot: The slot it stands in.
        place: Its number among the slot's numbers.
        text: As written, for example ``4 N``.
        named: Name of the limit it is, empty for a plain number.
    """

    slot: str
    place: int
    text: str
    named: str


def numbers_of(task: str, rule: str) -> tuple[Number, ...]:
    """Return the numbers of a rule that may be changed.

    Raises:
        UsageError: If there is no such rule.
    """
    table = _table(task, rule)
    known = _limits()
    found = []
    for slot, text in table.items():
        if slot in _FIXED or not isinstance(text, str):
            continue
        for place, match in enumerate(_tokens(text)):
            word = match.group()
            found.append(Number(slot, place, known.get(word, word), word if word in known else ""))
    return tuple(found)


def _tokens(text: str) -> list[re.Match[str]]:
    spots = [*_NAMED.finditer(text), *(m for m in _NUMBER.finditer(text))]
    inside = [m.span() for m in _NAMED.finditer(text)]
    kept = [m for m in spots if m.re is _NAMED or not any(a <= m.start() < b for a, b in inside)]
    return sorted(kept, key=lambda m: m.start())


def _limits() -> dict[str, str]:
    return {name: f"{c.value:g} {c.unit}" if c.unit != "1" else f"{c.value:g}" for name, c in
            constants(load_limits(limit_files())).items()}  # fmt: skip


def _table(task: str, rule: str) -> dict[str, Any]:
    for path in rule_files(task):
        rules = tomllib.loads(path.read_text()).get("rule", {})
        if rule in rules:
            return dict(rules[rule])
    raise UsageError(f"task {task} has no rule {rule!r}")


def changed_rules(task: str, rule: str, numbers: Mapping[tuple[str, int], str]) -> str:
    """Return a rule file with one rule whose numbers are others.

    Raises:
        UsageError: If there is no such rule or number.
    """
    table = _table(task, rule)
    for (slot, place), text in sorted(numbers.items(), reverse=True):
        if not isinstance(table.get(slot), str) or place >= len(_tokens(table[slot])):
            raise UsageError(f"rule {rule} has no number {place} in {slot!r}")
        if not re.fullmatch(r"-?[\w.%^/ -]{1,40}", text):
            raise UsageError(f"{text!r} is not a number with a unit")
        token = _tokens(table[slot])[place]
        table[slot] = table[slot][: token.start()] + text + table[slot][token.end() :]
    head = {
        "text": "what-if", "author_role": "a what-if in the console", "status": "draft-unsigned",
        "review_date": "2000-01-01",
    }  # fmt: skip
    lines = [f"{k} = {_quoted(v) if k != 'review_date' else v}" for k, v in head.items()]
    lines.append(f"[rule.{rule}]")
    for name, value in table.items():
        lines.append(f"{name} = {_quoted(value)}")
    return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {_quoted(v)}' for k, v in value.items()) + " }"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(task: str, text: str, layout: Layout) -> None:
    """Refuse rules that cannot be, in words.

    Raises:
        ConfigError: With every mistake.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "what-if.toml"
        path.write_text(text)
        load_rules([path], layout)


def over_records(folders: Sequence[Path], text: str) -> list[dict[str, Any]]:
    """Replay records under changed rules; runs in a worker process, as compiling them takes seconds."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "what-if.toml"
        path.write_text(text)
        for folder in folders:
            try:
                record = read(folder)
                rules = merged(
                    rules_now(facts_of(record).task, record.layout), load_rules([path], record.layout)
                )
                found.append(
                    {"folder": str(folder), "found": as_json(record, what_if(record, rules, [path]))}
                )
            except RunError as error:
                found.append({"folder": str(folder), "problem": str(error).replace(str(folder), folder.name)})
    return found
