"""What is wrong with a frame, each flaw by itself; a live camera shows none."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rig.core.clock import SimClock, nanoseconds
from rig.core.errors import UsageError
from rig.vision.frame import BLINDING, Flaw, Frame, Inspector, Looks
from rig.vision.source import CameraFailure, DeviceCamera, DrawnCamera, FaultyCamera, FolderCamera, encoded

LOOKS = Looks(width=64, height=48, period_s=0.033)
PERIOD = nanoseconds(0.033)


def live(number: int, exposed_ns: int | None = None, seed: int = 0) -> Frame:
    """A frame of a sensor with noise: no two are the same."""
    rng = np.random.default_rng((seed, number))
    picture = (
        np.indices((48, 64)).sum(axis=0)[..., None] * 2 % 200 + rng.integers(0, 30, (48, 64, 3))
    ).astype(np.uint8)
    return Frame(picture, number * PERIOD if exposed_ns is None else exposed_ns, number)


def test_a_live_camera_has_no_flaw() -> None:
    inspector = Inspector(LOOKS)
    for number in range(50):
        assert inspector.inspect(live(number), number * PERIOD + 1_000_000) == frozenset()


def test_a_frozen_camera_whose_stamps_go_on_is_noticed_at_the_third_frame() -> None:
    inspector = Inspector(LOOKS)
    inspector.inspect(live(0), 0)
    kept = live(1).picture
    found = [inspector.inspect(Frame(kept, n * PERIOD, n), n * PERIOD) for n in range(1, 6)]
    assert [Flaw.FROZEN in flaws for flaws in found] == [False, False, True, True, True]
    assert inspector.inspect(live(6), 6 * PERIOD) == frozenset(), "and it comes back"


@pytest.mark.parametrize(
    ("frame", "now_ns", "flaw"),
    [
        (None, 0, Flaw.SILENT),
        (Frame(np.zeros((48, 64, 3), np.uint8), PERIOD, 1), PERIOD, Flaw.BLACK),
        (Frame(np.full((48, 64, 3), 255, np.uint8), PERIOD, 1), PERIOD, Flaw.OVEREXPOSED),
        (Frame(np.full((48, 64, 3), 120, np.uint8), PERIOD, 1), PERIOD, Flaw.BLURRED),
        (Frame(np.zeros((10, 10, 3), np.uint8), PERIOD, 1), PERIOD, Flaw.CORRUPT),
        (live(0, PERIOD), PERIOD, Flaw.REPEATED),
        (live(1, -5), 0, Flaw.BACKWARDS),
        (live(3), 3 * PERIOD, Flaw.DROPPED),
        (live(1), PERIOD + nanoseconds(0.3), Flaw.STALE),
        (live(1), PERIOD - 1, Flaw.STALE),
    ],
)
def test_each_flaw_by_itself(frame: Frame | None, now_ns: int, flaw: Flaw) -> None:
    inspector = Inspector(LOOKS)
    inspector.inspect(live(0), 0)
    assert flaw in inspector.inspect(frame, now_ns)


def test_a_frame_that_nothing_follows_grows_stale() -> None:
    inspector, frame = Inspector(LOOKS), live(0)
    assert inspector.inspect(frame, 0) == frozenset()
    assert inspector.inspect(frame, nanoseconds(0.19)) == frozenset()
    assert inspector.inspect(frame, nanoseconds(0.21)) == frozenset({Flaw.STALE})


def test_nothing_but_a_gap_leaves_a_frame_believable() -> None:
    assert frozenset(Flaw) - BLINDING == {Flaw.DROPPED}


@pytest.fixture
def camera() -> Iterator[DrawnCamera]:
    numbers = iter(range(1000))
    yield DrawnCamera(draw=lambda: (live(next(numbers)).picture, None), period_s=0.033, latency_s=0.04)


def test_a_drawn_camera_shows_a_frame_when_it_has_arrived(camera: DrawnCamera) -> None:
    assert camera.frame(0) is None
    first = camera.frame(nanoseconds(0.04))
    assert first is not None and first.exposed_ns == 0


@pytest.mark.parametrize(
    ("fault", "flaw"),
    [("freeze", Flaw.FROZEN), ("black", Flaw.BLACK), ("bright", Flaw.OVEREXPOSED), ("blur", Flaw.BLURRED),
     ("duplicate", Flaw.REPEATED), ("drop", Flaw.STALE)],
)  # fmt: skip
def test_every_fault_blinds_within_the_time_a_mouth_pose_may_age(
    camera: DrawnCamera, fault: str, flaw: Flaw
) -> None:
    start = nanoseconds(1.0)
    faulty = FaultyCamera(camera=camera, fault=fault, start_ns=start, end_ns=nanoseconds(9.0))
    inspector, noticed = Inspector(LOOKS), None
    for t in range(0, nanoseconds(1.5), nanoseconds(0.005)):
        flaws = inspector.inspect(faulty.frame(t), t)
        if t < start:
            assert not flaws & BLINDING or t < nanoseconds(0.05)
        elif flaws & BLINDING and noticed is None:
            noticed = (t - start) / 1e9
            assert flaw in flaws or fault in ("black", "bright", "blur", "duplicate")
    assert noticed is not None and noticed <= 0.25


def test_an_unplugged_camera_is_a_fault_of_the_rig(camera: DrawnCamera) -> None:
    gone = FaultyCamera(camera=camera, fault="gone", start_ns=0, end_ns=nanoseconds(9.0))
    gone.frame(-1)
    with pytest.raises(CameraFailure, match="unplugged"):
        for t in range(0, nanoseconds(0.2), nanoseconds(0.02)):
            gone.frame(t)


def test_a_folder_is_a_camera_that_stops_at_its_last_picture(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(encoded(live(number).picture, ".png"))
    camera = FolderCamera(folder=tmp_path, period_s=0.1)
    assert len(camera) == 3 and camera.frame(-1) is None
    shown = [camera.frame(nanoseconds(t)) for t in (0.0, 0.05, 0.1, 0.25, 9.0)]
    assert [frame.number for frame in shown if frame] == [0, 0, 1, 2, 2]
    assert shown[0] is shown[1] and shown[3] is shown[4]
    assert shown[2] is not None and np.array_equal(shown[2].picture, live(1).picture)
    assert Flaw.STALE in Inspector(LOOKS).inspect(shown[4], nanoseconds(9.0))


def test_a_folder_without_pictures_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pictures"):
        FolderCamera(folder=tmp_path, period_s=0.1)
    with pytest.raises(UsageError, match="pictures are written as"):
        encoded(live(0).picture, ".txt")


def test_a_camera_that_is_not_there_is_a_fault_of_the_rig(tmp_path: Path) -> None:
    camera = DeviceCamera(device=str(tmp_path / "video0"), width=64, height=48, clock=SimClock())
    with pytest.raises(CameraFailure, match="not there, or another program has it"), camera:
        pass
    with pytest.raises(UsageError, match="closed"):
        camera.frame(0)
