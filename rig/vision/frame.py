"""A frame and what is wrong with it: frozen, repeated, dropped, late, black, overexposed, blurred."""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b

import cv2
import numpy as np
from numpy.typing import NDArray

from rig.core.clock import nanoseconds

Picture = NDArray[np.uint8]
"""Shape (height, width, 3), RGB."""


class Flaw(StrEnum):
    """Why a frame is not to be believed."""

    FROZEN = "frozen"  # the same picture for longer than a live sensor's noise allows
    REPEATED = "repeated"  # the frame of before, delivered again
    DROPPED = "dropped"  # frames are missing before this one; the frame itself is good
    BACKWARDS = "backwards"  # its exposure is not after the one before
    STALE = "stale"  # it was exposed too long ago
    BLACK = "black"
    OVEREXPOSED = "overexposed"
    BLURRED = "blurred"
    CORRUPT = "corrupt"  # no picture, or of another size than the camera's
    SILENT = "silent"  # no frame at all


BLINDING = frozenset(Flaw) - {Flaw.DROPPED}
"""Flaws with which nothing may be read off a frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One exposure.

    Attributes:
        picture: The pixels.
        exposed_ns: When it was exposed, on the clock of the trial.
        number: As the camera counts, without gaps.
        depth_m: Distance along the optical axis by pixel, where the camera measures it; shape (height, width).
    """

    picture: Picture
    exposed_ns: int
    number: int
    depth_m: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What a camera's frames must look like to be believed.

    Attributes:
        width: Pixels.
        height: Pixels.
        period_s: Between two exposures.
        stale_after_s: Age at which a frame is not to be believed any more.
        frozen_after: Frames with one and the same picture that mean the camera is frozen.
        darkest: Mean grey level (of 255) below which a frame is black.
        brightest: Share of saturated pixels above which it is overexposed.
        sharpest: Variance of the Laplacian below which it is blurred; depends on lens and scene.
    """

    width: int
    height: int
    period_s: float
    stale_after_s: float = 0.2
    frozen_after: int = 3
    darkest: float = 8.0
    brightest: float = 0.4
    sharpest: float = 4.0


@dataclass(slots=True)
class Inspector:
    """Looks at the frames of one camera in turn and says what is wrong with each."""

    looks: Looks
    _last: Frame | None = field(default=None, init=False)
    _digest: bytes = field(default=b"", init=False)
    _same: int = field(default=1, init=False)

    def inspect(self, frame: Frame | None, now_ns: int) -> frozenset[Flaw]:
        """Return the flaws of the newest frame at ``now_ns``; None stands for no frame at all."""
        if frame is None:
            return frozenset({Flaw.SILENT})
        looks, last, found = self.looks, self._last, set()
        if frame is last:  # nothing new has come: its age says whether that matters
            return self._aged(frame, now_ns)
        if frame.picture.shape != (looks.height, looks.width, 3) or frame.picture.dtype != np.uint8:
            return frozenset({Flaw.CORRUPT})
        digest = blake2b(np.ascontiguousarray(frame.picture).data, digest_size=16).digest()
        self._same = self._same + 1 if digest == self._digest else 1
        if self._same >= looks.frozen_after:
            found.add(Flaw.FROZEN)
        if last is not None:
            if frame.number == last.number or (
                digest == self._digest and frame.exposed_ns == last.exposed_ns
            ):
                found.add(Flaw.REPEATED)
            elif frame.exposed_ns <= last.exposed_ns or frame.number < last.number:
                found.add(Flaw.BACKWARDS)
            elif frame.number > last.number + 1:
                found.add(Flaw.DROPPED)
        self._last, self._digest = frame, digest
        return frozenset(found | _appearance(frame.picture, looks)) | self._aged(frame, now_ns)

    def _aged(self, frame: Frame, now_ns: int) -> frozenset[Flaw]:
        age_ns = now_ns - frame.exposed_ns
        stale = age_ns > nanoseconds(self.looks.stale_after_s) or age_ns < 0
        return frozenset({Flaw.STALE}) if stale else frozenset()


def _appearance(picture: Picture, looks: Looks) -> set[Flaw]:
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if float(grey.mean()) < looks.darkest:
        return {Flaw.BLACK}
    if float(np.mean(grey >= 250)) > looks.brightest:
        return {Flaw.OVEREXPOSED}
    return {Flaw.BLURRED} if sharpness(picture) < looks.sharpest else set()


def sharpness(picture: Picture) -> float:
    """Return the variance of the Laplacian of the grey picture: small when it is blurred."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return float(cv2.Laplacian(grey, cv2.CV_64F).var())
