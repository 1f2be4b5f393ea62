"""A stretch is its ticks one by one, bit for bit, and the same seed gives the same bytes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.channel import Trace, joined
from rig.core.errors import PlantFault, RigFault, UsageError
from rig.sim.backend import SimBackend
from rig.sim.faults import SensorFault
from tests.sim.stage import BENCH, MS, S, adding, arm, before, joints_of, plan_of, rows_of, run, straight

FAULTS = (
    SensorFault(kind="latency", channel="bed.back", start=0.05, delay=0.07),
    SensorFault(kind="spike", channel="wrist.force", value=5.0, chance=0.1),
    SensorFault(kind="noise", channel="face.gap", value=3.0, start=0.1, end=0.3),
)
N = 400


def started(seed: int = 3) -> SimBackend:
    """An open bench, spoon close to a closed mouth, hot food on it, person and bed about to move."""
    backend = SimBackend(BENCH, seed, FAULTS).__enter__()
    backend.place(
        actuators=joints_of(before((0.0, 0.0, 0.0), 0.005)),
        body={"spoon.load": 5.0, "mouth.opening": 0.004},
        hidden={"bowl.temperature": 64.0},
    )
    backend.set_body({"head.yaw": 3.0, "mouth.opening": 0.007, "person.roll": 5.0})
    backend.set_intent({"intent.mouth": 1.0})
    return backend


def motion(backend: SimBackend) -> np.ndarray:
    """Into the lips at 50 mm/s, while the bed rises."""
    joints = straight(backend.setpoints[:6], np.array([-0.02, 0.0, 0.0]), 0.05)[:N]
    return rows_of(backend, joints, {"bed.back": 60.0})


def assert_same(a: Trace, b: Trace) -> None:
    for field in ("t_ns", "values", "sampled_ns", "quality"):
        assert getattr(a, field).tobytes() == getattr(b, field).tobytes(), field


@pytest.fixture(scope="module")
def whole() -> tuple[Trace, bytes, bytes, bytes]:
    backend, watch = started(), adding()
    trace = run(backend, motion(backend), watch=watch)
    return trace, watch.floats.tobytes() + watch.integers.tobytes(), backend.world.tobytes(), engine(backend)


def engine(backend: SimBackend) -> bytes:
    data = backend.scene.data
    return data.qpos.tobytes() + data.qvel.tobytes() + data.qacc_warmstart.tobytes()


def test_the_motion_of_these_tests_does_touch(whole: tuple[Trace, bytes, bytes, bytes]) -> None:
    trace = whole[0]
    assert len(trace) == N
    assert trace.column("truth.lip_force").max() > 1.0


@settings(max_examples=12, deadline=None)
@given(cuts=st.sets(st.integers(1, N - 1), max_size=8))
def test_stretches_cut_anywhere_give_the_same_bytes(
    whole: tuple[Trace, bytes, bytes, bytes], cuts: set[int]
) -> None:
    backend, watch = started(), adding()
    rows, edges = motion(backend), [0, *sorted(cuts), N]
    parts = [run(backend, rows[a:b], watch=watch) for a, b in pairwise(edges)]
    assert_same(joined(parts, backend.layout), whole[0])
    assert watch.floats.tobytes() + watch.integers.tobytes() == whole[1]
    assert backend.world.tobytes() == whole[2]
    assert engine(backend) == whole[3]


def test_ticks_one_by_one_give_the_same_bytes(whole: tuple[Trace, bytes, bytes, bytes]) -> None:
    backend, watch = started(), adding()
    rows = motion(backend)
    parts = [run(backend, rows[k : k + 1], watch=watch) for k in range(N)]
    assert_same(joined(parts, backend.layout), whole[0])
    assert watch.floats.tobytes() + watch.integers.tobytes() == whole[1]
    assert engine(backend) == whole[3]


def test_slow_rows_cut_anywhere_give_the_same_bytes() -> None:
    def watched(cuts: list[int]) -> Trace:
        with SimBackend(BENCH, 5, FAULTS) as backend:
            backend.place(body={"spoon.load": 5.0})
            backend.set_body({"person.roll": 20.0, "airway.blocked": 1.0})
            rows = rows_of(backend, np.repeat(backend.setpoints[None, :6], 40, axis=0), {"bed.back": 60.0})
            return joined([run(backend, rows[a:b], 500 * MS) for a, b in pairwise(cuts)],
                          backend.layout)  # fmt: skip

    assert_same(watched([0, 40]), watched([0, 1, 2, 17, 40]))


def test_a_bench_placed_anew_repeats_itself() -> None:
    with SimBackend(BENCH, 9) as backend:
        rows = np.repeat(backend.setpoints[None, :], 100, axis=0)
        first = run(backend, rows)
        backend.place()
        assert_same(run(backend, rows), first)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    traces = [run(b, motion(b)) for b in (started(3), started(3), started(4))]
    assert_same(traces[0], traces[1])
    force = [t.column("wrist.force") for t in traces]
    assert not np.array_equal(force[0], force[2])
    truth = [t.column("truth.lip_force") for t in traces]  # noise reaches sensors, not the world
    np.testing.assert_array_equal(truth[0], truth[2])


def test_noise_has_the_declared_size_and_no_memory() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(hidden={"tool.hung": 1.0})
        force = backend.hold(20_000).column("wrist.force")[500:]
    noise = force - force.mean()
    assert noise.std() == pytest.approx(BENCH.layout["wrist.force"].noise, rel=0.03)
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.03


def test_what_the_engine_warns_of_is_a_plant_fault_that_stays() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.hold(5)
        backend.scene.data.qvel[3] = np.nan
        with pytest.raises(PlantFault, match=r"QVEL|QACC"):
            backend.hold(5)
        with pytest.raises(PlantFault):
            backend.hold(5)
        assert backend.now_ns == 5 * MS
        backend.place()
        assert len(backend.hold(5)) == 5


def test_a_clock_that_runs_backwards_is_a_plant_fault() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.hold(5)
        backend.scene.data.time = -1.0
        with pytest.raises(PlantFault, match="clock"):
            backend.hold(5)


def test_the_engine_never_resets_itself() -> None:
    import mujoco

    with SimBackend(BENCH, 1) as backend:
        assert backend.scene.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_AUTORESET


def test_the_engine_steps_as_it_does_on_its_own() -> None:
    import mujoco

    with SimBackend(BENCH, 1) as backend:
        joints = straight(arm().rest, np.array([0.0, 0.0, 0.05]), 0.05)[:300]
        model, other = backend.scene.model, mujoco.MjData(backend.scene.model)
        other.qpos[:] = backend.scene.data.qpos
        other.ctrl[:] = backend.scene.data.ctrl
        run(backend, rows_of(backend, joints))
        for row in joints:
            other.ctrl[:6] = row
            mujoco.mj_step(model, other)
        assert other.qpos.tobytes() == backend.scene.data.qpos.tobytes()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"head.yaw": 81.0}, "head.yaw"),
        ({"head.yaw": float("nan")}, "head.yaw"),
        ({"head.roll": 1.0}, "unknown body quantity 'head.roll'; known: .*head.yaw"),
        ({"head.yaw": 99.0, "person.weight": -1.0}, "head.yaw.*person.weight"),
    ],
)
def test_the_person_can_only_do_what_the_bench_declares(values: dict[str, float], word: str) -> None:
    with SimBackend(BENCH, 1) as backend, pytest.raises(UsageError, match=word):
        backend.set_body(values)


def test_an_unknown_intent_is_refused() -> None:
    with SimBackend(BENCH, 1) as backend, pytest.raises(UsageError, match="unknown intent"):
        backend.set_intent({"intent.world": 1.0})


def test_an_impossible_starting_point_is_refused() -> None:
    with SimBackend(BENCH, 1) as backend:
        for wrong in (
            {"hidden": {"bowl.temperature": 200.0}},
            {"hidden": {"tool.hung": float("nan")}},
            {"actuators": {"bed.back": 99.0}},
        ):
            with pytest.raises(UsageError):
                backend.place(**wrong)


def test_a_plan_finer_than_the_tick_is_refused() -> None:
    with SimBackend(BENCH, 1) as backend, pytest.raises(UsageError, match="shorter than the tick"):
        backend.hold(3, MS // 2)


def test_a_reading_of_the_past_is_refused() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.hold(3)
        with pytest.raises(UsageError, match="passed"):
            backend.read(2 * MS)


def test_a_bad_row_is_named_with_its_limits() -> None:
    with SimBackend(BENCH, 1) as backend:
        rows = np.repeat(backend.setpoints[None, :], 5, axis=0)
        rows[3, 6] = 90.0
        with pytest.raises(RigFault, match=r"row 3: bed\.back 90\.0 is not within 0\.0 to 80\.0 deg"):
            backend.stretch(plan_of(backend, rows), adding())


def test_intents_and_body_show_on_the_next_tick_and_intents_never_grow_old() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.set_intent({"intent.mouth": 1.0})
        backend.set_body({"voice.coughs": 2.0})
        assert backend.snapshot()["intent.mouth"].value == 0.0
        trace = backend.hold(101)
        assert trace.column("intent.mouth")[0] == 1.0
        assert trace.column("mic.coughs")[98] == 0.0
        assert trace.column("mic.coughs")[99] == 2.0  # its period is 100 ms
        backend.hold(3, 100 * S)
        assert backend.snapshot()["intent.mouth"].good
