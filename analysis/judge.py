"""A language model as a rater of speech: what it is asked, what its answer is, and whether its labels count.

Pure: asking is the caller's (`runrig speech ask`). A judge is a model with a prompt; its identity is the digest of
both. Its labels count on a criterion only while a validation of that very judge, against people who labelled the same
trials, is there, good enough and in date.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, ValidationError

from analysis.raters import JudgeValidation, validate_judge
from analysis.speech import Found, Label, SpeechCriterion, SpeechVerdict, load_criteria, spoke, verdict
from rig.core.errors import ConfigError, UsageError
from rig.core.record import Record
from rig.core.toml_file import Table, parse_validated

_PROMPT = Path(__file__).parent / "speech_data" / "judge.toml"
VALID_DAYS = 90
"""A validation older than this has to be made again; a proposal."""


class JudgePrompt(Table):
    """What a judge is asked; `question` takes notes, transcript and question."""

    name: str
    version: int
    status: Literal["draft-unsigned", "signed"]
    author_role: str
    review_date: date
    system: str
    question: str


@dataclass(frozen=True, slots=True)
class Judge:
    """A model with a prompt.

    Attributes:
        model: Provider and name, settings included.
        prompt: What it is asked.
        prompt_sha256: Digest of the prompt's file.
    """

    model: str
    prompt: JudgePrompt
    prompt_sha256: str

    @property
    def rater(self) -> str:
        """Its name on labels: changes with the model, its settings and the prompt."""
        whole = f"{self.model}\0{self.prompt_sha256}".encode()
        return f"judge:{hashlib.sha256(whole).hexdigest()[:16]}"

    def asked(self, criterion: SpeechCriterion, transcript: str, notes: Sequence[str]) -> str:
        """Return what it is asked about one criterion of one trial."""
        fenced = transcript.replace("</transcript>", "</ transcript>")  # nobody speaks their way out of it
        return self.prompt.question.strip().format(
            notes="\n".join(f"- {note}" for note in notes), transcript=fenced, question=criterion.question
        )


@cache
def _prompt() -> tuple[JudgePrompt, str]:
    raw = _PROMPT.read_bytes()
    return parse_validated(raw, str(_PROMPT), JudgePrompt), hashlib.sha256(raw).hexdigest()


def judge_of(model: str) -> Judge:
    """Return the judge that is this model with the present prompt."""
    return Judge(model, *_prompt())


class _Answer(Table):
    found: Found
    event: int | None = None
    why: str = Field(default="", max_length=2000)


def label_of(judge: Judge, answer: str, *, trial_id: str, cluster: str, criterion: str, events: int) -> Label:
    """Return the label in a judge's answer; what cannot be read, or names no event, is unclear.

    Args:
        judge: Whose answer.
        answer: Its text; the JSON object may stand among other words.
        trial_id: Of which trial.
        cluster: The trial's item.
        criterion: About which criterion.
        events: Number of events in the record: a mistake must point at one of them.
    """

    def label(found: Found, event: int | None, why: str) -> Label:
        return Label(
            trial_id=trial_id,
            cluster=cluster,
            criterion=criterion,
            rater=judge.rater,
            found=found,
            event=event,
            why=why,
        )

    start, stop = answer.find("{"), answer.rfind("}")
    try:
        given = _Answer.model_validate_json(answer[start : stop + 1])
    except ValidationError:
        return label(Found.UNCLEAR, None, "the judge's answer could not be read")
    if given.found is Found.MISTAKE and not (given.event is not None and 0 <= given.event < events):
        return label(Found.UNCLEAR, None, "the judge named a mistake but no event of this record")
    return label(given.found, given.event if given.found is Found.MISTAKE else None, given.why)


class Bounds(Table):
    """An interval of a share."""

    low: float
    high: float


class CriterionValidation(Table):
    """How a judge did on one criterion.

    Attributes:
        trials: Trials that people and judge labelled.
        clusters: Items they are of.
        confusion: People / judge: mistake/mistake, mistake/none, none/mistake, none/none.
        unclear: Trials the judge was unsure of; they count as the answer that is wrong.
        catches: Share of people's mistakes that the judge finds.
        spares: Share of people's clean trials that the judge leaves alone.
        conflict: Share of trials in which they differ.
        kappa: Agreement beyond chance, lowest that is plausible.
        against: Why its labels do not count; empty if they do.
    """

    trials: int
    clusters: int
    confusion: tuple[int, int, int, int]
    unclear: int
    catches: Bounds
    spares: Bounds
    conflict: Bounds
    kappa: Bounds
    against: tuple[str, ...]


class Validation(Table):
    """A judge compared with people, criterion by criterion."""

    judge: str
    model: str
    prompt_sha256: str
    made_on: date
    valid_days: int = VALID_DAYS
    criteria: dict[str, CriterionValidation]

    def against(self, rater: str, criterion: str, on: date) -> str | None:
        """Return why a judge's label on a criterion does not count on a day; None if it does."""
        age = (on - self.made_on).days
        if self.judge != rater:
            return "the validation is of another judge: model, settings or prompt differ"
        if age < 0:
            return f"the validation is dated {self.made_on}, after the day asked for"
        if age > self.valid_days:
            return f"the validation is {age} days old; it was good for {self.valid_days}"
        if criterion not in self.criteria:
            return f"the judge was never validated on {criterion}"
        reasons = self.criteria[criterion].against
        return f"the judge is not good enough: {reasons[0]}" if reasons else None


def validate(judge: Judge, labels: Sequence[Label], made_on: date, seed: int = 0) -> Validation:
    """Compare a judge's labels with people's on the trials that both labelled.

    People's label of a trial is what they agree on, or what a third person settled; where there is neither, the trial
    says nothing of the judge.

    Raises:
        UsageError: If there is no trial that both labelled.
    """
    criteria = {}
    for criterion in sorted({label.criterion for label in labels}):
        pairs = _pairs(judge.rater, [label for label in labels if label.criterion == criterion])
        if pairs:
            criteria[criterion] = _validated(pairs, seed)
    if not criteria:
        raise UsageError(
            "people and judge have labelled no trial in common: there is nothing to validate with"
        )
    return Validation(
        judge=judge.rater,
        model=judge.model,
        prompt_sha256=judge.prompt_sha256,
        made_on=made_on,
        criteria=criteria,
    )


def read_validation(path: Path) -> Validation:
    """Return a validation from its file.

    Raises:
        ConfigError: If it is not one.
    """
    try:
        return Validation.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error}"]) from None
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()]
        raise ConfigError(str(path), lines) from None


Pair = tuple[str, bool, Found]


def _pairs(rater: str, labels: Sequence[Label]) -> list[Pair]:
    """Return cluster, people's label and the judge's for every trial that both labelled."""
    people: dict[str, set[Found]] = {}
    judged: Mapping[str, Label] = {label.trial_id: label for label in labels if label.rater == rater}
    settled = {label.trial_id: label.found for label in labels if label.settles}
    for label in labels:
        if not label.by_judge:
            found = settled.get(label.trial_id, label.found)
            people.setdefault(label.trial_id, set()).add(found)
    return [
        (judged[trial].cluster, said == {Found.MISTAKE}, judged[trial].found)
        for trial, said in sorted(people.items())
        if trial in judged and len(said) == 1 and Found.UNCLEAR not in said
    ]


def _validated(pairs: Sequence[Pair], seed: int) -> CriterionValidation:
    clusters, code = np.unique([cluster for cluster, _, _ in pairs], return_inverse=True)
    clean = np.array([not mistake for _, mistake, _ in pairs])
    # Unsure is wrong: a judge may not grow better by passing.
    says_clean = np.array(
        [mistake if found is Found.UNCLEAR else found is Found.NONE for _, mistake, found in pairs]
    )
    result: JudgeValidation = validate_judge(clean, says_clean, cluster=code, seed=seed)
    true_mistake, missed, false_alarm, true_clean = result.confusion
    unclear = sum(found is Found.UNCLEAR for _, _, found in pairs)
    kappa = result.kappa.interval
    return CriterionValidation(
        trials=len(pairs),
        clusters=len(clusters),
        confusion=(true_mistake, missed, false_alarm, true_clean),
        unclear=unclear,
        catches=Bounds(low=result.specificity.low, high=result.specificity.high),
        spares=Bounds(low=result.sensitivity.low, high=result.sensitivity.high),
        conflict=Bounds(low=result.conflict.low, high=result.conflict.high),
        kappa=Bounds(low=kappa.low, high=kappa.high),
        against=result.reasons,
    )


def speech_verdicts(
    record: Record, labels: Sequence[Label], validations: Sequence[Validation], on: date
) -> list[SpeechVerdict]:
    """Return what the labels of a trial come to, criterion by criterion.

    Args:
        record: The trial.
        labels: Of any trials.
        validations: Of judges.
        on: The day on which a judge's validation has to be in date.
    """
    criteria = load_criteria().criteria
    if not spoke(record):
        return [
            SpeechVerdict(name, c.severity, False, "the agent said nothing") for name, c in criteria.items()
        ]
    found = []
    for criterion in criteria:
        mine = [x for x in labels if x.trial_id == record.trial_id and x.criterion == criterion]
        counts = {x.rater: _against(x.rater, criterion, validations, on) for x in mine if x.by_judge}
        found.append(verdict(criterion, mine, counts))
    return found


def _against(rater: str, criterion: str, validations: Sequence[Validation], on: date) -> str | None:
    """Return why a judge's label does not count, None if one of the validations says it does."""
    reasons = [v.against(rater, criterion, on) for v in validations]
    if any(reason is None for reason in reasons):
        return None
    return next((reason for reason in reasons if reason), "it has no validation")


def dumped(validation: Validation) -> str:
    """Return a validation as its file's text."""
    return json.dumps(validation.model_dump(mode="json"), indent=2) + "\n"
