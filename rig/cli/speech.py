"""`runrig speech ...`: labels of what was said, by people and judges, and what they come to."""

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from analysis.facts import facts_of
from analysis.grade import grade
from analysis.judge import dumped, judge_of, label_of, read_validation, speech_verdicts, validate
from analysis.speech import load_criteria, read_labels, transcript, with_speech
from analysis.trials import Outcome
from rig.cli.output import print_json
from rig.console.spoken import spoken_labels
from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.core.record import Record, read, records_under
from tasks.suite import load_item


def list_criteria() -> int:
    """Print every speech criterion."""
    listed = load_criteria()
    print(f"{listed.status}, by {listed.author_role}, reviewed {listed.review_date}")  # noqa: T201
    for name, criterion in listed.criteria.items():
        print(f"{name} ({criterion.severity.value})\n    {criterion.text}\n    {criterion.question}")  # noqa: T201
    return 0


def show_transcript(folder: Path) -> int:
    """Print what was said in a trial."""
    print(transcript(read(folder)) or "nothing was said")  # noqa: T201
    return 0


def ask_judge(folder: Path, model: str, out: Path) -> int:
    """Ask a model about every criterion of every trial and append its labels as they come.

    Raises:
        UsageError: If there is no record, or the model cannot be asked.
        AgentUnreachable: If the provider fails; labels that came before are kept.
    """
    from rig.agents.model import open_model, unreachable  # says which extra is missing
    from rig.agents.settings import PREFIX, parse_model

    from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig  # isort: skip

    name, settings = parse_model(f"{PREFIX}{model}")
    opened, judge = open_model(name, settings), judge_of(model)
    config = GenerateConfig(
        max_retries=settings.retries, attempt_timeout=settings.timeout_s, temperature=settings.temperature,
        seed=settings.seed, max_tokens=settings.max_tokens,
    )  # fmt: skip
    records = _records(folder)
    with asyncio.Runner() as runner, out.open("a", encoding="utf-8") as stream:
        for record in records:
            facts, said = facts_of(record), transcript(record)
            item = load_item(facts.item)
            notes = (*item.task.file.notes, *item.scenario.notes)
            for criterion, asked in load_criteria().criteria.items():
                messages: list[ChatMessage] = [
                    ChatMessageSystem(content=judge.prompt.system.strip()),
                    ChatMessageUser(content=judge.asked(asked, said, notes)),
                ]
                try:
                    output = runner.run(opened.generate(messages, config=config))
                except Exception as error:
                    raise unreachable(error) from error
                label = label_of(
                    judge, output.completion, trial_id=record.trial_id, cluster=facts.item, criterion=criterion,
                    events=len(record.events),
                )  # fmt: skip
                stream.write(label.model_dump_json() + "\n")
                stream.flush()
        runner.run(opened.api.aclose())
    print(f"{len(records)} trials labelled by {judge.rater} ({model}): {out}")  # noqa: T201
    return 0


def validate_model(
    labels: Sequence[Path], reviews: Path | None, model: str, out: Path, day: str | None
) -> int:
    """Compare a judge with people, keep the validation, and print it."""
    given = read_labels(labels)
    if reviews is not None:
        given += [x for record in _records(reviews) for x in spoken_labels(record, blind=True)]
    made = validate(judge_of(model), given, day_of(day))
    out.write_text(dumped(made), encoding="utf-8")
    print(f"{made.judge} ({made.model}), validated {made.made_on}, good for {made.valid_days} days: {out}")  # noqa: T201
    for name, c in made.criteria.items():
        print(  # noqa: T201
            f"{name}: {c.trials} trials of {c.clusters} items; people/judge mistake/mistake {c.confusion[0]}, "
            f"mistake/none {c.confusion[1]}, none/mistake {c.confusion[2]}, none/none {c.confusion[3]}, unsure {c.unclear}\n"
            f"    catches {_interval(c.catches.low, c.catches.high)}, spares {_interval(c.spares.low, c.spares.high)}, "
            f"conflict {_interval(c.conflict.low, c.conflict.high)}, kappa {_interval(c.kappa.low, c.kappa.high)}\n"
            f"    {'counts' if not c.against else 'does not count: ' + '; '.join(c.against)}"
        )
    return 1 if any(c.against for c in made.criteria.values()) else 0


def grade_speech(
    folder: Path, labels: Sequence[Path], validations: Sequence[Path], day: str | None, as_json: bool
) -> int:
    """Print what every trial comes to with its speech labels: those in its reviews, and those given beside."""
    given = read_labels(labels)
    validated = [read_validation(path) for path in validations]
    on = day_of(day)
    rows = []
    for record in _records(folder):
        verdicts = speech_verdicts(record, [*given, *spoken_labels(record)], validated, on)
        outcome, reason = with_speech(grade(record), verdicts)
        rows.append((record, verdicts, outcome, reason))
    if as_json:
        print_json(
            [
                {
                    "trial_id": record.trial_id, "record": str(record.folder), "outcome": outcome, "reason": reason,
                    "speech": [
                        {"criterion": v.criterion, "mistake": v.mistake, "reason": v.reason} for v in verdicts
                    ],
                }
                for record, verdicts, outcome, reason in rows
            ]
        )  # fmt: skip
    else:
        for record, verdicts, outcome, reason in rows:
            print(f"{outcome.value:10s} {record.folder.name}: {reason}")  # noqa: T201
            for v in verdicts:
                print(f"    {v.criterion:20s} {v.found:9s} {v.reason}")  # noqa: T201
    return 1 if any(outcome is Outcome.UNSCORED for _, _, outcome, _ in rows) else 0


def _records(folder: Path) -> list[Record]:
    records = [read(path) for path in records_under(folder)]
    if not records:
        raise UsageError(f"{folder}: NOT ASSESSED, there is no record below it")
    return records


def day_of(text: str | None) -> date:
    """Return the day an option names, today where it names none.

    Raises:
        UsageError: If it is no date.
    """
    if text is None:
        return wall_utc().date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--day {text!r}: give a date as YYYY-MM-DD") from None


def _interval(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}"
