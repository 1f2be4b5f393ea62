"""What the monitor says now, in words, from the events of a running record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rig.console.story import watched
from rig.core.clock import seconds
from rig.core.event import Kind
from rig.core.record import StoredEvent
from safety_monitor.nodes import Compare, Constant, Measured, walk
from safety_monitor.rule import Rule, RuleSet
from safety_monitor.words import quantity, span

MOST_PROMPTS = 20


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule that does not hold now.

    Attributes:
        rule: Its id.
        response: What it does.
        text: The rule's state in words, with value and limit.
        since_s: Trial time from which it has not held.
        unknown: Whether it cannot be shown to hold, rather than is broken.
    """

    rule: str
    response: str
    text: str
    since_s: float
    unknown: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """Something a person at the bench is asked to do.

    Attributes:
        seq: Number of the event that asks.
        t_s: Trial time.
        text: In words.
        urgent: Whether it will not wait.
    """

    seq: int
    t_s: float
    text: str
    urgent: bool


@dataclass(slots=True)
class Standing:
    """Follows a record and knows what stands."""

    rules: RuleSet | None
    interlock: str = "armed"
    alarms: dict[str, Alarm] = field(default_factory=dict)
    prompts: dict[int, Prompt] = field(default_factory=dict)
    doing: str = ""
    t_s: float = 0.0

    def take(self, events: Iterable[StoredEvent]) -> None:
        """Take in what is new."""
        for event in events:
            self.t_s = seconds(event.t_ns)
            match event.kind:
                case Kind.VERDICT:
                    self._verdict(event)
                case Kind.INTERVENED:
                    self.interlock = str(event.body.get("state", self.interlock))
                case Kind.PROPOSED:
                    self.doing = str(event.body.get("tool", "")).replace("_", " ")
                case Kind.CALLED:
                    self._called(event)
                case Kind.OPERATOR if event.body.get("did") == "acknowledged":
                    self._acknowledged(event)
                case Kind.TRIAL_ENDED:
                    self.alarms.clear()
                    self.prompts.clear()
                    self.doing, self.interlock = "", "disarmed"

    def _verdict(self, event: StoredEvent) -> None:
        name, holds = str(event.body["rule"]), event.body["holds"]
        if holds is True:
            self.alarms.pop(name, None)
            if not self.alarms and self.interlock != "stopped":
                self.interlock = "armed"
            return
        rule = self._rule(name)
        before = self.alarms.get(name)
        response = "" if rule is None else (rule.when_unknown if holds is None else rule.response).value
        values = event.body.get("values")
        self.alarms[name] = Alarm(
            name, response, words(rule, name, values if isinstance(values, Mapping) else {}, holds is None),
            before.since_s if before else seconds(event.t_ns), holds is None,
        )  # fmt: skip

    def _rule(self, name: str) -> Rule | None:
        rules = self.rules.rules if self.rules else ()
        return next((rule for rule in rules if rule.id == name), None)

    def _called(self, event: StoredEvent) -> None:
        level = str(event.body.get("level", ""))
        text = f"{level} call by the {event.body.get('by')}: {event.body.get('reason')}"
        self.prompts[event.seq] = Prompt(event.seq, seconds(event.t_ns), text, level == "urgent")
        while len(self.prompts) > MOST_PROMPTS:
            del self.prompts[min(self.prompts)]

    def _acknowledged(self, event: StoredEvent) -> None:
        text = str(event.body.get("text", ""))
        number = text.removeprefix("#").split(" ")[0]
        if number.isdigit():
            self.prompts.pop(int(number), None)


def words(rule: Rule | None, name: str, values: Mapping[str, Any], unknown: bool) -> str:
    """Return a rule's state in words: what is measured, what is allowed, and for how long.

    For example: ``force at the wrist is 4.2 N, allowed at most 1.2 N for 2 ms``.
    """
    if rule is None:
        return f"{name} does not hold"
    if unknown:
        lost = [c for c in rule.channels if not isinstance(values.get(c), int | float)]
        return f"{', '.join(lost) or 'too much'} not known for longer than {span(rule.grace_ns)}"
    found = next((n for n in walk(watched(rule)) if isinstance(n, Compare)), None)
    match found:
        case Compare(op=op, left=Measured(channel=channel, unit=unit), right=Constant(value=limit)) if (
            isinstance(values.get(channel), int | float)
        ):
            allowed = "at most" if op in (">", ">=") else "at least"
            lasts = f" for {span(rule.confirm_ns)}" if rule.confirm_ns else ""
            seen = quantity(float(f"{values[channel]:.3g}"), unit)
            return f"{channel} is {seen}, allowed {allowed} {quantity(limit, unit)}{lasts}"
        case _:
            return rule.sentence
