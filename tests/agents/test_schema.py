"""One schema: whatever the way in, the same tools with the same arguments and the same bounds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agents.calls import action_of, malformed, storable
from rig.agents.conversation import tool_info
from rig.agents.schema import offered, one_call_schema, openai_functions, schemas, tool_schema
from rig.core.malformed import Malformed, Misuse
from rig.core.tools import TOOLS, WaitUntil
from tasks.suite import load_task, task_names

EVERY = tuple(TOOLS)


@pytest.mark.parametrize("name", EVERY)
def test_inspect_and_openai_are_told_the_same(name: str) -> None:
    schema = tool_schema(name)
    told = tool_info(schema).parameters.model_dump(exclude_none=True)
    assert told == json.loads(json.dumps(dict(schema.parameters)), object_hook=_without_none)
    (function,) = [f["function"] for f in openai_functions(EVERY) if f["function"]["name"] == name]
    assert function == {
        "name": name,
        "description": schema.description,
        "parameters": dict(schema.parameters),
    }


def _without_none(value: dict) -> dict:
    return {k: v for k, v in value.items() if v is not None}


@pytest.mark.parametrize("name", EVERY)
def test_a_tool_says_what_it_is_and_takes_nothing_else(name: str) -> None:
    schema = tool_schema(name)
    assert schema.description.endswith(".")
    assert schema.parameters["additionalProperties"] is False
    assert all(p["description"] for p in schema.parameters["properties"].values())


@pytest.mark.parametrize("name", EVERY)
def test_every_number_and_text_has_a_bound(name: str) -> None:
    for argument, schema in tool_schema(name).parameters["properties"].items():
        for choice in schema.get("anyOf", [schema]):
            if choice.get("type") in ("number", "integer"):
                assert {"minimum", "maximum"} <= choice.keys(), f"{name}.{argument} has no bound"
            if choice.get("type") == "string":
                bounded = "pattern" in choice and not set("*+") & set(choice["pattern"])
                assert bounded or choice.keys() & {"enum", "maxLength"}, (
                    f"{name}.{argument} may be of any length"
                )


def test_golden() -> None:
    assert tool_schema("wait_until").parameters == {
        "type": "object",
        "properties": {
            "event": {
                "default": "any",
                "description": "What ends the wait early; 'any' is whichever comes first",
                "enum": ["any", "swallow", "cough", "speech", "movement", "alarm"],
                "type": "string",
            },
            "timeout_s": {
                "minimum": 0,
                "maximum": 14400,
                "type": "number",
                "description": "Longest to wait, seconds of the job (more than 0)",
            },
        },
        "required": ["timeout_s"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("task", task_names())
def test_every_task_offers_a_way_to_stop_to_call_and_to_leave(task: str) -> None:
    tools = load_task(task).file.tools
    assert {"stop", "call_human", "finish"} <= {s.name for s in schemas(tools)}
    assert {"stop", "call_human", "finish"} <= {s.name for s in schemas(())}


def test_a_form_has_one_branch_per_tool() -> None:
    form = one_call_schema(("observe", "say"))
    assert [c["properties"]["tool"]["enum"] for c in form["anyOf"]] == [
        [n] for n in offered(("observe", "say"))
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "misuse", "said"),
    [
        ("wait_until", {"timeout_s": float("nan")}, Misuse.BAD_ARGUMENTS, "finite"),
        ("wait_until", {"timeout_s": float("inf")}, Misuse.BAD_ARGUMENTS, "timeout_s"),
        ("wait_until", {"timeout_s": "nan"}, Misuse.BAD_ARGUMENTS, "timeout_s"),
        ("wait_until", '{"timeout_s": NaN}', Misuse.BAD_ARGUMENTS, "finite"),
        ("wait_until", '{"timeout_s": 1e999}', Misuse.BAD_ARGUMENTS, "timeout_s"),
        ("wait_until", {"timeout_s": 1e7}, Misuse.BAD_ARGUMENTS, "14400"),
        ("wait_until", {"timeout_s": 5, "speed": 3}, Misuse.BAD_ARGUMENTS, "speed"),
        ("wait_until", {}, Misuse.BAD_ARGUMENTS, "timeout_s"),
        ("wait_until", '{"timeout_s": 5', Misuse.NOT_JSON, "not JSON"),
        ("wait_until", "[" * 100_000, Misuse.NOT_JSON, "not JSON"),
        ("wait_until", "[1]", Misuse.BAD_ARGUMENTS, "one JSON object"),
        ("disable_monitor", {}, Misuse.UNKNOWN_TOOL, "there are: observe"),
        ("say", {"text": "a" * 1_000_000}, Misuse.BAD_ARGUMENTS, "2000"),
        ("say", {"text": ""}, Misuse.BAD_ARGUMENTS, "text"),
        ("x" * 100_000, {}, Misuse.UNKNOWN_TOOL, "left out"),
    ],
)
def test_a_bad_call_is_kept_and_says_how_to_mend_it(
    tool: str, arguments: object, misuse: Misuse, said: str
) -> None:
    call = action_of(tool, arguments, EVERY)
    assert isinstance(call, Malformed)
    assert call.misuse is misuse
    assert said in call.problem
    assert len(call.problem) < 3000 and len(json.dumps(call.arguments, allow_nan=False)) < 10_000


def test_a_tool_the_task_does_not_offer_is_unknown_to_it() -> None:
    call = action_of("move_to", {"target": "lips"}, ("observe", "stop"))
    assert isinstance(call, Malformed) and call.misuse is Misuse.UNKNOWN_TOOL


def test_a_good_call_is_the_typed_action() -> None:
    assert action_of("wait_until", '{"timeout_s": 5}', EVERY) == WaitUntil(timeout_s=5)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@given(json_like)
def test_anything_at_all_can_be_recorded(value: object) -> None:
    json.dumps(storable(value), allow_nan=False).encode("utf-8")
    kept = malformed("x", value, Misuse.BAD_ARGUMENTS, "?")
    json.dumps(dict(kept.arguments), allow_nan=False).encode("utf-8")
