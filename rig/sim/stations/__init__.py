"""The stations there are, by name: the module ``NAME`` of this package holds ``STATION``."""

import importlib
from functools import cache
from pathlib import Path

from rig.core.errors import unknown
from rig.sim.station import Station


def station_names() -> tuple[str, ...]:
    """Return the name of every station."""
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem != "__init__"))


@cache
def load_station(name: str) -> Station:
    """Return the station called ``name``.

    Raises:
        UsageError: If there is none; the message lists those there are.
    """
    if name not in station_names():
        raise unknown("station", name, station_names())
    station: Station = importlib.import_module(f"{__name__}.{name}").STATION
    return station
