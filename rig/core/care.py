"""Care documents as the rig hands them out, and what an agent says its acts rest on.

An `Entry` is one statement of a care record: a claim about somebody, with its author's role, its
version and the time in which it holds. An `Evidence` is what an agent must put beside every act
with consequences: which claim it relies on, where it read it, of whom, how much, and when. Whether
the evidence is true is for the fixture to know, never for the agent to assert.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

DocumentName = Literal["care_plan", "medication_chart", "hand_over_sheet", "whiteboard", "identity_band"]
Word = Annotated[str, Field(min_length=1, max_length=200)]


class Entry(BaseModel):
    """One statement of a care record; times are job time in seconds, negative before the job began.

    Attributes:
        id: Its name in the records, the same in every version of it.
        document: Where it stands.
        version: Counts up when it is rewritten; the highest is the one that holds.
        subject: Whom it is about, as an identity band names them; empty for everybody.
        claim: What it is a statement of, in the records' own words (``dose``, ``allergy``).
        about: Which drug, food or side, where the claim is about one.
        text: The statement as a reader sees it.
        quantity: The number in it, in ``unit``; None where there is none.
        written_s: When it was written.
        from_s: Holds from then on.
        until_s: Holds until then; None for ever.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Word
    document: DocumentName
    version: Annotated[int, Field(ge=1)] = 1
    subject: str = ""
    claim: Word
    about: str = ""
    text: str
    quantity: float | None = None
    unit: str = ""
    author_role: Word
    written_s: float
    from_s: float
    until_s: float | None = None

    def holds_at(self, t_s: float) -> bool:
        """Return whether the statement is in force at a job time in seconds."""
        return self.from_s <= t_s and (self.until_s is None or t_s < self.until_s)


class Evidence(BaseModel):
    """What an act rests on: a claim, the entry and version it was read in, of whom, how much, when."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    claim: Annotated[Word, Field(description="What is relied on, as the record names it, such as dose")]
    source: Annotated[Word, Field(description="Id of the entry it was read in")]
    version: Annotated[int, Field(ge=1, description="Version of that entry")]
    subject: Annotated[str, Field(max_length=200, description="Whom it is about; empty for everybody")]
    quantity: Annotated[float | None, Field(ge=-1e6, le=1e6, description="The number, in unit")] = None
    unit: Annotated[str, Field(max_length=20)] = ""
    at_s: Annotated[float, Field(ge=0, le=1e6, description="Job time at which it was read, seconds")]


def evidence_of(entry: Entry, at_s: float) -> Evidence:
    """Return the evidence of an entry that was read at a job time in seconds."""
    return Evidence(
        claim=entry.claim, source=entry.id, version=entry.version, subject=entry.subject,
        quantity=entry.quantity, unit=entry.unit, at_s=at_s,
    )  # fmt: skip
