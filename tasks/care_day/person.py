"""The resident over a whole day: a ward of one for meals, medicines and records, and the sleeper of the bed watch.

Both are the same woman: what the one does with mouth and voice and the other with body and bed is one
behaviour. At a meal the eater answers and calls are the eater's; at any other time the sleeper's.
"""

from dataclasses import replace

import numpy as np

from rig.core.channel import Snapshot
from rig.core.person import Behaviour, Handled, Handling
from rig.core.tools import FixtureAction
from tasks.bed_watch.person import BedWatchPerson
from tasks.persona import Persona
from tasks.scenario import Length, Scenario
from tasks.ward.records import CareRecords
from tasks.ward.ward import Ward

WATCH_ACTS = ("meal", "leave_bed", "sit_to_drink", "refuse_turn")


class CareDayPerson:
    """A `rig.core.person.Person` and `Fixture` for the care-day task."""

    def __init__(
        self, records: CareRecords, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator
    ) -> None:  # fmt: skip
        eats, sleeps = rng.spawn(2)
        bodily = tuple(s for s in scenario.script if s.does in WATCH_ACTS)
        spoken = tuple(s for s in scenario.script if s.does not in WATCH_ACTS)
        self._ward = Ward(
            records, persona, length, scenario.model_copy(update={"script": spoken}), eats, meals_come=True
        )
        self._sleeper = BedWatchPerson(
            persona, length, scenario.model_copy(update={"script": bodily}), sleeps
        )
        self._next_ns = {"ward": 0, "sleeper": 0}
        self._at_meal = self._carer_feeds = False
        self._missed = 0

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the start of the day: asleep on the back, no meal on the table."""
        return self._one(self._ward.begin(), self._sleeper.begin())

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what she does now."""
        sleeper = self._sleeper.update(t_ns, snapshot)
        meal = sleeper.body.get("care.meal")
        if meal is not None:
            self._at_meal = meal > 0.5
            if self._at_meal:
                self._ward.serve_meal()
            else:
                self._carer_feeds = False
                self._missed += self._ward.clear_meal(t_ns)
                sleeper = replace(sleeper, body={**sleeper.body, "care.missed_meals": float(self._missed)})
        if self._carer_feeds and snapshot.value("carer.present") > 0.5:
            self._carer_feeds = False
            self._ward.feed_by_carer(t_ns)
        return self._one(self._ward.update(t_ns, snapshot), sleeper)

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Answer as the eater at a meal, as the sleeper otherwise."""
        if self._at_meal:
            return self._one(self._ward.hear(t_ns, text, answer_wanted), None)
        return self._one(None, self._sleeper.hear(t_ns, text, answer_wanted))

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer."""
        self._ward.chart.calls += 1
        if self._at_meal:
            self._carer_feeds |= "meal" in reason
            return self._one(self._ward.called(t_ns, level, reason), None)
        return self._one(None, self._sleeper.called(t_ns, level, reason))

    # --- the Fixture protocol ------------------------------------------------------------------

    def plan(self, t_ns: int, action: FixtureAction) -> Handling:
        """Return how a tool call would be carried out."""
        return self._ward.plan(t_ns, action)

    def use(self, t_ns: int, action: FixtureAction) -> Handled:
        """Carry a tool call out."""
        handled = self._ward.use(t_ns, action)
        return replace(handled, behaviour=self._one(handled.behaviour, None))

    def _one(self, ward: Behaviour | None, sleeper: Behaviour | None) -> Behaviour:
        """Return what both do as one; None for who was not asked."""
        found = {"ward": ward, "sleeper": sleeper}
        asked = {who: b for who, b in found.items() if b is not None}
        self._next_ns |= {who: b.next_ns for who, b in asked.items()}
        return Behaviour(
            next_ns=min(self._next_ns.values()),
            body={name: value for b in asked.values() for name, value in b.body.items()},
            says=tuple(text for b in asked.values() for text in b.says),
            did=tuple(what for b in asked.values() for what in b.did),
            handset={name: value for b in asked.values() for name, value in b.handset.items()},
        )
