"""One tool schema for every way in: made from the typed actions, so that no way in can do more or less.

`ToolSchema` is what the Model Context Protocol and Inspect AI take as it stands; `openai_functions` wraps it
the way OpenAI-style servers want it. There is no second place where a tool is described.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rig.core.errors import unknown
from rig.core.tools import TOOLS

ALWAYS = ("stop", "call_human", "finish")
"""Tools every task offers, whatever its file says: nobody may be left without a way to stop or to call."""

READ_ONLY = ("observe",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """One tool.

    Attributes:
        name: What is called.
        description: In a sentence, for the model.
        parameters: JSON Schema of the arguments, an object without further properties.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def read_only(self) -> bool:
        """Whether calling it changes nothing in the world; a hint, never a control."""
        return self.name in READ_ONLY


@cache
def tool_schema(name: str) -> ToolSchema:
    """Return the schema of one tool.

    Raises:
        UsageError: If there is no such tool.
    """
    if name not in TOOLS:
        raise unknown("tool", name, list(TOOLS))
    model = TOOLS[name]
    schema = model.model_json_schema()
    properties = {
        # Some clients insist on a description.
        key: _plain({"description": key.replace("_", " "), **value}, schema.get("$defs", {}))
        for key, value in schema["properties"].items()
        if key != "tool"
    }
    return ToolSchema(
        name=name,
        description=" ".join((model.__doc__ or "").split()),
        parameters={
            "type": "object",
            "properties": properties,
            "required": [key for key in schema.get("required", ()) if key != "tool"],
            "additionalProperties": False,
        },
    )


def offered(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the tools of a task with those that are always there."""
    return (*tools, *(name for name in ALWAYS if name not in tools))


def schemas(tools: Sequence[str]) -> tuple[ToolSchema, ...]:
    """Return the schemas of a task's tools, in its order."""
    return tuple(tool_schema(name) for name in offered(tools))


def openai_functions(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return a task's tools the way OpenAI-style servers take them."""
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
        }
        for t in schemas(tools)
    ]


def one_call_schema(tools: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of exactly one call, for models that fill in forms but call no tools.

    The name comes first under ``tool``, the arguments beside it, as in the typed actions.
    """
    choices = []
    for tool in schemas(tools):
        parameters = dict(tool.parameters)
        properties = {"tool": {"type": "string", "enum": [tool.name]}, **parameters["properties"]}
        choices.append(
            {**parameters, "properties": properties, "required": ["tool", *parameters["required"]]}
        )
    return {"type": "object", "anyOf": choices}


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401  # any JSON
    """Return a property in the part of JSON Schema that every way in understands.

    Titles go, references are put in place, and some bounds are said in words: not every client knows these
    keywords. What is checked when a call comes is the typed action, whatever a client makes of this.
    """
    if isinstance(schema, list):
        return [_plain(value, definitions) for value in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    plain = {
        key: {name: _plain(p, definitions) for name, p in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in schema.items()
        if key not in ("title", "$defs")
    }
    if "exclusiveMinimum" in plain:
        bound = plain.pop("exclusiveMinimum")
        plain["minimum"] = bound
        plain["description"] = f"{plain.get('description', '')} (more than {bound})".strip()
    if "maxItems" in plain:
        plain["description"] = f"{plain.get('description', '')} (at most {plain.pop('maxItems')})".strip()
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    return plain
