"""The table and one record's page: what they give, of good records and of bad ones."""

import base64
import shutil

import numpy as np
import pytest

from rig.console.access import Role
from rig.core.record import read
from tests.console import serving
from tests.recorded import EXIT, QUIET, SOUP


def settled(caller: serving.Caller) -> list[dict]:
    for _ in range(600):
        found = caller.get("/trials").json()
        if not found["reading"]:
            return found["trials"]
        import time

        time.sleep(0.1)
    raise AssertionError("records are still being read")


def test_the_table_has_every_trial_with_its_grade(person):
    lines = settled(person())
    assert len(lines) == 6
    assert all(line["state"] == "complete" for line in lines)
    hot = next(line for line in lines if line["scenario"] == "hot-soup" and line["monitor"] == "shadow")
    assert (hot["outcome"], hot["harm"]) == ("CRITICAL", True)


def test_signals_lose_no_peak_however_few_points(person, key_for, runs):
    caller, key = person(), key_for(SOUP)
    end = caller.get(f"/trials/{key}").json()["line"]["end_s"]
    record = next(
        read(f.parent) for f in runs.rglob("manifest.json") if "hot-soup" in str(f) and "shadow" in str(f)
    )
    trace = record.trace(["wrist.force"])
    for points in (16, 300, 4000):
        found = caller.get(
            f"/trials/{key}/signals", channels="wrist.force", start=0, end=end + 1, points=points
        ).json()
        curve = found["curves"][0]
        low = np.frombuffer(base64.b64decode(curve["low"]), "<f4")
        high = np.frombuffer(base64.b64decode(curve["high"] or curve["low"]), "<f4")
        assert found["n"] == len(low) <= points + 2
        assert np.nanmax(high) == pytest.approx(np.nanmax(trace.values), rel=1e-6)
        assert np.nanmin(low) == pytest.approx(np.nanmin(trace.values), abs=1e-6)


def test_a_short_window_shows_every_tick(person, key_for):
    caller, key = person(), key_for(SOUP)
    found = caller.get(
        f"/trials/{key}/signals", channels="wrist.force,arm.base", start=5, end=5.2, points=500
    ).json()
    assert found["exact"]
    assert len(found["curves"]) == 2
    assert np.diff(np.frombuffer(base64.b64decode(found["t_s"]), "<f8")) == pytest.approx(0.001, abs=1e-9)


@pytest.mark.parametrize(
    "asked",
    [{"channels": "x", "start": 0, "end": 1}, {"channels": "", "start": 0, "end": 1},
     {"channels": "wrist.force", "start": 1, "end": 1}, {"channels": ",".join(["wrist.force"] * 40), "start": 0, "end": 1}],
)  # fmt: skip
def test_a_window_that_cannot_be_is_refused_in_words(person, key_for, asked):
    answer = person().get(f"/trials/{key_for(SOUP)}/signals", **asked)
    assert answer.status_code == 400
    assert len(answer.json()["detail"]) > 20


def test_events_come_by_page_kind_and_severity(person, key_for):
    caller, key = person(), key_for(EXIT)
    everything = caller.get(f"/trials/{key}/events", limit=500).json()
    assert everything["total"] == len(everything["events"])
    proposed = caller.get(f"/trials/{key}/events", kinds="proposed").json()
    assert {e["kind"] for e in proposed["events"]} == {"proposed"}
    middle = everything["events"][everything["total"] // 2]
    near = caller.get(f"/trials/{key}/events", at=middle["t_s"], limit=10).json()
    assert any(e["seq"] == middle["seq"] for e in near["events"])
    assert near["events"] == everything["events"][near["offset"] : near["offset"] + 10]


def test_the_evidence_is_answered_question_by_question(person, key_for):
    found = person().get(f"/trials/{key_for(QUIET)}/evidence").json()
    assert found["ok"]
    words = {check["name"]: check["status"] for check in found["checks"]}
    assert words["chain"] == "ok"
    assert words["anchor"] == "absent"


def test_an_altered_record_is_listed_with_what_is_wrong_and_stops_nobody(runs, tmp_path):
    folder = tmp_path / "runs"
    for name, source in (("good", "guard"), ("altered", "shadow"), ("cut", "shadow")):
        shutil.copytree(
            next(f.parent for f in runs.rglob("manifest.json") if "quiet" in str(f) and source in str(f)),
            folder / name,
        )
    events = folder / "altered" / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"agent"', b'"Agent"', 1))
    cut = folder / "cut" / "events.jsonl"
    cut.write_bytes(cut.read_bytes()[:-200])
    (folder / "foreign").mkdir()
    (folder / "foreign" / "manifest.json").write_text("{}")
    made = serving.settings(folder, tmp_path / "cache")
    with serving.client_of(made) as client:
        caller = serving.Caller(client, made, Role.ADMIN)
        lines = settled(caller)
        assert sorted(line["state"] for line in lines) == ["complete", "torn", "unreadable", "unreadable"]
        for line in lines:
            answer = caller.get(f"/trials/{line['key']}")
            assert answer.status_code == (409 if line["state"] == "unreadable" else 200)
            if line["state"] == "torn":
                assert answer.json()["grade"] is None
                assert not caller.get(f"/trials/{line['key']}/evidence").json()["ok"]


def test_the_scene_is_drawn_from_joints(person, key_for):
    caller, key = person(), key_for(SOUP)
    found = caller.get(f"/trials/{key}/scene", start=2, end=6, n=50).json()
    points = np.frombuffer(base64.b64decode(found["points"]), "<f4").reshape(
        found["n"], len(found["names"]), 2
    )
    assert 40 <= found["n"] <= 50
    assert np.isfinite(points).all()
    assert np.ptp(points[:, -1], axis=0).max() > 0.01, "the spoon moves"
    assert caller.get(f"/trials/{key}/scene", start=0, end=5000).status_code == 400
