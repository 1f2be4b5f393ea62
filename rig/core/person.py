"""The care recipient to the rig: a scripted person who moves, speaks, swallows and refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rig.core.care import Entry
from rig.core.channel import Snapshot
from rig.core.tools import FixtureAction

NEVER_NS = 2**62
"""A time later than any trial: nothing more is planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the person does at one moment.

    Attributes:
        body: New values of body inputs (names from the bench's ``[body]`` table), in their units.
        says: Sentences spoken aloud, in order.
        did: What happened, in words for the record (``"coughed"``), with details.
        handset: Actuators of the bed, in order, that somebody at the bedside sets with its own handset, and to
            what, in their units. The rig carries it out when nothing else moves, through the same gate.
        next_ns: When the person wants to be asked again, unless something is said to them first.
    """

    next_ns: int
    body: Mapping[str, float] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    did: tuple[str, ...] = ()
    handset: Mapping[str, float] = field(default_factory=dict)


class Person(Protocol):
    """A scripted care recipient; deterministic given the generator it was made with."""

    def begin(self) -> Behaviour:
        """Return the first behaviour, at trial time 0."""
        ...

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the person does now, at or after the time asked for."""
        ...

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Return the reaction to something the agent said."""
        ...

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Return what follows when a carer is called at ``level`` (1 info, 2 assist, 3 urgent)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """How the room would carry out a tool call, asked before it does.

    Attributes:
        takes_s: Job time it takes.
        intents: What the rules are told before and meanwhile; empty where nothing can go wrong.
        cannot: Why it cannot be done at all; empty where it can.
    """

    takes_s: float
    intents: Mapping[str, float] = field(default_factory=dict)
    cannot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What came of a tool call.

    Attributes:
        behaviour: What the room and the person did.
        message: For the agent, what was measured.
        entries: What was read in a care document.
    """

    behaviour: Behaviour
    message: str
    entries: tuple[Entry, ...] = ()


@runtime_checkable
class Fixture(Protocol):
    """A room with care documents, a medicine cart and other things that tools act on.

    A `Person` whose room has them is a `Fixture` too.
    """

    def plan(self, t_ns: int, action: FixtureAction) -> Handling:
        """Return how the call would be carried out; changes nothing."""
        ...

    def use(self, t_ns: int, action: FixtureAction) -> Handled:
        """Carry the call out, now that its time has passed."""
        ...
