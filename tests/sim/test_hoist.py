"""The hoist: loops that carry, latches that hold or do not, a chair that rolls, a body that swings."""

from collections.abc import Iterator

import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.command import Plan
from rig.sim.backend import SimBackend, indifferent_watch
from rig.sim.stations.hoist import LOOPS, HoistParameters

BENCH = load_bench("hoist-sim")
NAMES = [a.name for a in BENCH.actuators]
WEIGHT_N = 77.0 * 9.81


class Lifting:
    """A hoist in the hands of a test."""

    def __init__(self, backend: SimBackend) -> None:
        self.backend = backend

    def start(self, **body: float) -> "Lifting":
        """Everything ready over the bed, the loops fastened."""
        self.backend.place(
            actuators={"hoist.base": 1.0, "hoist.sling": 1.0, "hoist.lift": 1.25},
            body={k.replace("__", "."): v for k, v in body.items()},
        )
        for loop in LOOPS:
            self.move(f"hook.{loop}", 1.0, 0.1, slow=True)
        return self

    def move(self, name: str, to: float, speed: float, slow: bool = False) -> None:
        period_ns = 100 * BENCH.tick_ns if slow else BENCH.tick_ns
        i, before = NAMES.index(name), self.backend.setpoints
        n = max(1, round(abs(to - before[i]) / speed / (period_ns / 1e9)))
        rows = np.repeat(before[None, :], n, axis=0)
        rows[:, i] = np.linspace(before[i], to, n + 1)[1:]
        now_ns = self.backend.now_ns
        plan = Plan(BENCH.actuators, now_ns, period_ns, rows, now_ns + n * period_ns)
        self.backend.stretch(plan, indifferent_watch())

    def __getitem__(self, quantity: str) -> float:
        return float(self.backend.world_record()[quantity.replace(".", "_")])

    def loads(self) -> list[float]:
        return [self[f"load.{loop}"] for loop in LOOPS]


@pytest.fixture(scope="module")
def backend() -> Iterator[SimBackend]:
    with SimBackend(BENCH, seed=1) as opened:
        yield opened


@pytest.fixture
def hoist(backend: SimBackend) -> Lifting:
    return Lifting(backend)


def test_the_loops_carry_the_weight_evenly_and_the_bed_no_longer(hoist: Lifting) -> None:
    hoist.start().move("hoist.lift", 1.81, 0.05)
    hoist.backend.hold(3000)
    assert sum(hoist.loads()) == pytest.approx(WEIGHT_N, rel=0.08)  # bar and sling hang there too
    assert min(hoist.loads()) > 0.2 * sum(hoist.loads())
    assert hoist["truth.bed_share"] < 0.05 and hoist["sling.clearance"] > 0.25
    assert hoist["spreader.tilt"] < 6.0


@pytest.mark.parametrize("kg", [60.0, 92.0])
def test_what_a_person_weighs_is_what_hangs(hoist: Lifting, kg: float) -> None:
    hoist.start(person__weight=kg).move("hoist.lift", 1.81, 0.05)
    hoist.backend.hold(2000)
    assert hoist["hoist.load"] == pytest.approx(kg * 9.81, rel=0.08)


@pytest.mark.parametrize("loop", range(4))
def test_a_loop_whose_latch_is_open_comes_off_and_the_body_tilts(hoist: Lifting, loop: int) -> None:
    hoist.start(sling__unseated=loop + 1.0)
    assert hoist["latch.closed"] == 3 and hoist["camera.loops"] == 4  # it only looks fast
    hoist.move("hoist.lift", 1.43, 0.05)
    assert min(hoist.loads()) > 0.15 * hoist["hoist.load"]  # the share does not give it away yet
    hoist.move("hoist.lift", 1.81, 0.05)
    hoist.backend.hold(2000)
    assert hoist["camera.loops"] == 3 and hoist.loads()[loop] == 0.0
    assert min(x for i, x in enumerate(hoist.loads()) if i != loop) < 0.1 * hoist["hoist.load"]


def test_a_loop_out_of_reach_is_not_caught(hoist: Lifting) -> None:
    hoist.backend.place(actuators={"hoist.sling": 1.0, "hoist.lift": 1.81})
    hoist.move("hook.back_left", 1.0, 0.1, slow=True)
    assert hoist["camera.loops"] == 0 and hoist["latch.back_left"] == 0
    hoist.backend.place(actuators={"hoist.sling": 0.0, "hoist.lift": 1.25})
    hoist.move("hook.back_left", 1.0, 0.1, slow=True)
    assert hoist["camera.loops"] == 0  # there is no sling under him


def seated(hoist: Lifting, brake: float) -> None:
    hoist.start(chair__brake=brake).move("hoist.lift", 1.81, 0.05)
    hoist.move("hoist.travel", -1.15, 0.10)
    hoist.move("hoist.lift", 1.15, 0.05)


def test_a_braked_chair_stands_and_takes_the_weight(hoist: Lifting) -> None:
    seated(hoist, brake=1.0)
    assert hoist["truth.chair_share"] > 0.8 and hoist["truth.chair_shift"] < 0.002
    assert hoist["hoist.load"] < HoistParameters().slack_n


def test_an_unbraked_chair_rolls_away(hoist: Lifting) -> None:
    seated(hoist, brake=0.0)
    assert hoist["truth.chair_shift"] > 0.03


@pytest.mark.parametrize(("speed", "blow"), [(0.10, False), (0.42, True)])
def test_who_is_brought_too_fast_strikes_the_chair(hoist: Lifting, speed: float, blow: bool) -> None:
    hoist.start().move("hoist.lift", 1.81, 0.05)
    hoist.backend.hold(3000)
    hoist.move("hoist.travel", -1.15, speed)
    peak = 0.0
    for _ in range(30):
        hoist.backend.hold(50)
        peak = max(peak, hoist["truth.impact"])
    assert (peak > 180.0) is blow


def test_spread_legs_bear_a_lean_that_tips_closed_ones(hoist: Lifting) -> None:
    worst = []
    for base in (0.0, 1.0):
        hoist.start()
        hoist.move("hoist.base", base, 0.1, slow=True)
        hoist.move("hoist.lift", 1.81, 0.05)
        hoist.backend.set_body({"person.lean": 42.0})
        tipping = 0.0
        for _ in range(30):
            hoist.backend.hold(50)
            tipping = max(tipping, hoist["truth.tipping"])
        worst.append(tipping)
    assert worst[0] > 1.0 > worst[1]


def test_a_caught_arm_is_squeezed_by_what_the_hoist_moves(hoist: Lifting) -> None:
    hoist.start().move("hoist.lift", 1.43, 0.05)
    hoist.backend.hold(1000)
    hoist.backend.set_body({"person.caught": 1.0})
    hoist.backend.hold(50)
    assert hoist["truth.caught_force"] == 0.0
    hoist.move("hoist.lift", 1.44, 0.05)
    p = HoistParameters()
    hoist.backend.hold(500)
    assert hoist["truth.caught_force"] == pytest.approx(
        p.sling_stiffness * (0.01 - p.caught_slack_m), rel=0.2
    )
    hoist.move("hoist.lift", 1.43, 0.05)
    hoist.backend.hold(500)
    assert hoist["truth.caught_force"] < 2.0


def test_no_long_ticks_while_somebody_hangs(hoist: Lifting) -> None:
    hoist.start()
    assert hoist.backend.why_not_slow() is None
    hoist.move("hoist.lift", 1.81, 0.05)
    hoist.backend.hold(3000)
    assert "hang on the hoist" in (hoist.backend.why_not_slow() or "")
    aloft_s = hoist["truth.aloft_s"]
    hoist.backend.hold(1000)
    assert hoist["truth.aloft_s"] == pytest.approx(aloft_s + 1.0)
