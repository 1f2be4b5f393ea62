"""A rule and a set of rules, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rig.core.channel import Layout
from rig.core.errors import unknown
from safety_monitor.expression import Expression
from safety_monitor.kernel import Timing
from safety_monitor.nodes import Compare, Truth, channels, walk


class Response(StrEnum):
    """What is done when a rule does not hold."""

    ADVISE = "advise"  # an event for people and records, nothing else
    CALL = "call"  # the local alarm calls a human
    HOLD = "hold"  # no new motion
    RETRACT = "retract"  # back the way it came, away from the person
    STOP = "stop"  # everything, until a person resets


ACTUATING = frozenset({Response.HOLD, Response.RETRACT, Response.STOP})
"""The responses that change what moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        id: Its name in the file.
        template: The form it was written in.
        slots: The slots as written.
        sentence: What it says, generated from the slots.
        violated: The condition that must never be true.
        leading: The comparison its margin is measured on; None where there is none.
        protects: Id of the rubric's criterion it guards against.
        harm: Who is harmed and how if it is broken.
        irreversible: What can then not be undone, in words.
        signal: First sufficient signal of the hazard; None where a model decides.
        severity: Of the harm.
        response: What is done when it does not hold.
        when_unknown: What is done when too much is unknown for longer than ``grace_ns``.
        response_ns: Time allowed from the world's violation to the response.
        confirm_ns: How long it must be violated before the response; a preview does not wait.
        grace_ns: How long it may be unknown.
        clear_ns: How long it must hold before it counts as cleared.
        benign_margin: What harmless motion keeps away from the limit, in words.
        author_role: Who wrote it.
        status: ``draft-unsigned`` until a stakeholder signs.
        rationale: Why it is as it is.
    """

    id: str
    template: str
    slots: Mapping[str, str]
    sentence: str
    violated: Truth
    leading: Compare | None
    protects: str
    harm: str
    irreversible: str
    signal: Expression | None
    severity: str
    response: Response
    when_unknown: Response
    response_ns: int
    confirm_ns: int
    grace_ns: int
    clear_ns: int
    benign_margin: str
    author_role: str
    status: str
    rationale: str

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels it reads."""
        return channels(self.violated)

    @property
    def timing(self) -> Timing:
        """How its raw verdict becomes attention."""
        return Timing(self.confirm_ns, self.grace_ns, self.clear_ns)

    @property
    def actuates(self) -> bool:
        """Whether it changes what moves."""
        return self.response in ACTUATING or self.when_unknown in ACTUATING


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that watch together.

    Attributes:
        rules: In the order of the files.
        order: The responses, the one that wins first.
        layout: The channels they were checked against.
        digest: SHA-256 over rules, limits and layout.
    """

    rules: tuple[Rule, ...]
    order: tuple[Response, ...]
    layout: Layout
    digest: str

    def __getitem__(self, name: str) -> Rule:
        """Return a rule by id.

        Raises:
            UsageError: If there is none; the message lists those there are.
        """
        for rule in self.rules:
            if rule.id == name:
                return rule
        raise unknown("rule", name, [rule.id for rule in self.rules])


def leading_comparison(node: Truth) -> Compare | None:
    """Return the first comparison in ``node``, None where there is none."""
    return next((n for n in walk(node) if isinstance(n, Compare)), None)
