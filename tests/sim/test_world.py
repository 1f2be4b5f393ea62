"""Bed, food, skin, breath and timers: golden values, and one world at two speeds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.channel import Trace
from rig.core.errors import UsageError
from rig.sim.backend import SimBackend
from rig.sim.composition import compose
from rig.sim.heat import SCALD_TABLE, scald_table, scald_time
from rig.sim.stations.bed import BedParameters
from rig.sim.stations.mattress import time_to_damage
from tests.sim.stage import BENCH, MS, S, arm, before, joints_of, rows_of, run, straight

P = BedParameters()
RECORD = compose(BENCH).record()[0]
HOUR = 3600


def watch_bed(
    backend: SimBackend, seconds: float, bed: dict[str, float] | None = None, period_ns: int = S
) -> Trace:
    joints = np.repeat(backend.setpoints[None, :6], round(seconds * S / period_ns), axis=0)
    return run(backend, rows_of(backend, joints, bed), period_ns)


# ---- two speeds


def test_the_slow_world_is_the_same_world() -> None:
    def lived(period_ns: int) -> SimBackend:
        backend = SimBackend(BENCH, 1).__enter__()
        backend.place(
            actuators={"bed.back": 10.0, "bed.rails": 1.0},
            body={"spoon.load": 4.0, "airway.blocked": 1.0, "person.leaving": 1.0, "person.floor": 1.0},
            hidden={"bowl.temperature": 70.0},
        )
        backend.set_body({"person.roll": 15.0, "person.slump": 8.0, "bolus.taken": 1.0, "bolus.held": 1.0})
        watch_bed(backend, 20, {"bed.back": 55.0, "bed.height": 0.6, "bed.tilt": -12.0}, period_ns)
        return backend

    fast, slow = lived(MS).world_record(), lived(S).world_record()
    for name in fast.dtype.names:
        if name in ("tool_speed", "wrist_force") or name.startswith("arm_"):
            continue  # the slow world has no arm
        assert slow[name] == pytest.approx(fast[name], rel=0.004, abs=2e-3), name


def test_the_slow_world_refuses_to_move_the_arm() -> None:
    with SimBackend(BENCH, 1) as backend:
        rows = np.repeat(backend.setpoints[None, :], 3, axis=0)
        rows[2, 0] += 0.01
        with pytest.raises(UsageError, match="cannot move the arm"):
            run(backend, rows, S)


def test_the_slow_world_waits_until_the_arm_has_come_to_rest() -> None:
    with SimBackend(BENCH, 1) as backend:
        rows = arm().path(backend.setpoints[:6], arm().place("bowl"), speed_m_s=0.3, period_s=1e-3)
        run(backend, rows_of(backend, rows[:800]))
        assert "still moves" in str(backend.why_not_slow())
        with pytest.raises(UsageError, match="still moves"):
            backend.hold(1, S)
        backend.hold(500)
        assert backend.why_not_slow() is None
        joints = backend.snapshot().values[:6]
        backend.hold(10, S)
        np.testing.assert_array_equal(backend.snapshot().values[:6], joints)


def test_the_slow_world_is_refused_at_the_face() -> None:
    joints = before((0, 0, 0), 0.04)
    with SimBackend(BENCH, 1) as backend:
        backend.place(actuators=joints_of(joints))
        assert "from the lips" in str(backend.why_not_slow())
        run(backend, rows_of(backend, straight(joints, np.array([-0.045, 0, 0]), 0.05)))
        backend.hold(500)
        assert "touches the face" in str(backend.why_not_slow())
        with pytest.raises(UsageError, match="no slow world now"):
            backend.hold(1, S)


# ---- bed


def test_each_bed_part_moves_at_its_rate_and_stops_where_it_was_sent() -> None:
    targets = {"bed.back": 60.0, "bed.height": 0.55, "bed.tilt": 20.0, "bed.rails": 1.0}
    rates = {a.name: a.rate for a in BENCH.actuators}
    with SimBackend(BENCH, 1) as backend:
        start = {n: backend.snapshot().value(n) for n in targets}
        trace = watch_bed(backend, 14, targets, 100 * MS)
        for name, target in targets.items():
            channel = BENCH.layout[name]
            slack = channel.resolution + 5 * channel.noise
            took_s = abs(target - start[name]) / rates[name]
            column = trace.column(name)
            middle = round(took_s / 2 / 0.1) - 1
            assert column[middle] == pytest.approx((target + start[name]) / 2, abs=slack + rates[name] * 0.1)
            assert column[-1] == pytest.approx(target, abs=slack)
        moving = trace.column("bed.moving")
        assert moving[:99].all()  # the slowest needs 10 s
        assert not moving[-20:].any()


def test_the_trunk_is_lower_than_the_back_rest_when_the_person_has_slumped() -> None:
    with SimBackend(BENCH, 1) as backend:
        snapshot = backend.place(actuators={"bed.back": 70.0}, body={"person.slump": 25.0})
        assert snapshot.value("truth.back") == 45.0
        assert snapshot.value("bed.back") == pytest.approx(70.0, abs=0.5)


@pytest.mark.parametrize("bed", [{"bed.back": 60.0}, {"bed.height": 0.30}, {"bed.tilt": 30.0}])
def test_a_trapped_limb_shows_in_the_current_long_before_it_is_hurt(bed: dict[str, float]) -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"person.weight": 70.0, "person.limb": 1.0})
        free = P.motor_a + P.motor_a_per_kg * 70.0
        trace = watch_bed(backend, 4, bed, 10 * MS)
        force, current = trace.column("truth.limb_force"), trace.column("bed.current")
        seen = int(np.argmax(current > 1.3 * free + 0.2))
        hurt = int(np.argmax(force > 160.0))  # ISO/TS 15066, forearm
        assert 0 < seen < hurt
        assert force[seen] < 80.0
        backend.hold(1)
        assert watch_bed(backend, 4, {"bed.back": 30, "bed.height": 0.45, "bed.tilt": 0}, 10 * MS).column(
            "truth.limb_force"
        )[-1] == 0.0  # fmt: skip


def test_the_bed_stalls_on_a_limb_rather_than_crush_without_end() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"person.limb": 1.0})
        trace = watch_bed(backend, 20, {"bed.height": 0.8}, 10 * MS)
        force = trace.column("truth.limb_force")
        assert 0.97 * P.bed_thrust_n < force[-1] <= P.bed_thrust_n
        assert trace.column("bed.moving")[-1] == 1.0


def test_a_bed_that_stands_still_squeezes_nobody() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"person.limb": 1.0})
        assert watch_bed(backend, 5).column("truth.limb_force").max() == 0.0


# ---- food and heat


def test_food_cools_on_the_spoon_and_the_thermometer_follows() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(hidden={"bowl.temperature": 66.0})
        backend.set_body({"spoon.load": 5.0})
        trace = watch_bed(backend, 26, period_ns=100 * MS)
        food = trace.column("truth.food_temperature")
        assert food[0] == pytest.approx(66.0, abs=0.2)
        assert food[-1] == pytest.approx(22 + 44 * math.exp(-26 / 90), abs=0.05)  # 55 degC
        thermometer = trace.column("spoon.temperature")
        assert thermometer[5] < 50.0  # half a second: it lags
        assert thermometer[60] == pytest.approx(food[60] + 0.5, abs=1.0)


def test_a_second_scoop_mixes_with_what_is_on_the_spoon() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"spoon.load": 2.0}, hidden={"bowl.temperature": 40.0})
        watch_bed(backend, 300)
        cold, bowl = backend.snapshot().value("truth.food_temperature"), backend.world_record()
        backend.set_body({"spoon.load": 8.0})
        backend.hold(1, MS)
        expected = 0.25 * cold + 0.75 * bowl.hidden_bowl_temperature
        assert backend.snapshot().value("truth.food_temperature") == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("temperature", "t_s"), SCALD_TABLE)
def test_the_scald_table_is_met_at_its_points(temperature: float, t_s: float) -> None:
    assert scald_time(temperature, scald_table()) == pytest.approx(t_s, rel=1e-12)


def test_the_logarithm_of_the_scald_time_is_interpolated_and_extrapolated() -> None:
    table = scald_table()
    assert scald_time(53.0, table) == pytest.approx(math.sqrt(120.0 * 17.0))
    assert scald_time(65.0, table) == pytest.approx(3.0 * 3.0 / 17.0)


@given(st.floats(44.5, 80.0), st.floats(0.01, 5.0))
def test_hotter_food_scalds_sooner(temperature: float, hotter: float) -> None:
    table = scald_table()
    assert scald_time(temperature + hotter, table) < scald_time(temperature, table)


def eaten(temperature: float, seconds: float = 6.0) -> Trace:
    """A bite of this temperature is taken off the spoon and held in the mouth."""
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"spoon.load": 5.0}, hidden={"bowl.temperature": temperature})
        backend.set_body({"bolus.taken": 1.0, "bolus.held": 1.0, "spoon.load": 0.0})
        return watch_bed(backend, seconds, period_ns=MS)


def test_a_bite_at_serving_temperature_does_not_burn_and_a_boiling_one_does() -> None:
    assert eaten(44.0).column("truth.lip_dose").max() == 0.0
    assert 0.01 < eaten(55.0).column("truth.lip_dose").max() < 0.1
    assert eaten(60.0).column("truth.lip_dose").max() < 0.5
    assert eaten(68.0).column("truth.lip_dose").max() > 1.0


def test_a_dose_below_harm_fades_once_the_heat_is_gone() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"spoon.load": 5.0}, hidden={"bowl.temperature": 58.0})
        backend.set_body({"bolus.taken": 1.0, "bolus.held": 1.0, "spoon.load": 0.0})
        peak = watch_bed(backend, 5, period_ns=MS).column("truth.lip_dose")[-1]
        backend.set_body({"bolus.held": 0.0})
        later = watch_bed(backend, 60).column("truth.lip_dose")[-1]
        assert later == pytest.approx(peak * math.exp(-1.0), rel=0.01)


def test_hot_food_held_against_the_lips_burns_in_the_time_of_the_table() -> None:
    joints = before((0, 0, 0), 0.005)
    with SimBackend(BENCH, 1) as backend:
        backend.place(
            actuators=joints_of(joints),
            body={"spoon.load": 15.0, "mouth.opening": 0.02},
            hidden={"bowl.temperature": 60.0},
        )
        run(backend, rows_of(backend, straight(joints, np.array([-0.02, 0, 0]), 0.1)))
        dose = backend.hold(6000).column("truth.lip_dose")
        burnt_s = float(np.argmax(dose >= 1.0)) / 1000 + 0.15
        assert 3.0 < burnt_s < 4.5  # the table says 3 s at a steady 60 degC; this food cools


# ---- skin


@pytest.mark.parametrize(
    ("pressure", "shortest_s", "longest_s"),
    [
        (32.0, 15 * 60, 60 * 60),
        (20.0, 15 * 60, 120 * 60),
        (9.01, 120 * 60, 4 * HOUR),
        (4.3, math.inf, math.inf),
    ],
)
def test_times_to_damage_meet_the_published_ends(
    pressure: float, shortest_s: float, longest_s: float
) -> None:
    assert shortest_s <= time_to_damage(pressure, RECORD) <= longest_s


@given(st.floats(0.0, 60.0), st.floats(0.0, 10.0))
def test_more_pressure_never_takes_longer(pressure: float, more: float) -> None:
    assert time_to_damage(pressure + more, RECORD) <= time_to_damage(pressure, RECORD)


def test_lying_supine_for_two_hours_is_borne_and_for_four_is_not() -> None:
    with SimBackend(BENCH, 1) as backend:
        dose = watch_bed(backend, 4 * HOUR).column("truth.dose")
        assert 0.4 < dose[2 * HOUR] < 0.8 < 1.0 < dose[-1]


def test_turning_every_two_hours_keeps_the_skin_whole_through_a_night() -> None:
    with SimBackend(BENCH, 1) as backend:
        worst = 0.0
        for tilt in (30.0, -30.0, 0.0) * 3:
            worst = max(
                worst, float(watch_bed(backend, 2 * HOUR, {"bed.tilt": tilt}).column("truth.dose").max())
            )
        assert 0.4 < worst < 0.8


def test_sitting_up_presses_more_and_an_empty_bed_heals() -> None:
    with SimBackend(BENCH, 1) as backend:
        flat = backend.place(actuators={"bed.back": 20.0})
        sitting = backend.place(actuators={"bed.back": 80.0})
        assert sitting.value("mat.pressure") > 1.4 * flat.value("mat.pressure")
        watch_bed(backend, HOUR)
        dose = backend.snapshot().value("truth.dose")
        backend.set_body({"person.weight": 0.0})
        watch_bed(backend, HOUR)
        assert backend.snapshot().value("truth.dose") == pytest.approx(dose * math.exp(-1.0), rel=0.01)


def test_the_mat_agrees_with_the_truth_while_it_works() -> None:
    with SimBackend(BENCH, 1) as backend:
        trace = watch_bed(backend, HOUR, {"bed.tilt": 10.0})
        assert trace.column("mat.dose")[-1] == pytest.approx(trace.column("truth.dose")[-1], rel=0.02)


# ---- breath and timers


def test_saturation_falls_three_points_in_about_ten_seconds_of_obstruction_and_comes_back() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.set_body({"airway.blocked": 1.0})
        saturation = watch_bed(backend, 60).column("spo2")
        assert 6 <= int(np.argmax(saturation <= 94.0)) <= 14
        backend.set_body({"airway.blocked": 0.0})
        assert watch_bed(backend, 300).column("spo2")[-1] == 97.0


@pytest.mark.parametrize("period_ns", [S, 100 * MS, MS])
def test_timers_count_while_nobody_comes_and_start_again(period_ns: int) -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(
            actuators={"bed.rails": 1.0},
            body={"person.floor": 1.0, "airway.blocked": 1.0, "person.leaving": 1.0, "call.level": 1.0},
        )
        end = watch_bed(backend, 3, period_ns=period_ns).row(-1)
        assert [end.value(f"truth.{n}_s") for n in ("floor", "blocked", "held_back")] == pytest.approx(
            [3, 3, 3]
        )
        backend.set_body({"call.level": 2.0})
        end = watch_bed(backend, 1, period_ns=period_ns).row(-1)
        assert [end.value(f"truth.{n}_s") for n in ("floor", "blocked")] == [0.0, 0.0]
        assert end.value("truth.held_back_s") == pytest.approx(4.0)
        lowered = watch_bed(backend, 3, {"bed.rails": 0.0}, period_ns).row(-1)
        assert lowered.value("truth.held_back_s") == 0.0


def test_a_carer_at_the_bed_stops_the_timers_too() -> None:
    with SimBackend(BENCH, 1) as backend:
        backend.place(body={"person.floor": 1.0, "carer.present": 1.0})
        assert watch_bed(backend, 5).column("truth.floor_s").max() == 0.0
