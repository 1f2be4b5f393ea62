"""The console as its users meet it: a client behind the guard, and a server with a browser before it."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rig.console.access import Keys, Role
from rig.console.app import create
from rig.console.settings import Settings
from rig.console.start import server

BASE = "http://127.0.0.1:8765"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def settings(runs: Path, cache: Path, bench: str | None = None, port: int = 8765) -> Settings:
    cache.mkdir(parents=True, exist_ok=True)
    return Settings(runs=runs, bench=bench, keys=Keys.fresh(), cache=cache, port=port)


class Caller:
    """A signed-in person's client: cookie, Origin and the session's header, as the page sends them."""

    def __init__(self, client: TestClient, made: Settings, role: Role, name: str = "Sam Example") -> None:
        self.client, self.settings = client, made
        answer = client.post(
            "/api/session", json={"token": made.keys.tokens[role], "name": name}, headers={"origin": BASE}
        )
        assert answer.status_code == 200, answer.text
        self.me = answer.json()
        self.cookie = {"cookie": f"{made.cookie}={answer.cookies[made.cookie]}"}
        client.cookies.clear()

    def get(self, path: str, **params: object):
        return self.client.get(f"/api{path}", params=params, headers=self.cookie)

    def send(self, method: str, path: str, body: object = None):
        headers = {"origin": BASE, "x-runrig-csrf": self.me["csrf"]}
        return self.client.request(method, f"/api{path}", json=body or {}, headers={**headers, **self.cookie})

    def post(self, path: str, body: object = None):
        return self.send("POST", path, body)


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
