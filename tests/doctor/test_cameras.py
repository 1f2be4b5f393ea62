"""The doctor looks at cameras: films in the place of devices, and the drawn ones."""

from datetime import timedelta
from pathlib import Path

import cv2
import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.clock import SimClock, wall_utc
from rig.doctor import Light, cameras
from rig.doctor.cameras import camera_checks
from rig.doctor.report import Check
from rig.sim.backend import SimBackend
from rig.vision.calibration import Intrinsics, save_intrinsics
from rig.vision.extrinsics import Located, save_extrinsics
from rig.vision.face import Extrinsics
from tests import graphics

SIZE = (640, 480)


class Ticking(SimClock):
    """A clock that goes on by half a period whenever it is looked at."""

    def now_ns(self) -> int:
        self.sleep_until(super().now_ns() + 11_000_000)
        return super().now_ns()


class Backwards(Ticking):
    """A clock that jumps back once."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def now_ns(self) -> int:
        self._looks += 1
        return super().now_ns() - (100_000_000 if self._looks > 20 else 0)


def film(path: Path, kind: str) -> None:
    out = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"FFV1"), 30, SIZE)
    rng = np.random.default_rng(0)
    still = rng.integers(60, 180, (SIZE[1], SIZE[0], 3), np.uint8)
    for _ in range(cameras.FRAMES + 2):
        live = rng.integers(60, 180, still.shape, np.uint8)
        out.write({"live": live, "frozen": still, "black": live // 60}[kind])
    out.release()


def bench(folder: Path, kind: str = "live", age_days: int = 10, expires: str = "2099-01-01") -> Path:
    made = wall_utc() - timedelta(days=age_days)
    lens = Intrinsics.pinhole(*SIZE, 45.0)
    fields = {name: getattr(lens, name) for name in ("width", "height", "fx", "fy", "cx", "cy", "distortion")}
    save_intrinsics(
        folder / "lens.json",
        Intrinsics(
            **fields, rms_px=0.3, calibrated_utc=made.isoformat(), expires_utc="2099-01-01T00:00:00+00:00"
        ),
    )
    where = Extrinsics(np.eye(3), np.array((0.4, 0.3, 1.2)))
    save_extrinsics(folder / "place.json", Located(extrinsics=where, error_px=0.3, tags={}), made)
    film(folder / "video.avi", kind)
    path = folder / "mine.toml"
    path.write_text(
        f'extends = "sim"\nname = "mine"\n[camera.face]\nsize = [640, 480]\nsource = "{folder}/video.avi"\n'
        f'calibration = "{folder}/lens.json"\nplace = "{folder}/place.json"\nexpires = {expires}\n'
    )
    return path


def checked(path: Path, clock: SimClock | None = None) -> dict[str, Check]:
    return {c.name: c for c in camera_checks(load_bench(path), clock=clock or Ticking())}


def test_a_camera_that_lives_and_is_calibrated_is_green(tmp_path: Path) -> None:
    found = checked(bench(tmp_path))
    assert [c.light for c in found.values()] == [Light.GREEN, Light.GREEN], found
    assert found["camera.face"].measured == "15 of 15 frames new, 33 ms apart"
    assert "lens 10 days old, 0.30 px, place known; holds " in found["camera.face.calibration"].measured


@pytest.mark.parametrize(
    ("kind", "said", "todo"), [("frozen", "frozen", "pull its plug"), ("black", "black", "take the cap off")]
)
def test_a_camera_that_shows_nothing_is_red_with_what_to_do(
    tmp_path: Path, kind: str, said: str, todo: str
) -> None:
    seen = checked(bench(tmp_path, kind))["camera.face"]
    assert seen.light is Light.RED and said in seen.measured and todo in seen.todo


def test_a_camera_that_is_not_there_is_red(tmp_path: Path) -> None:
    path = bench(tmp_path)
    (tmp_path / "video.avi").unlink()
    seen = checked(path)["camera.face"]
    assert seen.light is Light.RED and "not there, or another program has it" in seen.measured


def test_stamps_that_go_back_are_red(tmp_path: Path) -> None:
    seen = checked(bench(tmp_path), Backwards())["camera.face"]
    assert seen.light is Light.RED and "stamps do not rise" in seen.measured and "camera driver" in seen.todo


def test_a_camera_slower_than_declared_is_red(tmp_path: Path) -> None:
    path = bench(tmp_path)
    path.write_text(path.read_text() + 'period = "15 ms"\n')
    seen = checked(path)["camera.face"]
    assert seen.light is Light.RED and "correct `period`" in seen.todo and seen.value == pytest.approx(0.033)


@pytest.mark.parametrize(
    ("age_days", "expires", "said"),
    [(10, "2020-01-01", "its calibration ended 2020-01-01"), (400, "2099-01-01", "place.json: expired")],
)
def test_an_old_calibration_is_red(tmp_path: Path, age_days: int, expires: str, said: str) -> None:
    found = checked(bench(tmp_path, age_days=age_days, expires=expires))["camera.face.calibration"]
    assert found.light is Light.RED and said in found.measured and "calibrate-camera" in found.todo


def test_a_calibration_that_ends_soon_says_so(tmp_path: Path) -> None:
    soon = (wall_utc() + timedelta(days=3)).date().isoformat()
    found = checked(bench(tmp_path, expires=soon))["camera.face.calibration"]
    assert found.light is Light.GREEN and "calibrate it soon" in found.measured


def test_a_drawn_camera_is_looked_through_too(monkeypatch: pytest.MonkeyPatch) -> None:
    graphics.needed()
    spec = load_bench("sim")
    with SimBackend(spec, 0) as world:
        seen = camera_checks(spec, world)
        assert [c.name for c in seen] == ["camera.face", "camera.wrist", "camera.over"]
        assert {c.light for c in seen} == {Light.GREEN}
        assert seen[0].measured == "3 of 3 frames new, 33 ms apart"
        monkeypatch.setattr(cameras, "why_no_graphics", lambda: "no libEGL")
        blind = camera_checks(spec, world)[0]
    assert blind.light is Light.NOT_NEEDED and "fitted sensor model" in blind.allowed
