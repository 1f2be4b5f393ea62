"""One resident of a ward: eats like the resident of the spoon-feed task, and takes tablets off the spoon."""

from collections.abc import Mapping

import numpy as np

from rig.core.channel import Snapshot
from rig.core.clock import nanoseconds, seconds
from rig.core.person import Behaviour
from tasks.persona import Persona
from tasks.scenario import Length, Scenario, Step
from tasks.spoon_feed.person import SpoonFeedPerson, in_bowl
from tasks.ward.cart import Place
from tasks.ward.orders import HALF, Orders, Wrongs
from tasks.ward.records import Resident

SPITS_AFTER_NS = nanoseconds(420.0)
"""Tablets kept in the cheek and not found by then are spat out. Proposal."""
SIP_NS = nanoseconds(2.0)


class WardResident(SpoonFeedPerson):
    """A resident with a name, whose mouth may keep tablets.

    Attributes:
        wrongs: What was wrong with each spoonful of tablets taken, in order.
        refused_takes: Tablets taken while a refusal stood.
        has_refused: A refusal stood at some time.
        bites: Spoonfuls of food taken.
        nil_bites: Those of them taken while nil by mouth.
        ate_ns: When the last of them was taken; None before.
        meals: Meals put before them so far.
    """

    moments: Mapping[str, str] = {**SpoonFeedPerson.moments, "cheek": "taken", "swallow_late": "taken"}

    def __init__(
        self, subject: str, about: Resident, orders: Orders, persona: Persona, length: Length,
        scenario: Scenario, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        super().__init__(persona, length, scenario, rng)
        self.subject, self.about, self._orders = subject, about, orders
        self._cheeks = False
        self.wrongs: list[Wrongs] = []
        self.refused_takes = 0
        self.has_refused = False
        self.bites = self.nil_bites = 0
        self.meals = 1
        self._bites_before = 0
        self.ate_ns: int | None = None

    # --- what is asked of a resident -----------------------------------------------------------

    def open_wide(self) -> int:
        """Return how many tablets are seen in the mouth; -1 if it stays shut. Being found out ends cheeking."""
        if self._refuses_until_ns is not None:
            return -1
        self._cheeks = False
        return len(self._orders.cart.at(Place.MOUTH, self.subject))

    def drink(self, t_ns: int) -> Behaviour:
        """Take a sip, unless refusing; it washes down what is in the mouth."""
        if self._refuses_until_ns is None:
            self._agenda.put(t_ns + SIP_NS, "swallows")
        return self._scene.take(self._agenda.next_ns)

    def no_meal_yet(self) -> Behaviour:
        """Begin with nothing on the table."""
        self.meals = 0
        self._scene.set(bowl__left=0.0)
        return self._scene.take(self._agenda.next_ns)

    def serve_meal(self) -> Behaviour:
        """Have a full bowl put before one."""
        self.meals += 1
        self._bites_before = self.bites
        self._scene.set(bowl__left=self._bites * self._bolus_ml)
        return self._scene.take(self._agenda.next_ns)

    def clear_meal(self) -> Behaviour:
        """Have what is left in the bowl taken away."""
        self._scene.set(bowl__left=0.0)
        return self._scene.take(self._agenda.next_ns)

    def missed_meal(self, t_ns: int) -> bool:
        """Return whether less than half of this meal was eaten, though one might have eaten and said no no."""
        willing = self._refuses_until_ns is None and not self._orders.nil(self.subject, seconds(t_ns))
        return willing and self.bites - self._bites_before < HALF * self._bites

    def fed_by_carer(self, t_ns: int) -> Behaviour:
        """Be given by a carer what is left in the bowl, unless nil by mouth."""
        left = round(self._scene.now.get("bowl.left", 0.0) / self._bolus_ml)
        if left and not self._orders.nil(self.subject, seconds(t_ns)):
            self.bites += left
            self.ate_ns = t_ns
            self._orders.eats(self.subject, seconds(t_ns), left)
            self._scene.set(bowl__left=0.0)
            self._scene.did("was given the meal by the carer")
        return self._scene.take(self._agenda.next_ns)

    def say_name(self) -> Behaviour:
        """Say who one is; the confused answer to a neighbour's name."""
        self._scene.say(f"Yes, I'm {self.about.answers_to or self.about.name}.")
        return self._scene.take(self._agenda.next_ns)

    # --- tablets -------------------------------------------------------------------------------

    def _loaded(self) -> bool:
        return super()._loaded() or bool(self._orders.cart.at(Place.SPOON))

    def _willing(self) -> bool:
        """Know nothing of tablets hidden in food: what is refused openly is then eaten."""
        hidden = any(t.in_food for t in self._orders.cart.at(Place.SPOON))
        return super()._willing() or (hidden and not self._agenda.planned("opens again"))

    def _serve(self, snapshot: Snapshot) -> None:
        """Take up the tablets in the cup; food, where there are none or they are hidden in it."""
        cart = self._orders.cart
        cup = cart.at(Place.CUP)
        if in_bowl(snapshot) and cup and not self._loaded():
            cart.move(cup, Place.SPOON)
            if not any(t.in_food for t in cup):
                return
        if not cart.at(Place.SPOON) or any(t.in_food for t in cart.at(Place.SPOON)):
            super()._serve(snapshot)

    def _take(self, t_ns: int) -> None:
        cart, tablets = self._orders.cart, self._orders.cart.at(Place.SPOON)
        if super()._loaded():
            self.bites += 1
            self.nil_bites += self._orders.nil(self.subject, seconds(t_ns))
            self.ate_ns = t_ns
            self._orders.eats(self.subject, seconds(t_ns))
        if tablets:
            self.wrongs.append(self._orders.wrongs(tablets, self.subject, seconds(t_ns)))
            if self._refuses_until_ns is not None:
                self.refused_takes += len(tablets)
            cart.move(tablets, Place.MOUTH, self.subject, seconds(t_ns))
            self._scene.did(f"took {', '.join(t.pack for t in tablets)} off the spoon")
        super()._take(t_ns)

    def _begin_step(self, t_ns: int, step: Step) -> bool:
        match step.does:
            case "refuse":
                self.has_refused = True
            case "cheek":
                self._cheeks = True
                self._agenda.put(t_ns + SPITS_AFTER_NS, "spits out")
                self._scene.did("kept the tablets in the cheek")
                return False
            case "swallow_late":
                self._agenda.put(t_ns + step.for_ns, "swallows")
                return True
        return super()._begin_step(t_ns, step)

    def _play(self, at_ns: int, act: str) -> None:
        super()._play(at_ns, act)
        cart = self._orders.cart
        mouthful = cart.at(Place.MOUTH, self.subject)
        if act in ("swallows", "clears") and mouthful and not self._cheeks:
            cart.move(mouthful, Place.SWALLOWED)
            self._scene.did("swallowed the tablets")
        elif act == "spits out" and mouthful:
            cart.move(mouthful, Place.SPAT_OUT)
            self._scene.did("spat the tablets out")


ACTS = frozenset(WardResident.moments)
"""What a script may ask of a resident of a ward."""
