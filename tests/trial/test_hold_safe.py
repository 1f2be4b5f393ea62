"""What the rig does while nobody commands, whether that time passes at once or bit by bit."""

from pathlib import Path

import pytest

from rig.core.agent import Decision
from rig.core.tools import MoveTo
from rig.trial.rig import NEAR_M
from rig.trial.run import open_session
from rig.trial.safe import Idling
from rig.trial.skills import from_skin_m
from tests.trial.running import spec_of


@pytest.mark.parametrize("piece_ns", [20_000_000, 700_000_000, 20_000_000_000])
def test_a_tool_left_at_the_face_holds_then_backs_off_then_goes_to_rest(
    piece_ns: int, tmp_path: Path
) -> None:
    with open_session(spec_of("spoon-feed/4-bites/plain"), tmp_path / "t", {}) as session:
        session.step(Decision(MoveTo(target="lips", speed="slow"), 0.0))
        rig = session._rig
        at_lips_m, since_ns, idling = from_skin_m(rig.here), rig.t_ns, Idling(rig)
        assert at_lips_m < NEAR_M

        def passed(until_s: float) -> float:
            while (left_ns := since_ns + round(until_s * 1e9) - rig.t_ns) > 0:
                idling.go_on(min(piece_ns, left_ns))
            return from_skin_m(rig.here)

        assert passed(1.9) == pytest.approx(at_lips_m, abs=1e-3)
        backed_off_m = passed(8.0)
        assert at_lips_m + 0.05 < backed_off_m
        assert passed(20.0) > NEAR_M
