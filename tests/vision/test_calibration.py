"""Calibrating on views whose camera is known, and refusing sets that would calibrate it badly."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import cv2
import numpy as np
import pytest

from rig.core.errors import ConfigError, UsageError
from rig.vision.calibration import (
    SQUARE_M,
    SQUARES,
    Intrinsics,
    board_picture,
    calibrate,
    load_intrinsics,
    look,
    save_intrinsics,
)
from rig.vision.frame import Picture

NOW = datetime(2027, 1, 31, tzinfo=UTC)
TRUE = Intrinsics(
    width=640, height=480, fx=620.0, fy=618.0, cx=322.0, cy=236.0, distortion=(-0.12, 0.05, 0.0, 0.0, 0.0)
)
BOARD = board_picture(dpi=100)


def view(tilt_deg: tuple[float, float], at_m: tuple[float, float, float], true: Intrinsics = TRUE) -> Picture:
    """What the true camera sees of the board: every pixel traced back onto it."""
    turn = cv2.Rodrigues(np.radians(np.array([*tilt_deg, 0.0])))[0]
    centre = np.array([SQUARES[0] * SQUARE_M / 2, SQUARES[1] * SQUARE_M / 2, 0.0])
    u, v = np.meshgrid(np.arange(640, dtype=np.float64), np.arange(480, dtype=np.float64))
    spots = np.stack((u.ravel(), v.ravel()), axis=1).reshape(-1, 1, 2)
    rays = cv2.undistortPoints(spots, true.matrix, true.coefficients).reshape(-1, 2)
    rays3 = np.concatenate((rays, np.ones((len(rays), 1))), axis=1)
    normal, origin = turn[:, 2], np.array(at_m)
    depth = (normal @ origin) / (rays3 @ normal)
    own = (rays3 * depth[:, None] - origin) @ turn + centre
    per_m = 100 / 0.0254
    mapped = (own[:, :2] * per_m - 0.5).astype(np.float32).reshape(480, 640, 2)
    return np.asarray(
        cv2.remap(BOARD, mapped[..., 0], mapped[..., 1], cv2.INTER_LINEAR, borderValue=(200, 200, 200)),
        np.uint8,
    )


GOOD = [
    ((0, 0), (0.0, 0.0, 0.45)), ((25, 0), (-0.08, -0.05, 0.40)), ((-25, 5), (0.08, 0.05, 0.42)), ((0, 30), (0.08, -0.06, 0.50)),
    ((5, -30), (-0.09, 0.06, 0.50)), ((20, 20), (0.12, -0.09, 0.62)), ((-20, 20), (-0.12, -0.09, 0.62)), ((20, -20), (-0.12, 0.09, 0.62)),
    ((-20, -20), (0.12, 0.09, 0.62)), ((0, 0), (0.0, 0.0, 0.75)), ((35, 0), (0.05, 0.0, 0.55)), ((0, 35), (-0.05, 0.03, 0.55)),
]  # fmt: skip


@pytest.fixture(scope="module")
def good() -> list[tuple[str, Picture]]:
    return [(f"{k}.png", view(*how)) for k, how in enumerate(GOOD)]


def test_a_good_set_gives_the_camera_back(good: list[tuple[str, Picture]], tmp_path: Path) -> None:
    found = calibrate(good, NOW)
    assert found.rms_px < 0.5 and found.views == len(GOOD)
    assert (found.fx, found.fy) == (pytest.approx(620, rel=0.01), pytest.approx(618, rel=0.01))
    assert (found.cx, found.cy) == (pytest.approx(322, abs=6), pytest.approx(236, abs=6))
    assert found.distortion[0] == pytest.approx(-0.12, abs=0.05)
    save_intrinsics(tmp_path / "face.json", found)
    assert load_intrinsics(tmp_path / "face.json", NOW) == found
    with pytest.raises(UsageError, match="expired"):
        load_intrinsics(tmp_path / "face.json", NOW + timedelta(days=181))
    (tmp_path / "face.json").write_text((tmp_path / "face.json").read_text().replace("640", "641"))
    with pytest.raises(ConfigError, match="was changed"):
        load_intrinsics(tmp_path / "face.json", NOW)


def test_views_that_are_all_alike_are_refused_with_what_to_do() -> None:
    alike = [(f"{k}.png", view((0.0, 0.2 * k), (0.001 * k, 0.0, 0.6))) for k in range(9)]
    with pytest.raises(UsageError) as raised:
        calibrate(alike, NOW)
    text = str(raised.value)
    assert (
        "tilt it by 20 to 45 deg" in text
        and "show it nearer and farther" in text
        and "parts of the picture" in text
    )


def test_too_few_views_and_useless_ones_are_named(good: list[tuple[str, Picture]]) -> None:
    blank = ("blank.png", np.full((480, 640, 3), 128, np.uint8))
    small = ("small.png", np.zeros((100, 100, 3), np.uint8))
    with pytest.raises(UsageError) as raised:
        calibrate([*good[:3], blank, small], NOW)
    text = str(raised.value)
    for words in (
        "3 useful pictures; take at least 8",
        "blank.png: 0 corners",
        "small.png: 100 x 100, the others 640 x 480",
    ):
        assert words in text


def test_a_blurred_view_says_so() -> None:
    blurred = cv2.GaussianBlur(view((0, 0), (0.0, 0.0, 0.5)), (0, 0), 9.0)
    found = look("x.png", np.asarray(blurred, np.uint8))
    assert isinstance(found, str) and "blurred" in found


def test_no_calibration_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="runrig camera calibrate"):
        load_intrinsics(tmp_path / "none.json", NOW)
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(ConfigError, match="is no calibration"):
        load_intrinsics(tmp_path / "odd.json", NOW)
