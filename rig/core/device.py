"""Devices of a bench and their calibrations, as a bench file lists them.

A device is found by what it says it is (the serial number of its adapter, its own unique id), never by the
number a port happened to get.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from rig.core.clock import nanoseconds
from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import StrictTable

Driver = Literal["node", "modbus", "feetech"]
ADDRESSES = (
    "usb:VID:PID:SERIAL (hexadecimal; the adapter's serial number), tcp:HOST:PORT, or for an emulated bench "
    "qemu, library, simulated-tcp, simulated-rtu"
)
EMULATED = ("qemu", "library", "simulated-tcp", "simulated-rtu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Something at the end of a wire.

    Attributes:
        name: What the bench file calls it.
        driver: Which driver speaks to it.
        address: Where it is: see `ADDRESSES`.
        monitor_address: A node's second port, for the monitor alone; empty when it has none.
        unit: Number on a shared line (Modbus unit, servo bus offset).
        baud: Speed of a serial line, bits per second.
        uid: Its own unique id, hexadecimal; empty when it has none to read.
        registers: Register map in ``hardware/registers``, for Modbus.
        heartbeat_ns: How long it moves on without hearing from us.
        poll_ns: How often a device that does not speak by itself is asked what it measures.
        actuators: The actuators it drives.
        channels: The channels it measures.
    """

    name: str
    driver: Driver
    address: str
    monitor_address: str
    unit: int
    baud: int
    uid: str
    registers: str
    heartbeat_ns: int
    poll_ns: int
    actuators: tuple[str, ...]
    channels: tuple[str, ...]

    @property
    def emulated(self) -> bool:
        """Whether it is made of software."""
        return self.address in EMULATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Proof that a channel tells the truth: value = gain * raw + offset, certified until a day.

    Attributes:
        channel: The channel.
        gain: Factor on the raw value.
        offset: Added after it, in the channel's unit.
        expires: Last day it holds.
        certificate: Number or file of the certificate.
        sha256: Of the certificate's bytes.
        by_role: Role of who calibrated.
    """

    channel: str
    gain: float
    offset: float
    expires: date
    certificate: str
    sha256: str
    by_role: str


class DeviceTable(StrictTable):
    """A ``[device.NAME]`` table."""

    driver: Driver
    address: str
    monitor_address: str = ""
    unit: Annotated[int, Field(ge=0, le=247)] = 0
    baud: Annotated[int, Field(ge=1200, le=4_000_000)] = 115_200
    uid: Annotated[str, Field(pattern=r"^([0-9a-f]{2})*$")] = ""
    registers: str = ""
    heartbeat: str = "100 ms"
    poll: str = "25 ms"
    actuators: list[str] = []
    channels: list[str] = []

    def device(self, name: str, mistakes: list[str]) -> Device:
        """Return the device; what is wrong with it goes to ``mistakes``."""
        heartbeat_s = _within(f"device.{name}.heartbeat", self.heartbeat, 0.05, 1.0, mistakes)
        poll_s = _within(f"device.{name}.poll", self.poll, 0.005, 1.0, mistakes)
        for key, address in (("address", self.address), ("monitor_address", self.monitor_address)):
            if address and not address_known(address):
                mistakes.append(f"device.{name}.{key}: {address!r} is no address; give {ADDRESSES}")
        if (self.driver == "modbus") != bool(self.registers):
            mistakes.append(
                f"device.{name}.registers: give a register map for a Modbus device, and only for one"
            )
        return Device(
            name=name, driver=self.driver, address=self.address, monitor_address=self.monitor_address,
            unit=self.unit, baud=self.baud, uid=self.uid, registers=self.registers,
            heartbeat_ns=nanoseconds(heartbeat_s), poll_ns=nanoseconds(poll_s), actuators=tuple(self.actuators),
            channels=tuple(self.channels),
        )  # fmt: skip


class CalibrationTable(StrictTable):
    """A ``[calibration."CHANNEL"]`` table."""

    gain: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    offset: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    expires: date
    certificate: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    by_role: Annotated[str, Field(min_length=1)]

    def calibration(self, channel: str) -> Calibration:
        """Return the calibration of ``channel``."""
        return Calibration(
            channel=channel, gain=self.gain, offset=self.offset, expires=self.expires,
            certificate=self.certificate, sha256=self.sha256, by_role=self.by_role,
        )  # fmt: skip


def _within(key: str, given: str, low_s: float, high_s: float, mistakes: list[str]) -> float:
    """Return a time of the bench file in seconds; what is wrong with it goes to ``mistakes``."""
    try:
        found_s = parse_quantity(given, "s")
    except UsageError as error:
        mistakes.append(f"{key}: {error}")
        return low_s
    if not low_s <= found_s <= high_s:
        mistakes.append(f"{key}: {given!r} must be within {low_s * 1000:g} ms and {high_s:g} s")
    return found_s


def address_known(address: str) -> bool:
    """Return whether an address has one of the known forms.

    >>> address_known("usb:0483:374b:066BFF"), address_known("/dev/ttyACM0")
    (True, False)
    """
    kind, *rest = address.split(":")
    if kind == "usb":
        return len(rest) == 3 and all(rest) and all(_hexadecimal(r) for r in rest[:2])
    if kind == "tcp":
        return len(rest) == 2 and bool(rest[0]) and rest[1].isdigit() and 0 < int(rest[1]) < 65536
    return address in EMULATED


def _hexadecimal(text: str) -> bool:
    return len(text) == 4 and all(c in "0123456789abcdefABCDEF" for c in text)


def device_mistakes(
    devices: Sequence[Device], actuators: Sequence[str], channels: Sequence[str]
) -> list[str]:
    """Return what is wrong with a bench's devices together."""
    mistakes: list[str] = []
    places: list[tuple[str, str, int | None]] = []
    drives: dict[str, str] = {}
    shows: dict[str, str] = {}
    for d in devices:
        for address in filter(None, (d.address, d.monitor_address)):
            if address in ("qemu", "library"):
                continue  # each has a process of its own
            unit = (
                d.unit if d.driver == "modbus" else None
            )  # a Modbus line is shared by units, nothing else is
            for other, at, number in places:
                if at == address and (unit is None or number is None or unit == number):
                    said = address if unit is None else f"{address} unit {unit}"
                    mistakes.append(
                        f"device.{d.name}: is at {said}, where {other} is; give each its own address"
                    )
            places.append((d.name, address, unit))
        for kind, names, known, owner in (
            ("actuator", d.actuators, actuators, drives), ("channel", d.channels, channels, shows)
        ):  # fmt: skip
            for name in names:
                if name not in known:
                    mistakes.append(f"device.{d.name}: there is no {kind} {name!r} on this bench")
                elif name in owner:
                    mistakes.append(f"device.{d.name}: {kind} {name} belongs to {owner[name]} already")
                owner.setdefault(name, d.name)
    return mistakes
