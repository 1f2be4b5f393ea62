"""The face camera on drawn frames of the simulated bench, against what is true there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from rig.core.bench import load_bench
from rig.core.clock import SimClock, wall_utc
from rig.core.errors import UsageError
from rig.kinematics import JOINTS, Kinematics
from rig.sim.backend import SimBackend
from rig.sim.camera import Plate, View
from rig.trial.eyes import Rendered, rendered
from rig.trial.sensor_model import Sample, fit, samples
from rig.vision.calibration import Intrinsics
from rig.vision.extrinsics import bench_markers, locate, save_extrinsics, seen_of
from rig.vision.face import CHANNELS, Extrinsics, FaceDetector, load_markers
from rig.vision.frame import Frame
from rig.vision.markers import find_tags, tag_picture
from rig.vision.source import encoded
from tests import graphics

BENCH = load_bench("sim")
SPEC = replace(BENCH.cameras[0], width=640, height=480)
TRUTH = {"face.gap": "truth.gap", "face.yaw": "truth.yaw", "mouth.opening": "truth.opening"}
RARELY = 0.005
"""A share of missed readings that 200 frames without one do not exclude: 0.995^200 is 0.37."""
WITHIN = {"face.gap": 4e-3, "face.yaw": 1.5, "mouth.opening": 4e-3}


@pytest.fixture(scope="module")
def bench() -> Iterator[tuple[SimBackend, Rendered]]:
    with SimBackend(BENCH, 0) as backend:
        try:
            with rendered(backend, SPEC) as camera:
                yield backend, camera
        except UsageError as error:
            pytest.skip(str(error))


def put(backend: SimBackend, gap_m: float, yaw: float = 0.0, opening: float = 0.02) -> np.ndarray:
    arm = Kinematics(BENCH.scene, BENCH.tool)
    lips = arm.place("lips")
    joints = arm.solve(
        replace(lips, position=lips.position + np.array((gap_m, 0.0, 0.0))), backend.setpoints[: len(JOINTS)]
    )
    backend.place(
        actuators=dict(zip(JOINTS, joints.tolist(), strict=True)),
        body={"head.yaw": yaw, "mouth.opening": opening},
    )
    backend.hold(2)
    return arm.pose(joints).position


def frame_of(camera: Rendered, number: int = 0) -> Frame:
    return Frame(camera.view.draw()[0], 5, number)


@pytest.mark.parametrize(
    ("gap_m", "yaw", "opening"), [(0.08, 0.0, 0.0), (0.02, 12.0, 0.03), (-0.01, -12.0, 0.04)]
)
def test_what_is_read_is_what_is_there(
    bench: tuple[SimBackend, Rendered], gap_m: float, yaw: float, opening: float
) -> None:
    backend, camera = bench
    put(backend, gap_m, yaw, opening)
    now, found = backend.snapshot(), camera.detector.read(frame_of(camera))
    for channel, true in TRUTH.items():
        reading = found[channel]
        assert reading.value is not None and reading.exposed_ns == 5
        off = abs(reading.value - now.value(true))
        assert off < WITHIN[channel] and off < 4 * reading.sd, channel


def test_following_a_tag_finds_what_a_search_finds(bench: tuple[SimBackend, Rendered]) -> None:
    backend, camera = bench
    detector = camera.detector
    put(backend, 0.05)
    before = find_tags(frame_of(camera).picture, detector.camera, detector.markers.sides_m)
    put(backend, 0.045, 2.0)
    picture = frame_of(camera).picture
    searched = find_tags(picture, detector.camera, detector.markers.sides_m)
    followed = find_tags(
        picture, detector.camera, detector.markers.sides_m, {n: pose.corners for n, pose in before.items()}
    )
    assert set(searched) == set(followed) == {0, 1, 2}
    for number in searched:
        assert np.allclose(searched[number].corners, followed[number].corners, atol=0.1)
    elsewhere = {n: pose.corners + 300.0 for n, pose in before.items()}
    assert set(find_tags(picture, detector.camera, detector.markers.sides_m, elsewhere)) == {0, 1, 2}


def test_a_spoon_out_of_the_picture_is_where_the_arm_says(bench: tuple[SimBackend, Rendered]) -> None:
    backend, camera = bench
    tip = put(backend, 0.08)
    picture = camera.view.draw()[0].copy()
    spoon = find_tags(picture, camera.detector.camera, camera.detector.markers.sides_m)[2].corners
    left, top = np.floor(spoon.min(axis=0) - 12).astype(int)
    right, bottom = np.ceil(spoon.max(axis=0) + 12).astype(int)
    picture[top:bottom, left:right] = 128
    frame = Frame(picture, 0, 0)
    alone = camera.detector.read(frame)["face.gap"]
    assert alone.value is None and alone.why == "no spoon seen"
    assert camera.detector.read(frame, tip)["face.gap"].value == pytest.approx(
        backend.snapshot().value("truth.gap"), abs=WITHIN["face.gap"]
    )


@pytest.mark.parametrize("yaw", [15.0, 16.5, 18.3, 20.0, 22.0, 24.0])
def test_no_turn_of_the_head_is_blind(bench: tuple[SimBackend, Rendered], yaw: float) -> None:
    """Where the camera faces the head: a tag met face on told the turn to 2 degrees at best, and was not believed."""
    backend, camera = bench
    put(backend, 0.06, yaw)
    found = camera.detector.read(frame_of(camera))["face.yaw"]
    assert found.value == pytest.approx(backend.snapshot().value("truth.yaw"), abs=WITHIN["face.yaw"])


@pytest.mark.parametrize("part", ["head", "jaw"])
def test_no_tag_of_the_face_is_met_face_on_or_sunk_into_the_face(
    bench: tuple[SimBackend, Rendered], part: str
) -> None:
    _, camera = bench
    model, tag, where = camera.view.model, load_markers().tags[part], camera.detector.extrinsics
    assert where is not None
    head = model.body("head").pos
    place = tag.at_m if part == "head" else tag.at_m + model.body("lip_lower").pos
    for yaw in np.radians(np.arange(-40.0, 41.0, 1.0)):
        turn = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
        sight = where.position_m - (head + turn @ place)
        facing = turn @ tag.axes[:, 2]
        assert np.degrees(np.arccos(facing @ sight / np.linalg.norm(sight))) > 12.0
    plate = tag.side_m * 240 / 180 / 2  # with its white border
    nearest = place[0] - plate * np.abs(tag.axes[0, :2]).sum()
    skin = {"head": "forehead", "jaw": "chin"}[part]
    (front,) = [
        model.body(skin).pos[0] + g.pos[0] + g.size[0]
        for g in (model.geom(i) for i in range(model.ngeom))
        if g.bodyid[0] == model.body(skin).id
    ]
    assert nearest > front


def test_nobody_in_the_picture_is_nothing_read(bench: tuple[SimBackend, Rendered]) -> None:
    _, camera = bench
    found = camera.detector.read(Frame(np.full((480, 640, 3), 90, np.uint8), 0, 0))
    assert {name: r.why for name, r in found.items()} == dict.fromkeys(CHANNELS, "no head seen")


def test_where_the_camera_is_must_be_known_for_the_turn(bench: tuple[SimBackend, Rendered]) -> None:
    backend, camera = bench
    put(backend, 0.05)
    blind = FaceDetector(camera=camera.detector.camera, markers=load_markers())
    found = blind.read(frame_of(camera))
    assert found["face.yaw"].value is None and "calibrate its extrinsics" in found["face.yaw"].why
    assert found["face.gap"].value is not None


def test_where_a_camera_was_found_is_what_is_read_by(tmp_path: Path) -> None:
    """The place file of a bench is used: found from the bench's tags it is as good as the true one, turned it shows."""
    plates = [
        Plate(name, t.body, t.side_m, t.at_m, t.axes, encoded(tag_picture(t.number), ".png"))
        for name, t in bench_markers().items()
    ]
    now, file = wall_utc(), tmp_path / "place.json"
    with SimBackend(BENCH, 0) as backend:
        graphics.needed()
        with View(backend, "face", 1280, 960, plates) as view:
            lens = Intrinsics.pinhole(1280, 960, view.pose()[2])
            tags = bench_markers()
            found = locate(seen_of(view.draw()[0], lens, tags), lens, tags)
        put(backend, 0.06, 8.0)
        save_extrinsics(file, found, now)
        with rendered(backend, replace(SPEC, place=str(file))) as camera:
            read = camera.detector.read(frame_of(camera))["face.yaw"].value
        assert read == pytest.approx(8.0, abs=WITHIN["face.yaw"])
        c, s = np.cos(np.radians(10.0)), np.sin(np.radians(10.0))
        turned = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ found.extrinsics.rotation
        save_extrinsics(file, replace(found, extrinsics=Extrinsics(turned, found.extrinsics.position_m)), now)
        with rendered(backend, replace(SPEC, place=str(file))) as camera:
            read = camera.detector.read(frame_of(camera))["face.yaw"].value
        assert read == pytest.approx(18.0, abs=WITHIN["face.yaw"])


def drawn(frames: int, size: tuple[int, int], seed: int) -> list[Sample]:
    spec = replace(BENCH.cameras[0], width=size[0], height=size[1])
    try:
        return list(samples(BENCH, spec, frames, np.random.default_rng(seed), SimClock()))
    except UsageError as error:
        pytest.skip(str(error))


def test_the_sensor_model_is_what_the_frames_say_on_a_sample() -> None:
    """Frames nobody fitted anything to, at the size the bench has: errors of the size the model states."""
    found = drawn(8, (1280, 960), seed=99)
    for channel in CHANNELS:
        one = fit(found, channel)
        assert one.missed == 0.0
        assert one.sd < 2.0 * BENCH.layout[channel].noise  # 8 errors of a normal law: 1 in 10,000 is as large
        assert abs(one.bias) < 2.0 * BENCH.layout[channel].noise


@pytest.mark.soak
def test_the_sensor_model_is_what_the_frames_say() -> None:
    found = drawn(160, (1280, 960), seed=100)
    stated = BENCH.cameras[0].missed
    for channel in CHANNELS:
        one, noise = fit(found, channel), BENCH.layout[channel].noise
        # What is missed is told from the model's share only where chance would not do it once in a thousand.
        few = binom.ppf(0.999, len(found), max(stated.get(channel, 0.0), RARELY))
        assert one.missed * len(found) <= few, channel
        assert 0.75 * noise < one.sd < 1.25 * noise, (
            channel
        )  # 160 errors: the root mean square is known to 6 %
