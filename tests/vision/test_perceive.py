"""Readings off rendered frames against where things truly are."""

from collections.abc import Iterator

import numpy as np
import pytest

from rig.core.errors import UsageError
from rig.vision.frame import Frame
from rig.vision.markers import find_tags, tag_picture
from rig.vision.perceive import CUP, HEAD, SPOON, STAGE, Place, Reading, TagDetector, overlay, silhouette
from rig.vision.stage import SIDE_M, Stage, stage

LIPS = (0.094, 0.0, 1.155)


@pytest.fixture(scope="module")
def scene() -> Iterator[Stage]:
    try:
        with stage() as found:
            yield found
    except UsageError as error:
        pytest.skip(str(error))


def read(scene: Stage, camera: str = "table") -> dict[str, Reading]:
    depth = scene.depth(camera) if camera == "ceiling" else None
    frame = Frame(scene.draw(camera), exposed_ns=7, number=0, depth_m=depth)
    return dict(TagDetector(camera=scene.camera(camera), geometry=STAGE).read(frame))


def spoon_at(scene: Stage, gap_m: float) -> None:
    scene.place("spoon", (LIPS[0] + gap_m + 0.044, 0.0, LIPS[2]))


@pytest.mark.parametrize("gap_m", [0.30, 0.12, 0.04])
def test_the_gap_to_the_lips_is_read_within_its_own_uncertainty(scene: Stage, gap_m: float) -> None:
    spoon_at(scene, gap_m)
    found = read(scene)["face.gap"]
    assert found.value is not None and found.exposed_ns == 7
    assert abs(found.value - gap_m) < min(3 * found.sd, 0.008)


def test_a_spoon_in_the_mouth_has_a_negative_gap(scene: Stage) -> None:
    spoon_at(scene, -0.01)
    found = read(scene)["face.gap"].value
    assert found is not None and found < 0


@pytest.mark.parametrize("opening_m", [0.0, 0.02, 0.04])
def test_the_mouth_opening_is_read(scene: Stage, opening_m: float) -> None:
    scene.place("jaw", (0.0, 0.0, 1.2 - opening_m))
    found = read(scene)["mouth.opening"]
    scene.place("jaw", (0.0, 0.0, 1.2))
    assert found.value == pytest.approx(opening_m, abs=0.005)


def test_poses_are_true_and_know_how_sure_they_are(scene: Stage) -> None:
    spoon_at(scene, 0.2)
    found = find_tags(scene.draw("table"), scene.camera("table"), SIDE_M)
    for tag in (HEAD, SPOON, CUP):
        position, rotation = scene.seen_from("table", tag)
        pose = found[tag]
        assert np.linalg.norm(pose.position_m - position) < 0.008
        assert np.linalg.norm(pose.position_m - position) < 4 * pose.sd_m
        turned = np.degrees(np.arccos(np.clip((np.trace(rotation.T @ pose.rotation) - 1) / 2, -1, 1)))
        assert turned < 4.0
        assert np.all(np.linalg.eigvalsh(pose.covariance) > 0)


def test_half_the_light_changes_nothing_and_darkness_leaves_nothing(scene: Stage) -> None:
    spoon_at(scene, 0.12)
    scene.light(0.4)
    dim = read(scene)["face.gap"]
    scene.light(0.0)
    dark = read(scene)["face.gap"]
    scene.light(1.0)
    assert dim.value == pytest.approx(0.12, abs=0.008)
    assert dark.value is None and "no head and no spoon seen" in dark.why


def test_an_empty_spoon_is_not_a_loaded_one(scene: Stage) -> None:
    spoon_at(scene, 0.2)
    full = read(scene)["spoon.load"].value
    scene.size("bite", (1e-4, 1e-4, 1e-4))
    empty = read(scene)["spoon.load"].value
    scene.size("bite", (0.018, 0.012, 0.009))
    assert full is not None and empty is not None
    assert full > 0.3 > 0.1 > empty


@pytest.mark.parametrize(
    ("at", "place"),
    [((-1.6, 0.0, 0.6), Place.IN_BED), ((-1.95, 0.0, 0.6), Place.AT_EDGE), ((-0.7, 0.0, 0.15), Place.ON_FLOOR), ((5.0, 5.0, 0.6), Place.NOWHERE)],
)  # fmt: skip
def test_where_the_person_is_from_depth_alone(
    scene: Stage, at: tuple[float, float, float], place: Place
) -> None:
    scene.place("person", at)
    found = read(scene, "ceiling")["person.place"]
    scene.place("person", (-1.6, 0.0, 0.6))
    assert found.value == place


def test_a_covered_tag_is_not_guessed() -> None:
    damaged = tag_picture(HEAD).copy()
    damaged[90:150, 60:200] = 255
    try:
        with stage(tags={HEAD: damaged}) as scene:
            spoon_at(scene, 0.2)
            found = read(scene)
    except UsageError as error:
        pytest.skip(str(error))
    assert found["face.gap"].value is None and found["face.gap"].why == "no head seen"
    assert found["mouth.opening"].value is None


def test_pictures_for_people(scene: Stage) -> None:
    picture, camera = scene.draw("table"), scene.camera("table")
    drawn = overlay(picture, camera, find_tags(picture, camera, SIDE_M), ("gap 120 mm",))
    assert drawn.shape == picture.shape and np.any(drawn != picture)
    grey = silhouette(scene.depth("ceiling"))
    assert grey.shape == picture.shape and grey.std() > 5


def test_a_tag_seen_twice_is_none() -> None:
    tag = tag_picture(2, pixels=200)
    both = np.full((480, 640, 3), 255, np.uint8)
    both[100:300, 50:250] = tag
    both[100:300, 350:550] = tag
    from rig.vision.calibration import Intrinsics

    camera = Intrinsics.pinhole(640, 480, 45.0)
    assert find_tags(both, camera, {2: 0.03}) == {}
    both[:, 320:] = 255
    assert set(find_tags(both, camera, {2: 0.03})) == {2}
