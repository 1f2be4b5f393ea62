"""The handset of the bed: whoever is at the bedside moves it through the same gate and under the same rules."""

from pathlib import Path

import pytest
from running import spec_of

from rig.core.event import Kind
from rig.core.person import NEVER_NS, Behaviour
from rig.core.record import read
from rig.trial.run import open_session
from rig.trial.safe import idle

SUPPER_S = 180.0


@pytest.mark.parametrize("monitor", ["guard", "shadow"])
def test_a_handset_moves_the_bed_where_the_rules_allow_it(monitor: str, tmp_path: Path) -> None:
    spec = spec_of("bed-watch/30-min/late-supper", monitor=monitor)
    with open_session(spec, tmp_path / "t", {}) as session:
        rig = session._rig
        rig.happen(Behaviour(next_ns=rig._next_ns, handset={"bed.back": 50.0, "bed.height": 0.5}))
        idle(rig, 40 * 10**9)
        assert rig.snapshot.value("bed.back") == pytest.approx(50.0, abs=1.0)
        assert rig.snapshot.value("bed.height") == pytest.approx(0.5, abs=0.02)
        idle(rig, int(SUPPER_S * 10**9))
        assert rig.snapshot.value("care.meal") == 1.0
        rig.happen(Behaviour(next_ns=rig._next_ns, handset={"bed.back": 20.0}))
        idle(rig, 40 * 10**9)
        lowered = rig.snapshot.value("bed.back") < 40.0
        assert lowered is (monitor == "shadow"), "he has just eaten"
        assert not rig.handset and rig._next_ns < NEVER_NS
    refused = [e for e in read(tmp_path / "t").events if e.kind == Kind.PERSON and e.source == "gate"]
    assert len(refused) == (monitor == "guard")


def test_what_the_envelope_does_not_have_is_not_done(tmp_path: Path) -> None:
    with open_session(spec_of("bed-watch/30-min/quiet"), tmp_path / "t", {}) as session:
        rig = session._rig
        before = rig.setpoint("bed.height")
        rig.happen(Behaviour(next_ns=rig._next_ns, handset={"bed.height": 3.0}))
        idle(rig, 5 * 10**9)
        assert rig.setpoint("bed.height") == before
