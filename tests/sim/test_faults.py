"""Every kind of sensor fault shows on the channel the way the real one does, and nowhere else."""

import math

import numpy as np
import pytest

from rig.core.channel import Quality, Trace
from rig.core.errors import ConfigError
from rig.sim import faults
from rig.sim.backend import SimBackend
from rig.sim.faults import Fault, SensorFault, parse_faults
from tests.sim.stage import BENCH, MS, S, rows_of, run

START_S, END_S = 1.0, 2.0


def with_fault(channel: str, seconds: float = 3.0, **fault: object) -> tuple[Trace, Trace, slice]:
    """The same three seconds of a rising bed with and without a fault in the second of them."""
    traces = []
    named = SensorFault.model_validate(
        {"channel": channel, "start": f"{START_S} s", "end": f"{END_S} s", **fault}
    )
    for injected in ((), (named,)):
        with SimBackend(BENCH, 7, injected) as backend:
            backend.place(
                actuators={"bed.back": 30.0},
                body={"spoon.load": 5.0, "person.edge": 0.4},
                hidden={"tool.hung": 1.0},
            )
            n = round(seconds * 1000)
            rows = rows_of(backend, np.repeat(backend.setpoints[None, :6], n, axis=0), {"bed.back": 75.0})
            traces.append(run(backend, rows))
    return traces[0], traces[1], slice(round(START_S * 1000) - 1, round(END_S * 1000) - 1)


def columns(trace: Trace, channel: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c = trace.layout.index(channel)
    return trace.values[:, c], trace.sampled_ns[:, c], trace.quality[:, c]


def assert_elsewhere_untouched(well: Trace, ill: Trace, *channels: str) -> None:
    others = [c for c, n in enumerate(well.layout.names) if n not in channels]
    np.testing.assert_array_equal(well.values[:, others], ill.values[:, others])
    np.testing.assert_array_equal(well.quality[:, others], ill.quality[:, others])


def assert_only_then(well: Trace, ill: Trace, channel: str, period_ms: int = 1) -> None:
    """Nothing differs before the fault, nor after it once the next sample has been taken."""
    a, b = columns(well, channel)[0], columns(ill, channel)[0]
    np.testing.assert_array_equal(a[:999], b[:999])
    np.testing.assert_array_equal(a[1999 + period_ms :], b[1999 + period_ms :])


def test_stuck_keeps_the_last_value_and_goes_on_sampling() -> None:
    well, ill, then = with_fault("bed.back", kind="stuck")
    values, sampled, quality = columns(ill, "bed.back")
    assert len(set(values[then])) == 1
    assert values[then][0] == columns(well, "bed.back")[0][998]
    assert (np.diff(sampled[then]) > 0).sum() == 9  # ten samples in the second
    assert (quality == Quality.GOOD).all()
    assert_only_then(well, ill, "bed.back", 100)
    assert_elsewhere_untouched(well, ill, "bed.back")


def test_stuck_at_a_value_shows_that_value() -> None:
    _, ill, then = with_fault("bed.back", kind="stuck", value=12.5)
    assert (columns(ill, "bed.back")[0][then] == 12.5).all()


def test_dead_takes_no_samples_and_grows_stale() -> None:
    well, ill, then = with_fault("wrist.force", kind="dead")
    values, sampled, quality = columns(ill, "wrist.force")
    assert set(sampled[then]) == {998 * MS + MS}
    assert len(set(values[then])) == 1
    first_stale = 999 + 19  # its age limit is 20 ms
    assert (quality[:first_stale] == Quality.GOOD).all()
    assert (quality[first_stale + 1 : then.stop] == Quality.STALE).all()
    assert (quality[then.stop :] == Quality.GOOD).all()
    assert_only_then(well, ill, "wrist.force")
    assert_elsewhere_untouched(well, ill, "wrist.force")


def test_dead_from_the_start_has_never_shown_anything() -> None:
    with SimBackend(BENCH, 1, [SensorFault(kind="dead", channel="spo2")]) as backend:
        backend.hold(5, S)
        reading = backend.snapshot()["spo2"]
        assert math.isnan(reading.value)
        assert reading.quality is Quality.FAULT


def test_drift_runs_away_at_its_rate() -> None:
    well, ill, then = with_fault("wrist.force", kind="drift", value=2.0)
    added = (columns(ill, "wrist.force")[0] - columns(well, "wrist.force")[0])[then]
    np.testing.assert_allclose(added, 2.0 * np.arange(len(added)) / 1000, atol=0.011)
    assert_only_then(well, ill, "wrist.force")


def test_a_drift_beyond_the_range_is_out_of_range() -> None:
    _, ill, then = with_fault("wrist.force", kind="drift", value=-30.0)
    values, _, quality = columns(ill, "wrist.force")
    assert values[then][-1] < -10.0
    assert quality[then][-1] == Quality.OUT_OF_RANGE


@pytest.mark.parametrize(("value", "shown"), [(None, 200.0), (1.0, 200.0), (-1.0, 0.0)])
def test_saturated_shows_full_scale(value: float | None, shown: float) -> None:
    well, ill, then = with_fault("wrist.force", kind="saturated", value=value)
    values, _, quality = columns(ill, "wrist.force")
    assert (values[then] == shown).all()
    assert (quality[then] == Quality.GOOD).all()  # a real amplifier does not tell
    assert_only_then(well, ill, "wrist.force")


def test_noise_is_larger_by_its_factor() -> None:
    well, ill, then = with_fault("wrist.force", kind="noise", value=5.0)
    quiet = np.concatenate(
        [columns(well, "wrist.force")[0][500:1000], columns(well, "wrist.force")[0][2000:]]
    )
    assert columns(ill, "wrist.force")[0][then].std() == pytest.approx(5.0 * quiet.std(), rel=0.1)
    assert_only_then(well, ill, "wrist.force")


def test_latency_shows_older_samples() -> None:
    well, ill, _ = with_fault("arm.base", kind="latency", delay="15 ms")
    sampled = columns(ill, "arm.base")[1]
    age = ill.t_ns - sampled
    assert (age[:999] == 0).all()
    assert (age[1020:1998] == 15 * MS).all()
    assert (age[2000:] == 0).all()
    assert (np.diff(sampled) >= 0).all()  # time never runs backwards on a channel
    assert_elsewhere_untouched(well, ill, "arm.base")


def test_added_latency_makes_a_camera_stale_when_it_exceeds_the_age_limit() -> None:
    _, ill, _ = with_fault("face.gap", kind="latency", delay="300 ms")
    assert columns(ill, "face.gap")[2][1900] == Quality.STALE


def test_swapped_channels_show_each_other() -> None:
    well, ill, then = with_fault("mat.edge", kind="swapped", other="bed.back")
    edge, back = columns(ill, "mat.edge")[0], columns(ill, "bed.back")[0]
    assert back[then][500] == pytest.approx(0.4, abs=0.3)
    assert edge[then][500] > 20.0
    assert columns(ill, "mat.edge")[2][then][500] == Quality.OUT_OF_RANGE
    assert_elsewhere_untouched(well, ill, "mat.edge", "bed.back")


def test_a_unit_slip_multiplies_and_shifts() -> None:
    well, ill, then = with_fault("spoon.temperature", kind="unit", value=1.8, offset=32.0)
    celsius, shown = columns(well, "spoon.temperature")[0], columns(ill, "spoon.temperature")[0]
    np.testing.assert_allclose(shown[then][100:], 1.8 * celsius[then][100:] + 32.0, atol=0.6)


def test_not_a_number_is_a_fault_of_quality() -> None:
    well, ill, then = with_fault("wrist.force", kind="nan")
    values, _, quality = columns(ill, "wrist.force")
    assert np.isnan(values[then]).all()
    assert (quality[then] == Quality.FAULT).all()
    assert_only_then(well, ill, "wrist.force")


def test_spikes_hit_single_samples_as_often_as_declared() -> None:
    well, ill, then = with_fault("wrist.force", kind="spike", value=50.0, chance=0.05)
    added = (columns(ill, "wrist.force")[0] - columns(well, "wrist.force")[0])[then]
    assert set(np.round(added, 6)) == {0.0, 50.0}
    assert 25 <= (added > 1).sum() <= 80
    assert_only_then(well, ill, "wrist.force")


def test_the_kernel_knows_every_kind_by_its_code() -> None:
    for kind, code in faults.FAULT_CODES.items():
        assert getattr(faults, kind.name) == code
    assert set(faults.FAULT_CODES) == set(Fault)


@pytest.mark.parametrize("kind", ["dead", "stuck"])
def test_a_failed_mat_keeps_its_picture_while_the_truth_goes_on(kind: str) -> None:
    fault = SensorFault(kind=kind, channel="mat.pressure", start=3600)
    with SimBackend(BENCH, 1, [fault]) as backend:
        backend.hold(3600, S)
        rows = np.repeat(backend.setpoints[None, :], 7200, axis=0)
        rows[:, [a.name for a in backend.actuators].index("bed.tilt")] = 30.0  # turned: the sacrum heals
        trace = run(backend, rows, S)
        mat, truth = trace.column("mat.dose"), trace.column("truth.dose")
        assert mat[-1] > mat[0] + 0.4  # it believes the person still lies as before
        assert truth[3600] < mat[3600]


def test_a_mat_that_reads_too_little_thinks_too_well() -> None:
    fault = SensorFault(kind="unit", channel="mat.pressure", value=0.6)
    with SimBackend(BENCH, 1, [fault]) as backend:
        trace = backend.hold(7200, S)
    assert trace.column("mat.dose")[-1] < 0.4 * trace.column("truth.dose")[-1]


# ---- declaring faults


def test_faults_are_read_from_a_scenario_file() -> None:
    listed = parse_faults(
        [
            {"kind": "stuck", "channel": "bed.back", "start": "90 s", "end": "2 min"},
            {"kind": "latency", "channel": "face.gap", "delay": "120 ms"},
        ],
        "hazard.toml",
    )
    assert listed[0] == SensorFault(kind=Fault.STUCK, channel="bed.back", start=90.0, end=120.0)
    assert listed[1].delay_s == pytest.approx(0.12)


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"kind": "broken", "channel": "spo2"}, "kind"),
        ({"kind": "drift", "channel": "spo2"}, "needs a value"),
        ({"kind": "latency", "channel": "spo2"}, "needs a delay"),
        ({"kind": "swapped", "channel": "spo2"}, "needs another channel"),
        ({"kind": "noise", "channel": "spo2", "value": -1.0}, "at least 0"),
        ({"kind": "dead", "channel": "spo2", "start": "5 s", "end": "4 s"}, "not after its start"),
        ({"kind": "dead", "channel": "spo2", "start": "5 N"}, "5 N"),
        ({"kind": "dead", "channel": "spo2", "begin": "5 s"}, "begin"),
        ({"kind": "spike", "channel": "spo2", "value": 1.0, "chance": 2.0}, "chance"),
        ({"kind": "drift", "channel": "spo2", "value": float("nan")}, "finite"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(entry: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word) as caught:
        parse_faults([entry, {"kind": "dead"}], "hazard.toml")
    assert len(caught.value.mistakes) >= 2  # the second entry's mistake is reported with it
    assert "hazard.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (SensorFault(kind="dead", channel="spo3"), "no channel 'spo3'; known: .*spo2"),
        (SensorFault(kind="dead", channel="truth.gap"), "not a sensor"),
        (SensorFault(kind="dead", channel="intent.mouth"), "not a sensor"),
        (SensorFault(kind="swapped", channel="spo2", other="truth.gap"), "not a sensor"),
        (SensorFault(kind="swapped", channel="spo2", other="spo2"), "with itself"),
    ],
)
def test_only_sensors_of_the_bench_can_fail(fault: SensorFault, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        SimBackend(BENCH, 1, [fault])
