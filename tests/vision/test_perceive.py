"""Readings off rendered frames against where things truly are."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from rig.core.errors import UsageError
from rig.vision.markers import Pose, find_tags, tag_picture
from rig.vision.perceive import overlay, silhouette
from rig.vision.stage import CUP, HEAD, SIDE_M, SPOON, Stage, stage

LIPS = (0.094, 0.0, 1.155)


@pytest.fixture(scope="module")
def scene() -> Iterator[Stage]:
    try:
        with stage() as found:
            yield found
    except UsageError as error:
        pytest.skip(str(error))


def found_in(scene: Stage) -> dict[int, Pose]:
    return find_tags(scene.draw("table"), scene.camera("table"), SIDE_M)


def spoon_at(scene: Stage, gap_m: float) -> None:
    scene.place("spoon", (LIPS[0] + gap_m + 0.044, 0.0, LIPS[2]))


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
    bright = found_in(scene)
    scene.light(0.4)
    dim = found_in(scene)
    scene.light(0.0)
    dark = found_in(scene)
    scene.light(1.0)
    assert set(dim) == set(bright) >= {HEAD, SPOON} and dark == {}
    for tag in (HEAD, SPOON):
        assert np.linalg.norm(dim[tag].position_m - bright[tag].position_m) < 0.003


def test_a_covered_tag_is_not_guessed() -> None:
    damaged = tag_picture(HEAD).copy()
    damaged[90:150, 60:200] = 255
    try:
        with stage(tags={HEAD: damaged}) as scene:
            spoon_at(scene, 0.2)
            assert set(found_in(scene)) >= {SPOON} and HEAD not in found_in(scene)
    except UsageError as error:
        pytest.skip(str(error))


def test_a_tag_with_something_on_a_corner_is_not_believed(scene: Stage) -> None:
    """It would be found, turned by some degrees; its corners fit nothing."""
    spoon_at(scene, 0.3)
    picture, lens = scene.draw("table").copy(), scene.camera("table")
    corners = find_tags(picture, lens, SIDE_M)[CUP].corners
    side = float(np.linalg.norm(corners[1] - corners[0]))
    at = corners[0]
    cv2.circle(picture, (round(float(at[0])), round(float(at[1]))), round(0.12 * side), (200, 120, 50), -1)
    assert CUP not in find_tags(picture, lens, SIDE_M)


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
