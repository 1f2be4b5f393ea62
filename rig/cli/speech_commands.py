"""The commands about mistakes made in words; each imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(
    no_args_is_help=True, help="Mistakes made in words: labels of people and judges, and when they count."
)
Records = Annotated[Path, typer.Argument(help="A trial's folder, or a folder of them.", show_default=False)]
Labels = Annotated[
    list[Path], typer.Option("--labels", help="Labels, one JSON object a line; may be repeated.")
]
Day = Annotated[str | None, typer.Option(help="As of this day, YYYY-MM-DD; by default today.")]
Json = Annotated[bool, typer.Option("--json", help="Strict JSON.")]


@commands.command("criteria")
def speech_criteria() -> int:
    """List the speech criteria and what raters are asked."""
    from rig.cli.speech import list_criteria

    return list_criteria()


@commands.command("show")
def speech_show(record: Records) -> int:
    """Print what was said in a trial, as raters read it."""
    from rig.cli.speech import show_transcript

    return show_transcript(record)


@commands.command("ask")
def speech_ask(
    records: Records,
    model: Annotated[
        str, typer.Option(help="The judge, as in openai/gpt-5?temperature=0", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Labels are appended to this file.")],
) -> int:
    """Have a language model label trials, through Inspect AI."""
    from rig.cli.speech import ask_judge

    return ask_judge(records, model, out)


@commands.command("validate")
def speech_validate(
    labels: Labels,
    model: Annotated[str, typer.Option(help="The judge, as it was asked.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where the validation goes.")],
    reviews: Annotated[
        Path | None,
        typer.Option(help="Also people's labels in the reviews of these records, as they locked them blind."),
    ] = None,
    day: Day = None,
) -> int:
    """Compare a judge with people on the trials both labelled; exit 1 when it is not good enough."""
    from rig.cli.speech import validate_model

    return validate_model(labels, reviews, model, out, day)


@commands.command("grade")
def speech_grade(
    records: Records,
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", help="Labels beside those in the records' reviews; may be repeated."),
    ] = None,
    validation: Annotated[
        list[Path] | None, typer.Option("--validation", help="Of a judge; may be repeated.")
    ] = None,
    day: Day = None,
    as_json: Json = False,
) -> int:
    """Say what each trial comes to with what was said taken in; exit 1 when anything stays UNSCORED."""
    from rig.cli.speech import grade_speech

    return grade_speech(records, labels or [], validation or [], day, as_json)
