"""`runrig bench calibrate-camera`, as a technician meets it, on drawn pictures whose truth is known."""

import json
from pathlib import Path

import numpy as np
import pytest

from rig.cli.calibrate import calibrate_camera
from rig.core.bench import load_bench
from rig.core.clock import wall_utc
from rig.core.errors import UsageError
from rig.sim.backend import SimBackend
from rig.sim.camera import Plate, View
from rig.vision.calibration import Intrinsics, load_intrinsics
from rig.vision.extrinsics import bench_markers, load_extrinsics
from rig.vision.markers import tag_picture
from rig.vision.source import encoded
from tests import graphics
from tests.vision.test_calibration import GOOD, view

SIZE = (640, 480)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench file, pictures of the board and one of the bench's tags, all through the same lens."""
    folder = tmp_path_factory.mktemp("taken")
    (folder / "board").mkdir()
    (folder / "mine.toml").write_text(f'extends = "sim"\nname = "mine"\n[camera.face]\nsize = {list(SIZE)}\n')
    graphics.needed()
    plates = [
        Plate(name, t.body, t.side_m, t.at_m, t.axes, encoded(tag_picture(t.number), ".png"))
        for name, t in bench_markers().items()
    ]
    with SimBackend(load_bench("sim"), 0) as backend, View(backend, "face", *SIZE, plates) as scene:
        lens = Intrinsics.pinhole(*SIZE, scene.pose()[2])
        (folder / "place.png").write_bytes(encoded(scene.draw()[0], ".png"))
    for k, how in enumerate(GOOD):
        (folder / "board" / f"{k:02d}.png").write_bytes(encoded(view(*how, true=lens), ".png"))
    return folder


def test_lens_and_place_are_found_and_drawn(
    taken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "camera"
    assert calibrate_camera(str(taken / "mine.toml"), "face", taken / "board", taken / "place.png", out) == 0
    told = capsys.readouterr().out
    assert "12 of 12 pictures used" in told and "4 tags" in told and "[camera.face]" in told
    lens = load_intrinsics(out / "lens.json", wall_utc())
    assert (lens.width, lens.height) == SIZE and lens.fx == pytest.approx(579.4, rel=0.01)
    assert f"expires = {lens.expires_utc[:10]}" in told
    assert f'place = "{out / "place.json"}"' in told
    place = load_extrinsics(out / "place.json", wall_utc()).position_m
    assert np.linalg.norm(place - (0.42, 0.34, 1.26)) < 0.02
    assert json.loads((out / "place.json").read_text())["error_px"] < 1.5
    assert len(list((out / "seen").glob("*.jpg"))) == 12 and (out / "place.jpg").stat().st_size > 5000


def test_what_is_drawn_needs_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is drawn; its lens and place are known"):
        calibrate_camera("sim", "face", None, None, tmp_path)
    with pytest.raises(UsageError, match="known: face"):
        calibrate_camera("sim", "roof", None, None, tmp_path)
