"""Quantities as people write them ("4 N", "0.2 s"), turned into SI numbers when a file is loaded."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rig.core.errors import UsageError

if TYPE_CHECKING:
    from pint import UnitRegistry


@lru_cache(maxsize=1)
def _registry() -> "UnitRegistry[Any]":
    import pint  # slow to import: only loading a file needs it

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


@lru_cache(maxsize=4096)
def parse_quantity(text: str, unit: str) -> float:
    """Return the number of ``unit`` that ``text`` denotes.

    Temperatures are points on the Celsius scale ("55 degC") wherever ``unit`` is ``degC``;
    a number without a unit is accepted only where ``unit`` is ``1``.

    Raises:
        UsageError: If there is no unit, an unknown one, or one of another dimension.

    >>> parse_quantity("250 mm", "m")
    0.25
    """
    import pint

    registry = _registry()
    number, _, symbol = text.strip().partition(" ")
    try:
        magnitude = float(number)
        if not math.isfinite(magnitude):
            raise ValueError("not a finite number")
        if not symbol and unit != "1":
            raise ValueError('write a number, a space and a unit, as in "4 N"')
        quantity = registry.Quantity(magnitude, symbol.strip() or "dimensionless")
        return float(quantity.to("dimensionless" if unit == "1" else unit).magnitude)
    except (ValueError, TypeError, AttributeError, pint.PintError) as error:
        raise UsageError(f"{text!r} is not a quantity in {unit}: {error}") from None


def same_dimension(a: str, b: str) -> bool:
    """Return whether two unit symbols measure the same dimension.

    >>> same_dimension("mm/s", "m/s")
    True
    """
    registry = _registry()
    dimensions = [registry.Unit("dimensionless" if u == "1" else u).dimensionality for u in (a, b)]
    return bool(dimensions[0] == dimensions[1])
