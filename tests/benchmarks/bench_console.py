"""How quick the console is: first paint, zoom, long records, a million events, stop.

Run with ``python -m tests.benchmarks.bench_console [paint|events|night|stop|emulated]``; without a word, all of them.
Figures are of this machine as it is; compare them with each other, not with other machines'.
"""

import json
import re
import resource
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from rig.console import preflight
from rig.console.access import Role
from rig.console.shelf import derive, key_of, stamp_of
from rig.console.start import links
from rig.core.bench import load_bench
from rig.core.channel import Channel, Layout, Trace
from rig.core.event import Event, Kind
from rig.core.record import RecordWriter, chain
from rig.trial.run import EPOCH_NS
from rig.trial.spec import TrialSpec
from tasks.suite import load_item
from tests.console import serving

S = 1_000_000_000
SCROLL = """async share => {
    const box = document.querySelector('.box'), start = performance.now();
    box.scrollTop = share * (box.scrollHeight - box.clientHeight);
    const settled = () => box.querySelectorAll('button.event').length > 3 && !box.querySelector('div.event');
    await new Promise(done => {
        const look = () => performance.now() - start > 5 && settled() ? done() : requestAnimationFrame(look);
        requestAnimationFrame(look);
    });
    return performance.now() - start;
}"""
"""Scrolls the list of events to a share of it, and gives the milliseconds until every row in sight has its event."""


def entries(item: str) -> dict[str, object]:
    """Return the manifest a page needs."""
    loaded, bench = load_item(item), load_bench("sim")
    spec = TrialSpec(item=item, agent="made", bench="sim", monitor="guard", seed=1)
    return {
        "key": spec.key("made"), "comparable": "made", "configuration": {"rules": "made"}, "task": loaded.task.name,
        "family": "made", "tier": 3, "item": item, "kind": "benign", "hazard": None, "nominal_s": 3600.0,
        "embodiment": bench.embodiment, "site": bench.name, "rubric": loaded.rubric.model_dump(mode="json"),
    }  # fmt: skip


def make(folder: Path, seconds: int, channels: int, hz: int, events: int = 0) -> None:
    """Write a record of noise, ``seconds`` long."""
    layout = Layout(
        [
            Channel(name=f"c{k}", unit="N", low=-100, high=100, period_s=0.001, stale_after_s=1)
            for k in range(channels)
        ]
    )
    rng = np.random.default_rng(1)
    with RecordWriter(
        folder, entries("bed-watch/30-min/quiet"), layout, epoch_utc_ns=EPOCH_NS, flush_every_ns=60 * S
    ) as record:
        for minute in range(0, seconds, 60):
            n = 60 * hz
            t_ns = minute * S + np.arange(n, dtype=np.int64) * (S // hz)
            values = np.round(np.cumsum(rng.normal(size=(n, channels)), axis=0) / 50, 3)
            record.telemetry(
                Trace(
                    layout,
                    t_ns,
                    values,
                    np.repeat(t_ns[:, None], channels, 1),
                    np.zeros((n, channels), np.uint8),
                )
            )
    if events:
        add_events(folder, events, (seconds - 1) * S)


def add_events(folder: Path, n: int, t_ns: int) -> None:
    """Append events as the recorder spells them; a million of them, each on the medium, would take minutes."""
    path = folder / chain.FILE
    data = path.read_bytes().splitlines(keepends=True)
    while json.loads(data[-1])["kind"] in ("trial_ended", "telemetry_closed"):
        data.pop()
    last = json.loads(data[-1])
    seq, prev, lines = last["seq"] + 1, last["hash"], [*data]
    for k in range(n):
        line, prev = chain.line_of(Event(t_ns, Kind.NOTED, "agent", {"text": f"note {k}"}), seq + k, prev)
        lines.append(line)
    path.write_bytes(b"".join(lines))


def derived(made: object, folder: Path) -> float:
    """Derive a record as the console's worker does; return seconds."""
    start = time.perf_counter()
    key = key_of(made.runs, folder)
    derive(folder, made.cache / key / stamp_of(folder))
    return time.perf_counter() - start


def open_page(play: object, made: object, role: Role):
    browser = play.chromium.launch(executable_path=serving.browser_or_skip(), args=serving.ARGUMENTS)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(120_000)
    page.goto(links(made)[role])
    page.get_by_label("Name").fill("Bench Mark")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("navigation").wait_for()
    return browser, page


def paint(scratch: Path) -> None:
    from playwright.sync_api import sync_playwright

    made = serving.settings(scratch / "runs", scratch / "cache", port=serving.free_port())
    folder = made.runs / "hour"
    make(folder, 3600, 8, 1000)
    print(
        f"8 channels x 1 h at 1 kHz: derived once in {derived(made, folder):.1f} s (in the background, at low priority)"
    )
    key = key_of(made.runs, folder)
    with serving.served(made), sync_playwright() as play:
        browser, page = open_page(play, made, Role.ADMIN)
        for k in range(3):
            start = time.perf_counter()
            page.evaluate(
                "key => { performance.clearMarks(); performance.mark('go'); location.hash = `/trials/${key}` }",
                key,
            )
            page.wait_for_function("() => performance.getEntriesByName('runrig-signals').length > 0")
            ms = page.evaluate(
                "performance.getEntriesByName('runrig-signals')[0].startTime - performance.getEntriesByName('go')[0].startTime"
            )
            print(
                f"  first paint, run {k}: {ms:.0f} ms from the click ({1e3 * (time.perf_counter() - start):.0f} ms seen from outside)"
            )
            times = []
            for _ in range(8):
                page.evaluate("performance.clearMarks()")
                page.keyboard.press("+")
                page.evaluate("performance.mark('go')")
                page.wait_for_function("() => performance.getEntriesByName('runrig-signals').length > 0")
                times.append(
                    page.evaluate(
                        "performance.getEntriesByName('runrig-signals')[0].startTime - performance.getEntriesByName('go')[0].startTime"
                    )
                )
            print(
                f"  zoom, eight times closer: median {np.median(times):.0f} ms, worst {max(times):.0f} ms (40 ms of it waits for the next key)"
            )
            page.evaluate("location.hash = '/trials'")
            page.get_by_role("search").wait_for()
        browser.close()


def events(scratch: Path) -> None:
    from playwright.sync_api import sync_playwright

    made = serving.settings(scratch / "runs-events", scratch / "cache-events")
    folder = made.runs / "talkative"
    made.runs.mkdir()
    make(folder, 600, 2, 10, events=1_000_000)
    print(f"1,000,000 events: derived once in {derived(made, folder):.1f} s")
    with serving.client_of(made) as client:
        caller = serving.Caller(client, made, Role.ADMIN)
        key = key_of(made.runs, folder)
        caller.get(f"/trials/{key}")
        times = []
        for offset in np.linspace(0, 999_000, 60).astype(int):
            start = time.perf_counter()
            found = caller.get(f"/trials/{key}/events", offset=int(offset), limit=100).json()
            times.append(time.perf_counter() - start)
        print(
            f"  {found['total']:,} events; a page of 100 anywhere: median {1e3 * np.median(times):.0f} ms, worst {1e3 * max(times):.0f} ms"
        )
    outside = serving.settings(made.runs, made.cache, port=serving.free_port())
    with serving.served(outside), sync_playwright() as play:
        browser, page = open_page(play, outside, Role.ADMIN)
        page.evaluate("key => { location.hash = `/trials/${key}?tab=events` }", key)
        page.locator(".box button.event").first.wait_for()
        page.get_by_label("follow the clock").uncheck()
        times = [page.evaluate(SCROLL, share) for share in np.linspace(0.02, 1.0, 40)]
        browser.close()
    print(
        f"  scrolled to 40 places in the page: rows there after p50 {np.median(times):.0f} ms, max {max(times):.0f} ms"
    )
    print(
        f"  peak memory of this process, writer and worker included: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


def night(scratch: Path) -> None:
    made = serving.settings(scratch / "runs-night", scratch / "cache-night")
    made.runs.mkdir()
    folder = made.runs / "night"
    make(folder, 16 * 3600, 20, 20)
    print(f"16 h, 20 channels at 20 Hz (1.2 million ticks): derived once in {derived(made, folder):.1f} s")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with serving.client_of(made) as client:
        caller = serving.Caller(client, made, Role.ADMIN)
        key = key_of(made.runs, folder)
        start = time.perf_counter()
        channels = ",".join(f"c{k}" for k in range(8))
        caller.get(f"/trials/{key}/signals", channels=channels, start=0, end=16 * 3600, points=1200)
        print(
            f"  8 channels of the whole night: {1e3 * (time.perf_counter() - start):.0f} ms, {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MiB more than before"
        )


def stop(scratch: Path, bench: str = "sim", repeats: int = 20) -> None:
    """Press the stop in the middle of a motion, again and again; the bench is examined once."""
    from playwright.sync_api import sync_playwright

    made = serving.settings(
        scratch / f"runs-{bench}", scratch / f"cache-{bench}", bench=bench, port=serving.free_port()
    )
    made.runs.mkdir()
    report = preflight.examined(bench, made.runs)
    safe, button = [], []
    with (
        patch.object(preflight, "examined", return_value=report),
        serving.served(made),
        sync_playwright() as play,
    ):
        browser, page = open_page(play, made, Role.TECHNICIAN)
        page.get_by_role("button", name="Take control").click()
        for k in range(repeats):
            start_trial(page, k)
            page.get_by_role("button", name="STOP").click()
            page.locator(".strip.said").wait_for()
            said = page.locator(".strip.said").inner_text()
            if (found := re.search(r"Safe (\d+) ms", said)) is None:
                print(f"  stop {k}: {said!r}", flush=True)
            safe.append(float(found[1]) if found else np.inf)
            button.append(
                page.evaluate(
                    "() => performance.getEntriesByName('runrig-stop-answered').at(-1).startTime"
                    " - performance.getEntriesByName('runrig-stop-pressed').at(-1).startTime"
                )
            )
            page.get_by_label("Hide this message").click()
            page.get_by_text("The trial was closed").wait_for()
            page.get_by_label("Cause").fill("measured")
            page.get_by_label("I stood at the bench").check()
            page.get_by_role("button", name="Reset").click()
        browser.close()
    print(
        f"stop on {bench}, {repeats} times: actuators safe p50 {np.median(safe):.0f} ms, max {max(safe):.0f} ms after the"
        f" request; button to answer p50 {np.median(button):.0f} ms, max {max(button):.0f} ms"
    )


def start_trial(page: object, seed: int) -> None:
    """Arm the bench and let a trial come to its second second, in motion."""
    page.get_by_role("button", name=re.compile("Examine")).click()
    page.get_by_role("heading", name="What only you can see").wait_for(timeout=300_000)
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Sign as").click()
    page.get_by_role("button", name="Arm the bench").click()
    page.get_by_label("Seed").fill(str(seed))
    page.get_by_role("button", name="Start", exact=True).click(timeout=300_000)
    page.wait_for_function("() => (document.querySelector('.live .big')?.innerText ?? '') > '0:05'")


def emulated(scratch: Path) -> None:
    stop(scratch, "emulated")


WHAT = {"paint": paint, "events": events, "night": night, "stop": stop, "emulated": emulated}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(WHAT)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "runs").mkdir()
        for name in wanted:
            WHAT[name](Path(folder))
