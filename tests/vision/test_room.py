"""Where a person is, off drawn depth, against where they truly are."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from rig.core.agent import Decision
from rig.core.bench import load_bench
from rig.core.clock import SimClock
from rig.core.record import read
from rig.core.tools import Finish, Observe
from rig.sim.backend import SimBackend
from rig.sim.stations import bedside
from rig.trial import run
from rig.trial.eyes import Rendered, rendered
from rig.trial.sensor_model import samples
from rig.trial.spec import TrialSpec
from rig.vision.frame import Frame
from rig.vision.perceive import Place
from tests import graphics

BENCH = load_bench("sim")
(SPEC,) = [c for c in BENCH.cameras if c.name == "over"]
GONE = {"person.weight": 0.0}
WHERE = [
    ({}, Place.IN_BED), ({"person.edge": 0.2}, Place.IN_BED), ({"person.edge": 0.8}, Place.AT_EDGE),
    ({**GONE, "person.floor": 1.0}, Place.ON_FLOOR), (GONE, Place.NOWHERE),
]  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> Iterator[tuple[SimBackend, Rendered]]:
    graphics.needed()
    with SimBackend(BENCH, 0) as backend, rendered(backend, SPEC) as camera:
        yield backend, camera


@pytest.mark.parametrize(("body", "place"), WHERE)
@pytest.mark.parametrize("stand", [{}, {"bed.height": 0.7, "bed.back": 65.0}, {"bed.tilt": -12.0}])
def test_a_person_is_seen_where_they_are_however_the_bed_stands(
    seen: tuple[SimBackend, Rendered], body: dict[str, float], place: Place, stand: dict[str, float]
) -> None:
    backend, camera = seen
    backend.place(body=body, actuators=stand)
    assert backend.snapshot().value("truth.place") == place
    picture, depth = camera.view.draw()
    found = camera.detector.read(Frame(picture, 4, 0, depth))
    assert found["depth.place"].value == place and found["depth.place"].exposed_ns == 4
    assert found["depth.place"].sd < 0.5
    assert found["depth.floor"].value == float(place is Place.ON_FLOOR)


def test_nearly_at_the_edge_is_said_to_be_unsure(seen: tuple[SimBackend, Rendered]) -> None:
    backend, camera = seen
    sds = []
    for edge in (0.0, 0.5):
        backend.place(body={"person.edge": edge})
        picture, depth = camera.view.draw()
        sds.append(camera.detector.read(Frame(picture, 0, 0, depth))["depth.place"].sd)
    assert sds[0] == 0.0 and sds[1] > 0.2


def test_without_depth_nothing_is_read(seen: tuple[SimBackend, Rendered]) -> None:
    _, camera = seen
    found = camera.detector.read(Frame(np.zeros((240, 320, 3), np.uint8), 0, 0))
    assert {r.value for r in found.values()} == {None} and {r.why for r in found.values()} == {"no depth"}


def test_frames_nobody_fitted_anything_to_are_read_as_the_model_says() -> None:
    """With the noise of a depth sensor, the bed anywhere: what is wrong is where weight is half on the edge, if any."""
    graphics.needed()
    found = list(samples(BENCH, SPEC, 24, np.random.default_rng(99), SimClock()))
    assert all(s.read["depth.floor"] == s.truth["depth.floor"] for s in found)
    wrong = [s for s in found if s.read["depth.place"] != s.truth["depth.place"]]
    assert len(wrong) <= 2 and all(s.sd["depth.place"] > 0.1 for s in wrong)
    assert {s.truth["depth.place"] for s in found} == {0.0, 1.0, 2.0, 3.0}


def test_places_have_the_same_numbers_on_the_bench_and_in_the_picture() -> None:
    same = {
        Place.NOWHERE: bedside.NOWHERE, Place.IN_BED: bedside.IN_BED, Place.AT_EDGE: bedside.AT_EDGE,
        Place.ON_FLOOR: bedside.ON_FLOOR,
    }  # fmt: skip
    assert all(int(place) == number for place, number in same.items())


def test_a_night_is_watched_through_drawn_depth_and_only_silhouettes_are_kept(tmp_path) -> None:
    graphics.needed()
    spec = TrialSpec(
        item="bed-watch/30-min/gets-up",
        agent="careful",
        bench="sim",
        monitor="guard",
        seed=1,
        cameras="rendered",
    )
    with run.open_session(spec, tmp_path / "t", {}) as session:
        session.step(Decision(Observe(), 0.0))
        session.step(Decision(Finish(summary="enough"), 0.0))
    record = read(tmp_path / "t")
    last = record.trace().row(len(record.trace()) - 1)
    assert last.value("depth.place") == last.value("truth.place") == Place.IN_BED
    assert last.value("depth.floor") == 0.0
    images = list(record.images("over"))
    assert images
    for image in images:
        picture = cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR).astype(int)
        assert np.ptp(picture, axis=2).max() <= 3
