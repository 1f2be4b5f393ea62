"""What the camera on the wrist says of the spoon and the cup, on drawn frames, against what is truly there."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from rig.core.bench import BenchSpec, load_bench
from rig.core.camera import CameraSpec
from rig.core.channel import Quality
from rig.core.clock import SimClock
from rig.core.errors import ConfigError
from rig.kinematics import JOINTS, Kinematics
from rig.sim.backend import SimBackend
from rig.sim.stations.drink import FLOOR_M, INSIDE_M, STAIN_M2_PER_ML
from rig.sim.stations.meal import bite
from rig.trial.eyes import Rendered, rendered
from rig.trial.sensor_model import fit, samples
from rig.vision import amount
from rig.vision.amount import Heap, Level, Stain, load_vessel
from rig.vision.frame import Frame
from rig.vision.perceive import Reading
from rig.vision.source import grainy
from tests import graphics

TOOLS = {"spoon": ("sim", "camera.load", "spoon.load"), "cup": ("drink-sim", "camera.drink", "cup.filled")}
AMOUNTS = {"spoon": (0.0, 1.0, 5.0, 12.0), "cup": (0.0, 20.0, 80.0, 150.0)}


@pytest.fixture(scope="module", params=list(TOOLS))
def seen(request: pytest.FixtureRequest) -> Iterator[tuple[str, SimBackend, Rendered]]:
    graphics.needed()
    bench = load_bench(TOOLS[request.param][0])
    (spec,) = [c for c in bench.cameras if c.name == "wrist"]
    with SimBackend(bench, 0) as backend, rendered(backend, spec) as camera:
        yield request.param, backend, camera


def read(tool: str, backend: SimBackend, camera: Rendered, ml: float) -> tuple[Reading, np.ndarray]:
    _, channel, fills = TOOLS[tool]
    backend.place(body={fills: ml})
    picture = grainy(camera.view.draw()[0], (1, int(ml)))
    return camera.detector.read(Frame(picture, 9, 0))[channel], picture


def test_how_much_there_is_is_read_within_what_is_stated(seen: tuple[str, SimBackend, Rendered]) -> None:
    tool, *where = seen
    for ml in AMOUNTS[tool]:
        found, _ = read(tool, *where, ml)
        assert found.value is not None and found.exposed_ns == 9
        assert abs(found.value - ml) < 3 * found.sd and abs(found.value - ml) < 0.3 + 0.08 * ml


def test_empty_is_nothing_and_dim_light_is_light(seen: tuple[str, SimBackend, Rendered]) -> None:
    tool, backend, camera = seen
    assert read(tool, backend, camera, 0.0)[0].value == pytest.approx(0.0, abs=0.01)
    bright = read(tool, backend, camera, AMOUNTS[tool][2])[0].value
    camera.light(0.3)
    dim = read(tool, backend, camera, AMOUNTS[tool][2])[0].value
    camera.light(1.0)
    assert bright is not None and dim == pytest.approx(bright, rel=0.1)


def test_what_is_behind_is_not_taken_for_what_is_in_it(seen: tuple[str, SimBackend, Rendered]) -> None:
    tool, backend, camera = seen
    _, picture = read(tool, backend, camera, AMOUNTS[tool][1])
    stained = picture.copy()
    stained[:, :] = np.where((picture.max(axis=2, keepdims=True) > 0), np.uint8((220, 120, 40)), picture)
    found = camera.detector.read(Frame(stained, 0, 1))[TOOLS[tool][1]]
    assert found.value is None and "behind the vessel" in found.why


def chest_of(bench: BenchSpec) -> CameraSpec:
    (spec,) = [c for c in bench.cameras if c.name == "chest"]
    return spec


def test_a_spill_on_the_cloth_is_seen_and_a_clean_one_is_clean() -> None:
    graphics.needed()
    bench = load_bench("drink-sim")
    with SimBackend(bench, 0) as backend, rendered(backend, chest_of(bench)) as camera:
        clean = grainy(camera.view.draw()[0], (1, 0))
        assert camera.detector.read(Frame(clean, 0, 0))["camera.spill"].value == 0.0
        arm = Kinematics(bench.scene, bench.tool)
        near = arm.place("near_mouth")
        tilted = replace(near, approach=np.array((-0.77, 0.0, -0.64)))
        joints = arm.solve(tilted, backend.setpoints[: len(JOINTS)])
        backend.place(actuators=dict(zip(JOINTS, joints.tolist(), strict=True)), body={"cup.filled": 150.0})
        backend.hold(2000)
        spilt = backend.snapshot().value("truth.spilt_ml")
        found = camera.detector.read(Frame(grainy(camera.view.draw()[0], (1, 1)), 6, 1))["camera.spill"]
        assert 5.0 < spilt < 90.0
        assert found.value == pytest.approx(spilt, abs=3.0) and abs(found.value - spilt) < 3 * found.sd
        covered = clean.copy()  # an orange thing before the cloth, away from where a stain begins
        covered[100:112, 118:128] = (217, 107, 31)
        other = camera.detector.read(Frame(covered, 0, 2))["camera.spill"]
        assert other.value is None and "in front" in other.why


WATCHED = [("sim", "wrist"), ("drink-sim", "wrist"), ("drink-sim", "chest")]


@pytest.mark.parametrize(("name", "camera"), WATCHED)
def test_the_sensor_model_is_what_the_frames_say_on_a_sample(name: str, camera: str) -> None:
    held_against_model(name, camera, 12, (0.4, 1.9), seed=99)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "camera"), WATCHED)
def test_the_sensor_model_is_what_the_frames_say(name: str, camera: str) -> None:
    held_against_model(name, camera, 160, (0.75, 1.25), seed=100)


def held_against_model(name: str, camera: str, frames: int, ratio: tuple[float, float], seed: int) -> None:
    graphics.needed()
    bench = load_bench(name)
    (spec,) = [c for c in bench.cameras if c.name == camera]
    (channel,) = spec.channels
    one = fit(list(samples(bench, spec, frames, np.random.default_rng(seed), SimClock())), channel)
    assert one.missed * frames <= binom.ppf(0.999, frames, max(spec.missed.get(channel, 0.0), 0.005))
    assert ratio[0] < one.sd / bench.layout[channel].noise < ratio[1]


def test_without_drawing_the_channel_shows_what_is_there_at_its_age() -> None:
    bench = load_bench("sim")
    with SimBackend(bench, 3) as backend:
        backend.place(body={"spoon.load": 6.0})
        backend.hold(400)
        now = backend.snapshot()
        reading = now["camera.load"]
        assert reading.quality is Quality.GOOD and 60_000_000 <= now.t_ns - reading.t_ns <= 160_000_000
        assert now.value("camera.load") == pytest.approx(6.0, abs=5 * bench.layout["camera.load"].noise)


def test_what_is_drawn_has_the_shape_that_is_read() -> None:
    heap, level = load_vessel("spoon").shape, load_vessel("cup").shape
    assert isinstance(heap, Heap) and isinstance(level, Level)
    assert np.allclose(heap.half_axes_m, bite(heap.holds_ml), atol=3e-5)
    assert heap.holds_ml == pytest.approx(4e6 / 3 * np.pi * heap.half_axes_m.prod(), rel=1e-3)
    stain = load_vessel("bib").shape
    assert isinstance(stain, Stain) and stain.wets_m2 == pytest.approx(STAIN_M2_PER_ML)
    assert level.radius_m == INSIDE_M and level.floor_m[2] == FLOOR_M
    with SimBackend(load_bench("sim"), 0) as backend:
        assert np.allclose(backend.scene.model.geom("bite").pos, heap.at_m)
        assert np.allclose(backend.scene.model.geom("spoon_bowl").size[:2], heap.bowl_m)


def test_a_vessel_is_one_thing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jug.toml"
    path.write_text('text = "a jug"\nchannel = "camera.jug"\nmost = "1 l"\n')
    monkeypatch.setattr(amount, "hardware_file", lambda *_: path)
    with pytest.raises(ConfigError, match=r"give one of \[heap\], \[level\] and \[stain\]"):
        load_vessel("jug")
