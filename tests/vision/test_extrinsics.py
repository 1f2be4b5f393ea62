"""Where a camera is, from a drawn picture of the bench's tags, against where it truly is."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.errors import ConfigError, UsageError
from rig.sim.backend import SimBackend
from rig.sim.camera import Plate, View
from rig.vision.calibration import VALID_DAYS, Intrinsics
from rig.vision.extrinsics import bench_markers, load_extrinsics, locate, save_extrinsics, seen_of
from rig.vision.frame import Picture
from rig.vision.markers import tag_picture
from rig.vision.source import encoded

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def seen() -> tuple[Picture, Intrinsics, np.ndarray, np.ndarray]:
    plates = [
        Plate(name, t.body, t.side_m, t.at_m, t.axes, encoded(tag_picture(t.number), ".png"))
        for name, t in bench_markers().items()
    ]
    with SimBackend(load_bench("sim"), 0) as backend:
        try:
            with View(backend, "face", 1280, 960, plates) as view:
                turn, position, fovy = view.pose()
                return view.draw()[0], Intrinsics.pinhole(1280, 960, fovy), turn, position
        except UsageError as error:
            pytest.skip(str(error))


def test_the_camera_is_found_where_it_is(seen, tmp_path: Path) -> None:
    picture, lens, turn, position = seen
    found = locate(seen_of(picture, lens, bench_markers()), lens, bench_markers())
    assert len(found.tags) >= 3 and found.error_px < 0.5
    assert np.linalg.norm(found.extrinsics.position_m - position) < 0.003
    off = np.degrees(np.arccos(np.clip((np.trace(turn.T @ found.extrinsics.rotation) - 1) / 2, -1, 1)))
    assert off < 0.3
    save_extrinsics(tmp_path / "place.json", found, NOW)
    back = load_extrinsics(tmp_path / "place.json", NOW)
    assert np.array_equal(back.rotation, found.extrinsics.rotation)
    with pytest.raises(UsageError, match="expired"):
        load_extrinsics(tmp_path / "place.json", NOW + timedelta(days=VALID_DAYS + 1))
    (tmp_path / "place.json").write_text((tmp_path / "place.json").read_text().replace("0.4", "0.5", 1))
    with pytest.raises(ConfigError, match="was changed after it was made"):
        load_extrinsics(tmp_path / "place.json", NOW)


def test_a_tag_that_is_not_where_the_file_says_is_named(seen) -> None:
    picture, lens, *_ = seen
    tags = dict(bench_markers())
    tags["right_upper"] = replace(
        tags["right_upper"], at_m=tags["right_upper"].at_m + np.array((0.0, 0.05, 0.0))
    )
    with pytest.raises(UsageError, match=r"do not fit: .* px, at most 1.5; worst is \w+ with"):
        locate(seen_of(picture, lens, tags), lens, tags)


def test_too_few_tags_are_named(seen) -> None:
    picture, lens, *_ = seen
    covered = picture.copy()
    covered[:, :640] = 128
    with pytest.raises(UsageError, match=r"of 4 bench tags seen, 3 needed; not seen: right_upper \(tag 10\)"):
        locate(seen_of(covered, lens, bench_markers()), lens, bench_markers())


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "place.json"
    with pytest.raises(UsageError, match="calibrate-camera"):
        load_extrinsics(path, NOW)
    values = {"rotation": np.ones((3, 3)).tolist(), "position_m": [0, 0, 0], "expires_utc": NOW.isoformat()}
    path.write_text(json.dumps({**values, "sha256": ""}))
    with pytest.raises(ConfigError, match="rotation is none"):
        load_extrinsics(path, NOW)
    path.write_text("{}")
    with pytest.raises(ConfigError, match="no place of a camera"):
        load_extrinsics(path, NOW)
