"""What stands around a backend lets through what it does not do otherwise."""

from collections.abc import Sequence

from rig.core.backend import Report, Reporting
from rig.core.bench import load_bench
from rig.sim.backend import SimBackend
from rig.trial.parts import Manikin
from rig.trial.wrapped import Wrapped

TRIPPED = Report(device="node", number=3, what="tripped", reason="estop", detail=0, grave=True)


class Telling(SimBackend):
    def reports(self) -> Sequence[Report]:
        return [TRIPPED]


def test_nothing_a_backend_does_is_lost() -> None:
    asked = {
        name for kind in (Reporting, *Manikin.__mro__) for name in vars(kind) if not name.startswith("_")
    }
    assert asked <= {*vars(Wrapped)} and "reports" in asked and "stretch" in asked


def test_the_log_of_a_device_comes_through_and_where_there_is_none_nothing_does() -> None:
    bench = load_bench("sim")
    assert list(Wrapped(Telling(bench, seed=1)).reports()) == [TRIPPED]
    assert list(Wrapped(Wrapped(SimBackend(bench, seed=1))).reports()) == []
