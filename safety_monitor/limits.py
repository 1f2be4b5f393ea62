"""Limits from ``hardware/limits``: what a rule acts on, what is allowed, and what must not be reached.

Every limit is stated once, with its source, as trip, policy and harm in that order; rules name
them (``limit.lip_force.trip``). An envelope is the gate's part: value and rate of every actuator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rig.core.command import Actuator
from rig.core.data import hardware_dir
from rig.core.errors import ConfigError, UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import StrictTable, load_validated
from safety_monitor.nodes import Constant

Text = Annotated[str, Field(min_length=1)]
STEPS = ("trip", "policy", "harm")


class _LimitTable(StrictTable):
    text: Text
    unit: Text
    side: Literal["above", "below"]
    trip: Text
    policy: Text
    harm: Text
    kind: Literal["pain", "discomfort", "injury", "policy"]
    mark: Literal["V", "R", "P"]
    source: Text
    derivation: Text


class _LimitFile(StrictTable):
    status: Text
    author_role: Text
    limit: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], _LimitTable]


class _BoundTable(StrictTable):
    range: Annotated[tuple[str, str], Field(strict=False)]  # TOML has arrays, not tuples
    rate: Text
    source: Text


class _EnvelopeFile(StrictTable):
    status: Text
    author_role: Text
    bench: Text
    base: str = ""
    envelope: dict[str, _BoundTable] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit of what may happen to a person, in ``unit``; ``side`` says which way is worse."""

    id: str
    text: str
    unit: str
    side: Literal["above", "below"]
    trip: float
    policy: float
    harm: float
    kind: str
    mark: str
    source: str
    derivation: str


@dataclass(frozen=True, slots=True)
class Bound:
    """What an actuator may be set to, inclusive, and how fast, in its unit (per second)."""

    actuator: str
    low: float
    high: float
    rate: float


def _steps(key: str, table: _LimitTable, mistakes: list[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for step in STEPS:
        try:
            values[step] = parse_quantity(getattr(table, step), table.unit)
        except UsageError as error:
            mistakes.append(f"{key}.{step}: {error}")
    if len(values) == len(STEPS):
        sign = 1.0 if table.side == "above" else -1.0
        if not sign * values["trip"] < sign * values["policy"] < sign * values["harm"]:
            order = "trip < policy < harm" if sign > 0 else "trip > policy > harm"
            seen = ", ".join(f"{step} {getattr(table, step)}" for step in STEPS)
            mistakes.append(f"{key}: wanted {order}, seen {seen}")
    return values


def _limit(name: str, table: _LimitTable, values: Mapping[str, float]) -> Limit:
    return Limit(
        id=name, text=table.text, unit=table.unit, side=table.side, trip=values["trip"],
        policy=values["policy"], harm=values["harm"], kind=table.kind, mark=table.mark, source=table.source,
        derivation=table.derivation,
    )  # fmt: skip


def load_limits(paths: Sequence[Path]) -> Mapping[str, Limit]:
    """Return the limits of these files by id.

    Raises:
        ConfigError: If a file is not valid, trip, policy and harm are out of order, or an id is
            used twice; all mistakes of a file at once.
    """
    limits: dict[str, Limit] = {}
    for path in paths:
        mistakes: list[str] = []
        for name, table in load_validated(path, _LimitFile).limit.items():
            key = f"limit.{name}"
            if name in limits:
                mistakes.append(f"{key}: is already in another file; use another id")
            values = _steps(key, table, mistakes)
            if len(values) == len(STEPS):
                limits[name] = _limit(name, table, values)
        if mistakes:
            raise ConfigError(str(path), mistakes)
    return limits


def limit_files() -> tuple[Path, ...]:
    """Return the files of limits for people that come with the project."""
    return tuple(sorted((hardware_dir() / "limits").glob("person*.toml")))


def constants(limits: Mapping[str, Limit]) -> Mapping[str, Constant]:
    """Return every step of every limit under the name rules use, ``limit.ID.STEP``."""
    return {
        f"limit.{limit.id}.{step}": Constant(getattr(limit, step), limit.unit)
        for limit in limits.values()
        for step in STEPS
    }


def envelope_file(bench: str) -> Path:
    """Return the file with the envelope of the bench called ``bench``."""
    return hardware_dir() / "limits" / f"{bench}.toml"


def load_envelope(bench: str | Path, actuators: Sequence[Actuator]) -> tuple[Bound, ...]:
    """Return the bounds of ``actuators``, in their order.

    Args:
        bench: Name of the bench, or the path of an envelope file. A file with ``base`` takes the
            bounds of actuators that it does not list itself from that file beside it.
        actuators: The bench's actuators; each needs a bound within what the hardware takes.

    Raises:
        ConfigError: If the file is not valid or an actuator has no bound, a bound has no actuator,
            or a bound allows more than the hardware; all mistakes at once.
    """
    path = bench if isinstance(bench, Path) else envelope_file(bench)
    file = load_validated(path, _EnvelopeFile)
    tables = dict(file.envelope)
    if file.base:
        base = load_validated(path.with_name(f"{file.base}.toml"), _EnvelopeFile).envelope
        wanted = {a.name for a in actuators} - {*tables}
        tables |= {name: table for name, table in base.items() if name in wanted}
    mistakes = [
        f"envelope.{name}: there is no such actuator"
        for name in tables
        if name not in {a.name for a in actuators}
    ]
    bounds: list[Bound] = []
    for actuator in actuators:
        key = f"envelope.{actuator.name}"
        if actuator.name not in tables:
            mistakes.append(f"{key}: is missing; every actuator needs a range and a rate")
            continue
        try:
            bounds.append(_bound(tables[actuator.name], actuator))
        except UsageError as error:
            mistakes.append(f"{key}: {error}")
    if mistakes:
        raise ConfigError(str(path), mistakes)
    return tuple(bounds)


def _bound(table: _BoundTable, actuator: Actuator) -> Bound:
    low, high = (parse_quantity(text, actuator.unit) for text in table.range)
    rate = parse_quantity(table.rate, f"({actuator.unit})/(s)" if actuator.unit != "1" else "1/s")
    if not actuator.low <= low < high <= actuator.high:
        raise UsageError(
            f"range {low:g} to {high:g} is not within {actuator.low:g} to {actuator.high:g} {actuator.unit}"
        )
    if not 0 < rate <= actuator.rate:
        raise UsageError(f"rate {rate:g} is not above 0 and at most {actuator.rate:g} {actuator.unit}/s")
    return Bound(actuator.name, low, high, rate)
