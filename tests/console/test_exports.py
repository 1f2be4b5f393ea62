"""What is taken out of the console: clips, redacted copies and labels, by whom, and what never leaves."""

import csv
import io
import json
import zipfile

import pytest

from rig.console import packing
from rig.console.access import Role
from rig.core.record import read, verify
from tests import recorded
from tests.console.test_reviewing import desk as desk
from tests.console.test_reviewing import label_for


def opened(answer) -> zipfile.ZipFile:
    assert answer.status_code == 200, answer.text
    return zipfile.ZipFile(io.BytesIO(answer.content))


def test_a_clip_holds_the_stretch_and_says_what_it_is_of(desk):
    caller, soup, _ = desk
    ada = caller(Role.ADMIN, "Ada")
    story = ada.get(f"/trials/{soup}").json()
    with opened(ada.get(f"/trials/{soup}/clip", start=8.0, end=9.5)) as archive:
        names = {name.split("/", 1)[1]: name for name in archive.namelist()}
        about = json.loads(archive.read(names["clip.json"]))
        ticks = archive.read(names["telemetry.csv"]).decode().splitlines()
        events = list(csv.DictReader(io.StringIO(archive.read(names["events.csv"]).decode())))
    assert (about["trial_id"], about["start_s"], about["end_s"]) == (story["line"]["trial_id"], 8.0, 9.5)
    t_ns = read(recorded.folder_of(recorded.SOUP, "shadow")).trace(["arm.base"]).t_ns
    inside = t_ns[(t_ns >= 8_000_000_000) & (t_ns < 9_500_000_000)]
    assert len(inside) > 100 and [int(row.split(",")[0]) for row in ticks[1:]] == inside.tolist()
    assert events
    assert all(8e9 <= int(e["t_ns"]) < 9.5e9 for e in events)
    assert set(about["sha256"]) == set(names) - {"clip.json"}


@pytest.mark.parametrize("asked", [{"start": 5, "end": 5}, {"start": 6, "end": 5}, {"start": 0, "end": 5000}])
def test_a_clip_that_cannot_be_is_refused_in_words(desk, asked):
    caller, soup, _ = desk
    answer = caller(Role.ADMIN, "Ada").get(f"/trials/{soup}/clip", **asked)
    assert answer.status_code == 400
    assert "clip" in answer.json()["detail"]


def test_whoever_is_blind_takes_nothing_out(desk):
    caller, soup, _ = desk
    ann = caller()
    assert ann.get(f"/trials/{soup}/clip", start=1, end=2).status_code == 403
    assert ann.get(f"/trials/{soup}/redacted").status_code == 403
    assert ann.get("/reviews/export").status_code == 403


def test_a_redacted_copy_verifies_and_leaves_out_what_was_asked(desk, tmp_path):
    caller, soup, _ = desk
    ada = caller(Role.ADMIN, "Ada")
    with opened(ada.get(f"/trials/{soup}/redacted", without="wrist.force")) as archive:
        archive.extractall(tmp_path / "copy")
    folder = next(f.parent for f in (tmp_path / "copy").rglob("manifest.json"))
    assert verify(folder).ok
    copy = read(folder)
    assert "wrist.force" not in copy.layout.names
    assert (
        copy.manifest["key"]["redacted_from"]["trial_id"]
        == ada.get(f"/trials/{soup}").json()["line"]["trial_id"]
    )
    assert ada.get(f"/trials/{soup}/redacted", without="no.such").status_code == 400


def test_labels_are_exported_with_ranges_and_without_formulas(desk):
    caller, soup, _ = desk
    ann = caller()
    label = label_for(ann, soup, what="mistake", signal_s=10.0)
    label |= {
        "rationale": "=1+1",
        "ranges": [{"start_s": 3.0, "end_s": 4.5, "text": "spoon tilts", "criterion": "too-hot"}],
    }
    backwards = {**label, "ranges": [{"start_s": 4.0, "end_s": 3.0}]}
    assert (
        "must end after" in ann.send("PUT", f"/trials/{soup}/review", {"label": backwards}).json()["detail"]
    )
    assert ann.send("PUT", f"/trials/{soup}/review", {"label": label}).status_code == 200
    ada = caller(Role.ADMIN, "Ada")
    assert ada.get("/reviews/export", form="json").json() == [], "an open label is nobody else's business"
    assert ann.post(f"/trials/{soup}/review/lock").status_code == 200
    rows = list(csv.DictReader(io.StringIO(ada.get("/reviews/export").text)))
    (marked,) = [r for r in rows if r["what"] == "range"]
    assert (marked["start_s"], marked["end_s"], marked["text"], marked["by"]) == (
        "3.0",
        "4.5",
        "spoon tilts",
        "Ann",
    )
    assert {r["rationale"] for r in rows} == {"'=1+1"}
    assert {r["criterion"] for r in rows if r["what"] == "mistake"} == {"too-hot"}
    assert set(rows[0]) == set(packing.LABEL_COLUMNS)
    assert ada.get("/reviews/export", form="json").json()[0]["rationale"] == "=1+1"
