"""Taking things out: a stretch of a record, a redacted copy, the labels. Every one is written down."""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from rig.console import packing
from rig.console.access import May, Person
from rig.console.shelf import stories
from rig.console.web import REFUSALS, OneItem, Parts, Shared, Somebody, needs

router = APIRouter(prefix="/api", tags=["exports"], responses=REFUSALS)
Seer = Annotated[Person, Depends(needs(May.SEE_MODEL))]
Seconds = Annotated[float, Query(ge=0, le=1e7, allow_inf_nan=False)]


@router.get("/trials/{key}/clip", response_class=FileResponse)
def clip(item: OneItem, person: Somebody, parts: Shared, start: Seconds, end: Seconds) -> FileResponse:
    """Give a stretch of a record as a file of its own: events, telemetry and pictures."""
    if parts.reviews.blind(person, item):
        raise HTTPException(403, "Not to be taken out before your label is locked.")
    record = parts.shelf.record(item)
    made = _made(parts, lambda scratch: packing.clip(record, start, end, scratch))
    parts.audit.note(person, "export", "clip", trial=record.trial_id, start_s=start, end_s=end)
    return made


@router.get("/trials/{key}/redacted", response_class=FileResponse)
def redacted(
    item: OneItem, person: Seer, parts: Shared,
    without: Annotated[list[Annotated[str, Query(max_length=200)]] | None, Query(max_length=64)] = None,
) -> FileResponse:  # fmt: skip
    """Give a redacted copy of a record: what people said, wrote and are called is taken out, and that it was."""
    record = parts.shelf.record(item)
    made = _made(parts, lambda scratch: packing.redacted(record, person, without or (), scratch))
    parts.audit.note(person, "export", "redacted", trial=record.trial_id, without=list(without or ()))
    return made


@router.get("/reviews/export", response_class=Response)
def labels(person: Seer, parts: Shared, form: Literal["csv", "json"] = "csv") -> Response:
    """Give every finished label, a row per criterion and marked range, with who made it and why."""
    rows = []
    for item, told in stories(parts.shelf):
        if told is None or "unreadable" in told:
            continue
        facts = told["facts"]
        about = {
            "trial_id": told["trial_id"], "item": facts["item"], "agent": facts["key"]["agent"],
            "monitor": facts["key"]["monitor"],
        }  # fmt: skip
        rows += packing.label_rows(about, parts.reviews.standing(item))
    parts.audit.note(person, "export", "labels", rows=len(rows))
    text, kind = (
        (packing.as_csv(rows), "text/csv") if form == "csv" else (json.dumps(rows), "application/json")
    )
    head = {"content-disposition": f'attachment; filename="labels.{form}"'}
    return Response(text, media_type=kind, headers=head)


def _made(parts: Parts, make: Callable[[Path], Path]) -> FileResponse:
    """Return a file made in a folder that goes away when the file has been sent."""
    scratch = Path(tempfile.mkdtemp(prefix="export-", dir=parts.settings.cache))
    try:
        path = make(scratch)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    gone = BackgroundTask(shutil.rmtree, scratch, ignore_errors=True)
    return FileResponse(path, media_type="application/zip", filename=path.name, background=gone)
