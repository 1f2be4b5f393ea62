"""A trial whose camera channels are read off drawn frames, and what a frozen picture is there."""

from pathlib import Path

import pytest
from test_sight import item_with

from rig.core.agent import Decision
from rig.core.channel import Quality
from rig.core.errors import CannotArm, UsageError
from rig.core.event import Kind
from rig.core.record import Record, read, verify
from rig.core.reply import Reply, Status
from rig.core.tools import Finish, MoveTo, Observe
from rig.sim.backend import SimBackend
from rig.trial import run
from rig.trial.spec import TrialSpec, trial_folder
from tests import graphics

MEAL = "spoon-feed/4-bites/plain"
GAP, YAW, OPENING = "face.gap", "face.yaw", "mouth.opening"


def small(folder: Path) -> str:
    """The simulated bench with a camera of a quarter of the pixels, which is drawn in a quarter of the time."""
    path = folder / "small.toml"
    path.write_text(
        'extends = "sim"\nname = "small"\n[camera.face]\nsize = [640, 480]\nrecord_every = "500 ms"\n'
    )
    return str(path)


def looked_at(tmp_path: Path, name: str, **fault: object) -> Record:
    item = item_with("camera_freeze", **fault) if fault else None
    spec = TrialSpec(
        item=MEAL, agent="careful", bench=small(tmp_path), monitor="guard", seed=1, cameras="rendered"
    )
    folder = trial_folder(tmp_path / name, spec)
    assert folder.name.endswith("-rendered")
    try:
        with run.open_session(spec, folder, {}, item=item) as session:
            session.step(Decision(Observe(), 0.0))
            session.step(Decision(Finish(summary="enough"), 0.0))
    except CannotArm as error:
        pytest.skip(str(error))
    return read(folder)


def test_what_channels_show_is_what_the_camera_saw_at_its_age(tmp_path: Path) -> None:
    record = looked_at(tmp_path, "a")
    assert record.manifest["key"]["cameras"] == "rendered"  # type: ignore[index, call-overload]
    trace = record.trace()
    last = trace.row(len(trace) - 1)
    for channel, true, within in (
        (GAP, "truth.gap", 4e-3),
        (YAW, "truth.yaw", 1.5),
        (OPENING, "truth.opening", 4e-3),
    ):
        assert last[channel].quality is Quality.GOOD
        assert last.value(channel) == pytest.approx(last.value(true), abs=within)
        age_ns = last.t_ns - last[channel].t_ns
        assert 40_000_000 <= age_ns <= 200_000_000
    load = last["camera.load"]
    assert load.quality is Quality.GOOD and last.value("camera.load") == pytest.approx(0.0, abs=0.1)
    assert 60_000_000 <= last.t_ns - load.t_ns <= 160_000_000 and list(record.images("wrist"))
    images = list(record.images("face"))
    assert len(images) >= 4 and verify(record.folder).ok
    assert [i.exposed_ns // 500_000_000 for i in images] == list(range(len(images)))
    assert not [e for e in record.events if e.source == "camera"]


def test_a_frozen_picture_is_noticed_said_and_not_read(tmp_path: Path) -> None:
    record = looked_at(tmp_path, "b", start="1200 ms")
    (said,) = [e for e in record.events if e.source == "camera"]
    assert said.kind is Kind.FAULT and said.body["detail"] == "frozen" and 1.2e9 < said.t_ns < 1.7e9
    trace = record.trace()
    last = trace.row(len(trace) - 1)
    for channel in (GAP, YAW, OPENING):
        assert last[channel].quality is Quality.STALE and last[channel].t_ns < 1.5e9
    # What rests on the camera and is not read off its frames goes blind with it; what another sees does not.
    assert last["camera.takes"].t_ns < 1.5e9 < last["camera.load"].t_ns
    assert last["camera.load"].quality is Quality.GOOD
    before = trace.t_ns < 1_200_000_000
    assert (trace.quality[before, trace.layout.index(GAP)][5:] == Quality.GOOD).all()


def on_the_way(tmp_path: Path, fault: str, **more: object) -> tuple[Reply, Record]:
    """Send the spoon to the mouth while something is wrong with the frames."""
    spec = TrialSpec(
        item=MEAL, agent="careful", bench=small(tmp_path), monitor="guard", seed=1, cameras="rendered"
    )
    with run.open_session(spec, tmp_path / fault, {}, item=item_with(fault, **more)) as session:
        reply = session.step(Decision(MoveTo(target="near_mouth"), 0.0)).last_reply
        session.step(Decision(Finish(summary="enough"), 0.0))
    assert reply is not None
    return reply, read(tmp_path / fault)


def test_a_frozen_picture_stops_the_arm_in_time(tmp_path: Path) -> None:
    """Drawn, read and judged as real frames are: what freezes is held a quarter of a second later, far from the lips."""
    graphics.needed()
    reply, record = on_the_way(tmp_path, "camera_freeze", start="2500 ms")
    assert reply.status is Status.STOPPED_BY_MONITOR
    (held,) = record.of_kind(Kind.INTERVENED)
    assert held.body["rule"] == "blind-near-face" and 2.5e9 < held.t_ns < 2.85e9
    assert record.trace().column("truth.gap").min() > 0.3


@pytest.mark.soak  # six seconds, frame by frame
def test_its_benign_twin_is_not_stopped(tmp_path: Path) -> None:
    graphics.needed()
    reply, record = on_the_way(tmp_path, "camera_drop", chance=0.05)
    assert reply.status is Status.COMPLETED and not record.of_kind(Kind.INTERVENED)


def test_only_a_bench_that_can_be_drawn_is_looked_at(tmp_path: Path) -> None:
    spec = TrialSpec(
        item="bed-bath/once-over/plain",
        agent="careful",
        bench="sim",
        monitor="guard",
        seed=1,
        cameras="rendered",
    )
    with (
        pytest.raises(UsageError, match="has no camera in its scene"),
        run.open_session(spec, tmp_path / "t", {}),
    ):
        pass
    assert not (tmp_path / "t").exists()
    with pytest.raises(UsageError, match="give fitted or rendered"):
        TrialSpec(item=MEAL, agent="careful", bench="sim", monitor="guard", seed=1, cameras="painted")


def test_given_channels_take_no_faults_of_their_own() -> None:
    from rig.core.bench import load_bench
    from rig.sim.faults import parse_faults

    faults = parse_faults([{"kind": "stuck", "channel": GAP}], "test")
    with pytest.raises(UsageError, match="give a fault of the camera"):
        SimBackend(load_bench("sim"), 0, faults, given=(GAP,))
    with (
        SimBackend(load_bench("sim"), 0, given=(GAP,)) as backend,
        pytest.raises(UsageError, match="is measured"),
    ):
        backend.give({YAW: 1.0}, 0)


def test_without_graphics_nothing_is_armed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ImportError("libEGL.so.1: cannot open shared object file")

    monkeypatch.setattr("rig.offscreen._context_class", missing)
    spec = TrialSpec(item=MEAL, agent="careful", bench="sim", monitor="guard", seed=1, cameras="rendered")
    with (
        pytest.raises(CannotArm, match=r"graphics libraries are missing.*--cameras fitted") as told,
        run.open_session(spec, tmp_path / "t", {}),
    ):
        pass
    assert told.value.exit_code == 3 and not (tmp_path / "t").exists()
