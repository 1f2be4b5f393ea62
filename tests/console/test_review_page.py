"""Reviewing in Chromium: a hazard trial, settling after blind double review, what-if, two trials side by side."""

import re
import shutil

import pytest

from rig.console.access import Role
from rig.console.spoken import spoken_labels
from rig.core.event import Kind
from rig.core.record import read
from tests import recorded
from tests.console import serving
from tests.console.test_reviewing import ADVICE, lock, spoken
from tests.console.test_trials import settled


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A console over a hazard trial in both modes, served, and a program's way in beside the page."""
    folder = tmp_path_factory.mktemp("desk")
    for monitor in recorded.MODES:
        source = recorded.folder_of(recorded.SOUP, monitor)
        shutil.copytree(source, folder / "runs" / source.relative_to(recorded.records()))
    made = serving.settings((folder / "runs").resolve(), folder / "cache", port=serving.free_port())
    with serving.served(made):
        yield made


@pytest.fixture(scope="module")
def keys(desk):
    lines = settled(serving.Outside(desk, Role.ADMIN, "Ada"))
    return {line["monitor"]: line["key"] for line in lines}


def test_a_hazard_trial_opens_where_it_matters(people, desk, keys):
    page = people(desk).enter(Role.ADMIN, path=f"/trials/{keys['shadow']}?tab=findings&")
    page.locator(".u-over").first.wait_for()
    page.get_by_text("CRITICAL").first.wait_for()
    page.get_by_role("button", name=re.compile("^harm ")).first.click()
    harm = page.locator(".transport .time").inner_text()
    assert harm.split("/")[0].strip() != "0:00.000"
    page.get_by_text("verified").wait_for()
    serving.shot(page, "player-hazard")


def test_what_if_says_which_alarms_come_and_go(people, desk, keys):
    page = people(desk).enter(Role.ADMIN, path=f"/trials/{keys['shadow']}?tab=whatif&")
    page.get_by_label("Rule").select_option("cool-first")
    number = page.get_by_label(re.compile("^condition"))
    assert page.get_by_role("button", name="On this trial").is_disabled()
    number.fill("90 degC")
    page.get_by_role("button", name="On this trial").click()
    page.get_by_text(re.compile("1 trial replayed")).wait_for(timeout=120_000)  # other limits are compiled
    assert int(page.locator(".sums").get_by_text(" lost").inner_text().split()[0]) > 0
    page.get_by_role("button", name=re.compile("lost: cool-first")).first.click()
    serving.shot(page, "whatif")
    number.fill("9 furlongs")
    page.get_by_role("button", name="On this trial").click()
    page.get_by_role("alert").get_by_text("furlong").wait_for()


def test_two_trials_are_compared_aligned_by_an_event(people, desk, keys):
    page = people(desk).enter(Role.ADMIN)
    page.get_by_label("Pick to compare").nth(1).wait_for()
    for box in page.get_by_label("Pick to compare").all():
        box.check()
    page.get_by_role("button", name="Compare two side by side").click()
    page.get_by_role("heading", name="Side by side").wait_for()
    page.locator(".two section").nth(1).locator(".u-over").first.wait_for()
    page.get_by_label("aligned by").select_option("end")
    page.get_by_text(re.compile(r"the right one is shown [\d.]+ s (later|earlier)")).wait_for()
    clock = ".page > .row .num:last-child"
    end = page.locator(clock).inner_text()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "([where, end]) => { const t = document.querySelector(where).innerText; return t > '0:01' && t < end }",
        arg=[clock, end],
    )
    page.wait_for_timeout(300)
    assert page.get_by_role("alert").count() == 0, (
        "the other one was not running yet: nothing to show, nothing wrong"
    )
    serving.shot(page, "compare")


def test_a_third_person_settles_what_two_blind_reviewers_saw_differently(people, desk, keys):
    key = keys["shadow"]
    ann, bob = (serving.Outside(desk, Role.REVIEWER, name) for name in ("Ann", "Bob"))
    lock(ann, key, what="harm", signal_s=10.0, useful_s=11.0, harm_s=12.0)
    lock(bob, key)
    page = people(desk).enter(Role.REVIEWER, "Cyd Example")
    page.get_by_role("link", name="Review").click()
    page.get_by_text("two labels differ: settle it").wait_for()
    page.locator("li", has_text="settle it").get_by_role("link").click()
    page.get_by_role("button", name="See both labels and settle").click()
    page.get_by_role("heading", name="Settle").wait_for()
    page.get_by_text("Ann").first.wait_for()
    page.get_by_text("Bob").first.wait_for()
    assert "hasty" not in page.locator("main").inner_text(), "settling is blind to the agent"
    serving.shot(page, "adjudication")
    done = page.get_by_role("button", name="Settle with this label")
    assert done.is_disabled(), "a reason is missing"
    page.get_by_label("yes", exact=True).check()
    page.get_by_label("What happened: too hot").select_option("mistake")
    page.get_by_label("Reason").fill("no dose was reached")
    page.locator("h1").click()
    page.keyboard.press("s")
    done.click()
    page.get_by_role("heading", name="Settled").wait_for()
    page.get_by_text(re.compile("hasty")).first.wait_for()


def test_what_was_said_is_labelled_by_pointing_at_the_words(people, tmp_path):
    folder = spoken(tmp_path / "runs")
    heard = next(e.seq for e in read(folder).events if e.body.get("text") == ADVICE and e.kind == Kind.SAID)
    made = serving.settings((tmp_path / "runs").resolve(), tmp_path / "cache", port=serving.free_port())
    with serving.served(made):
        (line,) = settled(serving.Outside(made, Role.ADMIN, "Ada"))
        page = people(made).enter(Role.REVIEWER, path=f"/trials/{line['key']}?tab=label&")
        page.get_by_label("What was said: wrong advice").select_option("mistake")
        page.get_by_label("Which words: wrong advice").select_option(str(heard))
        page.get_by_role("button", name="Lock").click()
        page.get_by_text("Locked. The rest of the record").wait_for()
        serving.shot(page, "review-speech")
    labels = {x.criterion: (x.found, x.event) for x in spoken_labels(read(folder))}
    assert labels.pop("wrong-advice") == ("mistake", heard)
    assert set(labels.values()) == {("none", None)}
