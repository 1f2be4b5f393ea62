"""Benches and scenes that do not fit the plant are refused with what is missing."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rig.core import data
from rig.core.channel import Layout
from rig.core.errors import ConfigError, UsageError
from rig.sim.backend import SimBackend
from rig.sim.composition import channel_sources, compose, world_names
from rig.sim.stations import load_station, station_names
from rig.sim.stations.face import FaceParameters
from tests.sim.stage import BENCH

SCENE = data.hardware_file("scenes", "bedside.xml")


def test_every_channel_of_the_bench_shows_what_it_says() -> None:
    made = compose(BENCH)
    names = world_names(BENCH, made)
    shown = dict(zip(BENCH.layout.names, (names[i] for i in channel_sources(BENCH, made)), strict=True))
    assert shown["mic.coughs"] == "voice.coughs"
    assert shown["mic.refusal"] == shown["truth.refusal"] == "person.refusal"
    assert shown["throat.swallows"] == "bolus.swallows"
    assert shown["camera.takes"] == shown["truth.taken"] == "bolus.taken"
    assert shown["face.gap"] == shown["truth.gap"] == "truth.gap"
    assert shown["bed.back"] == shown["bed.back2"] == "bed.back"
    assert shown["truth.back"] == "truth.back"
    assert shown["truth.dose"] == "truth.dose"
    assert shown["mat.dose"] == "mat.dose"
    assert shown["truth.held"] == "bolus.held"
    assert shown["depth.floor"] == "person.floor"
    for body in BENCH.body:
        if body.name in BENCH.layout and body.name != "mouth.opening":
            assert shown[body.name] == body.name
    assert shown["mouth.opening"] == "truth.opening"  # what the lips do, not what they were asked to


def test_records_hold_every_quantity_and_parameter_in_order() -> None:
    made = compose(BENCH)
    assert made.world_type.names == tuple(n.replace(".", "_") for n in made.names)
    assert made.names[:10] == tuple(a.name for a in BENCH.actuators)
    assert made.record()[0]["face_stiffness"] == 75e3
    assert compose(BENCH, [FaceParameters(face_stiffness=1.0)]).record()[0]["face_stiffness"] == 1.0


def test_every_station_is_called_what_its_module_is_called() -> None:
    for name in station_names():
        station = load_station(name)
        assert station.name == name
        assert station.text


@pytest.mark.parametrize(
    ("stations", "given", "words"),
    [
        (("arm", "meal"), (), ["meal needs face before it"]),
        (("face", "arm"), (), ["face needs arm before it"]),
        (("arm", "arm"), (), ["arm is declared twice"]),
        ((), (), ["name at least one"]),
        (("arm",), (FaceParameters(),), ["FaceParameters belongs to no station of this bench"]),
    ],
)
def test_stations_that_do_not_go_together_are_refused(stations, given, words) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(replace(BENCH, stations=stations), given)
    for word in words:
        assert word in str(caught.value)


def test_an_unknown_station_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"unknown station 'sauna'; known: .*mattress"):
        compose(replace(BENCH, stations=("sauna",)))


def test_a_channel_the_plant_cannot_show_is_refused() -> None:
    odd = replace(BENCH.layout["spo2"], name="heart.rate")
    bench = replace(BENCH, layout=Layout([*BENCH.layout, odd]))
    with pytest.raises(ConfigError, match=r"channel\.heart\.rate: the simulated plant has nothing to show"):
        SimBackend(bench, 1)


def test_missing_and_foreign_parts_are_all_named() -> None:
    bench = replace(BENCH, actuators=BENCH.actuators[1:], body=BENCH.body[1:])
    with pytest.raises(ConfigError) as caught:
        SimBackend(bench, 1)
    assert {m.split(":")[0] for m in caught.value.mistakes} == {"actuator.arm.base", "body.head.yaw"}
    lift = replace(BENCH.actuators[0], name="hoist.lift")
    with pytest.raises(ConfigError, match=r"actuator\.hoist\.lift: the simulated plant has no such actuator"):
        SimBackend(replace(BENCH, actuators=(*BENCH.actuators, lift)), 1)


def test_actuators_and_body_may_come_in_any_order() -> None:
    turned = replace(BENCH, actuators=BENCH.actuators[::-1], body=BENCH.body[::-1])
    with SimBackend(turned, 1) as a, SimBackend(BENCH, 1) as b:
        for backend in (a, b):
            backend.place(actuators={"bed.back": 40.0}, body={"head.yaw": 12.0, "spoon.load": 3.0})
            backend.set_body({"mouth.opening": 0.02})
            backend.hold(50)
        np.testing.assert_array_equal(a.setpoints, b.setpoints[::-1])
        np.testing.assert_array_equal(a.snapshot().values, b.snapshot().values)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('joint name="chin"', 'joint name="jaw"', "lacks a part.*chin"),
        ("<mujoco model", "<mujoco modell", "not a scene the engine can load"),
        ('<position name="arm.base" joint="arm.base" kp="2400" kv="60" forcerange="-60 60"/>', "", "actuators must be"),
    ],
)  # fmt: skip
def test_a_scene_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, word: str
) -> None:
    shutil.copytree(SCENE.parent, tmp_path / "scenes")
    scenes = tmp_path / "scenes"
    files = (scenes / SCENE.name, *sorted((scenes / "parts").rglob("*.xml")))
    file = next(f for f in files if old in f.read_text())
    file.write_text(file.read_text().replace(old, new, 1))
    monkeypatch.setattr(data, "hardware_dir", lambda: tmp_path)
    with pytest.raises(ConfigError, match=word), SimBackend(BENCH, 1):
        pass


def test_a_scene_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(
        UsageError, match=r"no file 'garden\.xml' in hardware/scenes; there are: .*bedside\.xml"
    ):
        SimBackend(replace(BENCH, scene="garden.xml"), 1).__enter__()


def test_the_scene_stays_small() -> None:
    assert SCENE.stat().st_size < 50_000
