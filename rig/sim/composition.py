"""Putting a world together from stations: names and memory layout of everything a bench simulates.

The world is one record of float64 fields, a quantity each: ``truth.lip_dose`` is the field
``truth_lip_dose``. The sensors see the same memory as a plain vector. A bench file may add body
quantities of its own (a plate's tag, a card): they are appended to the vector, as are what skin
pads feel and the controller's intents, so the kernels never depend on a bench's channel table.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.core.bench import BenchSpec
from rig.core.errors import ConfigError
from rig.sim.station import Station
from rig.sim.stations import load_station

PAD_QUANTITIES = ("force", "pressure", "slip", "peak")
"""What every skin pad feels: ``pad.NAME.force`` and so on."""


def _fields(names: Iterable[str], kind: Any = np.float64) -> np.dtype[Any]:  # noqa: ANN401 a dtype-like
    """Return a record type with these fields; one without a meaning where there are none."""
    return np.dtype([(n.replace(".", "_"), kind) for n in names] or [("nothing", kind)])


@dataclass(frozen=True)
class Composition:
    """The stations of a bench, and what follows from them.

    Attributes:
        stations: In the order in which the kernel calls them.
        constants: Every station's parameters by name, defaults replaced where others were given.
    """

    stations: tuple[Station, ...]
    constants: dict[str, float]

    @cached_property
    def servos(self) -> tuple[str, ...]:
        """Actuators that are motors of the engine."""
        return tuple(n for s in self.stations for n in s.servos)

    @cached_property
    def motors(self) -> tuple[str, ...]:
        """Actuators that stations carry out themselves."""
        return tuple(n for s in self.stations for n in s.motors)

    @cached_property
    def body(self) -> tuple[str, ...]:
        """Body quantities that stations react to, each once."""
        return tuple(dict.fromkeys(n for s in self.stations for n in s.body))

    @cached_property
    def worked_out(self) -> tuple[str, ...]:
        """Quantities that stations work out or keep to themselves."""
        shown = [n for s in self.stations for n in s.derived]
        return (*shown, *(n for s in self.stations for n in s.hidden))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every quantity of the world record: servos and motors first, in the drives' order."""
        return (*self.servos, *self.motors, *self.body, *self.worked_out)

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """Constants taken from the scene."""
        return tuple(n for s in self.stations for n in s.measured)

    @cached_property
    def lags(self) -> tuple[str, ...]:
        """Parameters that are time constants."""
        return tuple(n for s in self.stations for n in s.lags)

    @cached_property
    def world_type(self) -> np.dtype[Any]:
        """The world as a record."""
        return _fields(self.names)

    @cached_property
    def parameters_type(self) -> np.dtype[Any]:
        """The constants as a record: the stations' parameters, then what was measured."""
        return _fields((*self.constants, *self.measured))

    @cached_property
    def factors_type(self) -> np.dtype[Any]:
        """What is left of each exponential after a step, as a record."""
        return _fields(self.lags)

    @cached_property
    def stations_type(self) -> np.dtype[Any]:
        """A field per station, holding the place of its first motor among the drives.

        Its field names also tell the compiler which stations' functions to call.
        """
        return _fields((s.name for s in self.stations), np.int64)

    def first_motors(self) -> list[int]:
        """Return the place of each station's first motor among the drives."""
        counts = [len(s.motors) for s in self.stations]
        return [len(self.servos) + sum(counts[:i]) for i in range(len(counts))]

    def record(self) -> NDArray[np.void]:
        """Return the constants as an array of one record; what is measured is zero yet."""
        values = (*self.constants.values(), *(0.0 for _ in self.measured))
        return np.array([values or (0.0,)], dtype=self.parameters_type)

    def shown_as(self) -> dict[str, str]:
        """Return channels that show a quantity of another name."""
        return {channel: quantity for s in self.stations for channel, quantity in s.shown_as.items()}


def compose(bench: BenchSpec, parameters: Sequence[Any] = ()) -> Composition:
    """Return the composition of a bench's stations.

    Args:
        bench: The bench; its stations are called in the order it names them.
        parameters: Instances of stations' parameter classes, in place of the defaults.

    Raises:
        UsageError: If there is no such station.
        ConfigError: If a station lacks another it needs, two declare the same name, or a parameter
            belongs to no station; all mistakes at once.
    """
    stations = tuple(load_station(name) for name in bench.stations)
    mistakes: list[str] = [] if stations else ["stations: name at least one"]
    before: set[str] = set()
    for s in stations:
        mistakes += [f"stations: {s.name} needs {n} before it" for n in s.needs if n not in before]
        before.add(s.name)
    given = {type(p): p for p in parameters}
    constants: dict[str, float] = {}
    for s in stations:
        if s.parameters is not None:
            constants |= asdict(given.pop(type(s.parameters), s.parameters))
    mistakes += [f"parameters: {kind.__name__} belongs to no station of this bench" for kind in given]
    made = Composition(stations, constants)
    declared = [*bench.stations, *made.servos, *made.motors, *made.worked_out]
    mistakes += [f"stations: {n} is declared twice" for n, times in Counter(declared).items() if times > 1]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    return made


def pad_names(bench: BenchSpec) -> tuple[str, ...]:
    """Return the quantities of the bench's skin pads, pad after pad."""
    return tuple(f"pad.{pad.name}.{quantity}" for pad in bench.pads for quantity in PAD_QUANTITIES)


def world_names(bench: BenchSpec, made: Composition) -> tuple[str, ...]:
    """Return the name of every entry of the world vector of ``bench``.

    Raises:
        ConfigError: If the bench lacks an actuator or body quantity that its stations need, or has an
            actuator none of them carries out.
    """
    actuators, body = {a.name for a in bench.actuators}, {b.name for b in bench.body}
    driven = (*made.servos, *made.motors)
    mistakes = [f"actuator.{n}: the simulated plant needs it" for n in driven if n not in actuators]
    mistakes += [
        f"actuator.{n}: the simulated plant has no such actuator" for n in sorted(actuators - {*driven})
    ]
    mistakes += [f"body.{n}: the simulated plant needs it" for n in made.body if n not in body]
    mistakes += [
        f"body.{n}: the plant computes it itself" for n in sorted(body & {*driven, *made.worked_out})
    ]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    extra = tuple(b.name for b in bench.body if b.name not in made.body)
    return (*made.names, *extra, *pad_names(bench), *bench.intents)


def _source(
    channel: str, shown_as: dict[str, str], names: Sequence[str], bodies: Sequence[str]
) -> str | None:
    """Return the quantity a channel shows: by `shown_as`, by its own name, or by its last part.

    ``truth.pad.X.force`` shows ``pad.X.force``. The last part counts when exactly one body quantity
    ends in it: ``mic.coughs`` shows ``voice.coughs``, ``truth.held`` shows ``bolus.held``.
    """
    name = shown_as.get(channel, channel)
    for shown in (name, name.removeprefix("truth.")):
        if shown in names:
            return shown
    part = channel.rpartition(".")[2]
    body = [n for n in bodies if n.rpartition(".")[2] == part]
    return body[0] if len(body) == 1 else None


def channel_sources(bench: BenchSpec, made: Composition) -> tuple[int, ...]:
    """Return, for every channel of the bench, the place in the world vector that it shows.

    Raises:
        ConfigError: If the plant has nothing to show on a channel.
    """
    names, bodies, shown_as = world_names(bench, made), [b.name for b in bench.body], made.shown_as()
    sources = {c.name: _source(c.name, shown_as, names, bodies) for c in bench.layout}
    mistakes = [
        f"channel.{c}: the simulated plant has nothing to show on it; quantities are {', '.join(names)}"
        for c, source in sources.items()
        if source is None
    ]
    if mistakes:
        raise ConfigError(f"bench {bench.name}", mistakes)
    return tuple(names.index(s) for s in sources.values() if s is not None)
