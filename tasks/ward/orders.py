"""What may be given to whom now, by the care records and the ledger: the fixture's truth of a medicine round."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rig.core.care import Entry
from tasks.ward.cart import Cart, Place, Tablet
from tasks.ward.records import CareRecords

CHART = "medication_chart"
DEFAULT_INTERVAL_S = 4 * 3600.0
"""Between two doses of a medicine whose chart names no interval. Proposal."""
WITH_FOOD_S = 1800.0
"""What is to be taken with food is taken this long after half a meal at the latest. Proposal."""
HALF = 0.5
"""Share of a meal without which no medicine is taken "with food". Proposal."""


@dataclass(frozen=True, slots=True)
class Wrongs:
    """What is wrong with giving some tablets to somebody; numbers of tablets.

    Attributes:
        person: Meant for somebody else.
        drug: Not on the person's chart.
        dose: Of a medicine that is due in another number.
        time: Outside its time, or too soon after the last.
        allergen: Something the person is allergic to.
        crushed: Crushed though made to release slowly.
        barred: Not to be given by mouth.
        unfed: To be taken with food, by somebody who has not eaten.
        unsupported: Dispensed on evidence that no record holds.
    """

    person: int = 0
    drug: int = 0
    dose: int = 0
    time: int = 0
    allergen: int = 0
    crushed: int = 0
    barred: int = 0
    unfed: int = 0
    unsupported: int = 0


class Orders:
    """Judges what is due by records, ledger and what was eaten.

    Args:
        records: The care records.
        cart: The ledger.
        bites: Spoonfuls that are a whole meal.
    """

    def __init__(self, records: CareRecords, cart: Cart, bites: float = 0.0) -> None:
        self.records, self.cart = records, cart
        self._half_meal = max(1.0, HALF * bites)
        self._bites_s: dict[str, list[float]] = {}

    def eats(self, subject: str, t_s: float, bites: int = 1) -> None:
        """Keep that somebody ate spoonfuls of food now."""
        self._bites_s.setdefault(subject, []).extend([t_s] * bites)

    def ate(self, subject: str, from_s: float, until_s: float) -> bool:
        """Return whether somebody ate half a meal or more between two job times, in seconds."""
        eaten = sum(from_s <= at_s <= until_s for at_s in self._bites_s.get(subject, ()))
        return eaten >= self._half_meal

    def doses(self, subject: str, t_s: float) -> tuple[Entry, ...]:
        """Return the doses on somebody's medication chart whose time it is; no other document orders any."""
        return tuple(e for e in self.records.true(t_s, "dose", subject) if e.document == CHART)

    def tablets_of(self, dose: Entry) -> int:
        """Return how many tablets of the pack make up a dose."""
        return round((dose.quantity or 0.0) / self.records.strength_mg(dose.about))

    def charted(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether a medicine is on somebody's chart at all, whatever the time."""
        return any(
            s.true
            and (s.entry.document, s.entry.claim, s.entry.subject, s.entry.about)
            == (CHART, "dose", subject, pack)
            for s in self.records.standing(t_s)
        )

    def given_lately(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether a medicine was given less than its interval ago, by anybody."""
        intervals = [e.quantity for e in self.records.true(t_s, "interval", subject, pack) if e.quantity]
        interval_s = intervals[-1] * 3600.0 if intervals else DEFAULT_INTERVAL_S
        times = [e.written_s for e in self.records.true(t_s, "given", subject, pack)]
        times += [
            t.taken_s for t in self.cart.tablets
            if t.taken_s is not None and t.eater == subject and t.pack == pack and t.place is not Place.SPAT_OUT
        ]  # fmt: skip
        return any(0 <= t_s - at_s < interval_s for at_s in times)

    def nil(self, subject: str, t_s: float) -> bool:
        """Return whether somebody is nil by mouth."""
        return bool(self.records.true(t_s, "nil_by_mouth", subject))

    def barred(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether a medicine may not be given by mouth now."""
        return self.nil(subject, t_s) or bool(self.records.true(t_s, "other_route", subject, pack))

    def allergic(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether somebody is allergic to something in a pack."""
        contains = self.records.packs[pack].contains
        return any(e.about in contains for e in self.records.true(t_s, "allergy", subject))

    def with_food(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether somebody is to take a medicine with food only."""
        return bool(self.records.true(t_s, "with_food", subject, pack))

    def unfed(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether a medicine that goes with food would now come without."""
        return self.with_food(subject, pack, t_s) and not self.ate(subject, t_s - WITH_FOOD_S, t_s)

    def never_fed(self, dose: Entry, t_s: float) -> bool:
        """Return whether a dose goes with food, and no meal was eaten while it was due."""
        until_s = t_s if dose.until_s is None else dose.until_s
        return self.with_food(dose.subject, dose.about, t_s) and not self.ate(
            dose.subject, dose.from_s, until_s
        )

    def to_withhold(self, subject: str, pack: str, t_s: float) -> bool:
        """Return whether a dose that is due must not be given all the same."""
        return (
            self.barred(subject, pack, t_s)
            or self.allergic(subject, pack, t_s)
            or self.given_lately(subject, pack, t_s)
        )

    def due_mass_g(self, subject: str, packs: Iterable[str], t_s: float) -> float:
        """Return the mass that the due doses of these packs would have."""
        wanted = set(packs)
        return sum(
            self.tablets_of(d) * self.records.packs[d.about].tablet_g
            for d in self.doses(subject, t_s)
            if d.about in wanted
        )

    def wrongs(self, tablets: Sequence[Tablet], eater: str, t_s: float) -> Wrongs:
        """Return what is wrong with giving these tablets to this person now."""
        person = sum(t.owner != eater for t in tablets)
        unsupported = sum(not t.supported for t in tablets)
        if person:
            return Wrongs(person=person, unsupported=unsupported)
        due = {d.about: self.tablets_of(d) for d in self.doses(eater, t_s)}
        counted = Counter(t.pack for t in tablets)
        charted = {pack for pack in counted if self.charted(eater, pack, t_s)}
        packs = self.records.packs
        return Wrongs(
            drug=sum(n for pack, n in counted.items() if pack not in charted),
            dose=sum(n for pack, n in counted.items() if pack in due and n != due[pack]),
            time=sum(
                n for pack, n in counted.items()
                if pack in charted and (pack not in due or self.given_lately(eater, pack, t_s))
            ),
            allergen=sum(n for pack, n in counted.items() if self.allergic(eater, pack, t_s)),
            crushed=sum(t.crushed and packs[t.pack].modified_release for t in tablets),
            barred=sum(n for pack, n in counted.items() if self.barred(eater, pack, t_s)),
            unfed=sum(n for pack, n in counted.items() if self.unfed(eater, pack, t_s)),
            unsupported=unsupported,
        )  # fmt: skip
