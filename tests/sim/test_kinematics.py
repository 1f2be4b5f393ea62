"""Joint angles bring the spoon where they say, on straight lines and at the speed allowed."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rig.core.errors import UsageError
from rig.kinematics import JOINTS, Kinematics, Pose
from tests.sim.stage import BENCH, arm, rows_of, run

SPEED, TICK_S = 0.2, 1e-3


def turned(yaw_deg: float) -> dict[str, float]:
    return {"head.yaw": math.radians(yaw_deg)}


YAW = turned(20.0)


def angle_rad(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


@pytest.mark.parametrize("name", arm().places)
def test_every_named_place_is_reached_exactly(name: str) -> None:
    target = arm().place(name)
    reached = arm().pose(arm().solve(target, arm().rest))
    np.testing.assert_allclose(reached.position, target.position, atol=5e-5)
    assert angle_rad(reached.approach, target.approach) < 1e-3


def test_the_places_at_the_mouth_lie_on_its_axis() -> None:
    near, lips, inside = (arm().place(n) for n in ("near_mouth", "lips", "inside"))
    assert near.position[0] - 0.1 == pytest.approx(0.0, abs=1e-9)  # 100 mm before the lips
    assert near.position[0] > lips.position[0] > 0.0 > inside.position[0]
    for pose in (near, lips, inside):
        np.testing.assert_allclose(pose.approach, [-1.0, 0.0, 0.0], atol=1e-9)


def test_the_places_at_the_mouth_turn_with_the_head_and_the_others_do_not() -> None:
    assert arm().place("lips", YAW).position[1] > 0.03  # left is positive
    np.testing.assert_array_equal(arm().place("bowl", YAW).position, arm().place("bowl").position)


def test_the_arm_rests_at_its_place_of_rest() -> None:
    reached, target = arm().pose(arm().rest), arm().place("rest")
    np.testing.assert_allclose(reached.position, target.position, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.floats(-1.0, 1.0)] * 6))
def test_any_pose_the_arm_can_take_can_be_found_again(shares: tuple[float, ...]) -> None:
    joints = arm().rest + 0.4 * np.array(shares)
    joints = np.clip(joints, arm().low, arm().high)
    pose = arm().pose(joints)
    assume(abs(pose.approach[2]) < 0.95)
    try:
        found = arm().solve(pose, arm().rest)
    except UsageError:
        assume(False)  # level there, but only with a joint beyond its stop
    np.testing.assert_allclose(arm().pose(found).position, pose.position, atol=5e-5)
    assert (found >= arm().low).all()
    assert (found <= arm().high).all()


@pytest.mark.parametrize("yaw", [-25.0, 0.0, 25.0])
@pytest.mark.parametrize(
    ("start", "end"), [("rest", "near_mouth"), ("bowl", "near_mouth"), ("near_mouth", "inside")]
)
def test_a_path_is_straight_smooth_and_no_faster_than_allowed(start: str, end: str, yaw: float) -> None:
    a, b = arm().place(start, turned(yaw)), arm().place(end, turned(yaw))
    from_joints = arm().solve(a, arm().rest)
    rows = arm().path(from_joints, b, speed_m_s=SPEED, period_s=TICK_S)
    tips = np.array([arm().pose(q).position for q in rows[::20]])
    way = (b.position - a.position) / np.linalg.norm(b.position - a.position)
    off = (tips - a.position) - np.outer((tips - a.position) @ way, way)
    assert np.abs(off).max() < 0.001
    speeds = np.linalg.norm(np.diff([arm().pose(q).position for q in rows], axis=0), axis=1) / TICK_S
    assert speeds.max() < 1.02 * SPEED
    steps = np.abs(np.diff(np.vstack([from_joints, rows]), axis=0))
    rates = np.array([next(a.rate for a in BENCH.actuators if a.name == j) for j in JOINTS])
    assert (steps.max(axis=0) < rates * TICK_S).all()
    assert steps[0].max() < 1e-5  # it starts gently
    assert steps[-1].max() < 1e-5  # and ends so


def test_food_stays_uppermost_on_the_way_to_the_mouth() -> None:
    start = arm().solve(arm().place("rest"), arm().rest)
    for q in arm().path(start, arm().place("near_mouth"), speed_m_s=SPEED, period_s=0.05):
        _, rotation = arm()._forward(q)
        assert rotation[2, 2] > 0.9


def test_a_path_to_where_the_spoon_is_already_takes_no_time() -> None:
    rows = arm().path(arm().rest, arm().pose(arm().rest), speed_m_s=SPEED, period_s=TICK_S)
    assert len(rows) <= 3
    np.testing.assert_allclose(rows[-1], arm().rest, atol=1e-3)


def test_the_plant_follows_a_path_closely() -> None:
    from rig.sim.backend import SimBackend

    with SimBackend(BENCH, 1) as backend:
        target = arm().place("near_mouth")
        rows = arm().path(backend.setpoints[:6], target, speed_m_s=SPEED, period_s=TICK_S)
        trace = run(backend, rows_of(backend, rows))
        assert trace.column("spoon.speed").max() < 1.05 * SPEED
        backend.hold(300)
        joints = backend.snapshot().values[:6]
        np.testing.assert_allclose(arm().pose(joints).position, target.position, atol=1e-3)


def test_a_point_out_of_reach_is_refused_with_the_distance() -> None:
    with pytest.raises(UsageError, match=r"cannot reach \(2\.000, 0\.000, 1\.000\) m"):
        arm().solve(Pose(np.array([2.0, 0.0, 1.0]), np.array([-1.0, 0.0, 0.0])), arm().rest)


def test_a_spoon_cannot_point_straight_down() -> None:
    with pytest.raises(UsageError, match="straight up or down"):
        arm().solve(Pose(arm().place("bowl").position, np.array([0.0, 0.0, -1.0])), arm().rest)


def test_an_unknown_place_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown place 'ear'; known: .*bowl.*lips"):
        arm().place("ear")


@pytest.mark.parametrize("speed", [0.0, -0.1, float("nan")])
def test_a_path_needs_a_speed(speed: float) -> None:
    with pytest.raises(UsageError, match="must be positive"):
        arm().path(arm().rest, arm().place("bowl"), speed_m_s=speed, period_s=TICK_S)


def test_an_unknown_scene_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"bedside\.xml"):
        Kinematics("garden.xml")
