"""The bench page in Chromium: a technician's whole path, two technicians, and what happens when somebody is gone."""

import re

import pytest

from rig.console import control, preflight
from rig.console.access import Role
from rig.core.event import Kind
from rig.core.record import read, records_under
from tests import graphics
from tests.console import serving

ANNA, BEN = "Anna Example", "Ben Example"


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    (folder / "runs").mkdir()
    made = serving.settings(folder / "runs", folder / "cache", bench="sim", port=serving.free_port())
    with serving.served(made):
        yield made


@pytest.fixture(scope="module")
def report(console):
    """One real preflight; the tests that come to it later sign it again."""
    return preflight.examined("sim", console.runs)


@pytest.fixture
def known(report, monkeypatch):
    monkeypatch.setattr(preflight, "examined", lambda *_: report)


def state(page, word: str) -> None:
    page.locator(".state").get_by_text(word, exact=True).wait_for()


def take_control(page) -> None:
    page.get_by_role("button", name="Take control").click()
    page.get_by_text("(you)").wait_for()


def arm(page, name: str) -> None:
    page.get_by_role("button", name=re.compile("Examine")).click()
    page.get_by_role("heading", name="What only you can see").wait_for()
    for confirm in page.get_by_role("checkbox").all():
        confirm.check()
    page.get_by_role("button", name=f"Sign as {name}").click()
    page.get_by_role("button", name="Arm the bench").click()
    state(page, "Armed")


def start(page, seed: int, pace: str = "1") -> None:
    page.get_by_label("Seed").fill(str(seed))
    page.get_by_label("Pace").select_option(pace)
    page.get_by_role("button", name="Start", exact=True).click()
    state(page, "Running")
    page.locator(".live figure").first.wait_for()


def stop_and_reset(page) -> None:
    page.get_by_role("button", name="STOP").click()
    state(page, "Stopped")
    page.get_by_text("The trial was closed").wait_for()
    page.get_by_label("Cause").fill("tried the stop")
    page.get_by_label("I stood at the bench").check()
    page.get_by_role("button", name="Reset").click()
    state(page, "Idle")


def test_a_technician_examines_arms_runs_stops_and_resets(people, console, known):
    page = people(console).enter(Role.TECHNICIAN, ANNA)
    state(page, "Idle")
    serving.shot(page, "bench-idle")
    take_control(page)
    arm(page, ANNA)
    page.get_by_role("button", name="Start", exact=True).wait_for()
    serving.shot(page, "bench-armed")
    start(page, seed=1)
    page.get_by_text("Every rule holds").wait_for()
    page.get_by_label("Note for the record").fill("the bib slipped")
    page.get_by_role("button", name="Note", exact=True).click()
    page.locator(".talk .operator").get_by_text("the bib slipped").wait_for()
    page.wait_for_function("() => document.querySelector('.live .big').innerText > '0:02'")
    serving.shot(page, "bench-running")
    page.get_by_role("button", name="STOP").click()
    state(page, "Stopped")
    page.get_by_text(re.compile(r"Stopped\. Safe \d+ ms after the request")).wait_for()
    page.get_by_text(re.compile(f"By {ANNA} \\(technician\\)")).wait_for()
    page.get_by_text("The trial was closed: stopped by").wait_for()
    serving.shot(page, "bench-stopped")
    reset = page.get_by_role("button", name="Reset")
    assert reset.is_disabled()
    page.get_by_label("Cause").fill("tried the stop")
    assert reset.is_disabled(), "nobody has looked at the bench yet"
    page.get_by_label("I stood at the bench").check()
    reset.click()
    state(page, "Idle")
    page.get_by_text("not signed").wait_for()
    page.get_by_role("button", name="Let go").click()
    page.get_by_text("nobody is in control").wait_for()
    page.get_by_role("link", name="Open its record").click()
    page.locator(".player h1").wait_for()
    page.get_by_role("tab", name="Dialogue").click()
    page.locator(".talk").get_by_text("the bib slipped").wait_for()


def test_two_technicians_hand_over_and_neither_acts_for_the_other(people, console):
    anna = people(console).enter(Role.TECHNICIAN, ANNA)
    ben = people(console).enter(Role.TECHNICIAN, BEN)
    take_control(anna)
    ben.get_by_role("button", name="Ask for control").click()
    ben.get_by_text("is asked to hand over").wait_for()
    serving.shot(ben, "bench-asked")
    anna.get_by_role("button", name=f"Hand over to {BEN}").click()
    ben.get_by_text("(you)").wait_for()
    anna.get_by_role("button", name="Ask for control").wait_for()
    ben.get_by_role("button", name="Let go").click()
    anna.get_by_role("button", name="Take control").wait_for()


def test_any_role_stops_and_only_a_technician_in_control_resets(people, console):
    viewer = people(console).enter(Role.VIEWER, "Vi Example", "/bench?")
    reviewer = people(console).enter(Role.REVIEWER, "Rita Example")
    anna = people(console).enter(Role.TECHNICIAN, ANNA)
    reviewer.get_by_role("button", name="STOP").click()
    state(anna, "Stopped")
    anna.get_by_text("By Rita Example (reviewer)").wait_for()
    viewer.get_by_text("Only a technician can reset.").wait_for()
    assert viewer.get_by_role("button", name="Reset").count() == 0
    anna.get_by_text("Take control first.").wait_for()
    assert anna.get_by_role("button", name="Reset").is_disabled()
    take_control(anna)
    anna.get_by_label("Cause").fill("a reviewer pressed it")
    anna.get_by_label("I stood at the bench").check()
    anna.get_by_role("button", name="Reset").click()
    state(anna, "Idle")
    state(viewer, "Idle")
    anna.get_by_role("button", name="Let go").click()


def test_a_browser_that_closes_mid_trial_leaves_the_trial_running_and_control_free(
    people, console, known, monkeypatch
):
    monkeypatch.setattr(control, "LOST_NS", 1_000_000_000)
    gone = people(console)
    page = gone.enter(Role.TECHNICIAN, ANNA)
    take_control(page)
    arm(page, ANNA)
    start(page, seed=2)
    gone.context.close()
    ben = people(console).enter(Role.TECHNICIAN, BEN)
    state(ben, "Running")
    ben.locator(".live figure canvas").first.wait_for()
    ben.get_by_text("control is free").wait_for()
    take_control(ben)
    stop_and_reset(ben)
    ben.get_by_role("button", name="Let go").click()
    folder = max(records_under(console.runs), key=lambda f: f.stat().st_mtime_ns)
    assert read(folder).complete


def test_a_person_does_the_job_at_the_page_and_the_record_says_who(people, console, known):
    page = people(console).enter(Role.TECHNICIAN, ANNA)
    take_control(page)
    arm(page, ANNA)
    page.get_by_label("Agent").fill("human")
    page.get_by_label("Seed").fill("11")
    assert page.get_by_label("Pace").count() == 0, "a person takes the time it takes"
    serving.shot(page, "bench-start-person")
    page.get_by_role("button", name="Start", exact=True).click()
    turn = page.locator(".turn")
    turn.get_by_text("Your turn").wait_for()
    serving.shot(page, "job-begin")

    page.get_by_role("button", name="say", exact=True).first.click()
    words = page.get_by_role("form", name="say").get_by_role("textbox")
    words.fill("Good evening, shall we begin?")
    words.press("Enter")
    page.locator(".course .you").get_by_text("say Good evening").wait_for()
    page.locator(".course .rig").get_by_text("completed").first.wait_for()
    turn.get_by_text("Your turn").wait_for()

    page.get_by_role("button", name="move to").first.click()
    form = page.get_by_role("form", name="move to")
    assert "lips" in form.get_by_label("target").locator("option").all_inner_texts()
    form.get_by_label("guard (N)").fill("0")
    form.get_by_role("button", name="move to").click()
    page.locator(".said").get_by_text("guard_n").wait_for()
    serving.shot(page, "job-refused")

    page.get_by_role("button", name="wait until").first.click()
    form = page.get_by_role("form", name="wait until")
    form.get_by_label("timeout (s)").fill("600")
    form.get_by_role("button", name="wait until").click()
    turn.get_by_text("At it").wait_for()
    assert form.get_by_role("button", name="wait until").is_disabled()
    page.get_by_role("button", name="Stop what I am doing").click()
    page.locator(".course .rig").get_by_text("all motion stopped").wait_for()
    turn.get_by_text("Your turn").wait_for()
    serving.shot(page, "job-course")

    page.get_by_role("button", name="finish", exact=True).first.click()
    words = page.get_by_role("form", name="finish").get_by_role("textbox")
    words.fill("She does not want to eat now.")
    words.press("Enter")
    page.get_by_role("heading", name="The job is over").wait_for()
    page.get_by_text("She does not want to eat now.").wait_for()
    serving.shot(page, "job-over")
    page.get_by_role("link", name="To the bench").click()
    page.get_by_role("button", name="Disarm").click()
    state(page, "Idle")
    page.get_by_role("button", name="Let go").click()

    record = next(
        r for f in records_under(console.runs) if (r := read(f)).manifest["key"]["agent"] == "human"
    )
    people_said = [(e.body["did"], e.body["who"]) for e in record.events if e.kind is Kind.OPERATOR]
    assert people_said == [("started", ANNA), ("took the job", ANNA)]
    proposed = [(e.body["tool"], e.body["think_s"]) for e in record.events if e.kind is Kind.PROPOSED]
    assert [tool for tool, _ in proposed] == ["say", "wait_until", "stop", "finish"]
    assert all(think_s > 0 for tool, think_s in proposed), "thinking is timed"
    assert record.manifest["key"]["think"] == "realtime"


def test_the_camera_is_live_where_every_frame_is_drawn(people, console, known):
    graphics.needed()
    page = people(console).enter(Role.TECHNICIAN, ANNA)
    take_control(page)
    arm(page, ANNA)
    page.get_by_label("Cameras").select_option("rendered")
    start(page, seed=12)
    camera = page.locator(".livecam img")
    camera.wait_for()
    first = camera.get_attribute("alt")
    page.wait_for_function("seen => document.querySelector('.livecam img')?.alt !== seen", arg=first)
    page.wait_for_function("() => document.querySelector('.livecam img').naturalWidth > 100")
    serving.shot(page, "bench-camera")
    stop_and_reset(page)
    page.get_by_role("button", name="Let go").click()
