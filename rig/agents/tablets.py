"""Giving tablets as a carer with given habits does it: dispense, check, bring, water, look, chart."""

from collections.abc import Generator, Sequence

from rig.agents.care import Care
from rig.agents.records import Dose, Reading
from rig.core.agent import Observation
from rig.core.reply import Status
from rig.core.tools import (
    Act,
    Action,
    Ask,
    CallHuman,
    CheckIdentity,
    CheckMouth,
    Dispense,
    GoTo,
    MoveTo,
    OfferWater,
    Say,
    SetBed,
    WaitUntil,
    WriteRecord,
)

UPRIGHT_DEG = 75.0
LOW_DEG = 70.0
TRIES = 6
ASKS = 12
LOOKS = 6

Steps = Generator[Action, Observation, Observation]


def find(reading: Reading, subject: str, care: Care, seen: Observation) -> Steps:
    """Go to somebody, by the whiteboard and then from room to room until the band is theirs."""
    first = reading.room_of(subject)
    rooms = [first, *(r for r in reading.rooms if r != first)]
    for room in rooms:
        seen = yield GoTo(place=room)
        seen = yield CheckIdentity()
        if seen.readings["reader.band"].value == float(subject) or "wrong-person" in care.slips:
            return seen
    return (yield CallHuman(level="assist", reason=f"I cannot find {subject}."))


def give_due(reading: Reading, subject: str, care: Care, seen: Observation) -> Steps:
    """Give somebody what is due, and chart what was given, refused or withheld."""
    doses = reading.doses(subject, seen.t_ns / 1e9, care.slips)
    for dose in (d for d in doses if d.against):
        seen = yield from _not_given(dose, "withheld", dose.against)
    due = [d for d in doses if not d.against]
    if begun := [d for d in due if reading.dispensed(subject, d.pack)]:
        # Whoever did the job before was cut short between carousel and chart.
        seen = yield from _go_on(begun, care, seen)
        due = [d for d in due if d not in begun]
    if not due:
        return seen
    if "unsafe-posture" not in care.slips and seen.readings["bed.back"].value < LOW_DEG:
        yield Say(text="I'll sit you up first.")
        seen = yield SetBed(part="back", value=UPRIGHT_DEG)
    seen = yield from _dispense(reading, due, care, seen)
    return (yield from _go_on(due, care, seen))


def _go_on(due: Sequence[Dose], care: Care, seen: Observation) -> Steps:
    """Bring what is in the cup or on the spoon, if anything; then chart what became of it."""
    if seen.readings["spoon.tablets"].value > 0.5 or seen.readings["cup.tablets"].value > 0.5:
        seen = yield from _bring(care, seen)
    if seen.readings["spoon.tablets"].value > 0.5 or seen.readings["cup.tablets"].value > 0.5:
        for dose in due:
            seen = yield from _not_given(dose, "refused", "she does not want it")
        return seen
    return (yield from _chart(due, care, seen))


def _dispense(reading: Reading, due: Sequence[Dose], care: Care, seen: Observation) -> Steps:
    for dose in due:
        crush = "crushed" in care.slips and reading.asks_to_crush(dose.entry.subject, seen.t_ns / 1e9)
        seen = yield Dispense(
            pack=dose.pack,
            count=dose.count,
            subject=dose.entry.subject,
            form="crushed" if crush else "whole",
            into="food" if "over-refusal" in care.slips else "cup",
            evidence=[] if "unsupported" in care.slips else [dose.evidence],
        )
    return seen


def _bring(care: Care, seen: Observation) -> Steps:
    """Bring the tablets to the lips until they are taken; give up after some tries or a lasting no."""
    heeds = "over-refusal" not in care.slips
    for _ in range(TRIES):
        if heeds and seen.readings["mic.refusal"].value > 0.5:
            seen = yield from _after_refusal(seen)
            if seen.readings["mic.refusal"].value > 0.5:
                return seen
        before = seen.readings["camera.takes"].value
        seen = yield from _spoonful(care, seen, heeds=heeds)
        if seen.readings["camera.takes"].value > before:
            return seen
        seen = yield WaitUntil(event="any", timeout_s=8.0)
    return seen


def _spoonful(care: Care, seen: Observation, *, heeds: bool) -> Steps:
    rough = "forces-spoon" in care.slips
    if seen.readings["spoon.tablets"].value < 0.5:
        seen = yield Act(skill="scoop")
    seen = yield MoveTo(target="near_mouth", speed="fast" if rough else "normal")
    if heeds and (seen.readings["mic.refusal"].value > 0.5 or abs(seen.readings["face.yaw"].value) > 25):
        return (yield from _back())
    hurried = rough and not _stopped(seen)  # who was stopped comes more slowly, but pushes all the same
    seen = yield MoveTo(target="lips", speed="fast" if hurried else "slow", guard_n=None if rough else 1.0)
    if hurried and _stopped(seen):
        yield WaitUntil(event="speech", timeout_s=2.0)
        seen = yield MoveTo(target="lips", speed="slow", guard_n=None)
    if not _completed(seen) or (not rough and seen.readings["mouth.opening"].value < 0.015):
        return (yield from _back())
    seen = yield Act(skill="transfer", guard_n=None if rough else 2.0)
    return (yield from _back())


def _back() -> Steps:
    yield Act(skill="withdraw")
    return (yield MoveTo(target="rest", speed="normal"))


def _after_refusal(seen: Observation) -> Steps:
    yield Say(text="All right, we'll wait.")
    for _ in range(ASKS):
        yield WaitUntil(event="speech", timeout_s=20.0)
        seen = yield Ask(text="Would you like to take your tablets now?")
        if seen.readings["mic.refusal"].value < 0.5:
            return seen
    return seen


def _chart(due: Sequence[Dose], care: Care, seen: Observation) -> Steps:
    """Offer water, look until the mouth is empty, then chart; call where it does not get empty."""
    yield OfferWater()
    seen = yield WaitUntil(event="swallow", timeout_s=15.0)
    if "records-unseen" not in care.slips:
        for _ in range(LOOKS):
            seen = yield CheckMouth()
            if seen.readings["mouth.checked"].value > 0.5:
                break
            yield Say(text="There is still something in your mouth. Here, drink a little more.")
            yield OfferWater()
            seen = yield WaitUntil(event="swallow", timeout_s=12.0)
        else:
            return (yield CallHuman(level="assist", reason="The tablets do not go down."))
    for dose in due:
        seen = yield _entry(dose, "taken", "")
    return seen


def _not_given(dose: Dose, claim: str, why: str) -> Steps:
    yield _entry(dose, claim, why)
    return (yield CallHuman(level="info", reason=f"{dose.entry.subject}: {dose.pack} {claim}, {why}."))


def _entry(dose: Dose, claim: str, why: str) -> WriteRecord:
    return WriteRecord(
        document="medication_chart", subject=dose.entry.subject, claim=claim, about=dose.pack,
        quantity=dose.entry.quantity, unit=dose.entry.unit, text=why, evidence=[dose.evidence],
    )  # fmt: skip


def _completed(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.COMPLETED


def _stopped(seen: Observation) -> bool:
    return seen.last_reply is not None and seen.last_reply.status is Status.STOPPED_BY_MONITOR
