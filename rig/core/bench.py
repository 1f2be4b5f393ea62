"""Bench files: which channels and actuators a bench has, and how fast it ticks.

A bench is ``hardware/benches/NAME.toml``, or any file of that form. It may be put together from
stations: what ``hardware/stations/NAME.toml`` lists is part of it. Everything a bench file says is
checked when it is loaded, and all its mistakes are reported together.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.core.bench_tables import ActuatorTable, BenchFile, ChannelTable, IntentTable, PadTable, Parts
from rig.core.camera import CameraSpec, SensorModel
from rig.core.channel import Audience, Channel, Layout
from rig.core.clock import nanoseconds
from rig.core.command import Actuator
from rig.core.data import hardware_dir, hardware_file
from rig.core.device import Calibration, Device, device_mistakes
from rig.core.errors import ConfigError, UsageError, unknown
from rig.core.quantity import parse_quantity
from rig.core.toml_file import parse_toml, parse_validated, validated

NEVER_STALE_S = 1e6
"""Age limit of an intent channel: the controller writes it on every tick, so it cannot grow old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad:
    """A named piece of the person's skin that feels force.

    Attributes:
        name: Short name: ``forearm_left``.
        region: Region of the body, which decides the spring under it.
        area_m2: Area over which a tool's force is spread.
        text: What it is, in words.
    """

    name: str
    region: str
    area_m2: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSpec:
    """A bench as its file describes it.

    Attributes:
        name: Short name, as in ``--bench NAME``.
        text: What it is, in words for people.
        embodiment: ``simulated``, ``emulated`` or ``physical``.
        backend: Dotted path of the package that drives it.
        scene: File in ``hardware/scenes``; empty when the bench has none.
        stations: Pieces of equipment it is put together from. What ``hardware/stations/NAME.toml`` lists
            is part of the bench: actuators, body quantities, intents and channels.
        tool: What is fitted to the arm, a file in ``hardware/scenes/tools``; empty for none.
        pads: Pieces of skin that feel force.
        tick_ns: Control period.
        slow_tick_ns: Period while nothing moves and nothing is in contact.
        reaction_ns: From a verdict to the actuator.
        actuators: What the gate may pass setpoints to, in column order.
        body: What the scripted care recipient does, set by the person model only.
        intents: Names of the channels on which the controller says what it is about to do.
        layout: Every channel, the intents last.
        digest: SHA-256 of the bytes of the file, of the file it extends, and of its stations' files.
        devices: What there is on wires, and how each is found again.
        calibrations: Of which channels there is proof that they tell the truth, and until when.
        cameras: What looks at it, and what is read off each.
        base: The bench it extends, whose limits it has; its own name when it extends none.
        unmeasured: What a physical bench does about channels that no device measures: ``refused``, no trial;
            ``simulated``, a dry run with nobody at the bench, in which the bench it extends stands in for them.
    """

    name: str
    text: str
    embodiment: str
    backend: str
    scene: str
    stations: tuple[str, ...]
    tool: str
    pads: tuple[Pad, ...]
    tick_ns: int
    slow_tick_ns: int
    reaction_ns: int
    actuators: tuple[Actuator, ...]
    body: tuple[Actuator, ...]
    intents: tuple[str, ...]
    layout: Layout
    digest: str
    devices: tuple[Device, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    cameras: tuple[CameraSpec, ...] = ()
    base: str = ""
    unmeasured: str = "refused"

    @property
    def counts_as(self) -> str:
        """The embodiment a trial's results stand for: a dry run is no evidence of a physical bench."""
        dry = self.embodiment == "physical" and self.unmeasured == "simulated"
        return "emulated" if dry else self.embodiment


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

    def actuators(self, kind: str, tables: Mapping[str, ActuatorTable]) -> Iterator[Actuator]:
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

    def channels(self, tables: Mapping[str, ChannelTable]) -> Iterator[Channel]:
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

    def pads(self, tables: Mapping[str, PadTable]) -> Iterator[Pad]:
        for name, table in tables.items():
            area_m2 = self.quantity(f"pad.{name}.area", table.area, "m^2")
            if not area_m2 > 0:
                self.mistakes.append(f"pad.{name}.area: {table.area!r} must be more than nothing")
            yield Pad(name=name, region=table.region, area_m2=area_m2, text=table.text)

    def intents(self, tables: Mapping[str, IntentTable], tick_s: float) -> Iterator[Channel]:
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


def _duplicates(file: BenchFile) -> list[str]:
    mistakes = [f"intent.{n}: is a channel too; rename one" for n in file.intent if n in file.channel]
    return mistakes + [f"body.{n}: is an actuator too; rename one" for n in file.body if n in file.actuator]


def _spec(
    file: BenchFile, source: str, digest: str, base: str, models: Mapping[str, SensorModel]
) -> BenchSpec:
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
    pads = tuple(reader.pads(file.pad))
    reader.mistakes += _duplicates(file)
    if file.unmeasured == "simulated" and not (file.embodiment == "physical" and base):
        reader.mistakes.append('unmeasured: "simulated" is for a physical bench that extends a simulated one')
    devices = tuple(table.device(name, reader.mistakes) for name, table in file.device.items())
    reader.mistakes += device_mistakes(devices, [a.name for a in actuators], [c.name for c in channels])
    calibrations = tuple(t.calibration(name) for name, t in file.calibration.items())
    reader.mistakes += [
        f"calibration.{name}: there is no such channel"
        for name in file.calibration
        if name not in file.channel
    ]
    cameras = tuple(
        table.camera(
            name,
            tuple(c for c, t in file.channel.items() if t.camera == name),
            reader.mistakes,
            models.get(name),
        )
        for name, table in file.camera.items()
    )
    reader.mistakes += [
        f"channel.{name}.camera: there is no camera {table.camera!r}"
        for name, table in file.channel.items()
        if table.camera and table.camera not in file.camera
    ]
    if reader.mistakes:
        raise ConfigError(source, reader.mistakes)
    return BenchSpec(
        name=file.name,
        text=file.text,
        embodiment=file.embodiment,
        backend=file.backend,
        scene=file.scene,
        stations=file.stations,
        tool=file.tool,
        pads=pads,
        tick_ns=tick_ns,
        slow_tick_ns=slow_tick_ns,
        reaction_ns=reaction_ns,
        actuators=actuators,
        body=body,
        intents=tuple(file.intent),
        layout=Layout(channels),
        digest=digest,
        devices=devices,
        calibrations=calibrations,
        cameras=cameras,
        base=base or file.name,
        unmeasured=file.unmeasured,
    )


def bench_names() -> tuple[str, ...]:
    """Return the names of the benches that come with the project."""
    return tuple(sorted(p.stem for p in (hardware_dir() / "benches").glob("*.toml")))


def load_bench(name_or_path: str | Path) -> BenchSpec:
    """Load a bench by name (``sim``) or by the path of its file.

    A file may say ``extends = "sim"``: then it has everything of that bench but what it says itself.

    Raises:
        UsageError: If there is no such bench; the message lists those there are.
        ConfigError: If the file is not TOML or says something that cannot be; all mistakes at once.
    """
    path = _path_of(name_or_path)
    raw = _bytes_of(path)
    tables, digest, base = parse_toml(raw, str(path)), hashlib.sha256(raw), ""
    if "extends" in tables:
        base = str(tables.pop("extends"))
        if base not in bench_names():
            raise ConfigError(str(path), [f"extends: no bench {base!r}; known: {', '.join(bench_names())}"])
        base_path = _path_of(base)
        below = parse_toml(base_raw := _bytes_of(base_path), str(base_path))
        if "extends" in below:
            raise ConfigError(str(path), [f"extends: {base} extends another bench itself; extend that one"])
        tables = _laid_over(below, tables)
        digest.update(base_raw)
    raw_parts = _stations(tables.get("stations"), str(path))
    below_cameras: dict[str, Any] = {}
    for raw_part in raw_parts.values():
        digest.update(raw_part)
    for path_of_part, raw_part in raw_parts.items():
        below_cameras |= parse_toml(raw_part, str(path_of_part)).get("camera", {})
    if below_cameras:  # what a bench says of a station's camera, it says key by key: its own lens and cable
        tables["camera"] = _laid_over(below_cameras, tables.get("camera", {}))
    file = validated(tables, str(path), BenchFile)
    parts = [parse_validated(raw, str(where), Parts) for where, raw in raw_parts.items()]
    merged, models = _merged(file, parts, str(path)), {}
    for camera, table in merged.camera.items():
        if table.model:
            place = hardware_file("sensors", f"{table.model}.toml")
            digest.update(raw_model := place.read_bytes())
            models[camera] = parse_validated(raw_model, str(place), SensorModel)
    return _spec(_fitted(merged, models), str(path), digest.hexdigest(), base, models)


def _fitted(file: BenchFile, models: Mapping[str, SensorModel]) -> BenchFile:
    """Return the bench with the noise of what is read off its cameras as it was fitted."""
    channels = dict(file.channel)
    for camera, model in models.items():
        for name, found in model.channel.items():
            if name in channels and channels[name].camera == camera:
                channels[name] = channels[name].model_copy(update={"noise": found.sd})
    return file.model_copy(update={"channel": channels})


def _stations(names: object, source: str) -> dict[Path, bytes]:
    """Return the files of a bench's stations; a list that is none is left to the validation."""
    found = {}
    for name in names if isinstance(names, list) else ():
        try:
            path = hardware_file("stations", f"{name}.toml")
        except UsageError as error:
            raise ConfigError(source, [f"stations: {error}"]) from None
        found[path] = path.read_bytes()
    return found


def _path_of(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if text.endswith(".toml"):
        return Path(name_or_path)
    if text in bench_names():
        return hardware_dir() / "benches" / f"{text}.toml"
    raise unknown("bench", text, bench_names())


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        known = ", ".join(bench_names())
        raise UsageError(f"{path}: cannot be read ({error.strerror}); known benches: {known}") from None


def _merged(file: BenchFile, parts: Sequence[Parts], source: str) -> BenchFile:
    """Return the bench with everything its stations list, theirs first."""
    tables: dict[str, dict[str, Any]] = {}
    mistakes = []
    for kind in Parts.model_fields:
        if kind == "camera":
            continue  # laid over one another already
        tables[kind] = {}
        for part in (*parts, file):
            for name, table in getattr(part, kind).items():
                if name in tables[kind]:
                    mistakes.append(f"{kind}.{name}: is declared twice, by the bench or one of its stations")
                tables[kind][name] = table
    if mistakes:
        raise ConfigError(source, mistakes)
    return file.model_copy(update=tables)


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables in which what ``above`` says wins, key by key."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(value, dict) and isinstance(under, dict)
        merged[key] = _laid_over(under, value) if both and isinstance(under, dict) else value
    return merged
