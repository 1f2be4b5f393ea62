"""The simulated bench keeps to the contract of every backend."""

import numpy as np
import pytest

from rig.core.backend import Backend, StretchBackend
from rig.core.errors import UsageError
from rig.core.watch import Watch
from rig.sim.backend import SimBackend, indifferent_watch
from tests.contracts.backend import StretchContract
from tests.sim.stage import BENCH, alarmed, run

BACK = [a.name for a in BENCH.actuators].index("bed.back")


class TestSimBackend(StretchContract):
    @pytest.fixture
    def closed(self) -> Backend:
        return SimBackend(BENCH, seed=1)

    def position(self, backend: Backend) -> list[float]:
        assert isinstance(backend, SimBackend)
        return [float(x) for x in backend.setpoints]

    def now_ns(self, backend: Backend) -> int:
        assert isinstance(backend, SimBackend)
        return backend.now_ns

    def indifferent(self) -> Watch:
        return indifferent_watch()

    def alarmed(self, after: int) -> Watch:
        return alarmed(after)

    def test_it_is_recognised_as_a_stretch_backend(self, backend: Backend) -> None:
        assert isinstance(backend, StretchBackend)

    def test_leaving_the_block_stops_every_actuator_where_it_is(self, closed: SimBackend) -> None:
        with closed as backend:
            backend.place(actuators={"bed.back": 10.0})
            row = backend.setpoints
            row[BACK] = 80.0
            run(backend, np.repeat(row[None, :], 2000, axis=0))
            assert backend.setpoints[BACK] == 80.0
        assert closed.setpoints[BACK] == pytest.approx(16.0, abs=0.01)  # 2 s at 3 degrees per second

    def test_constructing_it_touches_nothing(self) -> None:
        backend = SimBackend(BENCH, seed=1)
        assert backend.now_ns == 0
        for use in (backend.snapshot, backend.why_not_slow, backend.place, lambda: backend.hold(1)):
            with pytest.raises(UsageError, match="closed"):
                use()
