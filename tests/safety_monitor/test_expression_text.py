"""Expressions as people write them: what is accepted, and what is said about what is not."""

import pytest

from rig.core.channel import Audience, Channel, Layout
from rig.core.errors import UsageError
from safety_monitor import nodes as n
from safety_monitor.expression import parse


def channel(name, unit, low=-1000.0, high=1000.0, audience=Audience.AGENT):
    return Channel(
        name=name, unit=unit, low=low, high=high, period_s=0.001, stale_after_s=0.02, audience=audience
    )


LAYOUT = Layout(
    [
        channel("wrist.force", "N"),
        channel("face.gap", "m"),
        channel("spoon.speed", "m/s"),
        channel("spoon.temperature", "degC"),
        channel("bed.back", "deg"),
        channel("mic.coughs", "1"),
        channel("spo2", "1"),
        channel("bed.back2", "deg", audience=Audience.MONITOR),
        channel("truth.gap", "m", audience=Audience.ORACLE),
    ]
)
FORCE = n.Measured("wrist.force", "N", -1000.0, 1000.0, 20_000_000)


def constant(text):
    """Return the constant on the right of a comparison."""
    return parse(text, LAYOUT).node.right


def test_a_quantity_is_converted_to_the_unit_of_its_channel():
    assert constant("face.gap < 100 mm") == n.Constant(0.1, "m")
    assert constant("wrist.force > 0.001 kN") == n.Constant(1.0, "N")
    assert constant("spoon.temperature > 328.15 K").value == pytest.approx(55.0)


def test_quotes_around_a_quantity_do_not_matter():
    bare, quoted = (parse(f"held(wrist.force > {q}4 N{q}, {q}30 ms{q})", LAYOUT).node for q in ("", '"'))
    assert bare == quoted == n.Held(n.Compare(">", FORCE, n.Constant(4.0, "N")), 30_000_000)


def test_and_binds_closer_than_or_and_not_closest():
    p, q, r = (n.Compare(">", FORCE, n.Constant(float(i), "N")) for i in (1, 2, 3))
    node = parse("not wrist.force > 1 N and wrist.force > 2 N or wrist.force > 3 N", LAYOUT).node
    assert node == n.Or((n.And((n.Not(p), q)), r))


def test_products_of_units_meet_their_sum():
    node = parse("wrist.force + 75 N/mm * spoon.speed * 18 ms > 10 N", LAYOUT).node
    assert isinstance(node, n.Compare)
    assert node.left.unit == "N"


def test_a_number_before_a_channel_is_not_read_as_a_unit():
    assert parse("10 mm/spoon.speed > 2 s", LAYOUT).node.left.op == "/"
    assert parse("2*wrist.force > 1 N", LAYOUT).node.left.op == "*"


def test_equal_texts_give_equal_values_that_can_be_keys():
    text = "within(mic.coughs > 2, 5 s) and since(face.gap < 1 m, spo2 < 90)"
    assert len({parse(text, LAYOUT).node, parse(text, LAYOUT).node}) == 1


def test_a_stricter_age_limit_reaches_the_node_and_a_looser_one_does_not():
    strict, loose = (
        parse("wrist.force > 1 N", LAYOUT, max_age_s={"wrist.force": s}).node.left.stale_ns
        for s in (0.005, 1.0)
    )
    assert (strict, loose) == (5_000_000, 20_000_000)


def test_limits_are_known_by_name():
    limits = {"limit.lip_force.trip": n.Constant(1.0, "N")}
    assert parse("wrist.force > limit.lip_force.trip", LAYOUT, limits=limits).node.right == n.Constant(
        1.0, "N"
    )


def test_a_number_has_a_unit_and_a_condition_has_none():
    assert parse("wrist.force", LAYOUT).unit == "N"
    assert parse("wrist.force > 1 N", LAYOUT).unit is None
    assert parse("wrist.force > 1 N and spo2 < 90", LAYOUT).channels == ("wrist.force", "spo2")


def test_ground_truth_needs_the_oracle_audience():
    assert parse("truth.gap < 0 m", LAYOUT, tuple(Audience)).channels == ("truth.gap",)
    assert parse("bed.back2 < 30 deg", LAYOUT).channels == ("bed.back2",)
    with pytest.raises(UsageError, match=r"column 24 .*truth\.gap is for the oracle only"):
        parse("wrist.force > 1 N and (truth.gap < 0 m)", LAYOUT)
    with pytest.raises(UsageError, match=r"bed\.back2 is for the monitor only"):
        parse("bed.back2 < 30 deg", LAYOUT, (Audience.AGENT,))


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("wrist.force > 1", 13, "1 has no unit; write a quantity of N"),
        ("wrist.force > 1 kg", 13, "not a quantity in N"),
        ("wrist.force > 1 blub", 15, "not a quantity"),
        ("wrist.force > face.gap", 13, "m and N measure different things"),
        ("wrist.forse > 1 N", 1, "unknown channel 'wrist.forse'; known: wrist.force"),
        ("wrist.force > limit.lip", 15, "unknown limit 'limit.lip'"),
        ("not wrist.force", 5, "compare it, as in wrist.force > 0.5"),
        ("held(wrist.force > 1 N)", 1, "write held(condition, time)"),
        ("held(wrist.force > 1 N, 3 m)", 25, "not a quantity in s"),
        ("held(wrist.force > 1 N, -3 ms)", 25, "must not be negative"),
        ("held(wrist.force, 3 ms)", 6, "a condition is wanted"),
        ("held(wrist.force > 1 N, 3 ms, 4 ms)", 31, "one argument too many"),
        ("abs(spo2 > 3) > 2", 5, "a number is wanted"),
        ("rate(wrist.force + 1 N) > 1 N/s", 6, "a channel by name"),
        ("foo(1)", 1, "unknown function 'foo'; known: abs(number)"),
        ("0 m < face.gap < 1 m", 16, "one comparison at a time"),
        ("5 > 3", 3, "both sides are constants"),
        ("wrist.force @ 3", 13, "'@' begins no number"),
        ("wrist.force > 1 N extra", 19, "or the end is wanted"),
        ("(spo2 > 3", 10, "')' is wanted"),
        ("", 1, "found end of the expression"),
        ("and", 1, "a channel, a quantity"),
        ("wrist.force == 3 N", 13, "== is for counts and flags"),
        ("spoon.temperature * 2 > 3 K", 19, "arbitrary zero"),
        ("spoon.temperature + 2 degC > 3 degC", 19, "cannot be added"),
        ("min(wrist.force, face.gap) > 1 N", 1, "measure different things"),
    ],
)
def test_a_mistake_is_named_with_its_column(text, column, says):
    with pytest.raises(UsageError) as caught:
        parse(text, LAYOUT)
    assert str(caught.value).startswith(f"column {column} of {text!r}: ")
    assert says in str(caught.value)
