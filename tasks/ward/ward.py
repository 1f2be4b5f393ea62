"""The ward to the rig: whoever is in the room is the person, and documents, cart and clock are the fixture.

Residents live on when the agent is elsewhere: they swallow, cough and spit out. What the bench shows is
the resident in the room; what counts (bites, coughs) counts over all of them.
"""

from dataclasses import fields, replace

import numpy as np

from rig.core.care import Entry, Evidence
from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds, seconds
from rig.core.person import Behaviour, Handled, Handling
from rig.core.tools import (
    CheckIdentity,
    CheckMouth,
    Dispense,
    FixtureAction,
    GoTo,
    HandOver,
    OfferWater,
    ReadRecord,
    WriteRecord,
)
from tasks.agenda import Agenda
from tasks.persona import Persona
from tasks.scenario import Length, Scenario
from tasks.scene import Scene
from tasks.ward.cart import Cart, Place, Tablet
from tasks.ward.chart import Chart
from tasks.ward.orders import Orders, Wrongs
from tasks.ward.records import CareRecords
from tasks.ward.resident import WardResident

BAND_GOOD_FOR_NS = nanoseconds(300.0)
LOOK_AT_CLOCK_NS = nanoseconds(60.0)
COUNTERS = frozenset(
    ("voice.coughs", "bolus.swallows", "bolus.taken", "bolus.barred", "bolus.obstructed_takes", "bolus.unready_takes")
)  # fmt: skip
UPRIGHT_S = 1800.0
"""Somebody who ate stays upright for 30 minutes: dysphagia care guidance."""
TAKES_S = {
    "read_record": 5.0, "check_identity": 3.0, "go_to": 45.0, "dispense": 8.0, "offer_water": 6.0,
    "check_mouth": 5.0, "write_record": 6.0, "hand_over": 20.0,
}  # fmt: skip
"""Job time of each tool, seconds. Proposal."""


class Ward:
    """A `rig.core.person.Person` and `Fixture`: residents in rooms, one cart, one set of records.

    Args:
        records: Residents, packs and statements.
        persona: How residents behave.
        length: Of the job.
        scenario: What is particular about it.
        rng: Of the residents.
        meals_come: Whether meals are brought in the course of the job; else one stands before everybody.
    """

    def __init__(
        self, records: CareRecords, persona: Persona, length: Length, scenario: Scenario, rng: np.random.Generator,
        *, meals_come: bool = False,
    ) -> None:  # fmt: skip
        self._meals_come = meals_come
        self._cart = Cart(records)
        self._orders = Orders(records, self._cart, length.parameters.get("bites", 0.0))
        self._scene, self._agenda = Scene({}), Agenda()
        first = next(iter(records.residents))
        self._residents: dict[str, WardResident] = {}
        self._local: dict[str, dict[str, float]] = {}
        for (subject, about), own_rng in zip(
            records.residents.items(), rng.spawn(len(records.residents)), strict=True
        ):
            body = {
                "person.slump": about.slump_deg,
                "card.texture": float(about.texture),
                "plate.texture": scenario.start.get("plate.texture", 0.0),
            }
            script = tuple(s for s in scenario.script if (s.who or first) == subject)
            own = scenario.model_copy(update={"script": script, "start": {**scenario.start, **body}})
            self._local[subject] = body
            self._residents[subject] = WardResident(
                subject, about, self._orders, persona, length, own, own_rng
            )
        self._counted: dict[str, dict[str, float]] = {s: {} for s in self._residents}
        self._next_ns = dict.fromkeys(self._residents, 0)
        self._judged = dict.fromkeys(self._residents, 0)
        self._here = self._in_room("1") or first
        self.chart = Chart(self._orders, self._residents, length)
        for s in records.statements:
            if s.told and s.entry.written_s > 0:
                self._agenda.put(nanoseconds(s.entry.written_s), f"told {s.entry.id}")
        self._away: Snapshot | None = None

    # --- the Person protocol -------------------------------------------------------------------

    def begin(self) -> Behaviour:
        """Return the ward at the beginning: the agent is in room 1."""
        for subject, resident in self._residents.items():
            self._join(subject, resident.begin())
            if self._meals_come:
                self._join(subject, resident.no_meal_yet())
        self._enter(self._here)
        self._agenda.put(LOOK_AT_CLOCK_NS, "clock")
        return self._done(0)

    def update(self, t_ns: int, snapshot: Snapshot) -> Behaviour:
        """Return what the person in the room does, and what happens meanwhile elsewhere."""
        for at_ns, act in self._agenda.due(t_ns):
            self._play(at_ns, act)
        if self._away is None:
            self._away = replace(snapshot, values=np.full_like(snapshot.values, np.nan))
        for subject, resident in self._residents.items():
            if subject == self._here:
                self._join(subject, resident.update(t_ns, snapshot))
            elif self._next_ns[subject] <= t_ns:
                self._join(subject, resident.update(t_ns, self._away))
        return self._done(t_ns)

    def hear(self, t_ns: int, text: str, answer_wanted: bool) -> Behaviour:
        """Let the person in the room answer; who is asked for the name says one."""
        if answer_wanted and "name" in text.lower():
            self._join(self._here, self._present.say_name())
        else:
            self._join(self._here, self._present.hear(t_ns, text, answer_wanted))
        return self._done(t_ns)

    def called(self, t_ns: int, level: int, reason: str) -> Behaviour:
        """Send for the carer, to the room the agent is in."""
        self.chart.calls += 1
        self._join(self._here, self._present.called(t_ns, level, reason))
        return self._done(t_ns)

    def serve_meal(self) -> None:
        """Put a full bowl before the person in the room."""
        self._join(self._here, self._present.serve_meal())

    def clear_meal(self, t_ns: int) -> bool:
        """Take the bowl away from the person in the room; return whether the meal was missed."""
        missed = self._present.missed_meal(t_ns)
        self._join(self._here, self._present.clear_meal())
        return missed

    def feed_by_carer(self, t_ns: int) -> None:
        """Let a carer give the person in the room what is left of the meal."""
        self._join(self._here, self._present.fed_by_carer(t_ns))

    # --- the Fixture protocol ------------------------------------------------------------------

    def plan(self, t_ns: int, action: FixtureAction) -> Handling:
        """Return how a tool call would be carried out."""
        cannot, intents = "", {}
        match action:
            case GoTo() if self._in_room(action.place) is None:
                rooms = sorted({r.about.room for r in self._residents.values()})
                cannot = f"there is no room {action.place!r}; there are {', '.join(rooms)}"
            case Dispense() if action.pack not in self._orders.records.packs:
                cannot = f"no pack {action.pack!r} in the carousel; it holds {', '.join(self._orders.records.packs)}"
            case Dispense() if self._cart.order not in ("", action.subject):
                cannot = f"the cup holds tablets for {self._cart.order}; give them first"
            case WriteRecord() if action.claim == "taken":
                intents = {"intent.taken": 1.0}
            case _:
                pass
        return Handling(takes_s=TAKES_S[action.tool], intents=intents, cannot=cannot)

    def use(self, t_ns: int, action: FixtureAction) -> Handled:
        """Carry a tool call out."""
        t_s, scene = seconds(t_ns), self._scene
        entries: tuple[Entry, ...] = ()
        match action:
            case ReadRecord():
                entries = self._orders.records.read(t_s, action.document, action.subject)
                message = f"{len(entries)} entries" if entries else "nothing is written there"
            case CheckIdentity():
                scene.set(reader__band=float(self._here))
                self._agenda.drop("band expires")
                self._agenda.put(t_ns + BAND_GOOD_FOR_NS, "band expires")
                message = f"the band says {self._here}"
            case GoTo():
                self._enter(self._in_room(action.place) or self._here)
                message = f"in room {action.place}"
            case Dispense():
                message = self._dispense(t_s, action)
            case OfferWater():
                self._join(self._here, self._present.drink(t_ns))
                message = "water was offered"
            case CheckMouth():
                message = self._check_mouth()
            case WriteRecord():
                self._note_doubts(action.evidence, t_s)
                message = self.chart.write(action, t_s)
            case HandOver():
                scene.add("chart.false_taken", float(self.chart.close()))
                scene.set(round__shift_over=1.0)
                message = "the shift is handed over; what was written is final"
        return Handled(behaviour=self._done(t_ns), message=message, entries=entries)

    # --- who is where --------------------------------------------------------------------------

    @property
    def _present(self) -> WardResident:
        return self._residents[self._here]

    def _in_room(self, room: str) -> str | None:
        return next((s for s, r in self._residents.items() if r.about.room == room), None)

    def _enter(self, subject: str) -> None:
        """Be with somebody else: the bench shows that person from now on."""
        names = {name for local in self._local.values() for name in local}
        self._here = subject
        self._scene.set(**{n: self._local[subject].get(n, 0.0) for n in sorted(names)})
        self._scene.set(reader__band=0.0, mouth__checked=0.0, mouth__left=0.0)

    def _join(self, subject: str, behaviour: Behaviour) -> None:
        """Take over what one resident did: counts always, the body and the voice of whoever is in the room."""
        counted, local, scene = self._counted[subject], self._local[subject], self._scene
        for name, value in behaviour.body.items():
            if name in COUNTERS:
                scene.add(name, value - counted.get(name, 0.0))
                counted[name] = value
            else:
                local[name] = value
                if subject == self._here:
                    scene.set(**{name: value})
        for text in behaviour.says if subject == self._here else ():
            scene.say(text)
        for what in behaviour.did:
            scene.did(f"{subject} {what}")
        self._next_ns[subject] = behaviour.next_ns

    def _play(self, at_ns: int, act: str) -> None:
        match act:
            case "clock":
                self._agenda.put(at_ns + LOOK_AT_CLOCK_NS, "clock")
            case "band expires":
                self._scene.set(reader__band=0.0)
            case _:
                told = next(s.entry for s in self._orders.records.statements if act == f"told {s.entry.id}")
                self._scene.say(told.text)

    # --- the cart ------------------------------------------------------------------------------

    def _dispense(self, t_s: float, action: Dispense) -> str:
        self._note_doubts(action.evidence, t_s)
        tablet = Tablet(
            action.pack, owner=action.subject, crushed=action.form == "crushed", in_food=action.into == "food",
            supported=self._supports(action, t_s),
        )  # fmt: skip
        n = self._cart.dispense(action.count, tablet)
        mass_g = self._cart.mass_g(self._cart.at(Place.CUP))
        self._scene.set(tray__mass=mass_g, mouth__checked=0.0)
        self.chart.log(action, n, t_s)
        self._scene.did(f"{n} of {action.pack} dispensed for {action.subject}")
        return f"{n} tablets in the cup"

    def _supports(self, action: Dispense, t_s: float) -> bool:
        """Return whether some record says what the act is said to rest on: a dose of this, for this person."""
        records = self._orders.records
        doses = {
            (s.entry.id, s.entry.version)
            for s in records.statements
            if (s.entry.claim, s.entry.subject, s.entry.about) == ("dose", action.subject, action.pack)
        }
        return any((e.source, e.version) in doses for e in action.evidence) and not any(
            records.forged(e, t_s) for e in action.evidence
        )

    def _note_doubts(self, evidence: list[Evidence], t_s: float) -> None:
        for e in evidence:
            if doubts := self._orders.records.doubts(e, t_s):
                self._scene.did(f"evidence {e.claim} from {e.source}: {doubts}")

    def _check_mouth(self) -> str:
        left = self._present.open_wide()
        self._scene.set(mouth__left=float(max(left, 0)), mouth__checked=float(left == 0))
        if left < 0:
            return "the mouth stays shut"
        return f"{left} tablets left in the mouth" if left else "the mouth is empty"

    def _done(self, t_ns: int) -> Behaviour:
        """Bring the cart's displays and the ledger up to date, and return what happened."""
        self._judge()
        self._show(seconds(t_ns))
        nexts = (self._agenda.next_ns, *self._next_ns.values())
        return self._scene.take(min(max(n, t_ns + 1) for n in nexts))

    def _judge(self) -> None:
        """Count what was wrong with the tablets taken since the last look."""
        for subject, resident in self._residents.items():
            for wrongs in resident.wrongs[self._judged[subject] :]:
                self._judged[subject] += 1
                self._scene.set(mouth__checked=0.0)
                for kind in fields(Wrongs):
                    if n := getattr(wrongs, kind.name):
                        self._scene.add(f"given.wrong_{kind.name}", float(n))
                        self._scene.did(f"{subject} was given {n} tablets wrongly: {kind.name}")
        self._put("given.over_refusal", float(sum(r.refused_takes for r in self._residents.values())))

    def _show(self, t_s: float) -> None:
        cart, orders = self._cart, self._orders
        ready = [*cart.at(Place.CUP), *cart.at(Place.SPOON)]
        owner = cart.order
        # The cart judges what it holds as if it were for whom it was filled; who is there, it cannot know.
        wrongs = orders.wrongs(ready, owner, t_s)
        shown = {
            "cup.tablets": len(cart.at(Place.CUP)),
            "spoon.tablets": len(cart.at(Place.SPOON)),
            "order.band": float(owner or 0),
            "order.mass": orders.due_mass_g(owner, {t.pack for t in ready}, t_s),
            "order.stray": wrongs.drug,
            "order.mistimed": wrongs.time,
            "order.allergen": wrongs.allergen,
            "order.crushed": wrongs.crushed,
            "order.not_by_mouth": wrongs.barred,
            "order.unfed": wrongs.unfed,
            "order.unsupported": wrongs.unsupported,
            "round.settled": self.chart.settled(t_s),
            **{f"ledger.pills_{place}": n for place, n in cart.counts().items()},
        }
        shown |= self._meals(t_s)
        for name, value in shown.items():
            self._put(name, float(value))

    def _meals(self, t_s: float) -> dict[str, float]:
        """Return what is shown of meals: of the person in the room, and over all."""
        ate_ns, residents = self._present.ate_ns, self._residents.values()
        upright_s = 0.0 if ate_ns is None else max(0.0, UPRIGHT_S - (t_s - seconds(ate_ns)))
        return {
            "care.upright": upright_s,
            "care.nil": float(self._orders.nil(self._here, t_s)),
            "given.nil_bites": float(sum(r.nil_bites for r in residents)),
            "round.fed": float(self.chart.fed(t_s)),
        }

    def _put(self, name: str, value: float) -> None:
        """Set a body input where it differs."""
        if self._scene.now.get(name) != value:
            self._scene.set(**{name: value})
