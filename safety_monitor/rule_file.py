"""Reading rule files: every slot parsed, every check made, every mistake reported with file and key."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from rig.core.channel import Layout
from rig.core.errors import ConfigError, UsageError
from rig.core.toml_file import StrictTable, load_validated
from safety_monitor.checks import check_rule
from safety_monitor.expression import Expression, parse
from safety_monitor.nodes import Constant, Measured
from safety_monitor.parser import span_ns
from safety_monitor.rule import ACTUATING, Response, Rule, leading_comparison
from safety_monitor.templates import SIDES, TEMPLATES, Kind, Slots, Template
from safety_monitor.words import Speaker

Text = Annotated[str, Field(min_length=1)]
Responding = Literal["advise", "call", "hold", "retract", "stop"]


class _RuleTable(BaseModel):
    """What every rule says; the slots of its template stand beside it and are checked apart."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    template: Text
    protects: Text
    harm: Text
    irreversible: Text
    signal: Text
    severity: Literal["critical", "serious", "discomfort"]
    response: Responding
    when_unknown: Responding | None = None
    response_time: Text
    max_age: dict[str, str] | Literal["channel"]
    grace: Text
    confirm: Text = "0 s"
    clear: Text = "1 s"
    benign_margin: Text
    author_role: Text | None = None
    status: Text | None = None
    rationale: str = ""


class _RuleFile(StrictTable):
    text: Text
    author_role: Text
    status: Text
    review_date: datetime.date
    also: list[Text] = []
    order: list[Responding] | None = None
    needs: list[Text] = []
    rule: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")], _RuleTable]


class _Reader:
    """One rule being read; collects mistakes instead of stopping at the first."""

    def __init__(self, name: str, layout: Layout, limits: Mapping[str, Constant]) -> None:
        self._name, self._layout, self._limits = name, layout, limits
        self._max_age_s: dict[str, float] = {}
        self.mistakes: list[str] = []

    def wrong(self, key: str, problem: object) -> None:
        self.mistakes.append(f"rule.{self._name}.{key}: {problem}")

    def expression(self, key: str, text: str) -> Expression | None:
        try:
            return parse(text, self._layout, limits=self._limits, max_age_s=self._max_age_s)
        except UsageError as error:
            self.wrong(key, error)
            return None

    def span(self, key: str, text: str) -> int:
        x = self.expression(key, text)
        if x is None:
            return 0
        try:
            if not isinstance(x.node, Constant):
                raise UsageError(f'{text!r} is not a time such as "200 ms"')
            return span_ns(x.node)
        except UsageError as error:
            self.wrong(key, error)
            return 0

    def ages(self, max_age: Mapping[str, str] | str) -> None:
        if isinstance(max_age, str):
            return
        for channel, text in max_age.items():
            if channel not in self._layout:
                self.wrong(f"max_age.{channel}", "there is no such channel")
            else:
                self._max_age_s[channel] = self.span(f"max_age.{channel}", text) / 1e9

    def slot(self, key: str, kind: Kind, text: object) -> object:
        """Return the value of a slot; None after a mistake."""
        if not isinstance(text, str):
            self.wrong(key, f"a {kind} is wanted, as text in quotes (seen: {text!r})")
            return None
        if kind is Kind.SIDE:
            if text not in SIDES:
                self.wrong(key, f"one of {', '.join(SIDES)} is wanted, not {text!r}")
            return text
        if kind is Kind.SPAN:
            return self.span(key, text)
        x = self.expression(key, text)
        if x is None:
            return None
        if x.is_truth != (kind is Kind.CONDITION) or (
            kind is Kind.CHANNEL and not isinstance(x.node, Measured)
        ):
            self.wrong(key, f"a {kind} is wanted, not {text!r}")
            return None
        return x.node

    def slots(self, template: Template, filled: Mapping[str, object], name: str) -> Slots | None:
        known, before = template.known(), len(self.mistakes)
        for key in filled:
            if key not in known:
                self.wrong(key, f"template {name!r} has no such key; its slots: {', '.join(known)}")
        for key in template.slots:
            if key not in filled:
                self.wrong(key, f"template {name!r} needs it, a {template.slots[key]}")
        values = {k: self.slot(k, known[k], v) for k, v in filled.items() if k in known}
        return Slots(values) if len(self.mistakes) == before else None

    def rule(self, table: _RuleTable, file: _RuleFile) -> Rule | None:
        """Return the rule, None if there was any mistake."""
        extra = cast("dict[str, object]", table.model_extra or {})
        template = TEMPLATES.get(table.template)
        self.ages(table.max_age)
        times = {k: self.span(k, getattr(table, k)) for k in ("response_time", "grace", "confirm", "clear")}
        signal = None if table.signal == "model" else self.expression("signal", table.signal)
        if signal is not None and not signal.is_truth:
            self.wrong("signal", 'a condition or "model" is wanted')
        if template is None:
            self.wrong("template", f"{table.template!r} is not one of {', '.join(TEMPLATES)}")
            return None
        slots = self.slots(template, extra, table.template)
        if slots is None:
            return None
        try:
            violated, sentence = template.violation(slots), template.says(slots, Speaker.of(self._layout))
        except UsageError as error:
            self.wrong("template", error)
            return None
        main = slots.truth("condition") if "condition" in template.slots else violated
        response = Response(table.response)
        rule = Rule(
            id=self._name,
            template=table.template,
            slots={k: str(v) for k, v in extra.items()},
            sentence=sentence,
            violated=violated,
            leading=leading_comparison(main),
            protects=table.protects,
            harm=table.harm,
            irreversible=table.irreversible,
            signal=signal,
            severity=table.severity,
            response=response,
            when_unknown=Response(table.when_unknown) if table.when_unknown else response,
            response_ns=times["response_time"],
            confirm_ns=times["confirm"],
            grace_ns=times["grace"],
            clear_ns=times["clear"],
            benign_margin=table.benign_margin,
            author_role=table.author_role or file.author_role,
            status=table.status or file.status,
            rationale=table.rationale,
        )
        self.mistakes += [f"rule.{self._name}.{problem}" for problem in check_rule(rule, self._layout)]
        return None if self.mistakes else rule


def _order(files: Mapping[Path, _RuleFile], rules: Sequence[Rule]) -> tuple[tuple[Response, ...], list[str]]:
    """Return the order of responses and what is wrong with it."""
    stated = [file.order for file in files.values() if file.order is not None]
    order = tuple(Response(r) for r in (stated[-1] if stated else []))
    used = {r for rule in rules for r in (rule.response, rule.when_unknown) if r in ACTUATING}
    mistakes = []
    if len(stated) > 1 and any(s != stated[0] for s in stated):
        mistakes.append("order: two files give different orders")
    if len(set(order)) != len(order):
        mistakes.append("order: a response is named twice")
    if len(used) > 1 and not used <= set(order):
        opposed = ", ".join(sorted(used))
        mistakes.append(f"order: rules ask for opposing responses ({opposed}); say which of them wins first")
    return order or tuple(used), mistakes


def also(path: Path) -> tuple[str, ...]:
    """Return the names of further rule files that a rule file wants to hold beside it.

    Raises:
        ConfigError: If the file is missing or anything in its form is wrong.
    """
    return tuple(load_validated(path, _RuleFile).also)


def read_rules(
    paths: Sequence[Path], layout: Layout, limits: Mapping[str, Constant]
) -> tuple[tuple[Rule, ...], tuple[Response, ...]]:
    """Return the rules of the files and the order of responses.

    Raises:
        ConfigError: If anything cannot be; all mistakes of a file at once.
    """
    files = {path: load_validated(path, _RuleFile) for path in paths}
    rules: dict[str, Rule] = {}
    for path, file in files.items():
        mistakes: list[str] = []
        if not all(channel in layout for channel in file.needs):
            continue  # the bench has no such equipment, so there is nothing of it to watch
        for name, table in file.rule.items():
            reader = _Reader(name, layout, limits)
            rule = reader.rule(table, file)
            mistakes += reader.mistakes
            if name in rules:
                mistakes.append(f"rule.{name}: is already in another file; use another id")
            elif rule is not None:
                rules[name] = rule
        if mistakes:
            raise ConfigError(str(path), mistakes)
    order, mistakes = _order(files, list(rules.values()))
    if mistakes:
        raise ConfigError(", ".join(str(p) for p in paths), mistakes)
    return tuple(rules.values()), order
