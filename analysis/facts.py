"""What a record's manifest says of its trial, checked before anything relies on it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rig.core.errors import RecordError
from rig.core.record import Record
from tasks.rubric import Rubric


class TrialKey(BaseModel):
    """What makes a trial this trial."""

    model_config = ConfigDict(frozen=True)

    item: str
    agent: str
    bench: str
    monitor: Literal["shadow", "guard"]
    seed: int
    repeat: int = 0
    think: str = "charged"
    cameras: str = "fitted"


class TrialFacts(BaseModel):
    """The part of a manifest the analysis relies on.

    Attributes:
        comparable: Digest of what must agree between trials that are fitted together.
        nominal_s: A competent carer's time for the job.
        rubric: What counted as done and as harm when the trial was run.
    """

    model_config = ConfigDict(frozen=True)

    key: TrialKey
    comparable: str
    task: str
    family: str
    tier: Literal[1, 2, 3]
    item: str
    kind: str
    hazard: str | None
    nominal_s: float
    embodiment: Literal["simulated", "emulated", "physical"]
    site: str
    rubric: Rubric


def facts_of(record: Record) -> TrialFacts:
    """Return what the manifest says of the trial.

    Raises:
        RecordError: If the manifest lacks something or says something that cannot be.
    """
    try:
        return TrialFacts.model_validate(dict(record.manifest))
    except ValidationError as error:
        lines = [f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()]
        raise RecordError(f"{record.folder}: not the record of a trial: {'; '.join(lines)}") from None
