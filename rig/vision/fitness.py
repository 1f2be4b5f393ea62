"""Is a camera fit to be read: its calibration, and what its frames look like before anything rests on them."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from rig.core.camera import CameraSpec
from rig.core.clock import Clock, seconds
from rig.core.errors import UsageError
from rig.vision.calibration import Intrinsics, load_intrinsics
from rig.vision.extrinsics import load_extrinsics
from rig.vision.face import Extrinsics
from rig.vision.frame import BLINDING, Flaw, Frame, Inspector, Looks


class Eye(Protocol):
    """Gives frames."""

    def frame(self, now_ns: int) -> Frame | None:
        """Return the newest frame, None if there is none.

        Raises:
            CameraFailure: If the camera has gone.
        """
        ...


PLACED: Final = frozenset({"face.yaw", "face.gap"})
"""Channels that are told in the axes of the bench: they need the place of the camera."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """What is known of a camera.

    Attributes:
        lens: Its intrinsics.
        place: Where it is on the bench, None where nothing read off it needs that.
    """

    lens: Intrinsics
    place: Extrinsics | None


def looks_of(spec: CameraSpec) -> Looks:
    """Return what a camera's frames must look like to be believed."""
    return Looks(
        width=spec.width, height=spec.height, period_s=seconds(spec.period_ns),
        stale_after_s=seconds(spec.stale_after_ns), frozen_after=spec.frozen_after,
    )  # fmt: skip


def calibrated(spec: CameraSpec, now: datetime) -> Calibrated:
    """Return the calibration of a real camera, if it holds now.

    Raises:
        UsageError: If it is missing, has expired, or is of another size.
        ConfigError: If a file was altered or is none.
    """
    again = "calibrate it again with `runrig bench calibrate-camera`"
    if spec.expires is not None and spec.expires < now.date():
        raise UsageError(
            f"camera {spec.name}: its calibration ended {spec.expires}; {again} and enter the new day in the bench file"
        )
    lens = load_intrinsics(Path(spec.calibration), now)
    if (lens.width, lens.height) != (spec.width, spec.height):
        raise UsageError(
            f"camera {spec.name}: calibrated at {lens.width} x {lens.height}, "
            f"the bench file says {spec.width} x {spec.height}"
        )
    needs = sorted(PLACED & set(spec.channels))
    if needs and not spec.place:
        raise UsageError(
            f"camera {spec.name}: where it is on the bench is not stated (`place`), and {', '.join(needs)} need it; {again}"
        )
    return Calibrated(lens, load_extrinsics(Path(spec.place), now) if spec.place else None)


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What came of watching a camera for some frames.

    Attributes:
        flaws: Of the last frame that came, those with which nothing may be read off it.
        stamps_ns: When each frame that was new was exposed.
        ever: Every flaw that was seen, blinding or not.
        last: The last frame, None if none came.
    """

    flaws: frozenset[Flaw]
    ever: frozenset[Flaw]
    stamps_ns: tuple[int, ...]
    last: Frame | None

    @property
    def rising(self) -> bool:
        """Whether every stamp is later than the one before."""
        return all(a < b for a, b in zip(self.stamps_ns, self.stamps_ns[1:], strict=False))

    @property
    def period_s(self) -> float:
        """Mean time between two frames; not a number where fewer than two came."""
        if len(self.stamps_ns) < 2:
            return float("nan")
        return seconds(self.stamps_ns[-1] - self.stamps_ns[0]) / (len(self.stamps_ns) - 1)


def watched(spec: CameraSpec, camera: Eye, clock: Clock, frames: int) -> Watched:
    """Watch a camera that is open for so many frames.

    Raises:
        CameraFailure: If it goes away.
    """
    inspector, flaws = Inspector(looks_of(spec)), frozenset[Flaw]()
    ever, stamps, frame = set[Flaw](), list[int](), None
    for _ in range(frames):
        frame = camera.frame(clock.now_ns())
        found = inspector.inspect(frame, clock.now_ns())
        flaws, ever = found & BLINDING, ever | found
        if frame is not None and (not stamps or frame.exposed_ns != stamps[-1]):
            stamps.append(frame.exposed_ns)
    return Watched(flaws, frozenset(ever), tuple(stamps), frame)
