"""Records to look at: the table, and of one record its story, evidence, signals, events and pictures."""

import base64
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Path, Query, Response

from rig.console import eventlog, fold, pictures, scene, views
from rig.console.shapes import (
    CheckShape,
    CurveShape,
    Events,
    EventShape,
    EvidenceShape,
    Frames,
    ScenePoses,
    Signals,
    Story,
    Trials,
)
from rig.console.shelf import Item
from rig.console.web import REFUSALS, OneItem, Parts, Shared, Somebody
from rig.core.clock import nanoseconds
from rig.core.event import Kind, Severity

router = APIRouter(prefix="/api/trials", tags=["trials"], responses=REFUSALS)

MOST_EVENTS = 500
MOST_POINTS = 4000
MOST_CHANNELS = 32
Number = Annotated[int, Path(ge=0, le=10**9)]
Seconds = Annotated[float, Query(ge=-1e7, le=1e7, allow_inf_nan=False)]


@router.get("")
def table(person: Somebody, parts: Shared) -> Trials:
    """List every record under the runs folder."""
    lines = []
    for item in parts.shelf.items():
        told = parts.shelf.last_story(item)
        lines.append(
            parts.reviews.on_line(views.line_of(item, told, parts.reviews.blind(person, item)), item, person)
        )
    return Trials(trials=lines, reading=sum(line.state == "reading" for line in lines))


@router.get("/{key}")
def story(item: OneItem, person: Somebody, parts: Shared) -> Story:
    """Tell what a record is and what happened in it."""
    told = _told(item, parts)
    line = views.line_of(item, told, parts.reviews.blind(person, item))
    shown = parts.reviews.on_line(line, item, person)
    record = parts.shelf.record(item)
    seen = [name for name in pictures.cameras(record) if parts.pictures(item).times_ns(name)]
    return views.story_for(shown, told, seen, scene.can_draw(record))


def _told(item: Item, parts: Parts) -> dict[str, Any]:
    told = parts.shelf.wait(item)
    if "unreadable" in told:
        raise HTTPException(409, str(told["unreadable"]))
    return told


@router.get("/{key}/evidence")
def evidence(item: OneItem, person: Somebody, parts: Shared) -> EvidenceShape:
    """Check chain, segments, counts, clock, signature and anchor, and answer each apart."""
    found = parts.evidence(item)
    checks = [CheckShape(name=name, **check) for name, check in found["checks"].items()]
    return EvidenceShape(ok=found["ok"], seq=found["seq"], head=found["head"], checks=checks)


@router.get("/{key}/signals")
def signals(
    item: OneItem,
    person: Somebody,
    parts: Shared,
    channels: Annotated[str, Query(max_length=4000, description="Names, separated by commas")],
    start: Seconds,
    end: Seconds,
    points: Annotated[int, Query(ge=16, le=MOST_POINTS)] = 1200,
) -> Signals:
    """Give lowest and highest values over a window, in about so many steps."""
    names = [name for name in channels.split(",") if name]
    if not names or len(names) > MOST_CHANNELS:
        raise HTTPException(400, f"Ask for 1 to {MOST_CHANNELS} channels at a time.")
    if not start < end:
        raise HTTPException(400, "The window must end after it starts.")
    told = _told(item, parts)
    folded = fold.open_folds(parts.shelf.derived(item), [c["name"] for c in told["channels"]], told["ticks"])
    window = fold.window(
        folded, parts.shelf.record(item), names, (nanoseconds(start), nanoseconds(end)), points
    )
    return shape_of(window)


def shape_of(window: fold.Window) -> Signals:
    """Return a window for the page."""
    return Signals(
        n=len(window.t_ns),
        t_s=_packed(window.t_ns / 1e9, "<f8"),
        curves=[
            CurveShape(
                name=c.name,
                low=_packed(c.low, "<f4"),
                high=None if c.high is c.low else _packed(c.high, "<f4"),
            )
            for c in window.curves
        ],
        exact=window.exact,
    )


def _packed(values: object, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode()


@router.get("/{key}/events")
def events(
    item: OneItem,
    person: Somebody,
    parts: Shared,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 100,
    kinds: Annotated[list[Kind] | None, Query()] = None,
    severities: Annotated[list[Severity] | None, Query()] = None,
    start: Seconds | None = None,
    end: Seconds | None = None,
    at: Annotated[
        float | None, Query(ge=-1e7, le=1e7, description="Page with the first event from here on")
    ] = None,
) -> Events:
    """Give a page of events that pass a filter."""
    blind = parts.reviews.blind(person, item)
    _told(item, parts)
    found = np.load(parts.shelf.derived(item) / "events.npy", mmap_mode="r")
    allowed = views.BLIND_KINDS if blind else frozenset(Kind)
    wanted = frozenset(kinds or allowed) & allowed
    numbers = eventlog.chosen(
        found,
        eventlog.Filter(
            wanted, frozenset(severities or ()), None if start is None else nanoseconds(start),
            None if end is None else nanoseconds(end),
        ),
    ) if wanted else np.empty(0, np.intp)  # fmt: skip
    if at is not None:
        offset = max(0, int(np.searchsorted(found["t_ns"][numbers], nanoseconds(at))) - limit // 2)
    page = [
        views.event_for(e, blind)
        for e in eventlog.lines(item.folder, found, numbers[offset : offset + limit])
    ]
    return Events(total=len(numbers), offset=offset, events=page)


@router.get("/{key}/events/{seq}")
def one_event(item: OneItem, person: Somebody, parts: Shared, seq: Number) -> EventShape:
    """Give one event."""
    blind = parts.reviews.blind(person, item)
    _told(item, parts)
    found = np.load(parts.shelf.derived(item) / "events.npy", mmap_mode="r")
    if not 0 <= seq < len(found):
        raise HTTPException(404, f"This record has events 0 to {len(found) - 1}.")
    entry = next(eventlog.lines(item.folder, found, np.array([seq], np.intp)))
    if blind and Kind(entry["kind"]) not in views.BLIND_KINDS:
        raise HTTPException(403, "Not to be seen before your label is locked.")
    return views.event_for(entry, blind)


@router.get("/{key}/scene")
def poses(
    item: OneItem, person: Somebody, parts: Shared, start: Seconds, end: Seconds,
    n: Annotated[int, Query(ge=2, le=1200)] = 300,
) -> ScenePoses:  # fmt: skip
    """Give arm and bed from the side, drawn from the recorded joints: not a camera's picture."""
    if not start < end:
        raise HTTPException(400, "The window must end after it starts.")
    record = parts.shelf.record(item)
    if not scene.can_draw(record):
        raise HTTPException(404, "This record has no joints to draw a scene from.")
    return scene.poses(record, (nanoseconds(start), nanoseconds(end)), n)


@router.get("/{key}/cameras/{channel}")
def frames(item: OneItem, person: Somebody, parts: Shared, channel: str) -> Frames:
    """List when a camera took pictures."""
    found = parts.pictures(item).times_ns(channel)
    return Frames(channel=channel, t_s=[t / 1e9 for t in found])


@router.get("/{key}/cameras/{channel}/{number}", response_class=Response)
def frame(item: OneItem, person: Somebody, parts: Shared, channel: str, number: Number) -> Response:
    """Give one picture as it was recorded."""
    data, kind = parts.pictures(item).frame(channel, number)
    return Response(data, media_type=kind, headers={"content-disposition": "inline"})
