"""Whether everybody can use the console: names, contrast, keyboard, motion; by axe where it is installed.

axe is a development dependency of the page (``npm ci`` in rig/console/web); what is checked here by hand is
checked without it too.
"""

import re
from itertools import pairwise

import pytest

from rig.console.access import Role
from tests.console import serving
from tests.console.test_bundle import WEB
from tests.console.test_trials import settled

AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
TEXT, LARGE = 4.5, 3.0  # contrast of text and of what is large or drawn: WCAG 2.2, 1.4.3 and 1.4.11
ON = {
    "ink": ("back", "raised", "sunken", "accent-back", "good-back", "warn-back", "bad-back"),
    "soft": ("back", "raised", "sunken"),
    "faint": ("raised", "back"),
    "accent": ("back", "raised", "accent-back"),
    "good": ("good-back", "raised"),
    "warn": ("warn-back", "raised"),
    "bad": ("bad-back", "raised"),
    "on-accent": ("accent",),
    "on-stop": ("stop", "stop-hover"),
}
DRAWN = {"signal": ("raised",), "act": ("raised",), "harm": ("raised",), "play": ("raised",)}


@pytest.fixture(scope="module")
def console(runs, tmp_path_factory):
    made = serving.settings(runs, tmp_path_factory.mktemp("cache"), bench="sim", port=serving.free_port())
    with serving.served(made):
        yield made


@pytest.fixture(scope="module")
def pages(console):
    """Addresses of every page and of every tab of a record's."""
    lines = settled(serving.Outside(console, Role.ADMIN))
    soup = [line["key"] for line in lines if line["scenario"] == "hot-soup"]
    tabs = ("events", "talk", "findings", "whatif", "label", "channels", "export")
    return {
        "bench": "/bench", "job": "/job", "trials": "/trials", "review": "/review", "campaign": "/campaign",
        "compare": f"/compare/{soup[0]}/{soup[1]}",
        **{f"player, {tab}": f"/trials/{soup[0]}?tab={tab}" for tab in tabs},
    }  # fmt: skip


def visit(page, address: str) -> None:
    page.evaluate("address => { location.hash = '/nowhere'; location.hash = address }", address)
    page.locator("main [role=status]").filter(has_text="…").first.wait_for(state="detached")
    page.locator("main h1, main h2").first.wait_for()
    page.wait_for_timeout(250)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, as WCAG 2.2 defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    a, b = sorted((light(one), light(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def test_contrast_is_computed_as_wcag_defines_it():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the known grey that just passes


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_pair_of_colours_can_be_read(theme):
    css = (WEB / "src" / "app.css").read_text()
    blocks = re.findall(r":root(\[data-theme=\"dark\"\])? \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[theme == "dark"][1]))
    low = {
        f"{fore} on {back}": round(contrast(colours[fore], colours[back]), 2)
        for pairs, least in ((ON, TEXT), (DRAWN, LARGE))
        for fore, backs in pairs.items()
        for back in backs
        if contrast(colours[fore], colours[back]) < least
    }
    assert low == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(people, console, pages, theme):
    if not AXE.is_file():
        pytest.skip(f"no axe here: npm ci in {WEB}")
    page = people(console, color_scheme=theme, bypass_csp=True).enter(Role.ADMIN)
    page.add_script_tag(path=str(AXE))
    found = []
    for name, address in pages.items():
        visit(page, address)
        said = page.evaluate(
            """async rules => (await axe.run(document, {runOnly: rules})).violations.flatMap(v =>
                v.nodes.slice(0, 3).map(n => `${v.id}: ${n.html.slice(0, 140)} (${n.failureSummary.split('\\n')[1]})`))""",
            RULES,
        )
        found += [f"{name}: {text}" for text in said]
    assert found == [], "\n".join(found)


def test_every_control_has_a_name_and_motion_stops_where_it_is_not_wanted(people, console, pages):
    page = people(console).enter(Role.ADMIN)
    for name, address in pages.items():
        visit(page, address)
        tree = page.locator("body").aria_snapshot()
        nameless = re.findall(
            r"^\s*- (?:button|link|combobox|textbox|searchbox|checkbox|radio|slider|spinbutton|tab)(?::| \[|$).*",
            tree, re.MULTILINE,
        )  # fmt: skip
        assert nameless == [], name
        assert page.evaluate("document.getAnimations().length") == 0, name


def test_the_keyboard_reaches_everything_in_reading_order_and_shows_where_it_is(people, console, pages):
    page = people(console).enter(Role.ADMIN)
    visit(page, pages["bench"])
    page.evaluate("document.activeElement.blur()")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('button:not(:disabled)')]
            .filter(e => e.checkVisibility()).map(e => e.innerText || e.getAttribute('aria-label'))"""
    )
    for _ in range(200):  # the page may have put the focus where the news is: begin at the top
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    places, words = [], []
    for _ in range(200):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => { const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
                return {text: e.innerText || e.getAttribute('aria-label') || e.tagName, y: r.top, x: r.left,
                        away: e === document.body,
                        shown: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2} }"""
        )
        if seen["away"]:  # past the last one
            break
        assert seen["shown"], f"{seen['text']}: nobody sees that it has the focus"
        places.append((seen["y"], seen["x"]))
        words.append(seen["text"])
    assert set(wanted) <= set(words)
    assert words[0] == "Skip to the page"
    assert {"STOP", "Take control"} <= set(words)
    down = [b[0] >= a[0] - 60 for a, b in pairwise(places[1:])]
    assert all(down), "the focus jumps back up the page"
