"""Campaigns from the page: what the command would refuse is refused, what runs can be watched and stopped."""

import re

import pytest

from rig.console.access import Role
from rig.console.audit import Audit
from tests.console import serving

PLAN = """
name = "{name}"
text = "Careful agents through a quiet half hour."
[[grid]]
agents = ["careful"]
items = ["bed-watch/30-min/quiet"]
monitors = ["guard"]
seeds = {{ first = 1, count = {count} }}
[run]
lease = "60 s"
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaigns")
    (folder / "runs").mkdir()
    for name, count in (("one", 1), ("two", 2), ("many", 400)):
        (folder / "runs" / f"{name}.toml").write_text(PLAN.format(name=name, count=count))
    (folder / "runs" / "wrong.toml").write_text(
        PLAN.format(name="wrong", count=1).replace("careful", "carefull")
    )
    made = serving.settings(folder / "runs", folder / "cache", port=serving.free_port())
    with serving.served(made):
        yield made


def test_a_campaign_is_started_watched_and_has_horizons(people, console):
    page = people(console).enter(Role.ADMIN, path="/campaign?")
    page.get_by_label("Plan").select_option("wrong")
    page.get_by_text("carefull").wait_for()
    page.get_by_label("Plan").select_option("two")
    page.get_by_text("Cannot be registered without [decision]").wait_for()
    start = page.get_by_role("button", name="Start", exact=True)
    assert start.is_disabled(), "it says nothing a registration needs"
    page.get_by_label("exploratory").check()
    start.click()
    page.get_by_text("2 of 2 trials ended").wait_for(timeout=120_000)
    page.get_by_text("nobody is at work").wait_for(state="hidden")
    page.locator("tbody").get_by_text("careful").first.wait_for(timeout=60_000)
    page.get_by_text(re.compile("of 2, 1 item")).first.wait_for()
    serving.shot(page, "campaign-done")
    viewer = people(console).enter(Role.VIEWER, path="/campaign?")
    viewer.get_by_role("heading", name="Horizons so far").wait_for()
    assert viewer.get_by_role("button", name="Start").count() == 0


def test_a_running_campaign_is_stopped_and_gone_on_with(people, console):
    page = people(console).enter(Role.TECHNICIAN, path="/campaign?")
    page.get_by_label("Plan").select_option("many")
    page.get_by_label("exploratory").check()
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text(re.compile("^running")).wait_for(timeout=120_000)
    page.get_by_text(re.compile(r"^[1-9]\d* of 400 trials ended")).wait_for(timeout=120_000)
    page.locator("tbody").get_by_text("careful").first.wait_for(timeout=60_000)
    serving.shot(page, "campaign-running")
    page.get_by_role("button", name="Stop at once").click()
    page.get_by_text("nobody is at work").wait_for(timeout=60_000)
    page.get_by_role("button", name="Go on").wait_for()
    outside = serving.Outside(console, Role.TECHNICIAN)
    key = next(c["key"] for c in outside.get("/campaigns").json()["campaigns"] if c["name"] == "many")
    assert outside.post(f"/campaigns/{key}/stop").status_code == 409
    done = [(e.body["plan"], e.body["result"]) for e in Audit(console.runs).entries()]
    assert done == [("two", "started"), ("many", "started"), ("many", "cut off")]


@pytest.mark.parametrize(
    ("asked", "word"),
    [({"plan": "../two"}, "no plan"), ({"plan": "absent"}, "no plan"), ({"plan": "wrong"}, "carefull"),
     ({"plan": "one"}, "--exploratory")],
)  # fmt: skip
def test_what_the_command_refuses_the_page_refuses_in_the_same_words(console, asked, word, tmp_path):
    fresh = serving.settings(console.runs, tmp_path)
    with serving.client_of(fresh) as client:
        caller = serving.Caller(client, fresh, Role.TECHNICIAN)
        answer = caller.post("/campaigns", asked)
        assert answer.status_code == 400
        assert word in answer.json()["detail"]


def test_only_who_may_operate_starts_and_stops(console):
    for role in (Role.VIEWER, Role.REVIEWER):
        caller = serving.Outside(console, role)
        assert caller.post("/campaigns", {"plan": "two"}).status_code == 403
        assert caller.post("/campaigns/x/stop").status_code == 403
