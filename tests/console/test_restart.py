"""The console as a process: killed in the middle of a trial and started again."""

import os
import re
import subprocess
import sys
import threading

import pytest

from rig.console.access import Role
from rig.core.event import Kind
from rig.core.record import read, records_under
from tests.console import serving
from tests.console.test_bench_page import ANNA, arm, start, state, take_control


class Served:
    """`runrig serve` in a process of its own."""

    def __init__(self, runs, port: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rig.cli", "serve", "--runs", str(runs), "--bench", "sim", "--port", str(port)],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "XDG_CACHE_HOME": str(runs / ".cache")},
        )  # fmt: skip
        self.links: dict[str, str] = {}
        for line in self.process.stdout:
            if found := re.match(r"\s+(\w+)\s+(http\S+)", line):
                self.links[found[1]] = found[2]
            if "Ctrl-C" in line:
                break

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def port():
    return serving.free_port()


def test_a_console_killed_mid_trial_stops_it_and_the_page_says_what_is_so(browser, tmp_path, port):
    runs = tmp_path / "runs"
    runs.mkdir()
    console = Served(runs, port)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(120_000)  # the monitor is compiled twice: for the preflight and for the trial
    try:
        page.goto(console.links[Role.TECHNICIAN])
        page.get_by_label("Name").fill(ANNA)
        page.get_by_role("button", name="Go on").click()
        take_control(page)
        arm(page, ANNA)
        start(page, seed=1)
        console.kill()
        page.get_by_text("Disconnected").wait_for()
        page.get_by_text("To stop now, use the hardware stop.").wait_for()
        serving.shot(page, "disconnected")
        page.get_by_role("button", name="STOP").click()
        page.get_by_text(re.compile("Not stopped: .* Use the hardware stop")).wait_for()
        (folder,) = records_under(runs)
        for _ in range(300):
            if read(folder).complete:
                break
            threading.Event().wait(0.1)
        last = read(folder).of_kind(Kind.OPERATOR)[-1]
        assert (last.body["did"], last.body["text"]) == ("stopped", "the console is gone")
        console = Served(runs, port)
        page.get_by_text("Disconnected").wait_for(state="hidden")
        page.get_by_role("heading", name="Not signed in").wait_for()
        page.get_by_text("started anew").wait_for()
        page.goto("about:blank")
        page.goto(console.links[Role.TECHNICIAN])
        page.get_by_label("Name").fill(ANNA)
        page.get_by_role("button", name="Go on").click()
        state(page, "Idle")
        page.get_by_text("not signed").wait_for()
    finally:
        page.close()
        console.kill()
