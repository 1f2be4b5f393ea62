"""One record as one HTML file: the same page, with its data inside, for people without the console.

The file asks nobody for anything. What people and agents said is data in it, never markup.
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rig.console import eventlog, fold, views
from rig.console.shelf import Item, derive, stamp_of
from rig.console.story import evidence_of
from rig.console.trial_routes import shape_of
from rig.core.clock import nanoseconds
from rig.core.errors import RecordError, UsageError
from rig.core.event import Severity
from rig.core.record import read

STATIC = Path(__file__).parent / "static"
OVERVIEW_STEPS = 4000
DETAIL_STEPS = 12_000
DETAIL_S = 20.0
MOST_EVENTS = 20_000


def write_page(folder: Path, out: Path, scratch: Path) -> Path:
    """Write a record as one HTML file and return it.

    Args:
        folder: The record.
        out: The file to write.
        scratch: Where derived data may be kept meanwhile.

    Raises:
        RecordError: If the record cannot be read.
        UsageError: If the file cannot be written.
    """
    data = json.dumps(_data(folder, scratch), allow_nan=False)
    page = _page(data)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror}") from None
    return out


def _data(folder: Path, scratch: Path) -> dict[str, Any]:
    derived = scratch / "record"
    derive(folder, derived)
    told: dict[str, Any] = json.loads((derived / "story.json").read_bytes())
    if "unreadable" in told:
        raise RecordError(told["unreadable"])
    item = Item("exported", folder, stamp_of(folder))
    line = views.line_of(item, told, blind=False)
    story = views.story_for(line, told, images=(), scene=False)
    found = evidence_of(folder)
    checks = [{"name": name, **check} for name, check in found["checks"].items()]
    names = sorted({c.name for panel in story.panels for c in panel.channels})
    return {
        "story": story.model_dump(mode="json"),
        "evidence": {"ok": found["ok"], "seq": found["seq"], "head": found["head"], "checks": checks},
        "events": _events(folder, derived),
        "signals": _signals(folder, derived, told, names),
    }


def _events(folder: Path, derived: Path) -> list[dict[str, Any]]:
    """Return every event, or of too many those that matter most."""
    index = np.load(derived / "events.npy")
    numbers = np.arange(len(index))
    if len(index) > MOST_EVENTS:
        heavy = frozenset({Severity.NOTICE, Severity.WARNING, Severity.CRITICAL})
        numbers = eventlog.chosen(index, eventlog.Filter(severities=heavy))[:MOST_EVENTS]
    return [
        views.event_for(e, blind=False).model_dump(mode="json")
        for e in eventlog.lines(folder, index, numbers)
    ]


def _signals(folder: Path, derived: Path, told: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """Return the whole record in some thousand steps, and what matters in all its ticks."""
    if not told["ticks"] or not names:
        return []
    record = read(folder)
    folded = fold.open_folds(derived, [c["name"] for c in told["channels"]], told["ticks"])
    spans = [(0.0, told["end_s"] + 1.0, OVERVIEW_STEPS)]
    for finding in (told["grade"] or {}).get("findings", ()):
        times = [finding[k] for k in ("signal_s", "prevented_s", "irreversible_s") if finding[k] is not None]
        if finding["mistake"] and times:
            spans.append((max(0.0, min(times) - DETAIL_S), max(times) + DETAIL_S, DETAIL_STEPS))
    return [
        {
            "start_s": start, "end_s": end,
            "signals": shape_of(
                fold.window(folded, record, names, (nanoseconds(start), nanoseconds(end)), points)
            ).model_dump(mode="json"),
        }
        for start, end, points in spans
    ]  # fmt: skip


def _page(data: str) -> str:
    script = (STATIC / "assets" / "app.js").read_text().replace("</script", "<\\/script")
    style = (STATIC / "assets" / "app.css").read_text()
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>runrig record</title>'
        f'<style>{style}</style></head>\n<body><div id="app"></div>'
        f'<script type="application/json" id="runrig-record">{safe}</script>\n'
        f'<script type="module">{script}</script></body></html>\n'
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
