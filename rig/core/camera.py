"""Cameras of a bench, as its file lists them: what each looks at, how fast, how late, and what may be recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from rig.core.clock import nanoseconds
from rig.core.errors import UsageError
from rig.core.quantity import parse_quantity
from rig.core.toml_file import StrictTable, Table

SCENE = "scene:"
"""Source of a camera that is part of a simulated scene; what follows is its name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSpec:
    """A camera.

    Attributes:
        name: Short name.
        text: Where it is and what it looks at, in words.
        source: ``scene:NAME``, or a stable path of a device such as ``/dev/v4l/by-id/...``.
        width: Pixels.
        height: Pixels.
        period_ns: Between two exposures.
        latency_ns: From an exposure to what is read off it.
        stale_after_ns: Age at which a frame is not to be believed any more.
        frozen_after: So many frames with one and the same picture mean that it is frozen.
        record: What is recorded and shown: pictures, silhouettes from depth, or nothing.
        record_every_ns: Between two frames that are recorded.
        sync_error_ns: How far the stamp of an exposure may be off against trial time.
        calibration: File of its calibration, empty for a renderer, whose lens is known.
        place: File of where it is on the bench; empty where that is not measured.
        expires: Last day the calibration holds; None for a renderer.
        channels: What is read off it.
        missed: Share of frames off which a channel is not read, by channel, from the fitted model.
    """

    name: str
    text: str
    source: str
    width: int
    height: int
    period_ns: int
    latency_ns: int
    stale_after_ns: int
    frozen_after: int
    record: Literal["picture", "silhouette", "nothing"]
    record_every_ns: int
    sync_error_ns: int
    calibration: str
    expires: date | None
    channels: tuple[str, ...]
    missed: Mapping[str, float] = field(default_factory=dict)
    place: str = ""

    @property
    def scene_camera(self) -> str | None:
        """Name of the camera in the scene; None for a device."""
        return self.source.removeprefix(SCENE) if self.source.startswith(SCENE) else None


class FittedChannel(Table, allow_inf_nan=False):
    """What is read off a camera, as fitted: errors in the channel's unit, ``sd`` the root of their mean square."""

    sd: Annotated[float, Field(ge=0)]
    bias: float
    worst: Annotated[float, Field(ge=0)]
    missed: Annotated[float, Field(ge=0, lt=1)]


class SensorModel(Table):
    """A ``hardware/sensors/NAME.toml``, as `runrig camera fit` writes it."""

    text: str
    made: str
    frames: Annotated[int, Field(gt=0)]
    channel: dict[str, FittedChannel]


class CameraTable(StrictTable):
    """A ``[camera.NAME]`` table."""

    text: str
    source: Annotated[str, Field(min_length=1)]
    size: Annotated[
        tuple[Annotated[int, Field(ge=64, le=4096)], Annotated[int, Field(ge=64, le=4096)]],
        Field(strict=False),
    ]
    period: str
    latency: str = "0 s"
    stale_after: str = "200 ms"
    frozen_after: Annotated[int, Field(ge=2, le=100)] = 3
    record: Literal["picture", "silhouette", "nothing"] = "picture"
    record_every: str = "1 s"
    sync_error: str = "0 s"
    calibration: str = ""
    place: str = ""
    expires: date | None = None
    model: str = ""

    def camera(
        self, name: str, channels: tuple[str, ...], mistakes: list[str], model: "SensorModel | None" = None
    ) -> CameraSpec:
        """Return the camera; what is wrong with it goes to ``mistakes``."""

        def time_ns(key: str, least_ns: int) -> int:
            text = str(getattr(self, key))
            try:
                found = nanoseconds(parse_quantity(text, "s"))
            except UsageError as error:
                mistakes.append(f"camera.{name}.{key}: {error}")
                return least_ns
            if found < least_ns:
                mistakes.append(
                    f"camera.{name}.{key}: {text!r} must be {'longer than' if least_ns else 'at least'} nothing"
                )
            return found

        if not name.isidentifier() or name in ("telemetry", "events"):
            mistakes.append(
                f"camera.{name}: give a name of letters, digits and underscores, not telemetry or events"
            )
        device = not self.source.startswith(SCENE)
        if device != bool(self.calibration) or device != (self.expires is not None):
            mistakes.append(
                f"camera.{name}: a device needs `calibration` and `expires` (see `runrig bench calibrate-camera`), "
                f"a camera of the scene neither"
            )
        return CameraSpec(
            name=name, text=self.text, source=self.source, width=self.size[0], height=self.size[1],
            period_ns=time_ns("period", 1), latency_ns=time_ns("latency", 0),
            stale_after_ns=time_ns("stale_after", 1), frozen_after=self.frozen_after, record=self.record,
            record_every_ns=time_ns("record_every", 1), sync_error_ns=time_ns("sync_error", 0),
            calibration=self.calibration, place=self.place, expires=self.expires, channels=channels,
            missed={} if model is None else {c: f.missed for c, f in model.channel.items() if f.missed > 0},
        )  # fmt: skip
