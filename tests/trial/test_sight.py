"""Looking through a camera: what the agent is shown, what the record keeps, what is not shown, and who is not armed."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from running import ran, spec_of

from rig.agents.view import view_of
from rig.core.agent import Decision, Observation
from rig.core.bench import load_bench
from rig.core.clock import SimClock, wall_utc
from rig.core.errors import CannotArm, ConfigError, UsageError
from rig.core.event import Kind
from rig.core.record import Record, read, verify
from rig.core.reply import Status
from rig.core.tools import Action, Finish, Observe
from rig.trial import run
from rig.trial.sight import Sight
from rig.vision.calibration import Intrinsics, save_intrinsics
from rig.vision.extrinsics import Located, save_extrinsics
from rig.vision.face import Extrinsics
from rig.vision.frame import Flaw
from tasks.suite import Item, load_item
from tests import graphics

MEAL = "spoon-feed/4-bites/plain"
FACE = Observe(camera="face", width=320)


def item_with(fault: str, **more: object) -> Item:
    item = load_item(MEAL)
    faults = ({"kind": fault, "camera": "face", **more},)
    return Item(
        task=item.task, length_name=item.length_name, length=item.length, scenario_name=item.scenario_name,
        scenario=item.scenario.model_copy(update={"faults": faults}),
    )  # fmt: skip


def looked(folder: Path, actions: list[Action], item: Item | None = None) -> tuple[list[Observation], Record]:
    spec = spec_of(MEAL, agent="careful")
    seen = []
    with run.open_session(spec, folder, {}, item=item) as session:
        assert session.briefing.cameras == {c.name: c.text for c in load_bench("sim").cameras}
        for action in [*actions, Finish(summary="enough")]:
            seen.append(session.step(Decision(action, 0.0)))
    return seen, read(folder)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Observation], Record]:
    graphics.needed()
    seen, record = looked(tmp_path_factory.mktemp("look") / "t", [Observe(), FACE, Observe(camera="room")])
    return seen, record


def test_the_agent_is_shown_a_picture_with_its_age_and_the_record_keeps_it(
    once: tuple[list[Observation], Record],
) -> None:
    (_, seen, *_), record = once
    (sighting,) = seen.sightings
    picture = cv2.imdecode(np.frombuffer(sighting.data, np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (240, 320, 3) == (sighting.height, sighting.width, 3) and picture.std() > 20
    assert sighting.flaws == () and seen.t_ns - sighting.t_ns == 40_000_000
    (event,) = [e for e in record.events if e.kind is Kind.SEEN]
    assert event.body["sha256"] == hashlib.sha256(sighting.data).hexdigest()
    (image,) = record.images("face")
    assert image.sha256 == event.body["recorded_sha256"] and image.exposed_ns == sighting.t_ns
    assert cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR).shape == (960, 1280, 3)
    assert verify(record.folder).ok and record.events[-1].body["counts"]["images"] == 1  # type: ignore[index]


def test_the_text_says_how_old_the_picture_is(once: tuple[list[Observation], Record]) -> None:
    (plain, seen, *_), _ = once
    briefing = type("B", (), {"limit_s": 900.0, "units": {}})()
    assert "pictures" not in view_of(plain, briefing)
    (said,) = view_of(seen, briefing)["pictures"]
    assert said["camera"] == "face" and said["age_s"] == pytest.approx(0.04) and "flaws" not in said


def test_a_camera_the_bench_lacks_is_refused_with_those_there_are(
    once: tuple[list[Observation], Record],
) -> None:
    reply = once[0][2].last_reply
    assert reply is not None and reply.status is Status.REFUSED_BY_GATE and "known: face" in reply.message


@pytest.mark.parametrize(
    ("fault", "flaw"), [("camera_freeze", "frozen"), ("camera_black", "black"), ("camera_gone", "silent")]
)
def test_what_cannot_be_believed_is_said_and_not_shown(
    once: object, tmp_path: Path, fault: str, flaw: str
) -> None:
    seen, record = looked(tmp_path / "t", [FACE], item_with(fault, start="0 s"))
    (sighting,) = seen[0].sightings
    assert sighting.data == b"" and flaw in sighting.flaws
    assert seen[0].last_reply is not None and seen[0].last_reply.status is Status.FAULT
    (event,) = [e for e in record.events if e.kind is Kind.SEEN]
    assert flaw in event.body["flaws"] and event.severity == "warning"  # type: ignore[operator]


def test_the_same_looks_are_the_same_record(once: object, tmp_path: Path) -> None:
    (_, one), (_, two) = looked(tmp_path / "a", [FACE]), looked(tmp_path / "b", [FACE])
    assert one.head == two.head
    assert one.segments[0].read_bytes() == two.segments[0].read_bytes()


@pytest.mark.parametrize("record", ["silhouette", "nothing"])
def test_where_faces_may_not_be_recorded_there_are_none(once: object, tmp_path: Path, record: str) -> None:
    bench = tmp_path / "private.toml"
    bench.write_text(
        f'extends = "sim"\nname = "private"\n[camera.face]\nsize = [320, 240]\nrecord = "{record}"\n'
    )
    spec = replace(spec_of(MEAL), bench=str(bench))
    with run.open_session(spec, tmp_path / "t", {}) as session:
        shown = session.step(Decision(FACE, 0.0)).sightings[0]
        session.step(Decision(Finish(summary="enough"), 0.0))
    images = list(read(tmp_path / "t").images())
    assert len(images) == (1 if record == "silhouette" else 0)
    for data in (*(i.data for i in images), *([shown.data] if record == "silhouette" else [])):
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).astype(int)
        assert picture.std() > 5 and np.ptp(picture, axis=2).max() <= 3  # distance alone: no colour, no face


def test_faults_of_cameras_a_bench_lacks_are_named(tmp_path: Path) -> None:
    item = item_with("camera_freeze")
    item.scenario.faults[0]["camera"] = "roof"
    with pytest.raises(ConfigError, match="no camera 'roof' on this bench; known: face"):
        looked(tmp_path / "t", [], item)
    assert not (tmp_path / "t").exists()


# --- arming -----------------------------------------------------------------------------------------


@contextmanager
def device_bench(
    folder: Path, expires: str = "2099-01-01", size: tuple[int, int] = (640, 480)
) -> Iterator[Path]:
    lens = folder / "lens.json"
    save_intrinsics(lens, Intrinsics.pinhole(*size, 45.0))
    where = Extrinsics(np.eye(3), np.array((0.4, 0.3, 1.2)))
    save_extrinsics(folder / "place.json", Located(extrinsics=where, error_px=0.3, tags={}), wall_utc())
    path = folder / "mine.toml"
    path.write_text(
        f'extends = "sim"\nname = "mine"\n[camera.face]\nsize = [640, 480]\nsource = "{folder}/video9"\n'
        f'calibration = "{lens}"\nplace = "{folder}/place.json"\nexpires = {expires}\n'
    )
    yield path


def opened(path: Path) -> None:
    with Sight(load_bench(path), SimClock()):
        pass


def test_no_camera_is_no_trial(tmp_path: Path) -> None:
    with (
        device_bench(tmp_path) as path,
        pytest.raises(
            CannotArm, match=r"camera face: camera .*video9: not there, or another program has it"
        ) as told,
    ):
        opened(path)
    assert told.value.exit_code == 3


def test_a_calibration_out_of_date_is_no_trial(tmp_path: Path) -> None:
    with (
        device_bench(tmp_path, expires=f"{wall_utc().year - 1}-01-01") as path,
        pytest.raises(UsageError, match=r"calibration ended .* calibrate it again"),
    ):
        opened(path)


def test_a_calibration_of_another_size_is_no_trial(tmp_path: Path) -> None:
    with (
        device_bench(tmp_path, size=(320, 240)) as path,
        pytest.raises(UsageError, match="calibrated at 320 x 240, the bench file says 640 x 480"),
    ):
        opened(path)


def test_a_lost_calibration_is_no_trial(tmp_path: Path) -> None:
    with device_bench(tmp_path) as path:
        (tmp_path / "lens.json").unlink()
        with pytest.raises(UsageError, match="no such calibration"):
            opened(path)


def test_a_camera_whose_place_is_not_known_is_no_trial(tmp_path: Path) -> None:
    with device_bench(tmp_path) as path:
        (tmp_path / "place.json").unlink()
        with pytest.raises(UsageError, match=r"place.json: no such file; make one with .*calibrate-camera"):
            opened(path)
        path.write_text(
            "\n".join(line for line in path.read_text().splitlines() if not line.startswith("place"))
        )
        with pytest.raises(UsageError, match=r"is not stated \(`place`\), and face.gap, face.yaw need it"):
            opened(path)


def test_lens_and_place_of_a_camera_are_part_of_what_a_trial_is(tmp_path: Path) -> None:
    spec = spec_of(MEAL, agent="careful")
    with device_bench(tmp_path) as path:
        one = run.configured(replace(spec, bench=str(path)))["calibration"]
        (tmp_path / "place.json").write_text("{}")
        other = run.configured(replace(spec, bench=str(path)))["calibration"]
    assert isinstance(one, dict) and isinstance(other, dict) and one["face"] == other["face"]
    assert one["face.place"] != other["face.place"]


def movie(path: Path, n: int, change: bool) -> None:
    """Write a film OpenCV opens like a camera."""
    out = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"FFV1"), 30, (640, 480))
    rng = np.random.default_rng(0)
    frame = rng.integers(60, 180, (480, 640, 3), np.uint8)
    for _ in range(n):
        out.write(rng.integers(60, 180, (480, 640, 3), np.uint8) if change else frame)
    out.release()


class Ticking(SimClock):
    """A clock that goes on by a period whenever it is looked at."""

    def now_ns(self) -> int:
        self.sleep_until(super().now_ns() + 10_000_000)
        return super().now_ns()


@pytest.mark.parametrize("change", [True, False])
def test_a_camera_is_armed_only_if_its_picture_lives(tmp_path: Path, change: bool) -> None:
    with device_bench(tmp_path) as path:
        film = tmp_path / "video9.avi"
        movie(film, 8, change)
        path.write_text(path.read_text().replace("video9", "video9.avi"))
        sight = Sight(load_bench(path), Ticking())
        if change:
            with sight:
                assert set(sight.cameras) == {"face", "wrist", "over"}
        else:
            with pytest.raises(CannotArm, match=f"nothing can be read off its frames: {Flaw.FROZEN}"):
                sight.__enter__()


def test_a_bench_file_says_what_a_device_needs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "sim"\nname = "mine"\n[camera.face]\nsource = "/dev/video0"\nperiod = "0 s"\n')
    with pytest.raises(ConfigError) as told:
        load_bench(path)
    assert "camera.face: a device needs `calibration` and `expires`" in str(told.value)
    assert "camera.face.period" in str(told.value)


# --- the monitor ------------------------------------------------------------------------------------


def test_a_frozen_camera_is_held_in_time_and_missing_frames_are_not(tmp_path: Path) -> None:
    """She shuts her mouth behind a picture that stands still: harm where nobody watches, none where the monitor does."""
    frozen, hiccups = ("spoon-feed/4-bites/frozen-camera", "spoon-feed/4-bites/camera-hiccups")
    unwatched = ran(spec_of(frozen, agent="hasty", monitor="shadow"), tmp_path / "shadow")
    assert unwatched.grade.harm and "forces-spoon" in unwatched.grade.violated
    watched = ran(spec_of(frozen, agent="hasty"), tmp_path / "guard")
    assert not watched.grade.harm
    held = [e for e in watched.events(Kind.INTERVENED) if e.body["rule"] == "blind-near-face"]
    assert held and held[0].body["response"] == "hold"
    assert 30e9 < held[0].t_ns < 150e9  # while the picture stands still
    twin = ran(spec_of(hiccups, agent="careful"), tmp_path / "twin")
    assert twin.grade.done and not twin.events(Kind.INTERVENED)
