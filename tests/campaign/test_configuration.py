"""Identity of a configuration: any byte of any field changes it, and the difference is said in words."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.configuration import (
    FIELDS,
    MISSING,
    PER_TRIAL,
    comparable,
    differences,
    elided,
    identity,
)
from rig.trial.run import configured
from rig.trial.spec import TrialSpec

SPEC = TrialSpec(item="bed-watch/30-min/quiet", agent="careful", bench="sim", monitor="guard", seed=1)


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return configured(SPEC)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    else:
        yield path


def flipped(value: Any) -> Any:
    """Return a leaf with one bit of it changed."""
    if isinstance(value, str):
        return chr(ord(value[0]) ^ 1) + value[1:]
    if isinstance(value, list):
        return [flipped(value[0]), *value[1:]]
    return value ^ 1


def test_it_has_every_field_and_no_other(whole: dict[str, Any]) -> None:
    assert set(whole) == set(FIELDS)


@pytest.mark.parametrize("field", FIELDS)
def test_one_flipped_byte_changes_the_identity_and_is_named(whole: dict[str, Any], field: str) -> None:
    for path in leaves(whole[field], (field,)):
        other = copy.deepcopy(whole)
        place = other
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = flipped(place[path[-1]])
        assert identity(other) != identity(whole)
        (found,) = differences(whole, other)
        assert found.path == path
        assert found.words().startswith(f"{field} ({FIELDS[field]})")
        assert (comparable(other) == comparable(whole)) == (field in PER_TRIAL)


def test_a_record_carries_the_short_form_of_the_same_identity(whole: dict[str, Any]) -> None:
    short = elided(whole, "code")
    assert identity(short) == identity(whole) and len(str(short)) < len(str(whole)) / 2
    assert differences(whole, short) == ()
    other = copy.deepcopy(whole)
    other["code"]["rig/trial/run.py"] = "0" * 64
    (found,) = differences(elided(other, "code"), whole)
    assert found.path == ("code",)


def test_trials_of_one_agent_are_comparable_over_tasks_and_modes(whole: dict[str, Any]) -> None:
    other = configured(
        TrialSpec(item="spoon-feed/4-bites/plain", agent="careful", bench="sim", monitor="shadow", seed=9)
    )
    assert comparable(other) == comparable(whole) and identity(other) != identity(whole)
    agent = configured(
        TrialSpec(item="bed-watch/30-min/quiet", agent="hasty", bench="sim", monitor="guard", seed=1)
    )
    assert comparable(agent) != comparable(whole)


def test_what_is_only_on_one_side_is_new_or_gone() -> None:
    a, b = {"rules": {"common.toml": "a" * 64}}, {"rules": {"other.toml": "b" * 64}}
    gone, new = differences(a, b)
    assert gone.after is MISSING and "gone, was SHA-256 aaaaaaaaaaaa" in gone.words()
    assert new.before is MISSING and "new, SHA-256 bbbbbbbbbbbb" in new.words()


def test_lists_and_long_texts_show_only_what_changed() -> None:
    (one,) = differences({"permissions": ["say", "act"]}, {"permissions": ["say", "stop"]})
    assert one.words().endswith('new "stop"; gone "act"')
    (two,) = differences(
        {"instructions": "x" * 300 + " warm soup"}, {"instructions": "x" * 300 + " cold soup"}
    )
    assert "warm soup" in two.words() and "cold soup" in two.words() and len(two.words()) < 250


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3).filter(lambda t: t != "merkle"), inner, max_size=3)
    ),
    max_leaves=8,
)
trees = st.dictionaries(st.sampled_from(sorted(FIELDS)), values, max_size=5)


@settings(deadline=None)
@given(trees, trees)
def test_two_identities_are_the_same_exactly_when_nothing_differs(a: Any, b: Any) -> None:
    assert (identity(a) == identity(b)) == (differences(a, b) == ())
    assert identity(dict(reversed(a.items()))) == identity(a)
