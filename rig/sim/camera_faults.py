"""What goes wrong with a camera, in a scenario file, and what it does to the channels that are read off it.

``{ kind = "camera_freeze", camera = "face", start = "60 s", end = "75 s" }``. The rig looks at every frame before it
believes it (`rig.vision.frame`): a flaw means no reading, and the last reading grows old. So a fault of a camera is,
for its channels, silence from the moment it is noticed; a freeze is noticed when `frozen_after` frames are the same,
and until then old pictures are read as if they were new.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from rig.core.camera import CameraSpec
from rig.core.clock import NS_PER_S, nanoseconds
from rig.core.errors import ConfigError
from rig.core.toml_file import Table, quantity_in
from rig.sim.faults import Fault, SensorFault


class CameraTrouble(StrEnum):
    """What goes wrong with a camera."""

    FREEZE = "camera_freeze"  # the same picture again and again, with new stamps
    DUPLICATE = "camera_duplicate"  # the frame of before is delivered again, stamp and all
    DROP = "camera_drop"  # frames do not come, each with probability `chance`
    BLACK = "camera_black"
    BRIGHT = "camera_bright"
    BLUR = "camera_blur"
    GONE = "camera_gone"  # unplugged


_SECONDS = quantity_in("s", or_number=True)


class CameraFault(Table, allow_inf_nan=False):
    """One fault of one camera, in force from ``start`` to ``end`` of trial time."""

    kind: CameraTrouble
    camera: str
    start_s: Annotated[float, Field(ge=0, alias="start"), _SECONDS] = 0.0
    end_s: Annotated[float | None, Field(gt=0, alias="end"), _SECONDS] = None
    chance: Annotated[float, Field(gt=0, le=1)] = 0.2

    @model_validator(mode="after")
    def _complete(self) -> "CameraFault":
        if self.end_s is not None and not self.end_s > self.start_s:
            raise ValueError(f"ends at {self.end_s} s, not after its start at {self.start_s} s")
        return self

    def holds(self, t_ns: int) -> bool:
        """Whether it is in force at a trial time."""
        return nanoseconds(self.start_s) <= t_ns and (self.end_s is None or t_ns < nanoseconds(self.end_s))


_ADAPTER: TypeAdapter[list[CameraFault]] = TypeAdapter(list[CameraFault])


def is_camera_fault(document: Mapping[str, Any]) -> bool:
    """Return whether a scenario's fault is a camera's rather than a sensor's."""
    return document.get("kind") in set(CameraTrouble)


def parse_camera_faults(
    documents: Sequence[Mapping[str, Any]], source: str, cameras: Sequence[CameraSpec]
) -> tuple[CameraFault, ...]:
    """Return the faults of cameras that a scenario file lists.

    Raises:
        ConfigError: If any is not a fault, or of a camera the bench lacks; all mistakes at once.
    """
    try:
        found = tuple(_ADAPTER.validate_python([dict(d) for d in documents]))
    except ValidationError as error:
        mistakes = [f"fault.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError(source, mistakes) from None
    names = [camera.name for camera in cameras]
    if wrong := [f.camera for f in found if f.camera not in names]:
        known = ", ".join(names) or "none"
        raise ConfigError(
            source, [f"fault: no camera {name!r} on this bench; known: {known}" for name in wrong]
        )
    return found


def sensor_faults(faults: Sequence[CameraFault], cameras: Sequence[CameraSpec]) -> tuple[SensorFault, ...]:
    """Return what faults of cameras are for the channels read off them, and what these miss without any fault."""
    named = {camera.name: camera for camera in cameras}
    always = [
        _fault(Fault.MISSED, channel, 0.0, None, chance=share)
        for camera in cameras
        for channel, share in camera.missed.items()
        if channel in camera.channels
    ]
    struck = [
        one
        for fault in faults
        for channel in named[fault.camera].channels
        for one in _on(channel, fault, named[fault.camera])
    ]
    return (*always, *struck)


def _on(channel: str, fault: CameraFault, camera: CameraSpec) -> list[SensorFault]:
    start_s, end_s = fault.start_s, fault.end_s
    if fault.kind is CameraTrouble.DROP:
        return [_fault(Fault.MISSED, channel, start_s, end_s, chance=fault.chance)]
    if fault.kind is not CameraTrouble.FREEZE:
        return [_fault(Fault.DEAD, channel, start_s, end_s)]
    noticed_s = start_s + (camera.frozen_after - 1) * camera.period_ns / NS_PER_S
    if end_s is not None and end_s <= noticed_s:
        return [_fault(Fault.STUCK, channel, start_s, end_s)]
    return [_fault(Fault.STUCK, channel, start_s, noticed_s), _fault(Fault.DEAD, channel, noticed_s, end_s)]


def _fault(kind: Fault, channel: str, start_s: float, end_s: float | None, **more: float) -> SensorFault:
    return SensorFault.model_validate(
        {"kind": kind, "channel": channel, "start": start_s, "end": end_s, **more}
    )
