"""The live stream: the bench's state, and what is new in the record that is being written.

It reads the record as any other reader does, so that what a technician sees is what was kept.
"""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from anyio.to_thread import run_sync
from fastapi import Request

from rig.console import bench_view, story
from rig.console.access import May, Person
from rig.console.fold import Curve, Window
from rig.console.job_shapes import JobNow
from rig.console.job_view import job_now
from rig.console.shapes import Signals
from rig.console.station import Station
from rig.console.trial_routes import shape_of
from rig.console.under_way import UnderWay
from rig.console.views import event_for
from rig.console.web import Parts
from rig.core.channel import Trace
from rig.core.clock import NS_PER_S, monotonic_ns
from rig.core.errors import RunError
from rig.core.record import StoredEvent, Tail
from safety_monitor.rules import load_rules, rule_files

EVERY_S = 1 / 30
STATE_EVERY_NS = NS_PER_S
STEPS_PER_MESSAGE = 60
BACKLOG_S = 60.0
MOST_EVENTS = 400


def _message(name: str, value: str) -> str:
    return f"event: {name}\ndata: {value}\n\n"


async def live(request: Request, person: Person, bench: Station, parts: Parts) -> AsyncIterator[str]:
    """Give messages until the page is gone."""
    told, said_ns = -1, 0
    jobs = JobNews()
    follower: Follower | None = None
    yield "retry: 1000\n\n"
    while not await request.is_disconnected():
        bench.seen(person)
        now = monotonic_ns()
        if bench.news != told or now - said_ns >= STATE_EVERY_NS:
            told, said_ns = bench.news, now
            state = await run_sync(bench_view.station_now, bench, person, parts.settings.runs)
            yield _message("state", state.model_dump_json())
        running = bench.running
        if person.may(May.OPERATE) and (job := jobs.news(running)) is not None:
            yield _message("job", job.model_dump_json())
        if running is not None and (follower is None or follower.folder != running.folder):
            follower = Follower(running.folder, running.spec.item.split("/")[0])
        if follower is not None:
            for name, value in await run_sync(follower.news):
                yield _message(name, value)
            if follower.ended and running is None:
                follower = None
        await anyio.sleep(EVERY_S)


class JobNews:
    """What one page has been shown of the job that a person does."""

    def __init__(self) -> None:
        self._trial: UnderWay | None = None
        self._version = -1

    def news(self, trial: UnderWay | None) -> JobNow | None:
        """Return the job where there is something new to it."""
        if trial is None or trial.job is None:
            return None
        if self._trial is trial and self._version == trial.job.version:
            return None
        self._trial, self._version = trial, trial.job.version
        return job_now(trial)


class Follower:
    """One record being written, as messages."""

    def __init__(self, folder: Path, task: str) -> None:
        self.folder, self._task = folder, task
        self._tail = Tail(folder)
        self._channels: list[str] = []
        self._begun = False
        self.ended = False

    def news(self) -> list[tuple[str, str]]:
        """Return what is new; nothing while there is no record yet."""
        try:
            return list(self._news())
        except RunError:
            return []

    def _news(self) -> Iterator[tuple[str, str]]:
        first = not self._begun
        if first:
            about = self._tail.about
            panels = story.panels_for(self._task, about.layout)
            self._channels = [c["name"] for p in panels for c in p["channels"]]
            rules = load_rules(rule_files(self._task), about.layout)
            start = {
                "panels": panels, "limits": story.limits_of(rules),
                "units": {c.name: c.unit for c in about.layout},
            }  # fmt: skip
            self._begun = True
            yield "begin", json.dumps(start)
        events = self._tail.events()
        trace = self._tail.ticks(self._channels)
        if events:
            self.ended = self._tail.ended
            yield "events", json.dumps([_event(e) for e in events[-MOST_EVENTS:]])
        if len(trace):
            yield "ticks", _signals(trace, whole=first).model_dump_json()


def _event(event: StoredEvent) -> dict[str, Any]:
    entry = {
        "seq": event.seq, "t_ns": event.t_ns, "kind": event.kind.value, "source": event.source,
        "severity": event.severity.value, "body": dict(event.body),
    }  # fmt: skip
    return event_for(entry, blind=False).model_dump(mode="json")


def _signals(trace: Trace, whole: bool) -> Signals:
    """Return new ticks in few steps, each from its lowest to its highest value."""
    if whole:
        keep = trace.t_ns >= trace.t_ns[-1] - int(BACKLOG_S * NS_PER_S)
        trace = Trace(
            trace.layout, trace.t_ns[keep], trace.values[keep], trace.sampled_ns[keep], trace.quality[keep]
        )
    steps = 2000 if whole else STEPS_PER_MESSAGE
    apart = max(1, -(-len(trace) // steps))
    edges = np.arange(0, len(trace), apart)
    curves = []
    for name in trace.layout.names:
        values = trace.column(name).astype(np.float32)
        low = np.fmin.reduceat(values, edges)
        curves.append(Curve(name, low, low if apart == 1 else np.fmax.reduceat(values, edges)))
    return shape_of(Window(trace.t_ns[edges], tuple(curves), exact=apart == 1))
