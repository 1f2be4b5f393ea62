"""Pictures are made from a copy, and a machine without graphics loses nothing but them."""

import logging

import numpy as np
import pytest

from rig import offscreen
from rig.core.errors import UsageError
from rig.sim import camera
from rig.sim.backend import SimBackend
from tests import graphics
from tests.sim.stage import BENCH


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera, "_missing", [])


def picture(backend: SimBackend, name: str = "room") -> np.ndarray:
    graphics.needed()
    drawn = camera.render(backend, name, 160, 120)
    assert drawn is not None
    return drawn


@pytest.mark.parametrize("name", ["room", "face"])
def test_a_picture_shows_something(name: str) -> None:
    with SimBackend(BENCH, 1) as backend:
        drawn = picture(backend, name)
    assert drawn.shape == (120, 160, 3)
    assert drawn.dtype == np.uint8
    assert drawn.std() > 10


def test_the_picture_follows_the_bed_the_head_and_the_arm() -> None:
    with SimBackend(BENCH, 1) as backend:
        still = picture(backend)
        np.testing.assert_array_equal(still, picture(backend))
        for change in (
            {"actuators": {"bed.back": 75.0}},
            {"actuators": {"bed.rails": 1.0}},
            {"actuators": {"arm.base": 0.5}},
            {"body": {"head.yaw": 60.0}},
        ):
            backend.place(**change)
            assert (picture(backend) != still).sum() > 20, change


def test_looking_does_not_touch_the_plant() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.hold(10)
        before = backend.scene.data.qpos.tobytes() + backend.scene.data.mocap_pos.tobytes()
        picture(backend)
        assert backend.scene.data.qpos.tobytes() + backend.scene.data.mocap_pos.tobytes() == before


def test_missing_graphics_are_said_once_and_nothing_else_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise ImportError("libEGL.so.1: cannot open shared object file")

    monkeypatch.setattr(offscreen, "_context_class", missing)
    with SimBackend(BENCH, 1) as backend, caplog.at_level(logging.WARNING):
        assert camera.render(backend) is None
        assert camera.render(backend) is None
        assert len(backend.hold(5)) == 5
    assert len(caplog.records) == 1
    assert "libEGL" in caplog.text


def test_an_unknown_camera_lists_the_known_ones() -> None:
    with (
        SimBackend(BENCH, 1) as backend,
        pytest.raises(UsageError, match=r"unknown camera 'roof'; known: chest, face, over, room, wrist"),
    ):
        camera.render(backend, "roof")


@pytest.mark.parametrize("size", [(0, 120), (160, -1), (5000, 120)])
def test_a_size_that_cannot_be_is_refused(size: tuple[int, int]) -> None:
    with SimBackend(BENCH, 1) as backend, pytest.raises(UsageError, match="not within"):
        camera.render(backend, "room", *size)
