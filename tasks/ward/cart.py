"""The medicine cart: where every tablet is at all times, and what was given to whom."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tasks.ward.records import CareRecords


class Place(StrEnum):
    """Where a tablet is."""

    CAROUSEL = "carousel"
    CUP = "cup"
    SPOON = "spoon"
    MOUTH = "mouth"
    SWALLOWED = "swallowed"
    SPAT_OUT = "spat_out"


@dataclass(frozen=True, slots=True)
class Tablet:
    """One tablet.

    Attributes:
        owner: Whom it was dispensed for.
        eater: In whose mouth it is or was.
        in_food: Hidden in food.
        supported: Dispensed on evidence that stands in the records.
        taken_s: Job time at which it passed the lips.
    """

    pack: str
    place: Place = Place.CAROUSEL
    owner: str = ""
    eater: str = ""
    crushed: bool = False
    in_food: bool = False
    supported: bool = True
    taken_s: float | None = None


class Cart:
    """The ledger; tablets are neither made nor lost, they change places."""

    def __init__(self, records: CareRecords) -> None:
        self._packs = records.packs
        self.tablets = [Tablet(code) for code, pack in records.packs.items() for _ in range(pack.tablets)]

    def at(self, place: Place, eater: str = "") -> list[Tablet]:
        """Return the tablets at a place, or those of them in somebody's mouth."""
        return [t for t in self.tablets if t.place is place and (not eater or t.eater == eater)]

    def counts(self) -> dict[Place, int]:
        """Return how many tablets are at each place."""
        counted = Counter(t.place for t in self.tablets)
        return {place: counted[place] for place in Place}

    def mass_g(self, tablets: Sequence[Tablet]) -> float:
        """Return the mass of tablets, grams."""
        return sum(self._packs[t.pack].tablet_g for t in tablets)

    @property
    def order(self) -> str:
        """Whom the tablets in the cup or on the spoon are for; empty where there are none."""
        return next((t.owner for t in self.tablets if t.place in (Place.SPOON, Place.CUP)), "")

    def dispense(self, count: int, like: Tablet) -> int:
        """Put tablets of a pack in the cup, for whom and how ``like`` says; return how many there were."""
        left = [i for i, t in enumerate(self.tablets) if t == Tablet(like.pack)]
        for i in left[:count]:
            self.tablets[i] = replace(like, place=Place.CUP)
        return min(count, len(left))

    def move(
        self, tablets: Sequence[Tablet], place: Place, eater: str = "", at_s: float | None = None
    ) -> None:
        """Move tablets from where they are to a place."""
        moving = Counter(tablets)
        for i, tablet in enumerate(self.tablets):
            if moving[tablet] > 0:
                moving[tablet] -= 1
                self.tablets[i] = replace(
                    tablet, place=place, eater=eater or tablet.eater,
                    taken_s=tablet.taken_s if at_s is None else at_s,
                )  # fmt: skip
