import pytest

from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity, same_dimension


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("4 N", "N", 4.0), ("250 mm", "m", 0.25), ("30 ms", "s", 0.03), ("55 degC", "degC", 55.0),
        ("60 mm/s", "m/s", 0.06), ("0.3", "1", 0.3), ("90 deg", "deg", 90.0), ("2 h", "s", 7200.0),
    ],
)  # fmt: skip
def test_a_quantity_is_read_in_the_unit_asked_for(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("4", "N"), ("4 N", "m"), ("nan N", "N"), ("inf s", "s"), ("four N", "N"), ("4 frobs", "N"), ("", "s")],
)
def test_what_is_not_such_a_quantity_is_refused_with_what_was_seen(text: str, unit: str) -> None:
    with pytest.raises(UsageError, match=f"is not a quantity in {unit}"):
        parse_quantity(text, unit)


def test_dimensions_are_compared_not_spellings() -> None:
    assert same_dimension("mm/s", "m/s") and not same_dimension("N", "Pa")
