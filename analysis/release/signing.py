"""Writing a dossier down, and the two people who sign it.

A dossier is three files: the data, the page, and a signed in-toto statement about both. Approvals are further
statements, about the data; a new dossier needs new ones.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from analysis.release.decision import POLICY, Registered
from analysis.release.policy import Policy
from rig.core import registration
from rig.core.clock import wall_utc
from rig.core.errors import RecordError, UsageError

FOLDER: Final = "dossier"
APPROVALS: Final = "approvals"
_KIND: Final = "urn:runrig:dossier:1"
_APPROVAL: Final = "urn:runrig:dossier-approval:1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One person's word on one dossier.

    Attributes:
        role: In which role.
        word: ``go`` or ``no-go``.
        digest: SHA-256 of the dossier it is about.
        signers: Key ids whose signatures hold.
    """

    role: str
    word: str
    digest: str
    utc: str
    signers: tuple[str, ...]


def canonical(found: Mapping[str, Any]) -> bytes:
    """Return the bytes of a dossier."""
    return (json.dumps(found, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n").encode()


def write_dossier(folder: Path, found: Mapping[str, Any]) -> Path:
    """Write the dossier below the folder it is about, as data, as a page, and as a signed statement.

    Approvals of an earlier dossier stay, and are about that earlier one.
    """
    from analysis.release.page import render

    out = folder / FOLDER
    out.mkdir(parents=True, exist_ok=True)
    data, html = canonical(found), render(found).encode()
    (out / "dossier.json").write_bytes(data)
    (out / "dossier.html").write_bytes(html)
    subject = {"dossier.json": _sha256(data), "dossier.html": _sha256(html)}
    if found["policy"]["sha256"]:
        subject[POLICY] = found["policy"]["sha256"]
    said = {"decision": found["decision"], "agent": found["agent"], "as_of": found["as_of"]}
    registration.seal_statement(out / "dossier.dsse.json", subject, _KIND, said)
    return out


def approve(folder: Path, role: str, word: Literal["go", "no-go"], policy: Policy) -> Approval:
    """Sign the dossier of a folder in a role.

    Raises:
        UsageError: If there is no dossier, the role is none that approves, or has signed already.
        RecordError: If the dossier is not the one that was written.
    """
    if role not in policy.approvers:
        raise UsageError(
            f"role {role!r} does not approve under this policy; these do: {', '.join(policy.approvers)}"
        )
    digest = sealed_digest(folder)
    before = approvals(folder)
    if any(a.role == role and a.digest == digest for a in before):
        raise UsageError(
            f"{role} has signed this dossier already; a signature is not taken back, a new dossier is written"
        )
    path = folder / FOLDER / APPROVALS / f"{len(before) + 1:04d}.dsse.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {"role": role, "word": word, "utc": wall_utc().isoformat()}
    registration.seal_statement(path, {"dossier.json": digest}, _APPROVAL, said)
    return approvals(folder)[-1]


def sealed_digest(folder: Path) -> str:
    """Return the SHA-256 of the dossier that lies there, if it is the one that was written and signed.

    Raises:
        UsageError: If there is none.
        RecordError: If it was altered.
    """
    out = folder / FOLDER
    if not (out / "dossier.json").exists():
        raise UsageError(f"{folder}: there is no dossier; `runrig gate {folder} --policy FILE` writes one")
    _, subject, _ = registration.read_statement(out / "dossier.dsse.json", _KIND)
    for name in ("dossier.json", "dossier.html"):
        if _sha256((out / name).read_bytes()) != subject.get(name):
            raise RecordError(f"{out / name}: is not the one that was written: altered")
    return subject["dossier.json"]


def approvals(folder: Path) -> tuple[Approval, ...]:
    """Return every approval in a folder, in order.

    Raises:
        RecordError: If one was altered.
    """
    found = []
    for path in sorted((folder / FOLDER / APPROVALS).glob("*.dsse.json")):
        said, subject, signers = registration.read_statement(path, _APPROVAL)
        try:
            found.append(
                Approval(
                    role=str(said["role"]),
                    word=str(said["word"]),
                    utc=str(said["utc"]),
                    digest=subject["dossier.json"],
                    signers=signers,
                )
            )
        except KeyError as error:
            raise RecordError(f"{path}: not a whole approval: {error} is missing") from None
    return tuple(found)


def released(
    folder: Path, word: str, policy: Policy, registered: Registered | None
) -> tuple[bool, tuple[str, ...]]:
    """Return whether the dossier there is a signed GO, and what is missing if not.

    Raises:
        UsageError: If there is no dossier.
        RecordError: If the dossier or an approval was altered.
    """
    digest = sealed_digest(folder)
    own = [a for a in approvals(folder) if a.digest == digest]
    missing = [] if word == "GO" else [f"the dossier says {word}"]
    authors = set(registered.signers) if registered else set()
    used: dict[str, str] = {}
    for role in policy.approvers:
        mine = [a for a in own if a.role == role]
        if not mine:
            missing.append(f"{role} has not signed")
            continue
        if mine[-1].word != "go":
            missing.append(f"{role} says {mine[-1].word}")
        for signer in mine[-1].signers:
            if signer in authors:
                missing.append(
                    f"{role} signed with the key that registered the policy: the author cannot approve"
                )
            if signer in used:
                missing.append(f"{role} and {used[signer]} signed with one key: two people are needed")
            used[signer] = role
    return not missing, tuple(missing)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
