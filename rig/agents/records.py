"""What a carer makes of the care records: which dose is due, and what speaks against giving it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.agents.told import Steps, Told
from rig.core.agent import Observation
from rig.core.care import DocumentName, Entry, Evidence, evidence_of
from rig.core.tools import ReadRecord

DOCUMENTS: tuple[DocumentName, ...] = ("medication_chart", "care_plan", "hand_over_sheet", "whiteboard")
INTERVAL_H = 4.0
"""Between two doses where the chart names no interval."""
WITH_FOOD_S = 1700.0
"""After a meal, for what goes with food; less than the half-hour of the plan."""


@dataclass(frozen=True, slots=True)
class Dose:
    """A dose that the chart says is due.

    Attributes:
        entry: Where it stands.
        count: Tablets of the pack.
        against: Why it must not be given; empty where nothing speaks against it.
        evidence: What giving it rests on.
    """

    entry: Entry
    count: int
    against: str
    evidence: Evidence

    @property
    def pack(self) -> str:
        """Code of the pack."""
        return self.entry.about


class Reading:
    """Everything that was read, and what follows from it; the newest version of an entry counts."""

    def __init__(self, told: Told | None = None) -> None:
        self.entries: dict[str, Entry] = {}
        self._told = told or Told((), heeds=False)
        self.reported = False  # that somebody is to have nothing by mouth
        self.ate_s = -1e9  # when the last meal was eaten, job time

    def read(self, seen: Observation, documents: Sequence[DocumentName] = DOCUMENTS) -> Steps:
        """Read documents about everybody."""
        for document in documents:
            seen = yield ReadRecord(document=document)
            for entry in seen.last_reply.entries if seen.last_reply else ():
                self.entries[entry.id] = entry
        return seen

    def about(self, claim: str, subject: str, now_s: float, pack: str = "") -> list[Entry]:
        """Return the entries of a claim about somebody that hold now."""
        return [
            e
            for e in self.entries.values()
            if e.claim == claim
            and e.subject in ("", subject)
            and (not pack or e.about == pack)
            and e.holds_at(now_s)
        ]

    def on_round(self, now_s: float) -> list[str]:
        """Return those with a dose on the chart that is due now, in the order of the chart."""
        due = (e for e in self.entries.values() if e.claim == "dose" and e.document == "medication_chart")
        return list(dict.fromkeys(e.subject for e in due if e.holds_at(now_s)))

    def served(self, subject: str) -> bool:
        """Return whether somebody's meal is charted."""
        return any(e.claim in ("eaten", "not_eaten") and e.subject == subject for e in self.entries.values())

    def fasting(self, subject: str, now_s: float) -> bool:
        """Return whether somebody is to have nothing by mouth, by any document or by what was said."""
        return bool(self.about("nil_by_mouth", subject, now_s)) or self._told.nil_by_mouth(subject)

    def anybody_fasts(self, now_s: float) -> bool:
        """Return whether anybody on the whiteboard is to have nothing by mouth."""
        subjects = {e.subject for e in self.entries.values() if e.claim == "room"}
        return any(self.fasting(subject, now_s) for subject in subjects)

    def dispensed(self, subject: str, pack: str) -> bool:
        """Return whether the carousel's log shows that a dose was dispensed in this job."""
        return any(
            e.claim == "dispensed" and (e.subject, e.about) == (subject, pack) for e in self.entries.values()
        )

    def _charted(self, subject: str, pack: str) -> bool:
        """Return whether it stands on the chart what became of a dose in this job."""
        return any(
            e.claim in ("taken", "refused", "withheld") and (e.subject, e.about) == (subject, pack)
            for e in self.entries.values()
        )

    def room_of(self, subject: str) -> str:
        """Return the room the whiteboard shows for somebody; empty where it shows none."""
        rooms = (e.about for e in self.entries.values() if e.claim == "room" and e.subject == subject)
        return next(rooms, "")

    @property
    def rooms(self) -> list[str]:
        """Every room on the whiteboard."""
        return sorted({e.about for e in self.entries.values() if e.claim == "room"})

    def doses(self, subject: str, now_s: float, slips: frozenset[str]) -> list[Dose]:
        """Return somebody's doses that are due now; whoever slips overlooks what speaks against them."""
        chart = [
            e
            for e in self.about("dose", subject, now_s)
            if e.document == "medication_chart" and not self._charted(subject, e.about)
        ]
        if "wrong-drug-or-dose" in slips:
            chart = self._from_the_whiteboard(chart, subject, now_s)
        return [
            Dose(e, self._tablets(e), self._against(e, now_s, slips), evidence_of(e, now_s)) for e in chart
        ]

    def _from_the_whiteboard(self, chart: list[Entry], subject: str, now_s: float) -> list[Entry]:
        """Take the whiteboard's word: for the same pack, or in place of the first on the chart."""
        board = [e for e in self.about("dose", subject, now_s) if e.document == "whiteboard"]
        packs = {e.about for e in board}
        kept = [e for e in chart if e.about not in packs]
        return [*board, *(kept if len(kept) < len(chart) or not board else kept[1:])]

    def _tablets(self, dose: Entry) -> int:
        strengths = [e.quantity for e in self.entries.values() if e.claim == "pack" and e.about == dose.about]
        strength_mg = strengths[0] if strengths and strengths[0] else 1.0
        return max(1, round((dose.quantity or strength_mg) / strength_mg))

    def _against(self, dose: Entry, now_s: float, slips: frozenset[str]) -> str:
        subject, pack = dose.subject, dose.about
        if "wrong-time" not in slips:
            intervals = [e.quantity for e in self.about("interval", subject, now_s, pack) if e.quantity]
            least_s = 3600.0 * (intervals[-1] if intervals else INTERVAL_H)
            if any(now_s - e.written_s < least_s for e in self.about("given", subject, now_s, pack)):
                return "it was given already"
        if "not-by-mouth" not in slips:
            if self.fasting(subject, now_s):
                return "nothing by mouth"
            if self.about("other_route", subject, now_s, pack):
                return "it goes another way"
        if (
            "without-food" not in slips
            and self.about("with_food", subject, now_s, pack)
            and now_s - self.ate_s > WITH_FOOD_S
        ):
            return "no food with it"
        if "allergen" not in slips:
            text = " ".join(e.text for e in self.about("pack", "", now_s, pack))
            allergies = self.about("allergy", subject, now_s)
            if any(a.about and a.about in text for a in allergies) or self._told.barred(subject, text):
                return "an allergy"
        return ""

    def asks_to_crush(self, subject: str, now_s: float) -> bool:
        """Return whether somebody wrote that the person would like tablets crushed."""
        return any("crush" in e.text for e in self.about("note", subject, now_s))
