"""The sleeve: a free one runs easily, a caught one holds back, a stiff shoulder resists."""

from collections.abc import Iterator

import numpy as np
import pytest

from rig.core.bench import load_bench
from rig.core.channel import FloatArray
from rig.core.command import Plan
from rig.sim.backend import SimBackend, indifferent_watch
from rig.sim.stations.sleeve import SleeveParameters

BENCH = load_bench("sleeve-sim")
NAMES = [a.name for a in BENCH.actuators]
ANGLE = 0.9  # rad: the arm raised for dressing


def on_arm(angle: FloatArray, along: FloatArray) -> dict[str, FloatArray]:
    """The gripper 60 mm in front of the arm, ``along`` it towards the shoulder."""
    x = 0.06 * np.cos(angle) - along * np.sin(angle)
    return {"grip.x": x, "grip.z": 0.06 * np.sin(angle) + along * np.cos(angle)}


class Dressing:
    """A dressing place in the hands of a test."""

    def __init__(self, backend: SimBackend) -> None:
        self.backend = backend

    def run(self, columns: dict[str, FloatArray]) -> None:
        n = len(next(iter(columns.values())))
        rows = np.repeat(self.backend.setpoints[None, :], n, axis=0)
        for name, values in columns.items():
            rows[:, NAMES.index(name)] = values
        now_ns = self.backend.now_ns
        plan = Plan(BENCH.actuators, now_ns, BENCH.tick_ns, rows, now_ns + n * BENCH.tick_ns)
        self.backend.stretch(plan, indifferent_watch())

    def start(self, **body: float) -> "Dressing":
        """The hand through the cuff, the arm raised, the cable slack."""
        self.backend.place(body={k.replace("__", "."): v for k, v in body.items()})
        first = on_arm(np.full(1, 0.6), np.full(1, -0.57))
        ends = {n: (self.backend.setpoints[NAMES.index(n)], v[0]) for n, v in first.items()}
        self.run({n: np.linspace(a, b, 2000) for n, (a, b) in ends.items()})
        self.run({"sleeve.thread": np.linspace(0.0, 1.0, 10_000)})
        self.raise_to(ANGLE)
        return self

    def raise_to(self, angle: float) -> None:
        now = self.backend.setpoints[NAMES.index("hold.raise")]
        angles = np.linspace(now, angle, max(2, round(abs(angle - now) / 0.15 * 1000)))
        self.run({"hold.raise": angles, **on_arm(angles, np.full(len(angles), -0.57))})

    def pull(self, start_m: float, end_m: float) -> float:
        """Pull the cuff along the arm; return the largest pull."""
        along = np.linspace(start_m, end_m, max(2, round(abs(end_m - start_m) / 0.05 * 1000))) - 0.52
        peak = 0.0
        for part in np.array_split(along, max(1, len(along) // 200)):
            self.run(on_arm(np.full(len(part), ANGLE), part))
            peak = max(peak, self["pull.force"])
        return peak

    def __getitem__(self, quantity: str) -> float:
        return float(self.backend.world_record()[quantity.replace(".", "_")])


@pytest.fixture(scope="module")
def backend() -> Iterator[SimBackend]:
    with SimBackend(BENCH, seed=1) as opened:
        yield opened


@pytest.fixture
def dressing(backend: SimBackend) -> Dressing:
    return Dressing(backend)


def test_a_free_sleeve_runs_at_four_newtons_and_counts_when_let_go(dressing: Dressing) -> None:
    dressing.start()
    assert 3.0 < dressing.pull(-0.05, 0.56) < 6.0
    assert dressing["sleeve.at"] > SleeveParameters().on_m and dressing["truth.sleeves"] == 0
    dressing.run({"sleeve.thread": np.linspace(1.0, 0.0, 10_000)})
    assert dressing["truth.sleeves"] == 1 and dressing["sleeve.at"] < 1e-6


def test_a_sleeve_let_go_half_way_is_not_on(dressing: Dressing) -> None:
    dressing.start().pull(-0.05, 0.3)
    dressing.run({"sleeve.thread": np.linspace(1.0, 0.0, 10_000)})
    assert dressing["truth.sleeves"] == 0


def test_a_caught_cuff_holds_back_until_it_is_smoothed_without_pull(dressing: Dressing) -> None:
    dressing.start(sleeve__snag=0.25)
    assert dressing.pull(-0.05, 0.30) > 35.0
    dressing.run({"sleeve.smooth": np.linspace(0.0, 1.0, 5000)})
    assert dressing.pull(0.30, 0.31) > 35.0  # smoothed under pull it stays caught
    dressing.pull(0.31, 0.20)
    dressing.backend.hold(1000)
    assert dressing.pull(0.20, 0.40) < 6.0


def test_a_tight_collar_presses_on_the_neck(dressing: Dressing) -> None:
    dressing.start(collar__caught=1.0)
    dressing.pull(-0.05, 0.43)
    assert dressing["neck.force"] == 0.0
    dressing.pull(0.43, 0.50)
    assert dressing["neck.force"] > 8.0


def test_a_hanging_arm_does_not_let_the_sleeve_past_the_armpit(dressing: Dressing) -> None:
    dressing.start()
    dressing.raise_to(0.4)
    along = np.linspace(-0.57, 0.04, 12_000)
    dressing.run(on_arm(np.full(len(along), 0.4), along))
    assert dressing["sleeve.at"] < 0.52 and dressing["pull.force"] > 15.0


@pytest.mark.parametrize(("range_deg", "stiff"), [(110.0, False), (42.0, True)])
def test_a_shoulder_past_its_range_resists(dressing: Dressing, range_deg: float, stiff: bool) -> None:
    dressing.start(shoulder__range=range_deg)
    dressing.raise_to(1.2)
    assert (dressing["hold.torque"] > 6.0) is stiff
    assert (dressing["truth.past_range"] > 5.0) is stiff


def test_no_long_ticks_while_the_sleeve_is_pulled(dressing: Dressing) -> None:
    dressing.start(sleeve__snag=0.2)
    dressing.backend.hold(500)
    assert dressing.backend.why_not_slow() is None
    dressing.pull(-0.05, 0.22)
    dressing.backend.hold(2000)
    assert "pull at the sleeve" in (dressing.backend.why_not_slow() or "")
