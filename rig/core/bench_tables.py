"""Bench and station files as they are written: which tables they may have, and which keys are in them."""

from typing import Annotated, Literal

from pydantic import Field

from rig.core.camera import CameraTable
from rig.core.device import CalibrationTable, DeviceTable
from rig.core.toml_file import StrictTable

Number = Annotated[float, Field(allow_inf_nan=False)]
Range = Annotated[tuple[Number, Number], Field(strict=False)]  # TOML has arrays, not tuples


class ActuatorTable(StrictTable):
    """An ``[actuator.NAME]`` or ``[body.NAME]`` table."""

    unit: str
    range: Range
    rate: Number
    text: str = ""


class IntentTable(StrictTable):
    """An ``[intent.NAME]`` table."""

    unit: str
    range: Range
    text: str = ""


class ChannelTable(StrictTable):
    """A ``[channel.NAME]`` table."""

    unit: str
    range: Range
    period: str
    stale_after: str
    audience: Literal["agent", "monitor", "oracle"] = "agent"
    resolution: Number = 0.0
    noise: Number = 0.0
    latency: str = "0 s"
    camera: str = ""
    text: str = ""


class PadTable(StrictTable):
    """A ``[pad.NAME]`` table."""

    region: str
    area: str
    text: str = ""


class Parts(StrictTable):
    """What a bench file and a station file may both list."""

    actuator: dict[str, ActuatorTable] = {}
    body: dict[str, ActuatorTable] = {}
    intent: dict[str, IntentTable] = {}
    channel: dict[str, ChannelTable] = {}
    camera: dict[str, CameraTable] = {}


class BenchFile(Parts):
    """A whole bench file."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    text: str
    embodiment: Literal["simulated", "emulated", "physical"]
    backend: str
    scene: str = ""
    tick: str
    slow_tick: str
    reaction: str
    stations: tuple[str, ...] = Field(default=(), strict=False)
    tool: str = ""
    pad: dict[str, PadTable] = {}
    unmeasured: Literal["refused", "simulated"] = "refused"
    device: dict[str, DeviceTable] = {}
    calibration: dict[str, CalibrationTable] = {}
