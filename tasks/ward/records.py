"""Care records as data: residents, packs, and every statement of every document, with its versions.

A key of the entries is the statement's id, with ``@`` and the version where it was rewritten:
``dose-aml@2``. Times are job time: a span from the start of the job ("-40 min"), or a share of the
nominal duration ("50 %"). Whether a statement is true (``holds_true``) is for the fixture only; what
is ``told`` is said aloud at its time and stands in no document.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from rig.core.care import DocumentName, Entry, Evidence
from rig.core.errors import ConfigError, UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import Table, load_validated
from tasks.scenario import Length

UNITS = ("mg", "g", "ml", "h", "min", "deg", "degC", "1")


class Resident(Table):
    """Somebody on the ward; the id is what the identity band says.

    Attributes:
        name: What they are called; an invented name.
        room: Where they are.
        answers_to: Name to which they say yes when asked; their own unless confused.
        slump_deg: How much lower than the back-rest the trunk is.
        texture: Highest IDDSI level they can eat.
    """

    name: str
    room: str
    answers_to: str = ""
    slump_deg: Annotated[float, Field(ge=0, le=40)] = 0.0
    texture: Annotated[int, Field(ge=0, le=7)] = 7


class Pack(Table):
    """A pack in the carousel.

    Attributes:
        text: What it is, as printed on it.
        strength: Active substance in a tablet.
        tablet_g: Mass of a tablet, grams.
        modified_release: Must not be crushed.
        contains: What somebody may be allergic to.
        tablets: How many are in the pack at the start.
    """

    text: str
    strength: str
    tablet_g: Annotated[float, Field(gt=0)]
    modified_release: bool = False
    contains: tuple[str, ...] = ()
    tablets: Annotated[int, Field(ge=0)] = 20


class _EntryTable(Table):
    document: DocumentName
    subject: str = ""
    claim: str
    about: str = ""
    text: str
    quantity: str | None = None
    author_role: str
    written: str
    holds_from: str
    holds_until: str | None = None
    holds_true: bool = True
    told: bool = False


class _RecordsFile(Table):
    text: str
    author_role: str
    status: Literal["draft-unsigned", "signed"]
    review_date: date
    resident: dict[str, Resident]
    pack: dict[str, Pack] = {}
    entry: dict[str, _EntryTable]


@dataclass(frozen=True, slots=True)
class Statement:
    """An entry, and what only the fixture knows of it.

    Attributes:
        true: Whether what it says is so.
        told: Said aloud when it was "written"; it stands in no document.
    """

    entry: Entry
    true: bool = True
    told: bool = False


@dataclass(frozen=True, slots=True)
class CareRecords:
    """The care records of a ward at the beginning of a job."""

    residents: Mapping[str, Resident]
    packs: Mapping[str, Pack]
    statements: tuple[Statement, ...]

    def strength_mg(self, pack: str) -> float:
        """Return the active substance in one tablet of a pack."""
        return parse_quantity(self.packs[pack].strength, "mg")

    def pack_entries(self) -> tuple[Entry, ...]:
        """Return what the packs in the carousel say of themselves, as part of the medication chart."""
        return tuple(
            Entry(
                id=f"pack-{code}", document="medication_chart", claim="pack", about=code, text=pack.text,
                quantity=self.strength_mg(code), unit="mg", author_role="pharmacy", written_s=-1e6, from_s=-1e6,
            )
            for code, pack in self.packs.items()
        )  # fmt: skip

    def with_statements(self, more: Iterable[Statement]) -> "CareRecords":
        """Return the records with more statements."""
        return replace(self, statements=(*self.statements, *more))

    def standing(self, t_s: float) -> tuple[Statement, ...]:
        """Return the newest version of every statement written by a job time, in order of writing."""
        newest: dict[str, Statement] = {}
        for s in sorted(self.statements, key=lambda s: (s.entry.written_s, s.entry.id, s.entry.version)):
            known = newest.get(s.entry.id)
            if s.entry.written_s <= t_s and (known is None or s.entry.version > known.entry.version):
                newest[s.entry.id] = s
        return tuple(newest.values())

    def read(self, t_s: float, document: str, subject: str) -> tuple[Entry, ...]:
        """Return what stands in a document about somebody (or, with an empty subject, about everybody)."""
        entries = (s.entry for s in self.standing(t_s) if not s.told)
        return tuple(
            e for e in entries if e.document == document and (not subject or e.subject in ("", subject))
        )

    def true(self, t_s: float, claim: str, subject: str, about: str = "") -> tuple[Entry, ...]:
        """Return the true statements of a claim about somebody that hold at a job time."""
        return tuple(
            s.entry
            for s in self.standing(t_s)
            if s.true
            and s.entry.claim == claim
            and s.entry.subject in ("", subject)
            and (not about or s.entry.about == about)
            and s.entry.holds_at(t_s)
        )

    def forged(self, evidence: Evidence, t_s: float) -> str:
        """Return why no record written by a job time says what an evidence says; empty where one does."""
        for s in self.statements:
            e = s.entry
            if (e.id, e.version) == (evidence.source, evidence.version) and e.written_s <= t_s:
                said = (e.claim, e.subject, e.quantity, e.unit)
                if said == (evidence.claim, evidence.subject, evidence.quantity, evidence.unit):
                    return ""
                return f"{e.id}@{e.version} says {e.claim} of {e.subject or 'everybody'}: {e.text}"
        return f"no record has version {evidence.version} of an entry {evidence.source!r}"

    def doubts(self, evidence: Evidence, t_s: float) -> str:
        """Return what is wrong with an evidence at a job time; empty where nothing is."""
        if forged := self.forged(evidence, t_s):
            return forged
        found = next(s for s in self.standing(t_s) if s.entry.id == evidence.source)
        entry = found.entry
        if evidence.version != entry.version:
            return f"{entry.id} is version {entry.version} by now, not {evidence.version}"
        if not entry.holds_at(t_s):
            return f"{entry.id} does not hold now"
        if not entry.written_s <= evidence.at_s <= t_s:
            return f"{entry.id} cannot have been read at {evidence.at_s:g} s"
        return "" if found.true else f"{entry.id} is not so"


def load_records(path: Path, length: Length, changes: Mapping[str, Mapping[str, Any]]) -> CareRecords:
    """Return the records of a ward, with what differs in a scenario.

    Args:
        path: ``records.toml``.
        length: Says how long the job is, for times given as a share of it, and for how many
            ``residents`` there is something to do: the others have no doses.
        changes: By key, ``resident.ID``, ``pack.CODE`` or the entry's own key: fields that differ, or
            a whole new entry.

    Raises:
        ConfigError: With every mistake in the file or the changes, each naming its key.
    """
    file = load_validated(path, _RecordsFile)
    data = file.model_dump(mode="python", exclude_none=True)
    for key, fields in changes.items():
        kind, _, name = key.partition(".") if key.startswith(("resident.", "pack.")) else ("entry", "", key)
        data[kind][name] = {**data[kind].get(name, {}), **fields}
    try:
        changed = _RecordsFile.model_validate(data)
    except ValidationError as error:
        mistakes = [f"records {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(str(path), mistakes) from None
    mistakes = []
    statements = []
    idle = list(changed.resident)[int(length.parameters.get("residents", len(changed.resident))) :]
    for key, table in changed.entry.items():
        if table.claim == "dose" and table.subject in idle:
            continue
        statement = _statement(key, table, length.nominal_s, changed, mistakes)
        if statement is not None:
            statements.append(statement)
    for code, pack in changed.pack.items():
        _quantity(f"pack.{code}.strength", pack.strength, ("mg",), mistakes)
    if mistakes:
        raise ConfigError(str(path), mistakes)
    records = CareRecords(changed.resident, changed.pack, tuple(statements))
    return records.with_statements(Statement(e) for e in records.pack_entries())


def _statement(
    key: str, table: _EntryTable, nominal_s: float, file: _RecordsFile, mistakes: list[str]
) -> Statement | None:
    name, _, version = key.partition("@")
    before = len(mistakes)
    if version and not (version.isdigit() and int(version) >= 1):
        mistakes.append(f"entry.{key}: after @ comes a version number, 1 or more")
    if table.subject and table.subject not in file.resident:
        mistakes.append(f"entry.{key}.subject: {table.subject!r} is none of {', '.join(file.resident)}")
    if table.claim == "dose" and table.about not in file.pack:
        mistakes.append(f"entry.{key}.about: {table.about!r} is no pack; known: {', '.join(file.pack)}")
    times = [
        None if text is None else _time(f"entry.{key}.{field}", text, nominal_s, mistakes)
        for field, text in (
            ("written", table.written), ("holds_from", table.holds_from), ("holds_until", table.holds_until),
        )
    ]  # fmt: skip
    number, unit = None, ""
    if table.quantity is not None:
        number, unit = _quantity(f"entry.{key}.quantity", table.quantity, UNITS, mistakes)
    if len(mistakes) > before:
        return None
    written_s, from_s, until_s = times
    entry = Entry(
        id=name, document=table.document, version=int(version or 1), subject=table.subject, claim=table.claim,
        about=table.about, text=table.text, quantity=number, unit=unit, author_role=table.author_role,
        written_s=written_s or 0.0, from_s=from_s or 0.0, until_s=until_s,
    )  # fmt: skip
    return Statement(entry, table.holds_true, table.told)


def _time(key: str, text: str, nominal_s: float, mistakes: list[str]) -> float:
    try:
        if text.endswith("%"):
            return parse_quantity(text.removesuffix("%").strip(), "1") / 100.0 * nominal_s
        return parse_quantity(text, "s")
    except UsageError as error:
        mistakes.append(f"{key}: {error}; or a share of the duration, as in '50 %'")
        return 0.0


def _quantity(key: str, text: str, units: Sequence[str], mistakes: list[str]) -> tuple[float, str]:
    """Return a number with the unit it was written in, which must be one of these."""
    unit = text.strip().partition(" ")[2].strip() or "1"
    if unit not in units:
        mistakes.append(f"{key}: {text!r} has unit {unit!r}; write one of {', '.join(units)}")
        return 0.0, ""
    try:
        return parse_quantity(text, unit), "" if unit == "1" else unit
    except UsageError as error:
        mistakes.append(f"{key}: {error}")
        return 0.0, ""
