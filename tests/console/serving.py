"""The console as its users meet it: a client behind the guard, and a server with a browser before it.

With RUNRIG_SHOTS=FOLDER the page tests leave pictures of the states they pass through, for people to look at.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from rig.console.access import Keys, Role
from rig.console.app import create
from rig.console.settings import Settings
from rig.console.start import links, server

BASE = "http://127.0.0.1:8765"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def settings(runs: Path, cache: Path, bench: str | None = None, port: int = 8765) -> Settings:
    cache.mkdir(parents=True, exist_ok=True)
    return Settings(runs=runs, bench=bench, keys=Keys.fresh(), cache=cache, port=port)


class Caller:
    """A signed-in person's client: cookie, Origin and the session's header, as the page sends them."""

    def __init__(
        self, client: "TestClient | _Wire", made: Settings, role: Role, name: str = "Sam Example"
    ) -> None:
        self.client, self.settings = client, made
        answer = client.post(
            "/api/session",
            json={"token": made.keys.tokens[role], "name": name},
            headers={"origin": made.address.rstrip("/")},
        )
        assert answer.status_code == 200, answer.text
        self.me = answer.json()
        self.cookie = {"cookie": f"{made.cookie}={answer.cookies[made.cookie]}"}
        client.cookies.clear()

    def get(self, path: str, **params: object):
        return self.client.get(f"/api{path}", params=params, headers=self.cookie)

    def send(self, method: str, path: str, body: object = None):
        headers = {"origin": self.settings.address.rstrip("/"), "x-runrig-csrf": self.me["csrf"]}
        return self.client.request(method, f"/api{path}", json=body or {}, headers={**headers, **self.cookie})

    def post(self, path: str, body: object = None):
        return self.send("POST", path, body)


class Outside(Caller):
    """The same against a console that is served; every request is a connection of its own."""

    def __init__(self, made: Settings, role: Role, name: str = "Sam Example") -> None:
        super().__init__(_Wire(made.address), made, role, name)


class _Wire:
    def __init__(self, address: str) -> None:
        self._address, self.cookies = address, httpx.Cookies()

    def request(self, method: str, path: str, **sent: object) -> httpx.Response:
        return httpx.request(method, self._address.rstrip("/") + path, timeout=60, **sent)

    def get(self, path: str, **sent: object) -> httpx.Response:
        return self.request("GET", path, **sent)

    def post(self, path: str, **sent: object) -> httpx.Response:
        return self.request("POST", path, **sent)


@contextmanager
def client_of(made: Settings) -> Iterator[TestClient]:
    with TestClient(create(made), base_url=BASE) as client:
        yield client


@contextmanager
def served(made: Settings) -> Iterator[Settings]:
    """Serve on the port of the settings, in a thread."""
    running = server(made)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    for _ in range(200):
        if running.started:
            break
        time.sleep(0.05)
    assert running.started
    try:
        yield made
    finally:
        running.should_exit = True
        thread.join(10)


def browser_or_skip() -> str:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: install it (apt-get install chromium) to test the page itself")
    return CHROMIUM


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
os.environ.setdefault("PW_TEST_SCREENSHOT_NO_FONTS_READY", "1")
SHOTS = os.environ.get("RUNRIG_SHOTS")
SIZES = {"laptop": (1280, 720), "tablet": (820, 1180)}
STRICT = {
    "viewport": {"width": 1280, "height": 720},
    "reduced_motion": "reduce",
}


class Watched:
    """A page in a browser context of its own: what it asked whom, and what it complained of."""

    def __init__(self, browser, made: Settings, **context: object) -> None:
        self.made = made
        self.context = browser.new_context(**{**STRICT, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(45_000)
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on(
            "console", lambda m: self.errors.append(m.text) if "Content Security" in m.text else None
        )

    def enter(self, role: Role, name: str = "Sam Example", path: str = ""):
        """Open the link of a role and sign in; return the page."""
        enter(self.page, self.made, role, name, path)
        return self.page

    def close(self) -> None:
        """Close it, and make sure that nobody else was asked and nothing broke."""
        self.context.close()
        own = (self.made.address, "blob:", "data:")
        assert [url for url in self.asked if not url.startswith(own)] == [], "the page asked somebody else"
        assert self.errors == [], self.errors


def enter(page, made: Settings, role: Role, name: str = "Sam Example", path: str = "") -> None:
    page.goto(links(made, path)[role])
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("navigation").wait_for()


def shot(page, name: str) -> None:
    """Leave pictures of a page, on both screens and in both themes, where they are wanted."""
    if SHOTS is None:
        return
    was = page.viewport_size
    Path(SHOTS).mkdir(parents=True, exist_ok=True)
    for screen, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(400)
            page.screenshot(path=f"{SHOTS}/{name}-{screen}-{theme}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(was)
