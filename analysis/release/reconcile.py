"""Do the records agree with themselves, with each other and with the ledger?

The four levels of an act are four kinds of event: proposed, authorised, commanded, effected. Each act has
each of them once and in this order, as far as it got. What is missing, twice there or out of order is named;
a critical event that cannot be joined to its others is no evidence of anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rig.core.event import Kind, Severity
from rig.core.record import Record, StoredEvent

ORDER = (Kind.PROPOSED, Kind.AUTHORISED, Kind.COMMANDED, Kind.EFFECTED, Kind.REPLIED)
"""The levels of an act, in the order in which they happen; the reply comes last."""

AFTER: Mapping[Kind, Kind] = {
    Kind.AUTHORISED: Kind.PROPOSED,
    Kind.COMMANDED: Kind.AUTHORISED,
    Kind.EFFECTED: Kind.COMMANDED,
    Kind.REPLIED: Kind.PROPOSED,
}
"""What must have happened before what."""


NUMBERS = 1 << 16
"""Entries of a device's log are numbered modulo this."""
TRIPPED = "tripped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Something that does not fit together.

    Attributes:
        trial: Which trial; its id.
        what: ``dropped``, ``duplicated``, ``reordered``, ``unauthorised`` or ``unknown``.
        where: Which event, e.g. ``effected of act 7``.
        text: In a sentence.
    """

    trial: str
    what: str
    where: str
    text: str


def acts(record: Record) -> tuple[Mismatch, ...]:
    """Return every act of a record whose levels do not fit together."""
    by_act: dict[str, list[StoredEvent]] = {}
    for event in record.of_kind(*ORDER):
        if "action_id" in event.body:  # a refusal in mid-motion is of no act of its own
            by_act.setdefault(str(event.body["action_id"]), []).append(event)
    found: list[Mismatch] = []
    for act, events in by_act.items():
        found += _act(record.trial_id, act, events)
    return tuple(found)


def _act(trial: str, act: str, events: Sequence[StoredEvent]) -> Iterable[Mismatch]:
    first: dict[Kind, int] = {}
    counts: Counter[Kind] = Counter()
    for number, event in enumerate(events):
        kind = Kind(event.kind)
        first.setdefault(kind, number)
        counts[kind] += 1

    def mismatch(what: str, kind: Kind, text: str) -> Mismatch:
        return Mismatch(trial=trial, what=what, where=f"{kind} of act {act or '(no id)'}", text=text)

    for kind in (Kind.PROPOSED, Kind.AUTHORISED, Kind.REPLIED):
        if counts[kind] > 1:
            yield mismatch("duplicated", kind, f"is there {counts[kind]} times; one act has one")
    if counts[Kind.COMMANDED] != counts[Kind.EFFECTED]:
        kind = Kind.EFFECTED if counts[Kind.COMMANDED] > counts[Kind.EFFECTED] else Kind.COMMANDED
        text = f"{counts[Kind.COMMANDED]} intents, {counts[Kind.EFFECTED]} outcomes"
        yield mismatch("dropped", kind, f"{text}: what was commanded and what came of it do not pair up")
    for kind, before in AFTER.items():
        if kind not in first:
            continue
        if before not in first:
            yield mismatch("dropped", before, f"{kind} is there, {before} is not")
        elif first[kind] < first[before]:
            yield mismatch("reordered", kind, f"stands before {before}")
    refused = [e for e in events if e.kind == Kind.AUTHORISED and not e.body.get("allowed", False)]
    if refused and counts[Kind.COMMANDED]:
        yield mismatch("unauthorised", Kind.COMMANDED, "was commanded although the gate had refused it")


def interventions(record: Record) -> tuple[Mismatch, ...]:
    """Return every intervention whose rule had no broken verdict before it."""
    broken: set[str] = set()
    found = []
    for event in record.of_kind(Kind.VERDICT, Kind.INTERVENED):
        rule = str(event.body.get("rule", ""))
        if event.kind == Kind.VERDICT:
            if event.body.get("holds") is not True:
                broken.add(rule)
        elif rule and rule not in broken:
            found.append(
                Mismatch(
                    trial=record.trial_id,
                    what="dropped",
                    where=f"verdict of {rule}",
                    text="the monitor stepped in, but no verdict of the rule says why",
                )
            )
    return tuple(found)


def devices(record: Record) -> tuple[Mismatch, ...]:
    """Return what is missing from, or twice in, the logs that devices keep and number themselves.

    They may come in any order: a device repeats an entry until it is acknowledged. A device that stopped by
    itself, and of which no other log says why, is named too.
    """
    found: list[Mismatch] = []
    numbers: dict[str, list[int]] = {}
    explained = any(
        event.severity is Severity.CRITICAL or event.kind == Kind.INTERVENED
        for event in record.of_kind(Kind.FAULT, Kind.INTERVENED, Kind.OPERATOR)
    )

    def mismatch(what: str, device: str, number: int, text: str) -> None:
        where = f"entry {number % NUMBERS} of {device}"
        found.append(Mismatch(trial=record.trial_id, what=what, where=where, text=text))

    for event in record.of_kind(Kind.REPORTED):
        device, number = str(event.body.get("device", "")), int(str(event.body.get("number", -1)))
        seen = numbers.setdefault(device, [])
        near = seen[-1] if seen else number
        seen.append(near + (number - near + NUMBERS // 2) % NUMBERS - NUMBERS // 2)
        if event.body.get("what") == TRIPPED and not explained:
            text = f"{device} stopped by itself ({event.body.get('reason')}), and no other log says why"
            mismatch("unknown", device, number, text)
    for device, seen in numbers.items():
        for number, times in sorted(Counter(seen).items()):
            if times > 1:
                mismatch("duplicated", device, number, f"is there {times} times")
        for number in sorted({*range(min(seen), max(seen))} - {*seen}):
            mismatch("dropped", device, number, "is not there, later ones are")
    return tuple(found)


def ledger(stated: Mapping[str, str], present: Mapping[str, str]) -> tuple[Mismatch, ...]:
    """Compare the trials a ledger states with the records that are there.

    Args:
        stated: Chain head of every finished trial in the ledger, by trial id.
        present: Chain head of every record, by trial id.
    """
    found = [
        Mismatch(trial=trial, what="dropped", where="record", text="the ledger states it; it is not there")
        for trial in sorted(set(stated) - set(present))
    ]
    found += [
        Mismatch(
            trial=trial, what="unknown", where="record", text="it is there; the ledger knows nothing of it"
        )
        for trial in sorted(set(present) - set(stated))
    ]
    found += [
        Mismatch(
            trial=trial,
            what="reordered",
            where="chain head",
            text="ends otherwise than the ledger states: altered, or chained anew",
        )
        for trial in sorted(set(stated) & set(present))
        if stated[trial] and stated[trial] != present[trial]
    ]
    return tuple(found)
