"""Who vouches for a record: the signature, the signer, and the anchor, each by itself."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rig.core.record import signing
from rig.core.record.evidence import Evidence
from rig.core.record.files import mapped
from rig.core.record.verdicts import Anchor, Check, Status


def signature(found: Evidence, trusted: frozenset[str]) -> tuple[Check, Check]:
    """Return the verdicts on the checkpoint's signature and on whoever signed it."""
    path = found.folder / signing.FILE
    nobody = Check("signer", Status.ABSENT, "nobody signed")
    if not path.exists():
        return Check("signature", Status.ABSENT, "there is no checkpoint"), nobody
    try:
        checkpoint = signing.opened(path.read_bytes())
        problem = _contradiction(found, checkpoint)
    except (ValueError, KeyError, TypeError, OSError) as error:
        problem = f"the checkpoint was altered: {error}"
    else:
        if problem is None and checkpoint.forged:
            problem = f"not a signature by {', '.join(checkpoint.forged)}"
    if problem is not None:
        return Check("signature", Status.FAILED, problem, signing.FILE), nobody
    if not checkpoint.signers:
        return Check("signature", Status.ABSENT, "the checkpoint is unsigned"), nobody
    right = Check("signature", Status.OK, f"files and head to seq {checkpoint.seq} are as signed")
    known = [key for key in checkpoint.signers if key in trusted]
    if known:
        return right, Check("signer", Status.OK, f"trusted: {', '.join(known)}")
    text = f"{', '.join(checkpoint.signers)} is not among the {len(trusted)} keys you trust"
    return right, Check("signer", Status.WEAK, text)


def _contradiction(found: Evidence, checkpoint: signing.Checkpoint) -> str | None:
    """Return in what the checkpoint contradicts the record, or None."""
    if checkpoint.trial_id != found.trial_id:
        return f"the checkpoint is of trial {checkpoint.trial_id}, not of {found.trial_id}"
    tail = _tail_problem(found, checkpoint.seq, checkpoint.head, "signed")
    if tail is not None:
        return tail
    for name, digest in checkpoint.subject.items():
        path = found.folder / name
        if Path(name).name != name or not path.is_file():
            return f"{name} was signed and is missing"
        if hashlib.sha256(mapped(path)).hexdigest() != digest:
            return f"{name} is not the file that was signed"
    return None


def _tail_problem(found: Evidence, seq: int, head: str, word: str) -> str | None:
    """Return how the chain contradicts a head stated elsewhere, or None."""
    last = len(found.events) - 1
    if seq > last and found.scan.problem is not None and not found.scan.torn:
        return f"{word} to seq {seq}, but the chain is damaged behind seq {last}"
    if seq > last:
        return f"{word} to seq {seq}, but the chain ends at seq {last}: its tail was cut"
    if seq < 0 or found.events[seq].hash != head:
        return f"seq {seq} is not the event that was {word}: the chain was rewritten"
    return None


def anchor(found: Evidence, anchors: Sequence[Anchor]) -> Check:
    """Return the verdict on what is kept elsewhere about this trial."""
    ours = sorted((a for a in anchors if a.trial_id == found.trial_id), key=lambda a: a.seq)
    if not ours:
        others = f": none of {len(anchors)} anchors is of this trial" if anchors else ""
        return Check("anchor", Status.ABSENT, f"not anchored{others}")
    for one in ours:
        problem = _tail_problem(found, one.seq, one.head, f"anchored by {one.by}")
        if problem is not None:
            return Check("anchor", Status.FAILED, problem, found.end)
    best = ours[-1]
    if best.seq < len(found.events) - 1:
        return Check("anchor", Status.WEAK, f"anchored by {best.by} only to seq {best.seq}")
    return Check("anchor", Status.OK, f"anchored by {best.by}")
