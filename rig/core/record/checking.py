"""Checking a record: is it what it says it is, and who vouches for that."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from rig.core.event import Json
from rig.core.record import chain, manifest, vouching
from rig.core.record.disk import being_written
from rig.core.record.evidence import Evidence, gather, number, total
from rig.core.record.files import mapped
from rig.core.record.reader import must_be_record
from rig.core.record.verdicts import Anchor, Check, Status, Verification, requirements
from rig.core.record.walk import first_damage, walk


def verify(
    folder: Path,
    anchors: Iterable[Anchor] = (),
    trusted_keys: Collection[str] = (),
    require: Iterable[str] = (),
) -> Verification:
    """Check a record, each question by itself.

    Args:
        folder: The record.
        anchors: Chain heads kept elsewhere; those of other trials are ignored.
        trusted_keys: Key ids (``ed25519:...``) the caller trusts.
        require: Any of ``signed``, ``trusted``, ``anchored``, ``ordered``: what else must be ok for
            `Verification.ok`.

    Raises:
        UsageError: If the folder holds no record, or something unknown is required.
    """
    folder, required = Path(folder), requirements(require)
    must_be_record(folder)
    found = gather(folder)
    checks = (
        _payload(found),
        _chain(found),
        _complete(found),
        _segments(found),
        _counts(found),
        _clock(found),
        *vouching.signature(found, frozenset(trusted_keys)),
        vouching.anchor(found, tuple(anchors)),
    )
    head = found.events[-1].hash if found.events else ""
    return Verification(folder, found.trial_id, len(found.events) - 1, head, checks, required)


def _payload(found: Evidence) -> Check:
    if found.about is None:
        return Check("payload", Status.FAILED, found.fault, manifest.FILE)
    if not found.events:
        return Check("payload", Status.FAILED, "there is no event", chain.FILE)
    if found.events[0].body.get("manifest_sha256") != found.about.digest:
        text = "the manifest was altered: event 0 states another digest"
        return Check("payload", Status.FAILED, text, f"{manifest.FILE}, before its wall section")
    return Check("payload", Status.OK, f"manifest and {len(found.events)} events are well formed")


def _chain(found: Evidence) -> Check:
    problem = found.scan.problem
    if problem is not None:
        kind = "interrupted write: " if found.scan.torn else ""
        place = f"{chain.FILE}, {problem.partition(':')[0]}"
        return Check("chain", Status.FAILED, f"{kind}{problem}", place)
    if not found.events:
        return Check("chain", Status.FAILED, "there is no event", chain.FILE)
    return Check("chain", Status.OK, f"{len(found.events)} events linked from trial {found.trial_id}")


def _complete(found: Evidence) -> Check:
    if found.ending is not None:
        return Check("complete", Status.OK, f"ended: {found.ending.body.get('ending')}")
    if being_written(found.folder / chain.FILE):
        return Check("complete", Status.FAILED, "still being written", chain.FILE)
    text = "no trial_ended event: interrupted, or its tail was cut; `runrig recover` closes it"
    return Check("complete", Status.FAILED, text, found.end)


def _segments(found: Evidence) -> Check:
    stated, ticks = found.segments, 0
    for name, body in stated.items():
        problem = _segment_problem(found, name, body)
        if problem is None and number(body, "first_tick") < ticks:
            problem = f"{name} repeats ticks of the segment before it", name
        if problem is not None:
            return Check("segments", Status.FAILED, *problem)
        ticks = number(body, "first_tick") + number(body, "ticks")
    extra = sorted(p.name for p in found.folder.glob("*.mcap") if p.name not in stated)
    if extra:
        text = f"{', '.join(extra)}: not on the chain" + ("" if found.ending else " (yet)")
        return Check("segments", Status.FAILED, text, extra[0])
    return Check("segments", Status.OK, f"{len(stated)} segments as the chain states them")


def _segment_problem(found: Evidence, name: str, body: Mapping[str, Json]) -> tuple[str, str] | None:
    """Return what is wrong with a segment and where, or None."""
    path = found.folder / name
    if Path(name).name != name or not path.is_file():
        return f"{name} is missing", name
    data = mapped(path)
    if hashlib.sha256(data).hexdigest() == body.get("sha256"):
        return None
    size, walked = len(data), walk(data)
    damage = first_damage(data, walked)
    owner, stated = walked.facts.get("trial_id", found.trial_id), number(body, "bytes")
    if owner != found.trial_id:
        return f"{name} is from trial {owner}", name
    if damage is not None:
        return f"{name} was altered: {damage[1]}", f"{name}, byte {damage[0]}"
    if size != stated:
        return f"{name} has {size} bytes, not {stated}", f"{name}, byte {min(size, stated)}"
    return f"{name} was altered outside its chunks", f"{name}, head, indexes or summary"


def _counts(found: Evidence) -> Check:
    """Ticks in equal ticks out, or it is said where they went."""
    if found.ending is None:
        return Check("counts", Status.ABSENT, "not ended, so nothing to count against")
    stated = found.ending.body.get("counts")
    if not isinstance(stated, dict):
        place = f"{chain.FILE}, seq {found.ending.seq}"
        return Check("counts", Status.FAILED, "the last event states no counts", place)
    stored = sum(number(body, "ticks") for body in found.segments.values())
    ticks, dropped, lost = (number(stated, k) for k in ("ticks", "ticks_dropped", "ticks_lost"))
    if stored + dropped + lost != ticks or stated.get("events") != len(found.events):
        text = f"{ticks} ticks in; {stored} stored, {dropped} dropped, {lost} lost"
        return Check("counts", Status.FAILED, text)
    images, seen = "", found.about.cameras if found.about else ()
    if seen:
        frames, unseen, gone = (number(stated, f"images{k}") for k in ("", "_dropped", "_lost"))
        kept = sum(total(body.get("images")) for body in found.segments.values())
        if kept + unseen + gone != frames:
            text = f"{frames} camera frames in; {kept} stored, {unseen} dropped, {gone} lost"
            return Check("counts", Status.FAILED, text)
        images = f", {frames} camera frames" + (f" ({unseen} dropped, {gone} lost)" if unseen or gone else "")
        dropped, lost = dropped + unseen, lost + gone
    if dropped or lost:
        text = f"{ticks} ticks{images}: {dropped} dropped and {lost} lost, all accounted for"
        return Check("counts", Status.WEAK, text)
    return Check("counts", Status.OK, f"{len(found.events)} events and {ticks} ticks{images}, in and out")


def _clock(found: Evidence) -> Check:
    for before, event in zip(found.events, found.events[1:], strict=False):
        if event.t_ns < before.t_ns:
            text = f"trial time goes back from {before.t_ns} to {event.t_ns} ns"
            return Check("clock", Status.WEAK, text, f"{chain.FILE}, seq {event.seq}")
    return Check("clock", Status.OK, "trial time never goes back")
