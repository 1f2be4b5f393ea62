"""Forces on the face are springs times displacement, felt on every tick, and the mouth is a door."""

from dataclasses import replace

import numpy as np
import pytest

from rig.core.channel import Trace
from rig.sim.backend import SimBackend
from rig.sim.stations.face import FaceParameters
from tests.sim.stage import BENCH, MS, arm, before, joints_of, rows_of, run, straight

INTO = np.array([-1.0, 0.0, 0.0])
LIPS, CHEEK, NOSE, CHIN, BROW = (0, 0, 0), (0, 0.046, 0), (0, 0.02, 0.045), (0, 0, -0.044), (0, 0, 0.1)
P = FaceParameters()


def pushed(
    point: tuple[float, float, float],
    speed_m_s: float,
    opening_m: float = 0.0,
    tick_ns: int = MS,
    depth_m: float = 0.06,
) -> Trace:
    """Push the spoon straight at a point of the face at constant speed."""
    joints = before(point)
    with SimBackend(replace(BENCH, tick_ns=tick_ns), 1) as backend:
        backend.place(actuators=joints_of(joints), body={"mouth.opening": opening_m})
        rows = rows_of(backend, straight(joints, depth_m * INTO, speed_m_s, tick_ns / 1e9))
        return run(backend, rows, tick_ns)


def first_18_ms(force: np.ndarray, tick_ns: int = MS) -> float:
    touch = int(np.argmax(force > 0.02))
    return float(force[touch : touch + round(18 * MS / tick_ns)].max())


@pytest.mark.parametrize("speed", [0.010, 0.050, 0.100])
def test_closed_lips_feel_stiffness_times_speed_times_time(speed: float) -> None:
    peak = first_18_ms(pushed(LIPS, speed).column("truth.lip_force"))
    rigid = 2 * P.lip_stiffness * speed * 0.018  # both lips, an arm that does not give way
    assert 0.7 * rigid < peak < 1.1 * rigid


@pytest.mark.parametrize("speed", [0.010, 0.050, 0.100])
@pytest.mark.parametrize("point", [CHEEK, NOSE, CHIN, BROW])
def test_firm_regions_feel_more_than_lips_but_no_more_than_their_spring(
    point: tuple[float, float, float], speed: float
) -> None:
    trace = pushed(point, speed, depth_m=0.045)
    peak = first_18_ms(trace.column("truth.face_force"))
    stiffness = P.forehead_stiffness if point == BROW else P.face_stiffness
    assert first_18_ms(pushed(LIPS, speed).column("truth.lip_force")) < peak < stiffness * speed * 0.018
    assert trace.column("truth.lip_force").max() < 0.01


@pytest.mark.parametrize("point", [LIPS, CHEEK, BROW])
def test_the_peak_hardly_depends_on_the_time_step(point: tuple[float, float, float]) -> None:
    peaks = [
        first_18_ms(pushed(point, 0.1, tick_ns=t, depth_m=0.045).column("truth.face_force"), t)
        for t in (MS // 2, MS, 2 * MS)
    ]
    assert max(peaks) < 1.12 * min(peaks)


def test_the_wrist_feels_what_the_face_feels() -> None:
    trace = pushed(CHEEK, 0.010, depth_m=0.045)
    assert trace.column("wrist.force")[-1] == pytest.approx(trace.column("truth.face_force")[-1], rel=0.05)


@pytest.mark.parametrize("speed", [0.010, 0.050, 0.100])
def test_the_spoon_enters_an_open_mouth_without_force(speed: float) -> None:
    trace = pushed(LIPS, speed, opening_m=0.014)
    assert trace.column("truth.face_force").max() < 1.0
    inside = trace.column("truth.in_mouth")
    np.testing.assert_array_equal(inside == 1.0, trace.column("truth.gap") < 0.0)
    assert inside[-1] == 1.0


def test_closed_lips_keep_the_spoon_out() -> None:
    trace = pushed(LIPS, 0.05)
    assert trace.column("truth.in_mouth").max() == 0.0
    assert trace.column("truth.lip_force").max() > 10.0


def test_a_spoon_forced_between_half_open_lips_gets_in_with_force() -> None:
    trace = pushed(LIPS, 0.05, opening_m=0.006)
    assert trace.column("truth.in_mouth")[-1] == 1.0
    assert trace.column("truth.lip_force").max() > 10.0


def test_lips_close_on_the_spoon_but_not_through_it() -> None:
    joints = before(LIPS)
    with SimBackend(BENCH, 1) as backend:
        backend.place(actuators=joints_of(joints), body={"mouth.opening": 0.02})
        run(backend, rows_of(backend, straight(joints, 0.05 * INTO, 0.05)))
        backend.set_body({"mouth.opening": 0.0})
        closing = backend.hold(500)
        assert closing.column("truth.opening")[-1] == pytest.approx(P.spoon_height_m, abs=0.002)
        assert closing.column("truth.lip_force").max() < 1.0
        run(backend, rows_of(backend, straight(backend.setpoints[:6], -0.06 * INTO, 0.05)))
        assert backend.hold(500).column("truth.opening")[-1] == 0.0


@pytest.mark.parametrize("way", [(0, 0.04, 0), (0, -0.04, 0), (0, 0, 0.03), (0, 0, -0.03)])
def test_moving_aside_inside_the_mouth_is_felt_by_the_lips(way: tuple[float, float, float]) -> None:
    joints = before(LIPS)
    with SimBackend(BENCH, 1) as backend:
        backend.place(actuators=joints_of(joints), body={"mouth.opening": 0.02})
        run(backend, rows_of(backend, straight(joints, 0.05 * INTO, 0.05)))
        trace = run(backend, rows_of(backend, straight(backend.setpoints[:6], np.array(way), 0.05)))
        assert trace.column("truth.lip_force").max() > 5.0


def test_speaking_and_looking_around_hurt_nobody() -> None:
    with SimBackend(BENCH, 1) as backend:
        lips = face = 0.0
        for yaw, opening in ((60.0, 0.045), (-60.0, 0.0), (0.0, 0.03), (5.0, 0.0)):
            backend.set_body({"head.yaw": yaw, "mouth.opening": opening})
            trace = backend.hold(700)
            lips = max(lips, float(trace.column("truth.lip_force").max()))
            face = max(face, float(trace.column("truth.face_force").max()))
        assert lips < P.touch_n
        assert face < 0.1  # the heavier pads' own inertia


def test_a_face_turned_into_the_spoon_feels_it() -> None:
    joints = before((0, 0.03, 0), 0.004)
    with SimBackend(BENCH, 1) as backend:
        backend.place(actuators=joints_of(joints))
        backend.set_body({"head.yaw": -20.0})
        assert backend.hold(400).column("truth.face_force").max() > 1.0


def test_the_gap_is_measured_along_the_axis_of_the_turned_mouth() -> None:
    for yaw in (-25.0, 0.0, 25.0):
        target = arm().place("near_mouth", {"head.yaw": float(np.radians(yaw))})
        joints = arm().solve(target, arm().rest)
        with SimBackend(BENCH, 1) as backend:
            snapshot = backend.place(actuators=joints_of(joints), body={"head.yaw": yaw})
            assert snapshot.value("truth.gap") == pytest.approx(0.1, abs=1e-3)
            assert snapshot.value("truth.yaw") == pytest.approx(yaw, abs=1e-6)


@pytest.mark.parametrize("kilograms", [0.0, 0.5, 1.5, 3.0])
def test_a_known_mass_reads_its_weight_at_the_wrist(kilograms: float) -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(hidden={"tool.hung": kilograms})
        settled = backend.hold(3000).column("wrist.force")[1500:]
    noise = BENCH.layout["wrist.force"].noise
    assert abs(settled.mean() - 9.81 * kilograms) < (0.005 if kilograms else noise)


def test_an_unloaded_wrist_reads_nothing_in_any_pose_at_rest_or_moving() -> None:
    with SimBackend(BENCH, 1) as backend:
        for place in ("bowl", "near_mouth", "rest"):
            target = arm().place(place)
            rows = arm().path(backend.setpoints[:6], target, speed_m_s=0.25, period_s=1e-3)
            assert run(backend, rows_of(backend, rows)).column("wrist.force").max() < 0.5


def test_setpoints_are_followed_no_faster_than_the_joint_can() -> None:
    with SimBackend(BENCH, 1) as backend:
        rows = np.repeat(backend.setpoints[None, :], 400, axis=0)
        rows[:, 0] += 1.0
        base = run(backend, rows).column("arm.base")
        assert np.abs(np.diff(base)).max() < 1.05 * BENCH.actuators[0].rate * 1e-3
