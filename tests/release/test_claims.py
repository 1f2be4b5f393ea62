"""What expires which claim: every field, every trigger, time, and what nobody has listed."""

from datetime import timedelta

import pytest

from analysis.release.claims import DEPENDS, TRIGGERS, Claim, Fingerprint, State, fingerprint, standing
from analysis.release.policy import Gate
from rig.core.configuration import FIELDS

from .conftest import NOW


def under(**changes: str) -> Fingerprint:
    return {
        **{field: {"bed-watch": "a" * 64} for field in FIELDS},
        **{f: {"bed-watch": v} for f, v in changes.items()},
    }


def claim(gate: Gate, found: Fingerprint | None = None) -> Claim:
    return Claim(gate=gate, measured_utc=NOW, embodiment="simulated", under=found or under())


@pytest.mark.parametrize("gate", Gate)
def test_unchanged_is_valid_until_its_age(gate: Gate) -> None:
    assert standing(claim(gate), under(), NOW + timedelta(days=90), 90).state is State.VALID
    old = standing(claim(gate), under(), NOW + timedelta(days=90, seconds=1), 90)
    assert old.state is State.EXPIRED and "the policy allows 90" in old.reasons[0]


@pytest.mark.parametrize("field", FIELDS)
def test_flipping_a_field_expires_exactly_the_claims_that_depend_on_it(field: str) -> None:
    changed = under(**{field: "b" * 64})
    stale = {gate for gate in Gate if standing(claim(gate), changed, NOW, 90).state is State.STALE}
    assert stale == {gate for gate in Gate if field in DEPENDS[gate]}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_every_trigger_expires_something(trigger: str) -> None:
    changed = under(**dict.fromkeys(TRIGGERS[trigger], "b" * 64))
    assert any(standing(claim(gate), changed, NOW, 90).state is State.STALE for gate in Gate)


def test_every_field_is_under_a_trigger_or_is_the_agent_or_the_machine() -> None:
    named = {field for fields in TRIGGERS.values() for field in fields}
    assert set(FIELDS) - named == {"agent", "machine"}


@pytest.mark.parametrize("gate", Gate)
def test_a_field_nobody_has_listed_makes_every_claim_stale(gate: Gate) -> None:
    now_there = {**under(), "floor wax": {"bed-watch": "c" * 64}}
    assert standing(claim(gate), now_there, NOW, 90).state is State.STALE
    was_there = claim(gate, now_there)
    assert standing(was_there, under(), NOW, 90).state is State.STALE
    assert standing(was_there, now_there, NOW, 90).state is State.VALID


@pytest.mark.parametrize("gate", Gate)
def test_what_one_side_does_not_say_is_unprovable(gate: Gate) -> None:
    field = DEPENDS[gate][0]
    silent = {name: tasks for name, tasks in under().items() if name != field}
    assert standing(claim(gate), silent, NOW, 90).state is State.UNPROVABLE
    assert standing(claim(gate, silent), under(), NOW, 90).state is State.UNPROVABLE
    assert standing(claim(gate, silent), silent, NOW, 90).state is State.UNPROVABLE


def test_a_task_the_candidate_does_not_have_is_unprovable() -> None:
    elsewhere = {field: {"spoon-feed": "a" * 64} for field in FIELDS}
    assert standing(claim(Gate.UTILITY), elsewhere, NOW, 90).state is State.UNPROVABLE


def test_a_measurement_from_the_future_is_unprovable() -> None:
    found = standing(claim(Gate.LATENCY), under(), NOW - timedelta(seconds=1), 90)
    assert found.state is State.UNPROVABLE and "the future" in found.reasons[0]


def test_trials_of_one_task_that_differ_leave_nothing_to_compare() -> None:
    found = fingerprint(
        [("bed-watch", {"rules": "x"}), ("bed-watch", {"rules": "y"}), ("spoon-feed", {"rules": "x"})]
    )
    assert found["rules"]["bed-watch"] == "several" and len(found["rules"]["spoon-feed"]) == 64
    both = {**under(), "rules": {"bed-watch": "several"}}
    assert standing(claim(Gate.LATENCY, both), both, NOW, 90).state is State.UNPROVABLE
