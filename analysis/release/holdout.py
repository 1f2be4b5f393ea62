"""A sealed set of trials that must not become feedback: who asked how often, and what was answered.

The set itself is known by its SHA-256 alone. Every question is a line in a chained ledger, written before it
is answered; the answer is pass or fail of the gate, nothing finer. When the budget is spent one question too
often, or the set's canary is found anywhere else, the set is burnt: nothing answered by it counts any more.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import Field

from rig.core.errors import RecordError, UsageError
from rig.core.toml_file import Table, load_validated

HOLDOUT: Final = "holdout"
"""Folder beside the records for a set that a policy asks for."""
COMMITMENT: Final = "holdout.toml"
LEDGER: Final = "holdout.jsonl"
MOST_SCANNED: Final = 64 * 2**20


class Commitment(Table):
    """``holdout.toml``: what is known of a sealed set before it is opened.

    Attributes:
        sha256: Of the sealed file.
        budget: Questions it may answer in its life.
        canary: A string in the sealed file that must be nowhere else.
        rotate_by: When it is published and replaced.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    budget: int = Field(ge=1)
    canary: str = Field(min_length=16)
    rotate_by: datetime


class Answer(StrEnum):
    """All that a sealed set says."""

    PASS = "pass"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to the sealed set.

    Attributes:
        number: From 1.
        candidate: Identity of the configuration asked about.
        asker_role: Who asked.
        utc: When.
        answer: What was answered; None while it is not.
    """

    number: int
    candidate: str
    asker_role: str
    utc: str
    answer: Answer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdout:
    """A sealed set and its life so far.

    Attributes:
        burnt: Why it does not count any more; empty while it does.
    """

    commitment: Commitment
    queries: tuple[Query, ...]
    burnt: str

    @property
    def left(self) -> int:
        """Questions left."""
        return max(0, self.commitment.budget - len(self.queries))


def open_holdout(folder: Path, now: datetime | None = None) -> Holdout:
    """Return the sealed set of a folder.

    Args:
        folder: Where the commitment is.
        now: The time; None for that of its last question, for an answer given in time stays one.

    Raises:
        ConfigError: If the commitment is wrong.
        RecordError: If the ledger was altered.
    """
    commitment = load_validated(folder / COMMITMENT, Commitment)
    lines = _lines(folder)
    queries: dict[int, Query] = {}
    burnt = ""
    for said in lines:
        match said:
            case {"ask": int(number), "candidate": str(candidate), "role": str(role), "utc": str(utc)}:
                queries[number] = Query(
                    number=number, candidate=candidate, asker_role=role, utc=utc, answer=None
                )
            case {"answered": int(number), "answer": str(answer)} if number in queries:
                asked = queries[number]
                queries[number] = Query(number=number, candidate=asked.candidate, asker_role=asked.asker_role,
                                        utc=asked.utc, answer=Answer(answer))  # fmt: skip
            case {"burnt": str(why)}:
                burnt = burnt or why
            case _:
                raise RecordError(f"{folder / LEDGER}: holds a line that is no question, answer or burning")
    asked_last = max((datetime.fromisoformat(q.utc) for q in queries.values()), default=None)
    if not burnt and (at := now or asked_last) and at > commitment.rotate_by:
        burnt = f"it was to be rotated by {commitment.rotate_by.date()}"
    return Holdout(commitment=commitment, queries=tuple(queries.values()), burnt=burnt)


def ask(folder: Path, candidate: str, asker_role: str, now: datetime) -> Query:
    """Write down a question; it counts from this moment, answered or not.

    Raises:
        UsageError: If the set is burnt, or the question is one too many, which burns it.
        RecordError: If the ledger was altered.
    """
    holdout = open_holdout(folder, now)
    if holdout.burnt:
        raise UsageError(f"{folder}: the sealed set is burnt: {holdout.burnt}; seal a new one")
    if not holdout.left:
        why = f"question {len(holdout.queries) + 1} of a budget of {holdout.commitment.budget}"
        _append(folder, {"burnt": why})
        raise UsageError(f"{folder}: {why}: the sealed set is burnt by it; seal a new one")
    number = len(holdout.queries) + 1
    _append(folder, {"ask": number, "candidate": candidate, "role": asker_role, "utc": now.isoformat()})
    return open_holdout(folder, now).queries[-1]


def answer(folder: Path, number: int, passed: bool) -> None:
    """Write down what was answered: pass or fail, nothing finer.

    Raises:
        RecordError: If the ledger was altered.
    """
    _append(folder, {"answered": number, "answer": str(Answer.PASS if passed else Answer.FAIL)})


def scan(folder: Path, paths: Iterable[Path], sealed: Path | None, now: datetime) -> tuple[Path, ...]:
    """Look for the set's canary where it must not be, and burn the set where it is found.

    Args:
        folder: Where the commitment is.
        paths: Files and folders to look through: prompts, memories, training data, other records.
        sealed: The sealed file itself, where it may be.
        now: The time.

    Raises:
        RecordError: If the ledger was altered.
    """
    canary = open_holdout(folder, now).commitment.canary.encode()
    own = {(folder / COMMITMENT).resolve()} | ({sealed.resolve()} if sealed else set())
    found = []
    for path in _files(paths):
        if path.resolve() in own or path.stat().st_size > MOST_SCANNED:
            continue
        if canary in path.read_bytes():
            found.append(path)
    if found and not open_holdout(folder, now).burnt:
        _append(folder, {"burnt": f"its canary was found in {len(found)} files, {found[0].name} the first"})
    return tuple(found)


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield from (p for p in sorted(path.rglob("*")) if p.is_file()) if path.is_dir() else (path,)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _lines(folder: Path) -> list[dict[str, object]]:
    path = folder / LEDGER
    if not path.exists():
        return []
    found, link = [], ""
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            said = json.loads(line)
        except ValueError:
            raise RecordError(f"{path}, line {number}: is torn or was altered") from None
        if not isinstance(said, dict) or said.pop("after", None) != link:
            raise RecordError(
                f"{path}, line {number}: does not follow the line before it: one is missing or altered"
            )
        link = _sha256(line)
        found.append(said)
    return found


def _append(folder: Path, said: dict[str, object]) -> None:
    path = folder / LEDGER
    before = path.read_bytes().splitlines() if path.exists() else []
    _lines(folder)
    line = json.dumps({**said, "after": _sha256(before[-1]) if before else ""}, sort_keys=True) + "\n"
    with path.open("ab") as file:
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())
