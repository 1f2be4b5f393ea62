"""The checks of a bench's cameras: is each there, does it live, do its stamps go forward, is its calibration in date?"""

from datetime import datetime

from rig.core.bench import BenchSpec
from rig.core.camera import CameraSpec
from rig.core.clock import Clock, MonotonicClock, SimClock, seconds, wall_utc
from rig.core.errors import ConfigError, RigFault, UsageError
from rig.doctor.report import Check, judged, not_needed
from rig.offscreen import why_no_graphics
from rig.sim.backend import SimBackend
from rig.sim.camera import View
from rig.vision.calibration import VALID_DAYS
from rig.vision.fitness import Watched, calibrated, watched
from rig.vision.frame import Flaw, Frame
from rig.vision.source import DeviceCamera, DrawnCamera

FRAMES = 15
"""Half a second at 30 Hz: five times what a freeze takes to show."""
DRAWN = 3
SOON_DAYS = 14
SLOW = 1.5
"""A camera whose frames come this many times its period apart is too slow for what is declared."""
_REMEDIES = {
    Flaw.FROZEN: "pull its plug and put it in again; if it freezes again, replace it",
    Flaw.BLACK: "take the cap off, put light on, open the aperture",
    Flaw.OVEREXPOSED: "shade the lamp or shorten the exposure",
    Flaw.BLURRED: "clean the lens and focus it; then calibrate it again",
    Flaw.CORRUPT: "set the size the bench file says, or correct the bench file",
    Flaw.SILENT: "plug it in, and stop what else uses it",
}


def camera_checks(
    bench: BenchSpec, world: SimBackend | None = None, clock: Clock | None = None
) -> list[Check]:
    """Return what there is to say of every camera: does it see, and does its calibration hold.

    Args:
        bench: The bench.
        world: What cameras of the scene look at; None where there is no scene.
        clock: Stamps the frames of real cameras; by default this machine's.
    """
    found: list[Check] = []
    for spec in bench.cameras:
        if spec.scene_camera is None:
            found += [_living(spec, clock or MonotonicClock()), _calibration(spec, wall_utc())]
        elif world is not None:
            found.append(_drawn(spec, spec.scene_camera, world))
    return found


def _living(spec: CameraSpec, clock: Clock) -> Check:
    try:
        with DeviceCamera(spec.source, spec.width, spec.height, clock) as camera:
            seen = watched(spec, camera, clock, FRAMES)
    except RigFault as fault:
        return judged(
            f"camera.{spec.name}", f"Camera {spec.name}", False, str(fault), f"there, {spec.width} x {spec.height}",
            "plug it in, stop what else uses it, and check `source` and `size` in the bench file",
        )  # fmt: skip
    return _judged(spec, seen, FRAMES)


def _judged(spec: CameraSpec, seen: Watched, frames: int) -> Check:
    period_s, declared_s = seen.period_s, seconds(spec.period_ns)
    slow = not period_s <= SLOW * declared_s
    wrong = sorted(seen.flaws | (seen.ever & {Flaw.BACKWARDS}))
    said = f"{len(seen.stamps_ns)} of {frames} frames new, {period_s * 1000:.0f} ms apart"
    said += f"; {', '.join(wrong)}" if wrong else ""
    said += "" if seen.rising else "; stamps do not rise"
    todo = "; ".join(_REMEDIES[flaw] for flaw in wrong if flaw in _REMEDIES)
    if not todo:
        todo = (
            "use a port of its own, less resolution, or correct `period` in the bench file"
            if slow
            else "restart the machine's camera driver; do not use a camera whose stamps go back"
        )
    return judged(
        f"camera.{spec.name}", f"Camera {spec.name}", not wrong and seen.rising and not slow, said,
        f"living frames of {spec.width} x {spec.height}, stamps rising, at most {SLOW * declared_s * 1000:.0f} ms apart",
        todo, period_s if period_s == period_s else None,
    )  # fmt: skip


def _calibration(spec: CameraSpec, now: datetime) -> Check:
    name, title = f"camera.{spec.name}.calibration", f"Lens and place of camera {spec.name}"
    allowed = f"of this size, not altered, at most {VALID_DAYS} days old"
    todo = f"runrig bench calibrate-camera BENCH {spec.name}, and enter what it says in the bench file"
    try:
        known = calibrated(spec, now)
    except (UsageError, ConfigError) as error:
        return judged(name, title, False, str(error), allowed, todo)
    made = datetime.fromisoformat(known.lens.calibrated_utc) if known.lens.calibrated_utc else None
    said = "lens of unknown age" if made is None else f"lens {(now - made).days} days old"
    said += f", {known.lens.rms_px:.2f} px" + ("" if known.place is None else ", place known")
    if spec.expires is not None:
        left = (spec.expires - now.date()).days
        said += f"; holds {left} days more" + (", calibrate it soon" if left <= SOON_DAYS else "")
    return judged(name, title, True, said, allowed, "")


def _drawn(spec: CameraSpec, place: str, world: SimBackend) -> Check:
    if (why := why_no_graphics()) is not None:
        why_not = "trials use the fitted sensor model; install libegl1 and libgl1-mesa-dri to have pictures"
        return not_needed(f"camera.{spec.name}", f"Camera {spec.name}", f"cannot be drawn ({why})", why_not)
    clock = SimClock()
    with View(world, place, spec.width, spec.height) as view:
        eye = _Stepped(DrawnCamera(view.draw, seconds(spec.period_ns), grain=(0,)), clock, spec.period_ns)
        return _judged(spec, watched(spec, eye, clock, DRAWN), DRAWN)


class _Stepped:
    """A camera that lets a period of simulated time pass before each frame."""

    def __init__(self, camera: DrawnCamera, clock: Clock, period_ns: int) -> None:
        self._camera, self._clock, self._period_ns = camera, clock, period_ns

    def frame(self, now_ns: int) -> Frame | None:
        """Return the next frame."""
        self._clock.sleep_until(now_ns + self._period_ns)
        return self._camera.frame(self._clock.now_ns())
