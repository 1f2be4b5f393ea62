"""How a model is asked, read from the agent's name: ``inspect:openai/gpt-5?temperature=0&max_tokens=800``."""

from typing import Annotated, Literal
from urllib.parse import parse_qsl

from pydantic import Field, ValidationError

from rig.agents.prompts import DEFAULT
from rig.core.errors import UsageError
from rig.core.toml_file import Table

PREFIX = "inspect:"


class Settings(Table):
    """What is set for a model beside its name.

    Attributes:
        calls: ``native`` tool calls, or a ``form`` to fill in for models that have none.
        prompt: Which prompt.
        window: Most messages of the conversation the model is shown beside the briefing.
        timeout_s: Longest a call may take, seconds.
        retries: Retries of a failed call; a failed call otherwise aborts the trial.
    """

    calls: Literal["native", "form"] = "native"
    prompt: str = DEFAULT
    window: Annotated[int, Field(ge=2, le=1000)] = 60
    timeout_s: Annotated[int, Field(ge=1, le=3600)] = 120
    retries: Annotated[int, Field(ge=0, le=10)] = 0
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    seed: int | None = None
    max_tokens: Annotated[int | None, Field(ge=16, le=100_000)] = 4096
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None


def parse_model(name: str) -> tuple[str, Settings]:
    """Return the model and how it is asked, from an agent's name.

    Raises:
        UsageError: If there is no model in it, or a setting is unknown or out of range.

    >>> parse_model("inspect:openai/gpt-5?temperature=0")[1].temperature
    0.0
    """
    model, _, query = name.removeprefix(PREFIX).partition("?")
    if "/" not in model:
        raise UsageError(f"{name}: name provider and model, as in inspect:openai/gpt-5")
    given = parse_qsl(query, keep_blank_values=True)
    twice = sorted({key for key, _ in given if sum(key == other for other, _ in given) > 1})
    if twice:
        raise UsageError(f"{name}: given twice: {', '.join(twice)}")
    try:
        return model, Settings.model_validate(dict(given))
    except ValidationError as error:
        lines = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']} (seen: {e['input']!r})" for e in error.errors()
        )
        raise UsageError(f"{name}: {lines}; settings are {', '.join(Settings.model_fields)}") from None
