"""The page in Chromium: every path a reviewer walks, with not one request to anybody else."""

import json
import re
import shutil

import pytest

from rig.console import page_export
from rig.console.access import Role
from rig.console.page_export import write_page
from rig.console.shelf import Item, derive, key_of, stamp_of
from tests.console import serving
from tests.console.serving import enter

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def console(runs, tmp_path_factory):
    made = serving.settings(runs, tmp_path_factory.mktemp("cache"), port=serving.free_port())
    with serving.served(made):
        yield made


@pytest.fixture
def page(people, console):
    return people(console).page


def test_a_reviewer_finds_a_trial_and_walks_it_with_the_keyboard(page, console):
    enter(page, console, Role.ADMIN)
    assert "token" not in page.url
    page.get_by_label("Search in all columns").fill("hot-soup shadow")
    page.locator("tbody a").first.click()
    page.locator(".u-over").first.wait_for()
    page.get_by_text("verified").wait_for()
    before = page.locator(".transport .time").inner_text()
    page.locator("h1").click()
    page.keyboard.press("]")
    page.wait_for_function("t => document.querySelector('.transport .time').innerText !== t", arg=before)
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    page.keyboard.press("Space")
    page.keyboard.press("0")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Findings").click()
    page.get_by_text("harm effected").last.wait_for()
    for control in page.locator("button:visible, select:visible, [role=slider]").all():
        name = control.evaluate(
            "e => (e.innerText || e.getAttribute('aria-label') || e.closest('label')?.innerText || '').trim()"
        )
        assert name, control.evaluate("e => e.outerHTML")


def test_a_blind_label_is_made_with_time_marks_and_locked(page, console):
    enter(page, console, Role.REVIEWER, "Rita Example")
    page.get_by_role("link", name="Review").click()
    page.locator(".queue a").first.click()
    page.get_by_text("Was the job done?").wait_for()
    assert "hasty" not in page.locator("main").inner_text()
    page.get_by_label("yes", exact=True).check()
    what = page.locator(".criterion select").first
    what.select_option("mistake")
    page.locator("h1").click()
    page.keyboard.press("s")
    page.get_by_role("button", name="move here").wait_for()
    page.get_by_role("button", name="Lock", exact=True).click()
    page.get_by_text("Locked.").wait_for()
    page.get_by_text(re.compile("hasty|careful")).first.wait_for()


def test_it_says_so_when_the_console_is_gone(page, console):
    enter(page, console, Role.VIEWER)
    page.locator("tbody tr").first.wait_for()
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_text("Disconnected").wait_for()
    page.unroute("**/api/**")
    page.get_by_text("Disconnected").wait_for(state="hidden")


def test_dark_and_small_screens_keep_everything_in_reach(browser, console):
    context = browser.new_context(viewport={"width": 820, "height": 1180}, color_scheme="dark")
    page = context.new_page()
    enter(page, console, Role.ADMIN)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("tbody a").first.click()
    page.locator(".u-over").first.wait_for(timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_an_exported_page_needs_nobody(browser, tmp_path, runs):
    folder = next(f.parent for f in runs.rglob("manifest.json") if "hot-soup" in str(f))
    out = write_page(folder, tmp_path / "record.html", tmp_path)
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(out.as_uri())
    page.locator(".u-over").first.wait_for(timeout=60_000)
    page.get_by_text("verified").wait_for()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()


def test_data_cannot_end_the_script_it_stands_in():
    page = page_export._page(json.dumps({"text": "</script>" + SCRIPT + "\u2028"}))
    data = page.split('id="runrig-record">')[1].split("</script>")[0]
    assert "<" not in data
    assert json.loads(data)["text"].endswith("\u2028")


def test_what_an_agent_says_is_text_and_never_markup(browser, tmp_path, runs):
    """A stored script in an agent's speech is shown as it was said."""
    made = serving.settings((tmp_path / "runs"), tmp_path / "cache", port=serving.free_port())
    source = next(f.parent for f in runs.rglob("manifest.json") if "hot-soup" in str(f))
    folder = made.runs / "trial"
    shutil.copytree(source, folder)
    item = Item(key_of(made.runs, folder), folder, stamp_of(folder))
    derived = made.cache / item.key / item.stamp
    derive(folder, derived)
    story = derived / "story.json"
    told = json.loads(story.read_text())
    told["lanes"]["speech"].insert(0, {"t_s": 1.0, "seq": 3, "text": f"agent: {SCRIPT}", "severity": "info"})
    story.write_text(json.dumps(told))
    with serving.served(made):
        page = browser.new_page()
        enter(page, made, Role.ADMIN)
        page.locator("tbody a").first.click()
        page.get_by_role("tab", name="Dialogue").click()
        page.locator(".talk").get_by_text("onerror").wait_for()
        assert page.title() == "runrig console"
        assert page.locator("img[src=x]").count() == 0
        page.close()
