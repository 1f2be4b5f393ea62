"""Unit rules of the expression grammar: which numbers may meet, and what comes of it."""

from dataclasses import replace
from functools import lru_cache

from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity, same_dimension
from safety_monitor.nodes import Arithmetic, Constant, Numeric

# Zero of these scales is not nothing: they can be compared, and two of them subtracted, no more.
_OFFSET = frozenset({"degC", "degF", "celsius", "fahrenheit"})


# In a product a constant is brought to these, so that the product comes out in the units of channels.
_COHERENT = ("s", "m", "m/s", "m/s^2", "N", "N/m", "kg", "A")


@lru_cache(maxsize=1024)
def composed(a: str, op: str, b: str) -> str:
    """Return the unit of a product or quotient of two units."""
    if b == "1":
        return a
    text = f"({b})" if op == "*" and a == "1" else f"({a})*({b})" if op == "*" else f"({a})/({b})"
    return text.replace("(1)", "1")


def converted(x: Numeric, unit: str) -> Numeric:
    """Return ``x`` as a number of ``unit``.

    Raises:
        UsageError: If the two units measure different dimensions.
    """
    if x.unit == unit:
        return x
    if isinstance(x, Constant):
        return Constant(parse_quantity(f"{x.value!r} {'' if x.unit == '1' else x.unit}".strip(), unit), unit)
    if not same_dimension(x.unit, unit):
        raise UsageError(f"{_shown(x.unit)} and {_shown(unit)} measure different things")
    if unit in _OFFSET or x.unit in _OFFSET:
        raise UsageError(f"write both temperatures in one unit, not {x.unit} and {unit}")
    factor = parse_quantity(f"1 {x.unit}", unit)
    return replace(x, unit=unit) if factor == 1.0 else Arithmetic("*", x, Constant(factor, "1"), unit)


def _shown(unit: str) -> str:
    return "a plain number" if unit == "1" else unit


def aligned(left: Numeric, right: Numeric) -> tuple[Numeric, Numeric]:
    """Return both numbers in one unit: the one that is not a constant decides.

    Raises:
        UsageError: If they measure different dimensions, or one is a bare number.
    """
    for bare, other in ((left, right), (right, left)):
        if isinstance(bare, Constant) and bare.unit == "1" and not same_dimension("1", other.unit):
            raise UsageError(f"{bare.value:g} has no unit; write a quantity of {other.unit}")
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return converted(left, right.unit), right
    return left, converted(right, left.unit)


def _coherent(x: Numeric) -> Numeric:
    if isinstance(x, Constant) and x.unit != "1":
        return next((converted(x, unit) for unit in _COHERENT if same_dimension(x.unit, unit)), x)
    return x


def combined(op: str, left: Numeric, right: Numeric) -> Numeric:
    """Return ``left op right`` with its unit, ``op`` one of + - * /.

    Raises:
        UsageError: If the units do not allow it.
    """
    offset = [x.unit for x in (left, right) if x.unit in _OFFSET]
    if op in "*/":
        if offset:
            raise UsageError(f"{offset[0]} is a scale with an arbitrary zero; it cannot be multiplied")
        left, right = _coherent(left), _coherent(right)
        return Arithmetic("*" if op == "*" else "/", left, right, composed(left.unit, op, right.unit))
    left, right = aligned(left, right)
    if offset and op == "+":
        raise UsageError(f"two points on the {offset[0]} scale cannot be added; compare them instead")
    return Arithmetic("+" if op == "+" else "-", left, right, "delta_degC" if offset else left.unit)
