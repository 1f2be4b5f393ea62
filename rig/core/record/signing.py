"""Signed checkpoints: who vouches for a record, and to which point.

A checkpoint is an in-toto statement (the sha256 of every file, the trial id, the chain's head) in
a DSSE envelope signed with Ed25519. The key id *is* the public key, so anybody can check the
signature; whether the signer is to be trusted is another question, answered by a list of keys that
the reader of the record keeps.

The key is made on first use in ``$XDG_CONFIG_HOME/runrig/signing.pem`` (``~/.config`` without
XDG_CONFIG_HOME), readable by its owner only. To bring your own: point RUNRIG_SIGNING_KEY at an
unencrypted Ed25519 private key in PEM form (``openssl genpkey -algorithm ed25519``).
"""

import base64
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.core.record import strict
from rig.core.record.disk import Disk, publish
from rig.core.record.manifest import RECORD_SCHEMA

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FILE = "checkpoint.dsse.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:runrig:checkpoint:1"
KEY_ENVIRONMENT = "RUNRIG_SIGNING_KEY"
_PREFIX = "ed25519:"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 private key and its id, ``ed25519:`` and the public key in hex."""

    private: "Ed25519PrivateKey"
    key_id: str


def config_folder() -> Path:
    """Return the user's folder for keys."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "runrig"


def load_or_make_key() -> SigningKey:
    """Return the user's signing key, made now if there is none.

    Raises:
        UsageError: If a key is named or there but cannot be used.
        OSError: If a new key cannot be stored.
    """
    named = os.environ.get(KEY_ENVIRONMENT)
    path = Path(named) if named else config_folder() / "signing.pem"
    try:
        return _load(path)
    except FileNotFoundError:
        if named:
            raise UsageError(f"{KEY_ENVIRONMENT} names {path}, which is not there") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    return _make(path)


def _load(path: Path) -> SigningKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = path.read_bytes()
    if path.stat().st_mode & 0o077:
        raise UsageError(
            f"{path}: others may read this private key; `chmod 600 {path}` and consider a new one"
        )
    try:
        private = load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path}: not an unencrypted private key in PEM form: {error}") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError(f"{path}: {type(private).__name__}; checkpoints are signed with Ed25519")
    return SigningKey(private, _PREFIX + private.public_key().public_bytes_raw().hex())


def _make(path: Path) -> SigningKey:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = Ed25519PrivateKey.generate().private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # unlike a rename, never replaces the key another process has just made
    finally:
        draft.unlink(missing_ok=True)
    return _load(path)


def seal(
    disk: Disk, path: Path, subject: Mapping[str, str], point: tuple[str, int, str]
) -> tuple[str | None, str]:
    """Write the checkpoint of a record, signed if there is a key to sign with.

    Args:
        disk: The file layer.
        path: The checkpoint's file.
        subject: SHA-256 of every file that is evidence, by name.
        point: Trial id, number of the last event, its hash.

    Returns:
        The signer's key id, or None and why there is no signature: a trial is never lost for a key.

    Raises:
        OSError: If the checkpoint cannot be written.
    """
    key, reason = None, ""
    try:
        key = load_or_make_key()
    except (OSError, UsageError) as error:
        reason = f"no signing key: {error}"
    publish(disk, path, envelope(statement(subject, *point, wall_utc().isoformat()), key))
    return (None if key is None else key.key_id), reason


def statement(subject: Mapping[str, str], trial_id: str, seq: int, head: str, closed_utc: str) -> bytes:
    """Return the in-toto statement that vouches for a record.

    Args:
        subject: SHA-256 of every file that is evidence, by name.
        trial_id: Which trial.
        seq: Number of the last event.
        head: Its hash.
        closed_utc: Wall time, ISO 8601.
    """
    predicate: dict[str, object] = {
        "record_schema": RECORD_SCHEMA, "trial_id": trial_id, "seq": seq, "head": head,
        "closed_utc": closed_utc,
    }  # fmt: skip
    return in_toto(subject, PREDICATE_TYPE, predicate)


def in_toto(subject: Mapping[str, str], kind: str, predicate: Mapping[str, object]) -> bytes:
    """Return an in-toto statement.

    Args:
        subject: SHA-256 of every file it is about, by name.
        kind: URI of what is said.
        predicate: What is said, strict JSON.

    Raises:
        UsageError: If the predicate is not strict JSON.
    """
    return strict.dumps(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subject.items())
            ],
            "predicateType": kind,
            "predicate": strict.plain(predicate),
        },
        "statement",
    )


def envelope(payload: bytes, key: SigningKey | None) -> bytes:
    """Return the DSSE envelope of ``payload``; without a key it is unsigned."""
    signed = [] if key is None else [(key.key_id, key.private.sign(pre_authentication(payload)))]
    return _spelled(payload, signed)


def _spelled(payload: bytes, signed: Sequence[tuple[str, bytes]]) -> bytes:
    signatures = [{"keyid": key_id, "sig": base64.b64encode(sig).decode()} for key_id, sig in signed]
    text = {
        "payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": signatures,
    }  # fmt: skip
    return strict.dumps(text, "envelope") + b"\n"


def pre_authentication(payload: bytes) -> bytes:
    """Return the bytes a DSSE signature is over."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What an envelope says, not yet believed.

    Attributes:
        subject: SHA-256 by file name.
        trial_id: Which trial.
        seq: Number of the last event.
        head: Its hash.
        signers: Key ids whose signatures are right.
        forged: Key ids whose signatures are not.
    """

    subject: Mapping[str, str]
    trial_id: str
    seq: int
    head: str
    signers: tuple[str, ...]
    forged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sealed:
    """What an envelope holds, and whose signatures over it hold; nothing of it is believed yet."""

    payload: bytes
    signers: tuple[str, ...]
    forged: tuple[str, ...]


def unsealed(data: bytes) -> Sealed:
    """Return what an envelope holds.

    Raises:
        ValueError: If it is not an envelope as `envelope` spells it, down to the byte: a spelling
            that means the same is refused, so that no altered byte goes unseen.
    """
    match strict.loads(data):
        case {"payloadType": str(kind), "payload": str(coded), "signatures": list(signatures)}:
            payload = base64.b64decode(coded, validate=True)
        case _:
            raise ValueError("not a DSSE envelope")
    signed = [(str(s["keyid"]), base64.b64decode(s["sig"], validate=True)) for s in signatures]
    if kind != PAYLOAD_TYPE or _spelled(payload, signed) != data:
        raise ValueError("not spelled as this program spells an envelope")
    right = {key_id for key_id, signature in signed if signed_by(key_id, signature, payload)}
    good = tuple(key_id for key_id, _ in signed if key_id in right)
    bad = tuple(key_id for key_id, _ in signed if key_id not in right)
    return Sealed(payload, good, bad)


def opened(data: bytes) -> Checkpoint:
    """Return what a checkpoint's envelope says and whose signatures hold.

    Raises:
        ValueError: As for `unsealed`; also if it holds something else than a checkpoint.
    """
    sealed = unsealed(data)
    said = strict.loads(sealed.payload)
    match said:
        case {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": list(files),
            "predicateType": "urn:runrig:checkpoint:1",
            "predicate": {"record_schema": 1, "trial_id": str(trial_id), "seq": int(seq), "head": str(head)},
        }:
            subject = {str(f["name"]): str(f["digest"]["sha256"]) for f in files}
            return Checkpoint(subject, trial_id, seq, head, sealed.signers, sealed.forged)
        case _:
            raise ValueError("the payload is not a checkpoint of record schema 1")


def signed_by(key_id: str, signature: bytes, payload: bytes) -> bool:
    """Return whether the signature over ``payload`` is that of the key, spelled as `SigningKey` does."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = bytes.fromhex(key_id.removeprefix(_PREFIX))
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, pre_authentication(payload))
    except (ValueError, InvalidSignature):
        return False
    return key_id == _PREFIX + raw.hex()


def read_trusted(path: Path) -> frozenset[str]:
    """Return the key ids in a file: one a line, anything behind a blank is a remark, ``#`` comments.

    Raises:
        UsageError: If the file cannot be read or a line is not a key id.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a list of trusted keys: {error}") from None
    ids = [line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for key_id in ids:
        raw = key_id.removeprefix(_PREFIX)
        if raw == key_id or len(raw) != 64 or set(raw) - set("0123456789abcdef"):
            raise UsageError(f"{path}: {key_id!r} is not a key id (ed25519: and 64 hex digits)")
    return frozenset(ids)
