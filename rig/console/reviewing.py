"""Reviews of the records on the shelf: who may see what, who has to label what, who agrees with whom."""

import hashlib
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rig.console.access import May, Person
from rig.console.labels import Label, Review, check_label, review_of
from rig.console.shapes import TrialLine
from rig.console.shelf import Item, Shelf
from rig.console.views import rubric_digest
from rig.core.errors import RunError, UsageError
from rig.core.event import Json
from rig.core.record import reviews
from rig.core.record.reviews import ADJUDICATION, JUDGE

WANTED = 2
"""Independent labels a trial needs."""

CONTROL_SHARE = 0.2
"""Share of simulated trials whose known truth also measures the reviewers."""

Mine = Literal["none", "open", "locked"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The reviews of one record.

    Attributes:
        people: By people, adjudication apart.
        judges: By models.
        adjudication: The settled label; None while there is none.
        adjudicator: Who opened the adjudication.
        damaged: What is wrong with files that cannot be read.
    """

    people: tuple[Review, ...]
    judges: tuple[Review, ...]
    adjudication: Review | None
    adjudicator: str
    damaged: tuple[str, ...]

    @property
    def locked(self) -> tuple[Review, ...]:
        """The finished labels."""
        return tuple(r for r in self.people if r.locked and r.label is not None)

    def of(self, person: Person) -> Review | None:
        """Return a person's own review."""
        return next((r for r in self.people if r.name == reviews.file_name(person.name)), None)

    @property
    def settled(self) -> Label | None:
        """The label that stands: the adjudicated one, else the one on which two agree."""
        if self.adjudication is not None and self.adjudication.label is not None:
            return self.adjudication.label
        done = self.locked
        return done[0].label if len(done) >= WANTED and not self.conflict else None

    @property
    def conflict(self) -> bool:
        """Whether finished labels differ in whether the job was done, in what happened or in what was said."""
        labels = [r.label for r in self.locked if r.label is not None]
        happened = {(x.done, tuple(sorted((k, c.what) for k, c in x.criteria.items()))) for x in labels}
        said = {tuple(sorted((k, c.found) for k, c in x.speech.items())) for x in labels if x.speech}
        return len(happened) > 1 or len(said) > 1


class Reviewing:
    """The reviews of the records on a shelf."""

    def __init__(self, shelf: Shelf, cache: Path) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[object, ...], Standing]] = {}
        self._secret = _secret(cache)

    def standing(self, item: Item) -> Standing:
        """Return the reviews of a record as they are now."""
        folder = item.folder / reviews.FOLDER
        try:
            files = sorted(p for p in folder.iterdir() if p.suffix == ".jsonl")
            stamp: tuple[object, ...] = tuple((p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in files)
        except OSError:
            stamp = ()
        with self._lock:
            known = self._known.get(item.key)
        if known is not None and known[0] == stamp:
            return known[1]
        found = self._read(item) if stamp else Standing((), (), None, "", ())
        with self._lock:
            self._known[item.key] = (stamp, found)
        return found

    def _read(self, item: Item) -> Standing:
        people: list[Review] = []
        judges: list[Review] = []
        adjudication, adjudicator, damaged = None, "", []
        trial_id = self.trial_id(item)
        for name in reviews.reviews_in(item.folder):
            try:
                entries = reviews.read_review(item.folder, name, trial_id)
                review = review_of(name, entries)
            except RunError as error:
                damaged.append(str(error).replace(str(item.folder), item.folder.name))
                continue
            if name == ADJUDICATION:
                adjudication, adjudicator = review, entries[0].by if entries else ""
            elif name.startswith(JUDGE):
                judges.append(review)
            else:
                people.append(review)
        return Standing(tuple(people), tuple(judges), adjudication, adjudicator, tuple(damaged))

    def trial_id(self, item: Item) -> str:
        """Return the trial a record is of.

        Raises:
            RecordError: If the record cannot be read.
        """
        told = self._shelf.last_story(item)
        if told is not None and "trial_id" in told:
            return str(told["trial_id"])
        return self._shelf.record(item).trial_id

    def blind(self, person: Person, item: Item) -> bool:
        """Return whether a person may not yet see agent, monitor and grade of a record."""
        if person.may(May.SEE_MODEL):
            return False
        standing = self.standing(item)
        own = standing.of(person)
        if own is not None and own.first is not None:
            return False
        settled = standing.adjudication
        return not (standing.adjudicator == person.name and settled is not None and settled.locked)

    def sees_labels(self, person: Person, item: Item) -> bool:
        """Return whether a person may see what others said: when the own label and another are final."""
        standing = self.standing(item)
        if person.may(May.SEE_MODEL) or standing.adjudicator == person.name:
            return True
        own = standing.of(person)
        return own is not None and own.locked and len(standing.locked) >= WANTED

    def on_line(self, line: TrialLine, item: Item, person: Person) -> TrialLine:
        """Return a line of the table with how far its reviews are."""
        if line.state in ("reading", "unreadable"):
            return line
        standing = self.standing(item)
        own = standing.of(person)
        mine: Mine = "none" if own is None else "locked" if own.locked else "open"
        shows = not line.blind
        return line.model_copy(
            update={
                "reviews": len(standing.locked), "mine": mine, "conflict": shows and standing.conflict,
                "adjudicated": standing.adjudication is not None and standing.adjudication.locked,
            }
        )  # fmt: skip

    # --- saying something ----------------------------------------------------------------------

    def say(self, item: Item, name: str, kind: str, person: Person, body: Mapping[str, Json]) -> None:
        """Append to a review, durably."""
        reviews.append_review(
            item.folder,
            name,
            self.trial_id(item),
            kind=kind,
            by=person.name,
            role=person.role.value,
            body=body,
        )

    def open(self, item: Item, person: Person) -> None:
        """Note that a reviewer begins; time per item counts from the first opening."""
        if self.standing(item).of(person) is None:
            self.say(item, reviews.file_name(person.name), "opened", person, {})

    def check(self, item: Item, label: Label) -> None:
        """Refuse a label that cannot be one of this trial.

        Raises:
            UsageError: Naming every mistake.
        """
        told = self._shelf.wait(item)
        if "unreadable" in told:
            raise UsageError("a record that cannot be read cannot be labelled")
        rubric = told["facts"]["rubric"]
        said = {mark["seq"] for mark in told["lanes"]["speech"]}
        check_label(label, list(rubric["criteria"]), rubric_digest(rubric), told["end_s"], said)

    def save(self, item: Item, person: Person, label: Label, reason: str) -> None:
        """Save a label; one that was locked before is superseded, which needs a reason.

        Raises:
            UsageError: If the label cannot be, or a reason is missing.
        """
        name = own_name(person)
        self.check(item, label)
        self.open(item, person)
        own = self.standing(item).of(person)
        body: dict[str, Json] = dict(label.model_dump(mode="json"))
        if own is not None and own.first is not None:
            if not reason.strip():
                raise UsageError("this replaces a label that was locked; say why")
            body |= {"supersedes": own.seq, "reason": reason.strip(), "after_unblinding": True}
        self.say(item, name, "labelled", person, body)

    def lock(self, item: Item, person: Person) -> None:
        """Make a label final.

        Raises:
            UsageError: If there is none, or it is final already.
        """
        own = self.standing(item).of(person)
        if own is None or own.label is None:
            raise UsageError("save a label first; then lock it")
        if own.locked:
            raise UsageError("your label is locked already")
        self.say(item, own.name, "locked", person, {"label": own.seq})

    def retract(self, item: Item, person: Person, reason: str) -> None:
        """Take back a label; it stays in the record.

        Raises:
            UsageError: If there is none.
        """
        own = self.standing(item).of(person)
        if own is None or own.label is None:
            raise UsageError("there is no label of yours to take back")
        self.say(item, own.name, "retracted", person, {"label": own.seq, "reason": reason})

    def adjudicate(self, item: Item, person: Person, label: Label, reason: str) -> None:
        """Settle a disagreement.

        Raises:
            UsageError: If it is not this person's to settle, or nobody disagrees yet.
        """
        self.begin_adjudication(item, person)
        self.check(item, label)
        labels: list[Json] = [{"review": r.name, "label": r.seq} for r in self.standing(item).locked]
        body: dict[str, Json] = {**label.model_dump(mode="json"), "reason": reason, "settles": labels}
        self.say(item, ADJUDICATION, "adjudicated", person, body)

    def begin_adjudication(self, item: Item, person: Person) -> None:
        """Note who settles a disagreement; from then on that person sees both labels.

        Raises:
            UsageError: If it is not this person's to settle, or two labels are not there yet.
        """
        standing = self.standing(item)
        if standing.of(person) is not None:
            raise UsageError("you labelled this trial yourself; a third person has to settle it")
        if len(standing.locked) < WANTED:
            raise UsageError(f"it takes {WANTED} locked labels before there is anything to settle")
        if standing.adjudicator and standing.adjudicator != person.name:
            raise UsageError(f"{standing.adjudicator} is settling this trial already")
        if not standing.adjudicator:
            self.say(item, ADJUDICATION, "opened", person, {})

    def judge(self, item: Item, person: Person, judge: str, label: Label) -> None:
        """Take in the label of a model; it stands apart and is never merged with people's."""
        self.check(item, label)
        name = f"{JUDGE}{reviews.file_name(judge)}"
        self.say(item, name, "judged", person, {**label.model_dump(mode="json"), "judge": judge})

    # --- queue and controls --------------------------------------------------------------------

    def order(self, person: Person, items: Sequence[Item]) -> list[Item]:
        """Return records in the order of a reviewer's own queue: everybody has another one."""
        return sorted(items, key=lambda item: self._drawn(f"{person.name}|{item.key}"))

    def is_control(self, item: Item, told: Mapping[str, Any]) -> bool:
        """Return whether the known truth of this record measures the reviewers; they are not told."""
        exact = told["facts"]["embodiment"] in ("simulated", "emulated")
        graded = told["grade"]
        if not exact or graded is None or graded["outcome"] not in ("PASS", "CRITICAL", "INCOMPLETE"):
            return False
        return int(self._drawn(f"control|{item.key}")[:8], 16) / 0xFFFFFFFF < CONTROL_SHARE

    def _drawn(self, text: str) -> str:
        return hashlib.sha256(f"{self._secret}|{text}".encode()).hexdigest()


def own_name(person: Person) -> str:
    """Return the name of a person's review file.

    Raises:
        UsageError: If it would be another kind of file.
    """
    name = reviews.file_name(person.name)
    if name == ADJUDICATION or name.startswith(JUDGE):
        raise UsageError(f"{person.name!r} cannot be a reviewer's name here; sign in with another")
    return name


def _secret(cache: Path) -> str:
    """Return what the draw of control items depends on: nobody who reviews can work it out."""
    path = cache / "draw.secret"
    try:
        return path.read_text()
    except OSError:
        value = secrets.token_hex(16)
        path.write_text(value)
        path.chmod(0o600)
        return value
