"""Where frames come from: a real camera, a folder of pictures, or a renderer. One door for all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import cv2
import numpy as np

from rig.core.clock import Clock, nanoseconds
from rig.core.errors import RigFault, UsageError
from rig.vision.frame import Frame, Picture

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


class CameraFailure(RigFault):
    """The camera is not there, is busy, or has gone."""


class Camera(Protocol):
    """A source of frames; a context manager that lets the device go on the way out."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def frame(self, now_ns: int) -> Frame | None:
        """Return the newest frame exposed at or before ``now_ns``, None if there is none.

        Raises:
            CameraFailure: If the camera has gone.
        """
        ...


class _Opened:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


@dataclass(slots=True)
class DeviceCamera(_Opened):
    """A V4L2 (or other OpenCV) camera with fixed exposure; stamps are taken when a frame arrives.

    Args:
        device: Path such as ``/dev/v4l/by-id/...`` (stable), or an index.
        width: Pixels asked for, and demanded.
        height: Pixels asked for, and demanded.
        clock: The trial's clock.
        exposure: In the driver's units; fixed, so that light does not change the timing.
    """

    device: str | int
    width: int
    height: int
    clock: Clock
    exposure: float | None = None
    _open: Any = field(default=None, init=False)
    _number: int = field(default=-1, init=False)
    _last: Frame | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        """Open the device.

        Raises:
            CameraFailure: If it is not there, busy, or cannot do the size asked for.
        """
        capture = cv2.VideoCapture(self.device)
        if not capture.isOpened():
            capture.release()
            raise CameraFailure(f"camera {self.device}: not there, or another program has it")
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, self.width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, self.height)
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        if self.exposure is not None:
            capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, 1)
            capture.set(cv2.CAP_PROP_EXPOSURE, self.exposure)
        seen = int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)), int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))
        if seen != (self.width, self.height):
            capture.release()
            raise CameraFailure(
                f"camera {self.device}: gives {seen[0]} x {seen[1]}, not {self.width} x {self.height}"
            )
        self._open = capture
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            self._open.release()
            self._open = None

    def frame(self, now_ns: int) -> Frame | None:
        """Return the newest frame; waits for at most one period."""
        if self._open is None:
            raise UsageError("the camera is closed; use it inside its with-block")
        if not self._open.grab():
            raise CameraFailure(f"camera {self.device}: has gone")
        exposed_ns = self.clock.now_ns()
        ok, picture = self._open.retrieve()
        self._number += 1
        if ok:
            self._last = Frame(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), exposed_ns, self._number)
        return self._last


@dataclass(slots=True)
class FolderCamera(_Opened):
    """Pictures of a folder in the order of their names, one every ``period_s``.

    Raises:
        UsageError: If there is no picture in it.
    """

    folder: Path
    period_s: float
    _paths: list[Path] = field(default_factory=list, init=False)
    _last: Frame | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._paths = _pictures_in(self.folder)

    def __len__(self) -> int:
        return len(self._paths)

    def frame(self, now_ns: int) -> Frame | None:
        """Return the picture whose turn it is; after the last one nothing new comes."""
        number = min(now_ns // nanoseconds(self.period_s), len(self._paths) - 1)
        if number < 0:
            return None
        if self._last is None or self._last.number != number:
            self._last = Frame(read_picture(self._paths[number]), number * nanoseconds(self.period_s), number)
        return self._last


@dataclass(slots=True)
class DrawnCamera(_Opened):
    """A renderer as a camera: draws when a new exposure is due, shows it ``latency_s`` later.

    Args:
        draw: Returns the picture (and depth, or None) of the scene as it is now; None without graphics.
        period_s: Between two exposures.
        latency_s: From exposure to the frame being there.
        grain: Seed of the grain of its pictures: a live sensor never gives the same picture twice. Without one
            there is none.
    """

    draw: "Callable[[], tuple[Picture, Any] | None]"
    period_s: float
    latency_s: float = 0.0
    grain: tuple[int, ...] | None = None
    _due: list[Frame] = field(default_factory=list, init=False)
    _number: int = field(default=-1, init=False)
    _shown: Frame | None = field(default=None, init=False)

    def frame(self, now_ns: int) -> Frame | None:
        """Return the newest frame that has arrived; exposes a new one when its time has come."""
        number = now_ns // nanoseconds(self.period_s)
        if number > self._number:
            drawn = self.draw()
            if drawn is None:
                raise CameraFailure(
                    "no pictures: the graphics libraries are missing; use the fitted sensor model"
                )
            self._number = number
            picture = drawn[0] if self.grain is None else grainy(drawn[0], (*self.grain, int(number)))
            self._due.append(Frame(picture, now_ns, int(number), drawn[1]))
        while self._due and self._due[0].exposed_ns + nanoseconds(self.latency_s) <= now_ns:
            self._shown = self._due.pop(0)
        return self._shown


@dataclass(slots=True)
class FaultyCamera(_Opened):
    """A camera with faults on purpose: from a trial time on its frames are frozen, black, and so on.

    Args:
        camera: The camera.
        fault: ``freeze``, ``black``, ``bright``, ``blur``, ``duplicate``, ``drop`` or ``gone``.
        start_ns: Since when.
        end_ns: Until when.
        chance: With which each frame is struck.
        seed: Decides which.
    """

    camera: Camera
    fault: str
    start_ns: int
    end_ns: int
    chance: float = 1.0
    seed: int = 0
    _kept: Frame | None = field(default=None, init=False)

    def frame(self, now_ns: int) -> Frame | None:
        """Return what the faulty camera shows."""
        true = self.camera.frame(now_ns)
        if true is None or not self.start_ns <= now_ns < self.end_ns or not self._struck(true.number):
            self._kept = true
            return true
        kept = self._kept or true
        self._kept = kept
        match self.fault:
            case "freeze":  # the picture stands still, the stamps go on: the worst kind
                return Frame(kept.picture, true.exposed_ns, true.number, kept.depth_m)
            case "duplicate":
                return Frame(kept.picture.copy(), kept.exposed_ns, kept.number, kept.depth_m)
            case "drop":
                return kept
            case "black":
                return Frame(np.zeros_like(true.picture), true.exposed_ns, true.number)
            case "bright":
                return Frame(np.full_like(true.picture, 255), true.exposed_ns, true.number)
            case "blur":
                blurred = cv2.GaussianBlur(true.picture, (0, 0), 12.0).astype(np.uint8)
                return Frame(blurred, true.exposed_ns, true.number, true.depth_m)
            case "gone":
                raise CameraFailure("the camera was unplugged")
        raise UsageError(
            f"camera fault {self.fault!r}: give freeze, black, bright, blur, duplicate, drop or gone"
        )

    def _struck(self, number: int) -> bool:
        return self.chance >= 1.0 or bool(np.random.default_rng((self.seed, number)).random() < self.chance)


def grainy(picture: Picture, seed: tuple[int, ...]) -> Picture:
    """Return a picture with the least noise a sensor has: one grey level, up or down, in a twentieth of the pixels."""
    rng = np.random.default_rng(seed)
    height, width = picture.shape[:2]
    n = height * width // 20
    rows, columns = rng.integers(0, height, n), rng.integers(0, width, n)
    noisy = picture.copy()
    one = rng.choice(np.array([-1, 1], np.int16), n)[:, None]
    noisy[rows, columns] = np.clip(noisy[rows, columns].astype(np.int16) + one, 0, 255).astype(np.uint8)
    return noisy


def read_picture(path: Path) -> Picture:
    """Return a picture file as RGB.

    Raises:
        UsageError: If it is no picture.
    """
    found = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    if found is None:
        raise UsageError(f"{path}: is no picture that can be read")
    return np.asarray(cv2.cvtColor(found, cv2.COLOR_BGR2RGB), np.uint8)


def encoded(picture: Picture, suffix: str = ".jpg") -> bytes:
    """Return a picture as the bytes of a file with this suffix.

    Raises:
        UsageError: If pictures of that kind cannot be written.
    """
    if suffix.lower() not in SUFFIXES:
        raise UsageError(f"{suffix or 'no suffix'}: pictures are written as {', '.join(SUFFIXES)}")
    quality = [cv2.IMWRITE_JPEG_QUALITY, 85] if suffix.lower() in (".jpg", ".jpeg") else []
    ok, data = cv2.imencode(suffix, cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), quality)
    if not ok:
        raise UsageError("the picture cannot be encoded")
    return data.tobytes()


def pictures(folder: Path) -> Iterator[tuple[str, Picture]]:
    """Give every picture of a folder by name.

    Raises:
        UsageError: If there is none, or one cannot be read.
    """
    for path in _pictures_in(folder):
        yield path.name, read_picture(path)


def _pictures_in(folder: Path) -> list[Path]:
    paths = sorted(p for p in folder.glob("*") if p.suffix.lower() in SUFFIXES)
    if not paths:
        raise UsageError(f"{folder}: no pictures ({', '.join(SUFFIXES)})")
    return paths
