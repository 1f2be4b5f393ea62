"""The conversation between rig and model, in Inspect AI's messages; pure, asks nobody.

One answer, one call: of several calls only the first is carried out, because what the second should be depends
on what the first has done. Old messages are dropped from the front, never the briefing.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.tool import ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from rig.agents.calls import LONGEST_TEXT, action_of, cut, malformed
from rig.agents.prompts import PromptFile
from rig.agents.schema import ToolSchema, offered, one_call_schema, schemas
from rig.agents.settings import Settings
from rig.agents.view import text_of
from rig.core.agent import Briefing, Consulted, Observation
from rig.core.malformed import Malformed, Misuse
from rig.core.tools import Action

LONGEST_ANSWER = 20_000


class Conversation:
    """What has been said so far, and what the model is shown of it."""

    def __init__(self, briefing: Briefing, prompt: PromptFile, settings: Settings) -> None:
        self._briefing, self._prompt, self._settings = briefing, prompt, settings
        self._offered = offered(briefing.tools)
        self._opening: list[ChatMessage] = []
        self._rest: list[ChatMessage] = []
        self._pending: tuple[str, str] | None = None  # id and tool of the call that waits for its reply
        self._notice = ""
        self._window = settings.window

    @cached_property
    def tools(self) -> list[ToolInfo]:
        """What the model is offered; nothing when it fills in forms."""
        if self._settings.calls == "form":
            return []
        return [tool_info(schema) for schema in schemas(self._briefing.tools)]

    @cached_property
    def config(self) -> GenerateConfig:
        """How the model is asked."""
        s = self._settings
        config = GenerateConfig(
            max_retries=s.retries, attempt_timeout=s.timeout_s, temperature=s.temperature, top_p=s.top_p,
            seed=s.seed, max_tokens=s.max_tokens, reasoning_effort=s.reasoning_effort,
        )  # fmt: skip
        if s.calls == "native":
            config.parallel_tool_calls = False
        else:
            schema = JSONSchema.model_validate(one_call_schema(self._briefing.tools))
            config.response_schema = ResponseSchema(name="call", json_schema=schema)
        return config

    @property
    def messages(self) -> list[ChatMessage]:
        """What the model is shown: the briefing and the newest messages, from an answer of its own on."""
        return [*self._opening, *self._rest]

    def shorten(self) -> bool:
        """Show the model half as much from now on; False when it is shown nothing old any more."""
        self._window = min(self._window, len(self._rest)) // 2
        self._forget()
        return self._window >= 2

    def _forget(self) -> None:
        """Drop the oldest half of what is too much; in blocks, so that what stays in front stays the same.

        Servers keep what they have read of a conversation as long as its beginning does not change.
        """
        if len(self._rest) <= self._window:
            return
        rest = self._rest[-max(2, self._window // 2) :]
        while len(rest) > 1 and not isinstance(rest[0], ChatMessageAssistant):
            rest = rest[1:]
        self._rest = rest

    def tell(self, observation: Observation) -> None:
        """Give the model what it sees now: its briefing first, afterwards the reply to its call."""
        text = text_of(observation, self._briefing)
        if not self._opening:
            self._opening = [
                ChatMessageSystem(content=self._system()),
                ChatMessageUser(content=self._prompt.job_text(self._briefing, text)),
            ]
            return
        if self._notice:
            text = f"{self._notice}\n{text}"
        content = content_of(text, observation)
        if self._pending is None:
            self._rest.append(ChatMessageUser(content=content))
        else:
            call, tool = self._pending
            self._rest.append(ChatMessageTool(content=content, tool_call_id=call, function=tool))
        self._pending, self._notice = None, ""
        self._forget()

    def take(self, output: ModelOutput) -> Action | Malformed:
        """Take the model's answer and return the call in it."""
        if not output.choices:
            return malformed("", {}, Misuse.NO_CALL, self._prompt.no_call)
        message, stopped = output.message, output.stop_reason
        calls = message.tool_calls or []
        self._rest.append(_bounded(message))
        if calls:
            self._pending = (calls[0].id, calls[0].function)
            if len(calls) > 1:
                self._notice = self._prompt.several.format(n=len(calls))
        if stopped == "content_filter":
            return malformed(
                "", {"said": message.text}, Misuse.REFUSED, "the answer was withheld by the provider"
            )
        if stopped == "model_length":
            return malformed("", {}, Misuse.CONTEXT_FULL, "the conversation no longer fits the model")
        if self._settings.calls == "form":
            return self._form(message.text, stopped == "max_tokens")
        if not calls:
            misuse = Misuse.CUT_OFF if stopped == "max_tokens" else Misuse.NO_CALL
            return malformed("", {"said": message.text}, misuse, self._prompt.no_call)
        if calls[0].parse_error:
            misuse = Misuse.CUT_OFF if stopped == "max_tokens" else Misuse.NOT_JSON
            return malformed(calls[0].function, calls[0].arguments, misuse, calls[0].parse_error)
        return action_of(calls[0].function, calls[0].arguments, self._offered)

    def _form(self, text: str, cut_off: bool) -> Action | Malformed:
        """Return the call in an answer that fills in the form."""
        try:
            form = json.loads(text)
        except (ValueError, RecursionError) as error:
            misuse = Misuse.CUT_OFF if cut_off else Misuse.NOT_JSON
            return malformed("", {"said": text}, misuse, f"the answer is not one JSON object ({error})")
        if not isinstance(form, dict) or not isinstance(form.get("tool"), str):
            return malformed("", {"said": text}, Misuse.NO_CALL, 'the answer has no "tool"')
        return action_of(form.pop("tool"), form, self._offered)

    def _system(self) -> str:
        text = self._prompt.system.strip()
        if self._settings.calls == "form":
            listed = "\n".join(_line(schema) for schema in schemas(self._briefing.tools))
            text += "\n\n" + self._prompt.form.strip().format(tools=listed)
        return text


def content_of(text: str, observation: Observation) -> str | list[Any]:
    """Return what is shown of an observation: the text, and the pictures beside it where there are any."""
    pictures = [
        ContentImage(image=f"data:image/jpeg;base64,{b64encode(seen.data).decode()}")
        for seen in observation.sightings
        if seen.data
    ]
    return [ContentText(text=text), *pictures] if pictures else text


def tool_info(schema: ToolSchema) -> ToolInfo:
    """Return a tool as Inspect AI describes it."""
    return ToolInfo(
        name=schema.name,
        description=schema.description,
        parameters=ToolParams.model_validate(dict(schema.parameters)),
    )


def consulted(model: str, output: ModelOutput, latency_s: float) -> Consulted:
    """Return what a call of a model was, for the record."""
    usage = output.usage
    message = output.message if output.choices else None
    return Consulted(
        model=output.model or model,
        latency_s=round(latency_s, 6),
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        cost_usd=usage.total_cost if usage else None,
        stop_reason=str(output.stop_reason) if output.choices else "",
        calls=len(message.tool_calls or []) if message else 0,
        text=cut(message.text, LONGEST_TEXT) if message else "",
    )


def _bounded(message: ChatMessageAssistant) -> ChatMessageAssistant:
    """Return an answer fit to be shown again: one call, and no more words than anybody reads."""
    update: dict[str, Any] = {}
    if message.tool_calls and len(message.tool_calls) > 1:
        update["tool_calls"] = message.tool_calls[:1]
    if isinstance(message.content, str) and len(message.content) > LONGEST_ANSWER:
        update["content"] = cut(message.content, LONGEST_ANSWER)
    return message.model_copy(update=update) if update else message


def _line(schema: ToolSchema) -> str:
    """Return a tool as an example to fill in."""
    example = {"tool": schema.name, **{name: _slot(p) for name, p in schema.parameters["properties"].items()}}
    return f"{json.dumps(example, ensure_ascii=False)}  {schema.description}"


def _slot(schema: Any) -> str:  # noqa: ANN401
    if "enum" in schema:
        return " or ".join(str(choice) for choice in schema["enum"])
    options: Sequence[Any] = schema.get("anyOf", [schema])
    return " or ".join(str(option.get("type", "")) for option in options)
