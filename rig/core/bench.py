"""Bench files: which channels and actuators a bench has, and how fast it ticks.

A bench is ``hardware/benches/NAME.toml``, or any file of that form. Everything a bench file says
is checked when it is loaded, and all its mistakes are reported together.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rig.core.channel import Audience, Channel, Layout
from rig.core.clock import nanoseconds
from rig.core.command import Actuator
from rig.core.data import hardware_dir
from rig.core.errors import ConfigError, UsageError, unknown
from rig.core.quantity import parse_quantity
from rig.core.toml_file import parse_validated

NEVER_STALE_S = 1e6
"""Age limit of an intent channel: the controller writes it on every tick, so it cannot grow old."""

Number = Annotated[float, Field(allow_inf_nan=False)]
Range = Annotated[tuple[Number, Number], Field(strict=False)]  # TOML has arrays, not tuples


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _ActuatorTable(_Table):
    unit: str
    range: Range
    rate: Number
    text: str = ""


class _IntentTable(_Table):
    unit: str
    range: Range
    text: str = ""


class _ChannelTable(_Table):
    unit: str
    range: Range
    period: str
    stale_after: str
    audience: Literal["agent", "monitor", "oracle"] = "agent"
    resolution: Number = 0.0
    noise: Number = 0.0
    latency: str = "0 s"
    text: str = ""


class _BenchFile(_Table):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    text: str
    embodiment: Literal["simulated", "emulated", "physical"]
    backend: str
    scene: str = ""
    tick: str
    slow_tick: str
    reaction: str
    actuator: dict[str, _ActuatorTable]
    body: dict[str, _ActuatorTable] = {}
    intent: dict[str, _IntentTable] = {}
    channel: dict[str, _ChannelTable]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """A bench as its file describes it.

    Attributes:
        name: Short name, as in ``--bench NAME``.
        text: What it is, in words for people.
        embodiment: ``simulated``, ``emulated`` or ``physical``.
        backend: Dotted path of the package that drives it.
        scene: File in ``hardware/scenes``; empty when the bench has none.
        tick_ns: Control period.
        slow_tick_ns: Period while nothing moves and nothing is in contact.
        reaction_ns: From a verdict to the actuator.
        actuators: What the gate may pass setpoints to, in column order.
        body: What the scripted care recipient does, set by the person model only.
        intents: Names of the channels on which the controller says what it is about to do.
        layout: Every channel, the intents last.
        digest: SHA-256 of the file's bytes.
    """

    name: str
    text: str
    embodiment: str
    backend: str
    scene: str
    tick_ns: int
    slow_tick_ns: int
    reaction_ns: int
    actuators: tuple[Actuator, ...]
    body: tuple[Actuator, ...]
    intents: tuple[str, ...]
    layout: Layout
    digest: str


class _Reader:
    """Turns checked tables into values, collecting mistakes instead of stopping at the first."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []

    def quantity(self, key: str, text: str, unit: str) -> float:
        try:
            return parse_quantity(text, unit)
        except UsageError as error:
            self.mistakes.append(f"{key}: {error}")
            return 1.0

    def period_ns(self, key: str, text: str) -> int:
        period_ns = nanoseconds(self.quantity(key, text, "s"))
        if period_ns <= 0:
            self.mistakes.append(f"{key}: {text!r} must be longer than nothing")
        return period_ns

    def unit(self, key: str, unit: str) -> str:
        self.quantity(f"{key}.unit", "1" if unit == "1" else f"1 {unit}", unit)
        return unit

    def actuators(self, kind: str, tables: Mapping[str, _ActuatorTable]) -> Iterator[Actuator]:
        for name, table in tables.items():
            key = f"{kind}.{name}"
            low, high = table.range
            try:
                yield Actuator(
                    name=name, unit=self.unit(key, table.unit), low=low, high=high, rate=table.rate,
                    text=table.text,
                )  # fmt: skip
            except UsageError as error:
                self.mistakes.append(f"{key}: {error}")

    def channels(self, tables: Mapping[str, _ChannelTable]) -> Iterator[Channel]:
        for name, table in tables.items():
            key = f"channel.{name}"
            low, high = table.range
            try:
                yield Channel(
                    name=name,
                    unit=self.unit(key, table.unit),
                    low=low,
                    high=high,
                    period_s=self.quantity(f"{key}.period", table.period, "s"),
                    stale_after_s=self.quantity(f"{key}.stale_after", table.stale_after, "s"),
                    audience=Audience(table.audience),
                    resolution=table.resolution,
                    noise=table.noise,
                    latency_s=self.quantity(f"{key}.latency", table.latency, "s"),
                    text=table.text,
                )
            except UsageError as error:
                self.mistakes.append(f"{key}: {error}")

    def intents(self, tables: Mapping[str, _IntentTable], tick_s: float) -> Iterator[Channel]:
        for name, table in tables.items():
            key = f"intent.{name}"
            low, high = table.range
            try:
                yield Channel(
                    name=name,
                    unit=self.unit(key, table.unit),
                    low=low,
                    high=high,
                    period_s=tick_s,
                    stale_after_s=NEVER_STALE_S,
                    audience=Audience.MONITOR,
                    text=table.text,
                )
            except UsageError as error:
                self.mistakes.append(f"{key}: {error}")


def _duplicates(file: _BenchFile) -> list[str]:
    mistakes = [f"intent.{n}: is a channel too; rename one" for n in file.intent if n in file.channel]
    return mistakes + [f"body.{n}: is an actuator too; rename one" for n in file.body if n in file.actuator]


def _spec(file: _BenchFile, source: str, digest: str) -> BenchSpec:
    reader = _Reader()
    tick_ns = reader.period_ns("tick", file.tick)
    slow_tick_ns = reader.period_ns("slow_tick", file.slow_tick)
    reaction_ns = nanoseconds(reader.quantity("reaction", file.reaction, "s"))
    if slow_tick_ns < tick_ns:
        reader.mistakes.append(f"slow_tick: {file.slow_tick!r} must be at least the tick, {file.tick!r}")
    if reaction_ns < 0:
        reader.mistakes.append(f"reaction: {file.reaction!r} must not be negative")
    actuators = tuple(reader.actuators("actuator", file.actuator))
    body = tuple(reader.actuators("body", file.body))
    channels = [*reader.channels(file.channel), *reader.intents(file.intent, max(tick_ns, 1) / 1e9)]
    reader.mistakes += _duplicates(file)
    if reader.mistakes:
        raise ConfigError(source, reader.mistakes)
    return BenchSpec(
        name=file.name,
        text=file.text,
        embodiment=file.embodiment,
        backend=file.backend,
        scene=file.scene,
        tick_ns=tick_ns,
        slow_tick_ns=slow_tick_ns,
        reaction_ns=reaction_ns,
        actuators=actuators,
        body=body,
        intents=tuple(file.intent),
        layout=Layout(channels),
        digest=digest,
    )


def bench_names() -> tuple[str, ...]:
    """Return the names of the benches that come with the project."""
    return tuple(sorted(p.stem for p in (hardware_dir() / "benches").glob("*.toml")))


def load_bench(name_or_path: str | Path) -> BenchSpec:
    """Load a bench by name (``sim``) or by the path of its file.

    Raises:
        UsageError: If there is no such bench; the message lists those there are.
        ConfigError: If the file is not TOML or says something that cannot be; all mistakes at once.
    """
    text = str(name_or_path)
    if text.endswith(".toml"):
        path = Path(name_or_path)
    elif text in bench_names():
        path = hardware_dir() / "benches" / f"{text}.toml"
    else:
        raise unknown("bench", text, bench_names())
    try:
        raw = path.read_bytes()
    except OSError as error:
        known = ", ".join(bench_names())
        raise UsageError(f"{path}: cannot be read ({error.strerror}); known benches: {known}") from None
    file = parse_validated(raw, str(path), _BenchFile)
    return _spec(file, str(path), hashlib.sha256(raw).hexdigest())
