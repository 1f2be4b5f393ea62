"""Register maps: what lies where in a Modbus device, from TOML; pure encoding and decoding."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rig.core.channel import Layout
from rig.core.clock import nanoseconds
from rig.core.command import Actuator
from rig.core.data import hardware_file
from rig.core.errors import ConfigError, UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import StrictTable, load_validated

LIMITS = {"u16": (0, 0xFFFE), "i16": (-0x7FFF, 0x7FFF)}
SILENT = {"u16": 0xFFFF, "i16": 0x8000}
"""What a register reads whose sensor does not answer: as on industrial transmitters, the one value left over."""
Word16 = Annotated[int, Field(ge=0, le=0xFFFF)]


class Block(StrictTable):
    """Consecutive registers that are read or written in one request."""

    address: Word16
    length: Annotated[int, Field(ge=1, le=120)]
    canary: bool = False


class Word(StrictTable):
    """One register with a name; ``expected`` is what it must read."""

    block: str
    at: Annotated[int, Field(ge=0)]
    expected: Word16 | None = None


class Quantity(StrictTable):
    """One register that holds a quantity: value = number * scale, in the unit; `SILENT` is no value."""

    block: str
    at: Annotated[int, Field(ge=0)]
    type: Literal["u16", "i16"]
    unit: str
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    def decode(self, word: int) -> float:
        """Return the value of a register, NaN if it says that its sensor is silent."""
        if word == SILENT[self.type]:
            return math.nan
        signed = word - 0x10000 if self.type == "i16" and word >= 0x8000 else word
        return signed * self.scale

    def measured(self, value: float) -> int:
        """Return what a converter makes of a value: it saturates, and NaN is silence."""
        if math.isnan(value):
            return SILENT[self.type]
        low, high = LIMITS[self.type]
        return min(max(round(value / self.scale), low), high) & 0xFFFF

    def encode(self, value: float) -> int:
        """Return the register of a value.

        Raises:
            UsageError: If it does not fit; never clipped.
        """
        number = round(value / self.scale)
        low, high = LIMITS[self.type]
        if not low <= number <= high:
            raise UsageError(
                f"{value} {self.unit} does not fit a {self.type} register of {self.scale:g} {self.unit}"
            )
        return number & 0xFFFF


class _File(StrictTable):
    name: str
    text: str
    canary: Word16
    longest_answer: str
    block: dict[str, Block]
    word: dict[str, Word] = {}
    channel: dict[str, Quantity]
    actuator: dict[str, Quantity] = {}
    control: dict[str, Word] = {}


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """A checked register map. One without actuators is of a device that only measures.

    Attributes:
        longest_answer_ns: The device's maximum time to answer.
    """

    name: str
    text: str
    canary: int
    longest_answer_ns: int
    blocks: Mapping[str, Block]
    words: Mapping[str, Word]
    channels: Mapping[str, Quantity]
    actuators: Mapping[str, Quantity]
    control: Mapping[str, Word]

    def wrong(self, block: str, words: Sequence[int]) -> str | None:
        """Return why these registers cannot be that block of this device, None when they can."""
        b = self.blocks[block]
        if len(words) != b.length:
            return f"{len(words)} registers instead of {b.length}"
        if b.canary and words[0] != self.canary:
            return f"canary {words[0]:#06x} instead of {self.canary:#06x}: another unit, or another map"
        for name, word in self.words.items():
            if word.block == block and word.expected is not None and words[word.at] != word.expected:
                return f"{name} reads {words[word.at]:#06x} instead of {word.expected:#06x}"
        return None

    def word(self, name: str, words: Sequence[int]) -> int:
        """Return a named register out of its block's registers."""
        return words[self.words[name].at]

    def values(self, block: str, words: Sequence[int]) -> dict[str, float]:
        """Return the channels of a block."""
        return {n: q.decode(words[q.at]) for n, q in self.channels.items() if q.block == block}

    def command(self, setpoints: Mapping[str, float], mode: int, lease_ms: int) -> list[int]:
        """Return the registers of the command block.

        Raises:
            UsageError: If a setpoint is missing or does not fit.
        """
        words = [0] * self.blocks["command"].length
        for name, q in self.actuators.items():
            if name not in setpoints:
                raise UsageError(f"no setpoint for {name}: the device takes all of them together")
            words[q.at] = q.encode(setpoints[name])
        words[self.control["mode"].at] = mode
        words[self.control["lease"].at] = lease_ms
        return words


def load_registers(name: str | Path) -> RegisterMap:
    """Load ``hardware/registers/NAME.toml``, or the file at a path.

    Raises:
        UsageError: If there is none.
        ConfigError: If it is wrong; all mistakes at once.
    """
    path = name if isinstance(name, Path) else hardware_file("registers", f"{name}.toml")
    file = load_validated(path, _File)
    mistakes = _mistakes(file)
    longest_s = 0.0
    try:
        longest_s = parse_quantity(file.longest_answer, "s")
    except UsageError as error:
        mistakes.append(f"longest_answer: {error}")
    if mistakes:
        raise ConfigError(str(path), mistakes)
    return RegisterMap(
        file.name, file.text, file.canary, nanoseconds(longest_s), file.block, file.word, file.channel,
        file.actuator, file.control,
    )  # fmt: skip


def _mistakes(file: _File) -> list[str]:
    mistakes = []
    lengths: dict[int, str] = {}
    for name, block in file.block.items():
        if block.length in lengths:
            mistakes.append(
                f"block.{name}: as long as {lengths[block.length]}: a late answer to one would pass for the other"
            )
        lengths.setdefault(block.length, name)
    taken: dict[tuple[str, int], str] = {(n, 0): "the canary" for n, b in file.block.items() if b.canary}
    entries: list[tuple[str, Word | Quantity]] = [
        *((f"word.{n}", w) for n, w in file.word.items()), *((f"channel.{n}", q) for n, q in file.channel.items()),
        *((f"actuator.{n}", q) for n, q in file.actuator.items()), *((f"control.{n}", w) for n, w in file.control.items()),
    ]  # fmt: skip
    for key, entry in entries:
        known = file.block.get(entry.block)
        if known is None:
            mistakes.append(f"{key}: no block {entry.block!r}; known: {', '.join(file.block)}")
        elif entry.at >= known.length:
            mistakes.append(f"{key}: at {entry.at} is outside block {entry.block} of {known.length}")
        elif (entry.block, entry.at) in taken:
            mistakes.append(
                f"{key}: at {entry.at} of {entry.block} is {taken[entry.block, entry.at]} already"
            )
        taken.setdefault((entry.block, entry.at), key)
    drives = bool(file.actuator)
    for needed in ("identity", "status", *(("command",) if drives else ())):
        if needed not in file.block:
            mistakes.append(f"block.{needed}: is missing")
    if drives:
        mistakes += [f"control.{n}: is missing" for n in ("mode", "lease") if n not in file.control]
    return mistakes + [f"word.{n}: is missing" for n in ("beat", "state") if n not in file.word]


def check_units(registers: RegisterMap, layout: Layout, actuators: Sequence[Actuator]) -> None:
    """Refuse a map whose units are not the bench's.

    Raises:
        ConfigError: Naming each; a value in another unit must never be taken for one of ours.
    """
    known = {a.name: a for a in actuators}
    mistakes = [
        f"channel.{n}: is in {q.unit} here, in {layout[n].unit} on the bench"
        for n, q in registers.channels.items()
        if n in layout and q.unit != layout[n].unit
    ]
    for n, q in registers.actuators.items():
        if n in known and q.unit != known[n].unit:
            mistakes.append(f"actuator.{n}: is in {q.unit} here, in {known[n].unit} on the bench")
        elif n in known:
            try:
                q.encode(known[n].low), q.encode(known[n].high)
            except UsageError as error:
                mistakes.append(f"actuator.{n}: {error}")
    if mistakes:
        raise ConfigError(f"registers {registers.name}", mistakes)
