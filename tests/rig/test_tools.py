import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rig.core.errors import UsageError
from rig.core.tools import TOOLS, MoveTo, parse_action


def test_a_call_becomes_a_typed_action() -> None:
    assert parse_action("move_to", {"target": "lips", "guard_n": 1.0}) == MoveTo(target="lips", guard_n=1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, "1", "nan", True, 11.0])
def test_a_number_that_is_not_a_finite_number_in_range_is_refused(bad: object) -> None:
    with pytest.raises(UsageError, match=r"move_to: .*guard_n"):
        parse_action("move_to", {"target": "lips", "guard_n": bad})


def test_unknown_fields_and_tools_are_refused() -> None:
    with pytest.raises(UsageError, match="speed_mps"):
        parse_action("move_to", {"target": "lips", "speed_mps": 9.0})
    with pytest.raises(UsageError, match="disable_monitor"):
        parse_action("disable_monitor", {})


def test_all_mistakes_of_a_call_are_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse_action("set_bed", {"part": "roof", "value": 200.0})
    assert "part" in str(caught.value) and "value" in str(caught.value)


def numeric_fields() -> list[tuple[str, str]]:
    found = []
    for name, tool in TOOLS.items():
        for field, schema in tool.model_json_schema()["properties"].items():
            options = schema.get("anyOf", [schema])
            found += [(name, field) for o in options if o.get("type") in ("number", "integer")]
    return found


@pytest.mark.parametrize(("tool", "field"), numeric_fields())
def test_every_number_an_agent_may_send_has_bounds(tool: str, field: str) -> None:
    schema = TOOLS[tool].model_json_schema()["properties"][field]
    for option in schema.get("anyOf", [schema]):
        if option.get("type") in ("number", "integer"):
            assert {"minimum", "exclusiveMinimum"} & option.keys(), f"{tool}.{field} has no lower bound"
            assert {"maximum", "exclusiveMaximum"} & option.keys(), f"{tool}.{field} has no upper bound"


@given(
    st.dictionaries(
        st.text(max_size=8), st.none() | st.booleans() | st.floats() | st.text(max_size=8), max_size=4
    )
)
def test_whatever_is_sent_is_an_action_or_a_refusal(arguments: dict[str, object]) -> None:
    arguments.pop("tool", None)
    for tool in TOOLS:
        try:
            action = parse_action(tool, arguments)
        except UsageError:
            continue
        assert isinstance(action, BaseModel) and action.tool == tool
