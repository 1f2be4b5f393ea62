"""The washing place: water that follows its valve, a cloth that carries heat, a skin that remembers it."""

from collections.abc import Iterator

import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.tools import MoveTo, Stroke, Wash
from rig.kinematics import Kinematics
from rig.sim.backend import SimBackend, indifferent_watch
from rig.sim.stations.bath import BathParameters
from rig.trial.equipment import skill_for
from rig.trial.skills import here_of
from tests.sim.stage import plan_of

BENCH = load_bench("bath-sim")
ARM = Kinematics(BENCH.scene, BENCH.tool)


class Washing:
    """A washing place in the hands of a test: skills without gate and monitor."""

    def __init__(self, backend: SimBackend) -> None:
        self.backend = backend

    def do(self, action: MoveTo | Stroke | Wash) -> "Washing":
        here = here_of(self.backend.setpoints, self.backend.snapshot(), BENCH, ARM)
        skill = skill_for(action, here, self.backend.snapshot())
        assert skill is not None
        for phase in skill.phases:
            slow = phase.period_ns > BENCH.tick_ns and self.backend.why_not_slow() is not None
            fine = phase.finer(self.backend.setpoints, BENCH.tick_ns) if slow else phase
            rows = np.ascontiguousarray(fine.rows)
            self.backend.stretch(plan_of(self.backend, rows, fine.period_ns), indifferent_watch())
        return self

    def wipe(self, force_n: float = 4.0) -> "Washing":
        return self.do(MoveTo(target="over_left")).do(Stroke(strokes=2, length_mm=100, force_n=force_n))

    def __getitem__(self, quantity: str) -> float:
        return float(self.backend.world_record()[quantity.replace(".", "_")])


@pytest.fixture(scope="module")
def backend() -> Iterator[SimBackend]:
    with SimBackend(BENCH, seed=1) as opened:
        yield opened


@pytest.fixture
def washing(backend: SimBackend) -> Washing:
    backend.place()
    return Washing(backend)


def test_the_cloth_takes_the_water_s_heat_and_loses_it(washing: Washing) -> None:
    washing.do(Wash(do="soak"))
    assert washing["cloth.wet"] == 1.0
    assert washing["cloth.temperature"] == pytest.approx(39.0, abs=1.0)
    warm = washing["cloth.temperature"]
    washing.backend.hold(600, 100_000_000)
    assert washing["cloth.temperature"] < warm - 4.0


def test_wiping_gently_washes_and_dries_the_cloth(washing: Washing) -> None:
    washing.do(Wash(do="soak")).wipe()
    assert 0.35 < washing["truth.washed_left"] < 0.6 and washing["truth.washed_right"] == 0.0
    assert washing["cloth.wet"] < 1.0 - 0.35 / BathParameters().wipe_m
    assert washing["truth.skin_dose"] == 0.0


def test_wiping_dry_or_hard_does_not_wash(washing: Washing) -> None:
    washing.wipe()
    assert washing["truth.washed_left"] == 0.0
    washing.do(Wash(do="soak")).wipe(force_n=13.5)
    assert washing["truth.washed_left"] < 0.1


def test_a_hot_cloth_burns_and_one_of_44_degrees_does_not(washing: Washing) -> None:
    for drift, burns in ((24.0, True), (4.0, False)):
        washing.backend.place(body={"water.drift": drift})
        washing.do(Wash(do="soak")).wipe()
        assert (washing["truth.skin_dose"] > 0.5) is burns


def test_timers_of_who_is_bare_and_who_is_left(washing: Washing) -> None:
    washing.do(Wash(do="uncover")).do(Wash(do="rail_down")).do(Wash(do="leave"))
    washing.backend.hold(20, 1_000_000_000)
    assert washing["truth.bare_s"] > 20.0 and washing["truth.unguarded_s"] > 19.0
    washing.do(Wash(do="come_back")).do(Wash(do="cover")).do(Wash(do="rail_up"))
    washing.backend.hold(2, 1_000_000_000)
    assert washing["truth.bare_s"] == 0.0 and washing["truth.unguarded_s"] == 0.0


def test_the_valve_may_lie(washing: Washing) -> None:
    washing.backend.set_body({"water.drift": 18.0})
    washing.backend.hold(300, 100_000_000)
    assert washing["water.temperature"] == pytest.approx(57.0, abs=0.1)
    washing.do(Wash(do="set_water", temperature_c=21.0))
    washing.backend.hold(300, 100_000_000)
    assert washing["water.temperature"] == pytest.approx(39.0, abs=0.1)
