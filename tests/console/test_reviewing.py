"""Blind double review: who sees what, when; agreement; controls; adjudication by a third person."""

import json
import shutil

import pytest

from rig.console.access import Role
from rig.console.labels import Label, check_label
from rig.core.errors import UsageError
from tests import recorded
from tests.console import serving
from tests.console.test_trials import settled as all_read

SECRETS = ("hasty", "careful", '"guard"', '"shadow"', "hot-soup", "force-at-face", "cool-first", "CRITICAL")


@pytest.fixture
def desk(tmp_path):
    """A console over its own copy of a hazard trial and a quiet one, with a caller per person."""
    runs = tmp_path / "runs"
    for trial, monitor in ((recorded.SOUP, "shadow"), (recorded.QUIET, "guard")):
        folder = recorded.folder_of(trial, monitor)
        shutil.copytree(folder, runs / folder.relative_to(recorded.records()))
    made = serving.settings(runs.resolve(), tmp_path / "cache")
    with serving.client_of(made) as client:

        def caller(role=Role.REVIEWER, name="Ann"):
            return serving.Caller(client, made, role, name)

        lines = all_read(caller(Role.ADMIN, "Ada"))
        soup = next(line["key"] for line in lines if line["scenario"] == "hot-soup")
        quiet = next(line["key"] for line in lines if line["scenario"] == "quiet")
        yield caller, soup, quiet


def label_for(caller, key, what="none", done="yes", **marks):
    story = caller.get(f"/trials/{key}").json()
    criteria = {c["id"]: {"what": "none"} for c in story["rubric"]["criteria"]}
    if what != "none":
        criteria["too-hot"] = {"what": what, **marks}
    return {
        "rubric": story["rubric"]["digest"],
        "done": done,
        "criteria": criteria,
        "confidence": 4,
        "rationale": "seen",
    }


def lock(caller, key, **said):
    answer = caller.send("PUT", f"/trials/{key}/review", {"label": label_for(caller, key, **said)})
    assert answer.status_code == 200, answer.text
    answer = caller.post(f"/trials/{key}/review/lock")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_reviewer_is_told_nothing_that_could_sway_the_label(desk):
    caller, soup, _ = desk
    ann = caller()
    answers = {
        path: ann.get(path)
        for path in ("/trials", f"/trials/{soup}", f"/trials/{soup}/review", "/reviews/queue")
    }
    answers["events"] = ann.get(f"/trials/{soup}/events", limit=500)
    for path, answer in answers.items():
        assert answer.status_code == 200, answer.text
        body = json.loads(answer.text)
        if path.startswith("/trials/") and "rubric" in body:
            del body["rubric"]  # what counts as harm is the same for every agent
        for secret in SECRETS:
            assert secret not in json.dumps(body), f"{path} gives away {secret}"
    assert {e["kind"] for e in answers["events"].json()["events"]}.isdisjoint(
        {"verdict", "intervened", "trial_started"}
    )
    assert ann.get(f"/trials/{soup}/events/0").status_code == 403
    assert ann.get(f"/trials/{soup}/events", kinds="verdict").json()["total"] == 0
    assert ann.get("/reviews/statistics").status_code == 403


def test_a_lock_shows_the_record_and_two_locks_show_the_other_label(desk):
    caller, soup, _ = desk
    ann, bob = caller(name="Ann"), caller(name="Bob")
    lock(ann, soup, what="harm", signal_s=10.0, useful_s=11.0, harm_s=12.0)
    assert ann.get(f"/trials/{soup}").json()["line"]["agent"] == "hasty"
    assert ann.get(f"/trials/{soup}/review").json()["others"] == []
    assert bob.get(f"/trials/{soup}").json()["line"]["agent"] is None
    assert bob.get(f"/trials/{soup}/review").json()["others"] == []
    lock(bob, soup)
    seen = ann.get(f"/trials/{soup}/review").json()
    assert [r["by"] for r in seen["others"]] == ["Bob"]
    assert seen["conflict"]


def test_a_third_person_settles_and_nobody_who_labelled_may(desk):
    caller, soup, _ = desk
    ann, bob, cyd = (caller(name=name) for name in ("Ann", "Bob", "Cyd"))
    lock(ann, soup, what="harm", signal_s=10.0, useful_s=11.0, harm_s=12.0)
    assert cyd.post(f"/trials/{soup}/adjudication/open").status_code == 400, "one label is not enough"
    lock(bob, soup)
    assert ann.post(f"/trials/{soup}/adjudication/open").status_code == 400
    assert [q["why"] for q in cyd.get("/reviews/queue").json()["items"] if q["line"]["key"] == soup] == [
        "settle"
    ]
    began = cyd.post(f"/trials/{soup}/adjudication/open").json()
    assert {r["by"] for r in began["others"]} == {"Ann", "Bob"}
    assert cyd.get(f"/trials/{soup}").json()["line"]["agent"] is None, "settling is blind to the agent too"
    body = {"label": label_for(cyd, soup, what="mistake", signal_s=10.0), "reason": "no dose was reached"}
    assert cyd.post(f"/trials/{soup}/adjudication", body).status_code == 200
    assert cyd.get(f"/trials/{soup}").json()["line"]["agent"] == "hasty"
    line = next(t for t in ann.get("/trials").json()["trials"] if t["key"] == soup)
    assert line["adjudicated"]
    stats = caller(Role.ADMIN, "Ada").get("/reviews/statistics").json()
    assert (stats["settled"], stats["conflicts"]) == (1, 0)
    assert [a["raw"] for a in stats["agreement"]] == [1.0, 0.0]
    assert {r["name"]: r["locked"] for r in stats["reviewers"]} == {"Ann": 1, "Bob": 1}


def test_a_label_changes_only_with_a_reason_and_the_first_one_counts_for_agreement(desk):
    caller, soup, _ = desk
    ann, bob = caller(name="Ann"), caller(name="Bob")
    lock(ann, soup)
    lock(bob, soup)
    changed = {"label": label_for(ann, soup, what="mistake", signal_s=5.0)}
    assert ann.send("PUT", f"/trials/{soup}/review", changed).status_code == 400
    assert (
        ann.send("PUT", f"/trials/{soup}/review", {**changed, "reason": "saw the record"}).status_code == 200
    )
    assert ann.post(f"/trials/{soup}/review/lock").status_code == 200
    stats = caller(Role.ADMIN, "Ada").get("/reviews/statistics").json()
    assert stats["agreement"][1]["raw"] == 1.0
    assert ann.post(f"/trials/{soup}/review/retract", {"reason": "wrong trial"}).status_code == 200
    mine = ann.get(f"/trials/{soup}/review").json()["mine"]
    assert (mine["label"], mine["retracted"]) == (None, ["wrong trial"])


def test_a_judge_stands_apart_and_its_conflicts_are_counted(desk):
    caller, soup, _ = desk
    for name in ("Ann", "Bob"):
        lock(caller(name=name), soup)
    ada = caller(Role.ADMIN, "Ada")
    body = {"judge": "some-model", "label": label_for(ada, soup, what="harm", signal_s=1.0, harm_s=2.0)}
    assert ada.post(f"/trials/{soup}/judgements", body).status_code == 200
    assert caller(name="Eve").post(f"/trials/{soup}/judgements", body).status_code == 403
    (judge,) = ada.get("/reviews/statistics").json()["judges"]
    assert (judge["units"], judge["conflict"], judge["validated"]) == (1, 1.0, False)
    assert ada.get(f"/trials/{soup}/review").json()["locked"] == 2, "a judge is not one of the two"


def test_controls_are_never_marked_and_orders_differ(desk):
    caller, _, _ = desk
    text = caller().get("/reviews/queue").text
    assert "control" not in text


@pytest.mark.parametrize("role", [Role.VIEWER, Role.TECHNICIAN])
def test_who_may_not_review_cannot(desk, role):
    caller, soup, _ = desk
    other = caller(role, "Tess")
    for method, path in (
        ("POST", "review/open"), ("PUT", "review"), ("POST", "review/lock"), ("POST", "review/retract"),
        ("POST", "adjudication/open"), ("POST", "adjudication"), ("POST", "judgements"),
    ):  # fmt: skip
        assert other.send(method, f"/trials/{soup}/{path}", {}).status_code in (403, 422)
    assert other.send("POST", f"/trials/{soup}/review/lock").status_code == 403


def test_a_label_that_cannot_be_is_refused_with_every_mistake():
    label = Label.model_validate(
        {"rubric": "0" * 64, "done": "yes", "confidence": 3,
         "criteria": {"a": {"what": "harm", "signal_s": 9.0, "useful_s": 5.0}, "odd": {"what": "none", "harm_s": 1.0}}}
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        check_label(label, ["a", "b"], "1" * 64, 7.0)
    text = str(caught.value)
    for word in (
        "another rubric",
        "missing: b",
        "not criteria",
        "after the end",
        "is before",
        "when the harm was done",
        "remove them",
    ):
        assert word in text
