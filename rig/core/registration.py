"""What was decided before the first trial, signed; and what was done differently afterwards, signed too.

A campaign's folder holds ``registration.dsse.json`` and ``deviations/NNNN.dsse.json``, each an in-toto
statement in a DSSE envelope. A folder without a registration is *exploratory*: good for finding out, never
for a release. Whether a signer is to be trusted is the reader's business, as with records.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from rig.core.clock import wall_utc
from rig.core.errors import RecordError, UsageError
from rig.core.event import Json
from rig.core.record import signing, strict
from rig.core.record.disk import Disk, publish

FILE: Final = "registration.dsse.json"
PLAN: Final = "plan.toml"
DEVIATIONS: Final = "deviations"
_KIND = "urn:runrig:registration:1"
_DEVIATION = "urn:runrig:deviation:1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A plan as registered.

    Attributes:
        id: SHA-256 of the signed statement: the registration's name everywhere.
        campaign: Name of the campaign.
        plan_sha256: SHA-256 of ``plan.toml``, bytes as registered.
        decision: Which decision it serves, as in the plan: ``serves``, ``consequence_of_failure``,
            ``authorised_autonomy``, ``prohibited_effects``, ``environment``, ``stop_rule``, ``owner_role``.
        thresholds: As in the plan, one mapping per threshold.
        deployment: As in the plan: ``run_length_s``, ``residents``, ``robots``.
        holdout: SHA-256 of the sealed set, or None.
        trials: Number of trials, the sealed ones not counted.
        grid_sha256: SHA-256 over the trial ids in the order of execution.
        configurations: Identity of every configuration that takes part, sorted.
        registered_utc: When, ISO 8601, by this machine's clock.
        supersedes: Registration this one replaces, or None.
        signers: Key ids whose signatures hold.
        forged: Key ids whose signatures do not.
    """

    id: str
    campaign: str
    plan_sha256: str
    decision: Mapping[str, Json]
    thresholds: tuple[Mapping[str, Json], ...]
    deployment: Mapping[str, Json]
    holdout: str | None
    trials: int
    grid_sha256: str
    configurations: tuple[str, ...]
    registered_utc: str
    supersedes: str | None
    signers: tuple[str, ...]
    forged: tuple[str, ...] = ()


class Bias(StrEnum):
    """Which way a deviation may have moved the result."""

    TOWARDS_PASS = "towards-pass"
    TOWARDS_FAIL = "towards-fail"
    NONE = "none"
    UNKNOWN = "unknown"  # counts as towards-pass for whoever decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Something that was not as registered.

    Attributes:
        number: From 1, without gaps.
        registration: Id of the registration it deviates from.
        what: What was different.
        why: Why.
        bias: Which way it may have moved the result.
        material: Whether it could matter to the decision.
        owner_role: Role that answers for it.
        expires: Date (ISO 8601) after which it no longer excuses anything, or None.
        utc: When it was written down, ISO 8601.
        signers: Key ids whose signatures hold.
        forged: Key ids whose signatures do not.
        id: SHA-256 of the signed statement; the next deviation names it.
    """

    number: int
    registration: str
    what: str
    why: str
    bias: Bias
    material: bool
    owner_role: str
    expires: str | None
    utc: str
    signers: tuple[str, ...]
    forged: tuple[str, ...]
    id: str


def register(folder: Path, plan: bytes, said: Mapping[str, Any], disk: Disk | None = None) -> Registration:
    """Sign a plan; after this returns it is registered, durably.

    Args:
        folder: The campaign's folder; it holds no registration yet.
        plan: The plan's bytes.
        said: What `Registration` has besides ``id``, ``plan_sha256``, ``registered_utc`` and the signers.
        disk: The file layer.

    Raises:
        UsageError: If something is registered there already, or there is no key to sign with.
        OSError: If it cannot be stored.
    """
    disk, path = disk or Disk(), folder / FILE
    if path.exists():
        raise UsageError(f"{folder}: a plan is registered there already; registrations never change")
    digest = hashlib.sha256(plan).hexdigest()
    predicate = {**said, "plan_sha256": digest, "registered_utc": wall_utc().isoformat()}
    payload = signing.in_toto({PLAN: digest}, _KIND, predicate)
    publish(disk, folder / PLAN, plan)
    publish(disk, path, signing.envelope(payload, signing.load_or_make_key()))
    found = read_registration(folder)
    if found is None:
        raise UsageError(f"{path}: was removed while it was being written")
    return found


def read_registration(folder: Path) -> Registration | None:
    """Return what is registered in a campaign's folder, None if it is exploratory.

    Raises:
        RecordError: If the registration was altered, or the plan beside it is not the one registered.
    """
    path = folder / FILE
    if not path.exists():
        return None
    sealed, said = _opened(path, _KIND)
    try:
        found = Registration(
            id=hashlib.sha256(sealed.payload).hexdigest(), campaign=str(said["campaign"]),
            plan_sha256=str(said["plan_sha256"]), decision=said["decision"],
            thresholds=tuple(said["thresholds"]), deployment=said["deployment"], holdout=said["holdout"],
            trials=int(said["trials"]), grid_sha256=str(said["grid_sha256"]),
            configurations=tuple(said["configurations"]), registered_utc=str(said["registered_utc"]),
            supersedes=said["supersedes"], signers=sealed.signers, forged=sealed.forged,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: not a whole registration: {error!r}") from None
    _must_be_signed(path, sealed)
    plan = folder / PLAN
    seen = hashlib.sha256(plan.read_bytes()).hexdigest() if plan.is_file() else "nothing"
    if seen != found.plan_sha256:
        raise RecordError(
            f"{plan}: is not the plan that was registered (SHA-256 {seen[:12]}…, registered "
            f"{found.plan_sha256[:12]}…); put the registered file back, or register the new plan in a new folder"
        )
    return found


def deviate(
    folder: Path, *, what: str, why: str, bias: Bias, material: bool, owner_role: str,
    expires: str | None = None, disk: Disk | None = None,
) -> Deviation:  # fmt: skip
    """Write down a deviation, signed, linked to the one before it.

    Raises:
        UsageError: If nothing is registered there, a text is empty, or the date is none.
        RecordError: If what is there was altered.
        OSError: If it cannot be stored.
    """
    registration = read_registration(folder)
    if registration is None:
        raise UsageError(f"{folder}: nothing is registered there, so nothing can deviate from it")
    for name, text in (("what", what), ("why", why), ("owner", owner_role)):
        if not text.strip():
            raise UsageError(f"--{name}: say it in words; an empty text explains nothing")
    if expires is not None:
        _must_be_date(expires)
    (folder / DEVIATIONS).mkdir(exist_ok=True)
    with _alone(folder / DEVIATIONS):
        return _numbered(folder, registration, disk or Disk(), {
            "what": what, "why": why, "bias": bias.value, "material": material, "owner_role": owner_role,
            "expires": expires,
        })  # fmt: skip


def _numbered(folder: Path, registration: Registration, disk: Disk, said: Mapping[str, Any]) -> Deviation:
    """Write the next deviation; the caller is alone."""
    before = read_deviations(folder)
    predicate = {
        **said, "number": len(before) + 1, "registration": registration.id,
        "utc": wall_utc().isoformat(), "previous": before[-1].id if before else registration.id,
    }  # fmt: skip
    payload = signing.in_toto({PLAN: registration.plan_sha256}, _DEVIATION, predicate)
    path = folder / DEVIATIONS / f"{len(before) + 1:04d}.dsse.json"
    publish(disk, path, signing.envelope(payload, signing.load_or_make_key()))
    return read_deviations(folder)[-1]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder against others who would write the same number."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def read_deviations(folder: Path) -> tuple[Deviation, ...]:
    """Return the deviations of a campaign in order.

    Raises:
        RecordError: If one was altered or is missing.
    """
    registration = read_registration(folder)
    link = registration.id if registration else ""
    found: list[Deviation] = []
    for number, path in enumerate(sorted((folder / DEVIATIONS).glob("*.dsse.json")), 1):
        sealed, said = _opened(path, _DEVIATION)
        _must_be_signed(path, sealed)
        if said.get("number") != number or said.get("previous") != link:
            raise RecordError(f"{path}: does not follow the deviation before it: one is missing or altered")
        try:
            one = Deviation(
                number=number, registration=str(said["registration"]), what=str(said["what"]),
                why=str(said["why"]), bias=Bias(said["bias"]), material=bool(said["material"]),
                owner_role=str(said["owner_role"]), expires=said["expires"], utc=str(said["utc"]),
                signers=sealed.signers, forged=sealed.forged, id=hashlib.sha256(sealed.payload).hexdigest(),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"{path}: not a whole deviation: {error!r}") from None
        found.append(one)
        link = one.id
    return tuple(found)


def _opened(path: Path, kind: str) -> tuple[signing.Sealed, Mapping[str, Any]]:
    try:
        sealed = signing.unsealed(path.read_bytes())
        said = strict.loads(sealed.payload)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: was altered, or is not a signed statement: {error}") from None
    match said:
        case {"predicateType": str(found), "predicate": dict(predicate)} if found == kind:
            return sealed, predicate
        case _:
            raise RecordError(f"{path}: is a signed statement about something else than {kind}")


def _must_be_signed(path: Path, sealed: signing.Sealed) -> None:
    if sealed.forged or not sealed.signers:
        who = ", ".join(sealed.forged) or "nobody"
        raise RecordError(f"{path}: was altered, or never signed: no signature of {who} holds")


def _must_be_date(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--expires {text!r}: give a date as 2027-01-31") from None


def seal_statement(path: Path, subject: Mapping[str, str], kind: str, said: Mapping[str, Any]) -> None:
    """Publish another signed statement of a campaign, replacing the one under that name.

    Raises:
        UsageError: If there is no key to sign with.
        OSError: If it cannot be stored.
    """
    payload = signing.in_toto(subject, kind, said)
    publish(Disk(), path, signing.envelope(payload, signing.load_or_make_key()))


def read_statement(path: Path, kind: str) -> tuple[Mapping[str, Any], Mapping[str, str], tuple[str, ...]]:
    """Return what a signed statement says, the SHA-256 of what it is about, and whose signatures hold.

    Raises:
        RecordError: If it was altered, is of another kind, or nobody's signature holds.
    """
    sealed, said = _opened(path, kind)
    _must_be_signed(path, sealed)
    subject = strict.loads(sealed.payload)
    match subject:
        case {"subject": list(files)}:
            return said, {str(f["name"]): str(f["digest"]["sha256"]) for f in files}, sealed.signers
        case _:
            raise RecordError(f"{path}: does not say what it is about")
